"""The server holds requests of every API to its limits, and hands on what says where they belong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from unbraid.errors import InvalidRequest
from unbraid.server.options import Options
from unbraid.server.startup import prepare

from .helpers import NOT_THINKING, USER, WEATHER, raw, replay

CHAT = {"messages": USER, **NOT_THINKING}
COMPLETIONS, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"


def post(path: str, body: dict[str, Any], **options: Any) -> Any:
    """The answer, and the engine that was asked."""
    engine = replay("x", dialects=("llguidance",))

    async def run() -> Any:
        async with raw(engine, **options) as http:
            return await http.post(path, json=body)

    return asyncio.run(run()), engine


FLAT = {"type": "function", **WEATHER["function"]}
PARAMETERS = "tools[0].function.parameters"
TOO_MUCH: list[tuple[str, dict[str, Any], dict[str, int], str]] = [
    (COMPLETIONS, {"messages": USER * 3}, {"messages": 2}, "messages"),
    (COMPLETIONS, {**CHAT, "n": 3}, {"choices": 2}, "n"),
    (COMPLETIONS, {**CHAT, "stop": ["a", "b"]}, {"stops": 1}, "stop"),
    (COMPLETIONS, {**CHAT, "max_tokens": 9}, {"max_tokens": 8}, "max_tokens"),
    (COMPLETIONS, {**CHAT, "tools": [WEATHER]}, {"schema_values": 1}, PARAMETERS),
    (COMPLETIONS, {**CHAT, "tools": [WEATHER], "tool_choice": "required"}, {"grammar_chars": 9}, "tools"),
    (COMPLETIONS, {**CHAT, "pad": [0] * 50}, {"json_values": 40}, "values"),
    (RESPONSES, {"input": "x", "tools": [FLAT]}, {"schema_values": 1}, "tools[0].parameters"),
    (MESSAGES, {"max_tokens": 9, "messages": USER, "model": "replay"}, {"max_tokens": 8}, "max_tokens"),
]


@pytest.mark.parametrize("number", range(len(TOO_MUCH)))
def test_too_much_is_refused_where_it_is(number: int) -> None:
    path, body, limits, where = TOO_MUCH[number]
    answer, engine = post(path, body, limits=limits)
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error.get("param") in (where, None)
    assert where in error["message"]
    assert not engine.requests


@pytest.mark.parametrize("name", ["get\x00weather", "a\nb", "\u2028", " "])
@pytest.mark.parametrize("path", [COMPLETIONS, RESPONSES, MESSAGES])
def test_names_that_nobody_can_call(name: str, path: str) -> None:
    function = {"name": name, "parameters": {"type": "object"}}
    body: dict[str, Any] = {"messages": USER, "tools": [{"type": "function", "function": function}]}
    if path == RESPONSES:
        body = {"input": "x", "tools": [{"type": "function", **function}]}
    elif path == MESSAGES:
        tools = [{"name": name, "input_schema": {"type": "object"}}]
        body = {"messages": USER, "max_tokens": 5, "model": "replay", "tools": tools}
    answer, engine = post(path, body)
    assert answer.status_code == 400, answer.text
    assert "tools[0]" in answer.json()["error"]["message"]
    assert not engine.requests


def test_limits_that_are_none() -> None:
    for wrong in ({"mesages": 1}, {"messages": 0}, {"messages": "3"}, {"messages": True}):
        with pytest.raises(InvalidRequest, match="--limits"):
            prepare(replay("x"), Options(limits=wrong))  # type: ignore[arg-type]


def test_turns_of_a_conversation_belong_together() -> None:
    def key(body: dict[str, Any]) -> str | None:
        answer, engine = post(COMPLETIONS, body)
        assert answer.status_code == 200
        return engine.requests[0].affinity

    first = key(CHAT)
    later = [*USER, {"role": "assistant", "content": "Hi"}, {"role": "user", "content": "More"}]
    assert first
    assert key({**CHAT, "messages": later}) == first
    assert key({**CHAT, "messages": [{"role": "user", "content": "Other"}]}) != first
    assert key({**CHAT, "user": "ann"}) != first
    keyed = {**CHAT, "prompt_cache_key": "k"}
    assert key(keyed) == key({**keyed, "messages": later[2:]}) != first


@pytest.mark.parametrize(
    ("effort", "seen"), [("minimal", "tiny|True"), ("low", "none|False"), ("high", "high|True")]
)
def test_efforts_are_told_as_the_template_knows_them(effort: str, seen: str) -> None:
    template = "{{ reasoning_effort }}|{{ enable_thinking }}{{ messages[0].content }}"
    body = {"messages": USER, "reasoning_effort": effort}
    options = {"chat_template": template, "reasoning_effort_map": {"minimal": "tiny", "low": "none"}}
    _, engine = post(COMPLETIONS, body, **options)
    assert str(engine.requests[0].prompt).startswith(seen)
