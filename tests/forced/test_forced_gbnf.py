"""A sample of ``make forced-gbnf``: the same over a llama.cpp server whose grammars are GBNF."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import jsonschema
import pytest

from ..server.helpers import Folded, fold, whole
from .cases import POINT, Case
from .drive import ask, invalid, leaked, problems, stock_server, warm

SAMPLE = [
    Case("get_weather", "required", True, True, 0.0),
    Case("draw_line", "named", True, True, 0.7),
    Case("find_user", "required", False, True, 0.0),
]


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """A client on the server."""
    with stock_server() as client:
        yield client


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_a_forced_call(http: httpx.Client, case: Case) -> None:
    if not case.temperature:
        warm(http, case)
    streamed = ask(http, case)
    assert problems(case, streamed) == []
    full = ask(http, replace(case, stream=False))
    assert problems(case, full) == []
    if not case.temperature:
        assert streamed == full


@pytest.mark.parametrize("thinking", [True, False])
def test_free_content_and_strict_tools(http: httpx.Client, thinking: bool) -> None:
    case = Case("set_mode", "auto", thinking, True, 0.7)
    answer = ask(http, case)
    assert leaked(answer) == []
    assert answer[3] == "length" or invalid(case, answer) == []


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("thinking", [True, False])
def test_an_answer_by_a_schema(http: httpx.Client, thinking: bool, stream: bool) -> None:
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": "Where is the middle of the line?"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "point", "schema": POINT}},
        "chat_template_kwargs": {"enable_thinking": thinking},
        "temperature": 0.7,
        "seed": 7,
        "max_tokens": 256,
        "stream": stream,
    }
    response = http.post("/v1/chat/completions", json=body)
    assert response.status_code == 200, response.text
    found = fold(response.text).get(0, Folded()).message if stream else whole(response.json()["choices"][0])
    reasoning, content, calls, finish = found
    jsonschema.validate(json.loads(content or ""), POINT)
    assert (bool(reasoning), calls, finish) == (thinking, [], "stop")


def test_what_gbnf_does_not_hold_is_refused(http: httpx.Client) -> None:
    """A schema that only other grammars hold is a clear 400, and the next request is answered."""
    step = {"type": "object", "properties": {"n": {"type": "number", "multipleOf": 0.1}}, "required": ["n"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": step, "strict": True}}
    case = Case("get_time", "required", False, False, 0.0)
    refused = http.post("/v1/chat/completions", json={**case.body, "tools": [tool]})
    assert refused.status_code == 400
    assert "multipleOf" in refused.json()["error"]["message"]
    ended = http.post("/v1/chat/completions", json={**case.body, "ignore_eos": True, "temperature": 1.0})
    assert ended.json()["choices"][0]["finish_reason"] == "tool_calls"
