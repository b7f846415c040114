"""The official Anthropic client on a server over recorded outputs, and its streams put together."""

from __future__ import annotations

import json
from typing import Any

import anthropic
import httpx2

from .helpers import TIME, USER, WEATHER, make_app, raw

BODY: dict[str, Any] = {"model": "replay", "max_tokens": 4000, "messages": USER}
THINKING = {"thinking": {"type": "enabled", "budget_tokens": 3000}}
NOT_THINKING = {"thinking": {"type": "disabled"}}


def as_tool(tool: dict[str, Any]) -> dict[str, Any]:
    """A tool of chat completions in Anthropic's shape."""
    function = dict(tool["function"])
    schema = function.pop("parameters", {"type": "object"})
    return {**function, "input_schema": schema}


WEATHER_TOOL = as_tool(WEATHER)
TIME_TOOL = as_tool(TIME)


def client(engine: Any, **options: Any) -> anthropic.AsyncAnthropic:
    """The official client on a server over ``engine``."""
    transport = httpx2.ASGITransport(make_app(engine, **options), raise_app_exceptions=False)
    return anthropic.AsyncAnthropic(
        api_key="none",
        base_url="http://test",
        http_client=anthropic.DefaultAsyncHttpxClient(transport=transport),
        max_retries=0,
    )


async def post(
    engine: Any, body: dict[str, Any], path: str = "/v1/messages", headers: Any = None, **options: Any
) -> Any:
    """The response to a request, of ``BODY`` with ``body`` over it."""
    async with raw(engine, **options) as http:
        return await http.post(path, json={**BODY, **body}, headers=headers)


def parse_events(text: str) -> list[dict[str, Any]]:
    """The events of a stream, each named as its data says."""
    events = []
    for one in text.split("\n\n")[:-1]:
        name, data = one.split("\n")
        events.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {events[-1]['type']}"
    assert text.endswith("\n\n")
    return events


def fold(events: list[dict[str, Any]]) -> dict[str, Any]:
    """A stream's message as the official client puts it together; wrong orders of events fail."""
    message: Any = None
    buffers: dict[int, bytes] = {}
    open_block: int | None = None
    for n, event in enumerate(events):
        kind = event["type"]
        assert (kind == "message_start") == (n == 0)
        assert (kind == "message_stop") == (n == len(events) - 1)
        if kind == "content_block_start":
            assert open_block is None
            assert event["index"] == len(message.content)
            open_block = event["index"]
        elif kind.startswith("content_block"):
            assert event["index"] == open_block
            open_block = None if kind == "content_block_stop" else open_block
        else:
            assert open_block is None
        if kind == "content_block_delta":
            assert all(event["delta"].values()), "a delta says nothing"
        message = _accumulated(event, message, buffers)
    return plain(message)


def _accumulated(event: Any, message: Any, buffers: dict[int, bytes]) -> Any:
    from anthropic.lib.streaming._messages import accumulate_event

    return accumulate_event(event=event, current_snapshot=message, json_bufs=buffers)


def plain(message: Any) -> dict[str, Any]:
    """A message of the client as data, without the fields that it sets to nothing."""
    return json.loads(message.to_json(exclude_none=True)) | {"stop_sequence": message.stop_sequence}


def alike(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what is made at random."""
    blocks = [{**block, "id": "id"} if "id" in block else block for block in message["content"]]
    return {**message, "id": "id", "content": blocks}


async def both(engine: Any, body: dict[str, Any], **options: Any) -> tuple[dict[str, Any], str]:
    """The message of a request, which must be the same whole and streamed, and the stream's text."""
    async with raw(engine, **options) as http:
        full = await http.post("/v1/messages", json={**BODY, **body})
        streamed = await http.post("/v1/messages", json={**BODY, **body, "stream": True})
    assert full.status_code == 200, full.text
    assert streamed.status_code == 200, streamed.text
    assert alike(fold(parse_events(streamed.text))) == alike(full.json())
    return full.json(), streamed.text
