"""Requests of the Responses API whole and streamed, and the laws that each stream must keep."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from .helpers import TIME, WEATHER, raw, replay

PATH = "/v1/responses"
FLAT_WEATHER = {"type": "function", **WEATHER["function"]}
FLAT_TIME = {"type": "function", **TIME["function"]}
GRAMMAR: Any = {"dialects": ("llguidance",)}
TERMINAL = ("response.completed", "response.incomplete", "response.failed")

Seen = list[tuple[str, ...]]


def events_of(text: str) -> list[dict[str, Any]]:
    """The events of a stream, each named by its type and numbered from 0."""
    blocks = text.split("\n\n")
    assert blocks.pop() == ""
    events = []
    for number, block in enumerate(blocks):
        name, data = block.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        assert event["sequence_number"] == number
        events.append(event)
    return events


class Stream:
    """The events of one stream put together; it is checked that they keep their laws."""

    def __init__(self, text: str) -> None:
        self.events = events_of(text)
        self.items: list[dict[str, Any]] = []
        self._text = ""
        self._open: dict[str, Any] | None = None
        first, second, *rest, last = self.events
        assert (first["type"], second["type"]) == ("response.created", "response.in_progress")
        assert first["response"] == second["response"]
        assert first["response"]["output"] == []
        assert last["type"] in TERMINAL
        for event in rest:
            assert event["type"] not in TERMINAL
            self._add(event)
        assert self._open is None, "an item was left open"
        self.response: dict[str, Any] = last["response"]
        assert last["type"] == f"response.{self.response['status']}"
        assert self.response["output"] == self.items
        for name in ("id", "created_at", "model", "tools", "metadata"):
            assert self.response[name] == first["response"][name]

    def _add(self, event: dict[str, Any]) -> None:
        kind = event["type"].removeprefix("response.")
        assert event["output_index"] == len(self.items)
        if kind == "output_item.added":
            assert self._open is None, "two items are open"
            self._open, self._text = event["item"], ""
            assert self._open is not None
            assert self._open["status"] == "in_progress"
            return
        assert self._open is not None
        if kind == "output_item.done":
            item = event["item"]
            assert item["status"] in ("completed", "incomplete")
            assert {**self._open, **self._written(), "status": item["status"]} == item
            self.items.append(item)
            self._open = None
            return
        assert event["item_id"] == self._open["id"]
        if kind == "content_part.added":
            assert event["part"]["text"] == ""
        elif kind.endswith(".delta"):
            assert event["delta"], "a delta says nothing"
            self._text += event["delta"]
        elif kind == "content_part.done":
            self._part = event["part"]
        else:
            whole = next(event[name] for name in ("text", "arguments", "input") if name in event)
            assert kind.endswith(".done")
            assert whole == self._text

    def _written(self) -> dict[str, Any]:
        """The fields of the open item as its events wrote them."""
        assert self._open is not None
        kind = self._open["type"]
        if kind == "function_call":
            return {"arguments": self._text}
        if kind == "custom_tool_call":
            return {"input": self._text}
        assert self._part["text"] == self._text
        return {"content": [self._part]}

    @property
    def types(self) -> list[str]:
        """The types of the events, runs of equal ones once."""
        names = [event["type"].removeprefix("response.") for event in self.events]
        return [name for n, name in enumerate(names) if n == 0 or names[n - 1] != name]


def seen(response: dict[str, Any]) -> Seen:
    """The items of a response as short tuples; ``!`` marks one that is incomplete."""
    found: Seen = []
    for item in response["output"]:
        mark = ("!",) if item["status"] == "incomplete" else ()
        if item["type"] == "function_call":
            space = (item["namespace"],) if "namespace" in item else ()
            found.append(("call", *space, item["name"], item["arguments"], *mark))
        elif item["type"] == "custom_tool_call":
            found.append(("custom", item["name"], item["input"], *mark))
        else:
            [part] = item["content"]
            found.append((item["type"], part["text"], *mark))
    return found


def neutral(response: dict[str, Any]) -> Any:
    """A response without what differs from one request to the next: ids and times."""
    output = [{**item, "id": item["id"].split("_")[0]} for item in response["output"]]
    output = [{**item, "call_id": n} if "call_id" in item else item for n, item in enumerate(output)]
    return {**response, "id": None, "created_at": None, "completed_at": None, "output": output}


async def both(engine: Any, body: dict[str, Any], **options: Any) -> tuple[dict[str, Any], Stream, str]:
    """The same request whole and streamed: the whole answer, the stream, and the stream's text."""
    body = {"input": "Hello", **body}
    async with raw(engine, **options) as http:
        full = await http.post(PATH, json=body)
        streamed = await http.post(PATH, json={**body, "stream": True})
    assert full.status_code == 200, full.text
    assert streamed.status_code == 200, streamed.text
    return full.json(), Stream(streamed.text), streamed.text


def answer(
    text: Any, body: dict[str, Any], engine: dict[str, Any] | None = None, **options: Any
) -> dict[str, Any]:
    """The response to a request, which must be the same whole and streamed."""
    full, stream, _ = asyncio.run(both(replay(text, **(engine or {})), body, **options))
    assert neutral(full) == neutral(stream.response)
    return full


def post(body: dict[str, Any], engine: Any = None, **options: Any) -> Any:
    """The HTTP response to one request."""

    async def run() -> Any:
        async with raw(engine if engine is not None else replay("x"), **options) as http:
            return await http.post(PATH, json={"input": "Hello", **body})

    return asyncio.run(run())
