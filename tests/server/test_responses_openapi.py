"""The OpenAPI document says of the Responses API what is true."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from unbraid.engines.replay import Recording
from unbraid.errors import EngineError, InvalidRequest
from unbraid.server.apis.responses_request import ResponsesRequest, decode
from unbraid.server.docs import openapi
from unbraid.server.requests import checked

from .helpers import CALL, THINKING, raw, replay
from .responses_helpers import FLAT_TIME, FLAT_WEATHER, events_of, post
from .test_responses_requests import CRM, HELLO, HISTORIES, NOTE, WRONG

DOCUMENT = openapi()
ROUTE = DOCUMENT["paths"]["/v1/responses"]["post"]
BODY = ROUTE["requestBody"]["content"]["application/json"]["schema"]
WHOLE = ROUTE["responses"]["200"]["content"]["application/json"]["schema"]
EVENT = ROUTE["responses"]["200"]["content"]["text/event-stream"]["schema"]
NOTED = '<tool_call>\n{"name": "note", "arguments": {"input": "a"}}\n</tool_call>'
TEXT = f"I think.\n</think>\n\nText.{CALL}\n{NOTED}"
ASKED = {"tools": [FLAT_WEATHER, CRM, NOTE], "include": ["message.output_text.logprobs"], "top_logprobs": 2}


def validator(schema: Any) -> Draft202012Validator:
    return Draft202012Validator({**schema, "components": DOCUMENT["components"]})


def is_read(body: dict[str, Any]) -> bool:
    """Whether a body has the right shape, whatever it means; the types of messages are told."""
    given = body.get("input", "Hello")
    if isinstance(given, list):
        given = [{"type": "message", **one} if "role" in one else one for one in given]
    try:
        checked({**body, "input": given}, ResponsesRequest)
    except InvalidRequest:
        return False
    return True


@pytest.mark.parametrize("body", [body for body, _ in WRONG if not is_read(body)])
def test_a_body_of_a_wrong_shape_is_wrong_there_too(body: dict[str, Any]) -> None:
    assert not validator(BODY).is_valid({"input": "Hello", **body})


RIGHT: list[dict[str, Any]] = [
    *({"input": items} for items, _ in HISTORIES),
    {"input": "Hello", **ASKED, "text": {"format": {"type": "json_schema", "schema": {}}}},
    {"input": HELLO, "tools": [FLAT_TIME], "tool_choice": {"type": "function", "name": "get_time"}},
    {"input": "", "metadata": {"a": "b"}, "reasoning": {"effort": "max", "summary": None}, "n": 1},
]


@pytest.mark.parametrize("body", RIGHT)
def test_a_body_that_is_taken_is_right_there_too(body: dict[str, Any]) -> None:
    decode(json.dumps(body).encode())
    validator(BODY).validate(body)


@pytest.mark.parametrize("reason", ["stop", "length"])
def test_answers_and_events_are_as_described(reason: str) -> None:
    answer = post({**ASKED, **THINKING}, replay(Recording(TEXT, reason))).json()
    validator(WHOLE).validate(answer)
    events = events_of(post({**ASKED, **THINKING, "stream": True}, replay(Recording(TEXT, reason))).text)
    for event in events:
        validator(EVENT).validate(event)
    kinds = {"reasoning", "message", "function_call", "custom_tool_call"}
    assert {item["type"] for item in answer["output"]} == kinds
    failed = post({"stream": True}, replay(Recording(["a"], fault=EngineError("gone"))))
    for event in events_of(failed.text):
        validator(EVENT).validate(event)


@pytest.mark.parametrize("body", [body for body, _ in WRONG[:3]])
def test_errors_are_as_described(body: dict[str, Any]) -> None:
    refused = post(body)
    schema = ROUTE["responses"][str(refused.status_code)]["content"]["application/json"]["schema"]
    validator(schema).validate(refused.json())


def test_what_is_not_kept_is_as_described() -> None:
    async def run() -> Any:
        async with raw(replay("x")) as http:
            return await http.get("/v1/responses/resp_1")

    found = asyncio.run(run())
    described = DOCUMENT["paths"]["/v1/responses/{response_id}"]["get"]["responses"]
    schema = described[str(found.status_code)]["content"]["application/json"]["schema"]
    validator(schema).validate(found.json())
