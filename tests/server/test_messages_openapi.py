"""The OpenAPI document says of the Messages API what is true."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from unbraid.engines.replay import Recording
from unbraid.errors import EngineError, InvalidRequest
from unbraid.server.apis.messages_request import CountRequest, MessagesRequest, decode
from unbraid.server.docs import openapi
from unbraid.server.requests import checked

from .anthropic_helpers import BODY, NOT_THINKING, THINKING, TIME_TOOL, WEATHER_TOOL, parse_events, post
from .helpers import CALL, USER, replay
from .test_messages_requests import THOUGHT, WRONG, model, result, text, use, user

DOCUMENT = openapi()
ROUTE = DOCUMENT["paths"]["/v1/messages"]["post"]
COUNT = DOCUMENT["paths"]["/v1/messages/count_tokens"]["post"]
TEXT = f"I think.\n</think>\n\nText.\n{CALL}"
ASKED = {**THINKING, "tools": [WEATHER_TOOL, TIME_TOOL]}


def valid(schema: Any, value: Any) -> None:
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)


def body_schema(route: Any) -> Any:
    return route["requestBody"]["content"]["application/json"]["schema"]


def answer_schema(route: Any, status: int, kind: str = "application/json") -> Any:
    return route["responses"][str(status)]["content"][kind]["schema"]


def is_read(body: dict[str, Any]) -> bool:
    """Whether a body has the right shape, whatever it means."""
    try:
        checked(body, MessagesRequest)
    except InvalidRequest:
        return False
    return True


@pytest.mark.parametrize("body", [body for body, _ in WRONG if not is_read({**BODY, **body})], ids=str)
def test_a_body_of_a_wrong_shape_is_wrong_there_too(body: dict[str, Any]) -> None:
    schema = {**body_schema(ROUTE), "components": DOCUMENT["components"]}
    assert not Draft202012Validator(schema).is_valid({**BODY, **body})


HISTORY = [
    *USER,
    model(THOUGHT, {"type": "redacted_thinking", "data": "x"}, *text("a"), use("1", a=[1])),
    user(result("1", content=text("b"), is_error=False), *text("c")),
    {"role": "system", "content": "d"},
    {"role": "assistant", "content": "e"},
]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"messages": HISTORY, "system": text("x"), "metadata": {"user_id": "u"}, "stream": False},
        {**ASKED, "tool_choice": {"type": "tool", "name": "get_time", "disable_parallel_tool_use": True}},
        {**NOT_THINKING, "output_config": {"effort": "max", "format": {"type": "json_schema", "schema": {}}}},
        {"thinking": {"type": "adaptive", "display": "omitted"}, "stop_sequences": [], "top_k": 0},
    ],
    ids=str,
)
def test_a_body_that_is_taken_is_right_there_too(body: dict[str, Any]) -> None:
    decode(json.dumps({**BODY, **body}).encode(), MessagesRequest)
    valid(body_schema(ROUTE), {**BODY, **body})
    decode(json.dumps({**BODY, **body}).encode(), CountRequest)
    valid(body_schema(COUNT), {**BODY, **body})


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_answers_and_events_are_as_described(reason: str) -> None:
    answer = asyncio.run(post(replay(Recording(TEXT, reason)), ASKED))
    valid(answer_schema(ROUTE, 200), answer.json())
    assert {one["type"] for one in answer.json()["content"]} == {"thinking", "text", "tool_use"}
    streams = [replay(Recording(TEXT, reason)), replay(Recording(["a"], fault=EngineError("gone")))]
    kinds = set()
    for engine in streams:
        for event in parse_events(asyncio.run(post(engine, {**ASKED, "stream": True})).text):
            valid(answer_schema(ROUTE, 200, "text/event-stream"), event)
            kinds.add(event["type"])
    assert len(kinds) == 7
    counted = asyncio.run(post(replay("x"), ASKED, "/v1/messages/count_tokens"))
    valid(answer_schema(COUNT, 200), counted.json())
    assert list(COUNT["responses"]["200"]["content"]) == ["application/json"]


@pytest.mark.parametrize("path", ["/v1/messages", "/v1/messages/count_tokens"])
@pytest.mark.parametrize("body", [{"messages": []}, {"model": "other"}])
def test_errors_are_as_described(path: str, body: dict[str, Any]) -> None:
    refused = asyncio.run(post(replay("x"), body, path))
    valid(answer_schema(DOCUMENT["paths"][path]["post"], refused.status_code), refused.json())


def test_a_wrong_key_is_as_described() -> None:
    for headers in ({}, {"x-api-key": "wrong"}):
        refused = asyncio.run(post(replay("x"), {}, headers=headers, api_keys=("right",)))
        assert refused.json()["error"]["type"] == "authentication_error"
        valid(answer_schema(ROUTE, 401), refused.json())
    taken = asyncio.run(post(replay("x"), {}, headers={"x-api-key": "right"}, api_keys=("right",)))
    assert taken.status_code == 200
