"""Requests that are refused, and where the error points."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from unbraid.errors import InvalidRequest
from unbraid.server.normal import normalise
from unbraid.server.requests import decode

from .helpers import CALL, NOT_THINKING, USER, WEATHER, raw, replay

WRONG: list[tuple[dict[str, Any], str | None]] = [
    ({"messages": []}, "messages"),
    ({"messages": "hello"}, "messages"),
    ({"messages": [*USER, {"role": "alien", "content": "x"}]}, "messages[1].role"),
    ({"messages": [{"content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0].type"),
    (
        {"messages": [{"role": "assistant", "tool_calls": [{"id": "1"}]}]},
        "messages[0].tool_calls[0].function",
    ),
    ({"tools": []}, "tools"),
    ({"tools": [{"type": "function"}]}, "tools[0].function"),
    ({"tools": [WEATHER, {"type": "function", "function": {}}]}, "tools[1].function.name"),
    ({"tools": [{"type": "function", "function": {"name": ""}}]}, "tools[0].function.name"),
    ({"tools": [WEATHER, WEATHER]}, "tools[1].function.name"),
    ({"tools": [{"type": "file", "function": {"name": "x"}}]}, "tools[0].type"),
    (
        {"tools": [{"type": "function", "function": {"name": "x", "parameters": 3}}]},
        "tools[0].function.parameters",
    ),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": "maybe"}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": {"type": "function"}}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": {"type": "web"}}, "tool_choice"),
    (
        {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "other"}}},
        "tool_choice",
    ),
    (
        {"tools": [WEATHER], "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}},
        "tool_choice.allowed_tools.tools",
    ),
    (
        {"tools": [WEATHER], "tool_choice": {"type": "allowed_tools", "mode": "some", "tools": [{}]}},
        "tool_choice.mode",
    ),
    (
        {"tools": [WEATHER], "tool_choice": {"type": "allowed_tools", "tools": [{"name": "no"}]}},
        "tool_choice.tools[0]",
    ),
    ({"stop": ["a", "b", "c", "d", "e"]}, "stop"),
    ({"stop": ["a", ""]}, "stop[1]"),
    ({"stop": 3}, "stop"),
    ({"n": 0}, "n"),
    ({"n": 1.5}, "n"),
    ({"temperature": -1}, "temperature"),
    ({"top_p": 0}, "top_p"),
    ({"top_logprobs": 3}, "top_logprobs"),
    ({"logprobs": True, "top_logprobs": 21}, "top_logprobs"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"stream_options": {"include_usage": True}}, "stream_options"),
    ({"response_format": {"type": "xml"}}, "response_format.type"),
    ({"response_format": {"type": "json_schema"}}, "response_format.json_schema.schema"),
    ({"thinking_token_budget": True}, "thinking_token_budget"),
    ({"thinking_token_budget": 1.0}, "thinking_token_budget"),
    ({"thinking_token_budget": "9"}, "thinking_token_budget"),
    ({"thinking_token_budget": -2}, "thinking_token_budget"),
    ({"reasoning_effort": "huge"}, "reasoning_effort"),
    ({"chat_template": "{{ messages }}"}, "chat_template"),
    ({"chat_template_kwargs": []}, "chat_template_kwargs"),
    ({"chat_template_kwargs": {"messages": []}}, "chat_template_kwargs"),
    ({"add_generation_prompt": True, "continue_final_message": True}, "continue_final_message"),
    ({"logit_bias": {"x": 1}}, "logit_bias"),
    ({"use_beam_search": True}, "use_beam_search"),
    ({"function_call": "auto"}, "function_call"),
]


@pytest.mark.parametrize(("body", "param"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_the_error_names_the_field(body: dict[str, Any], param: str | None) -> None:
    async def run() -> Any:
        async with raw(replay("x")) as http:
            sent = {"messages": USER, **body}
            if "stream_options" not in body:
                sent["stream"] = True
            return await http.post("/v1/chat/completions", json=sent)

    answer = asyncio.run(run())
    assert answer.status_code == 400, answer.text
    error = answer.json()["error"]
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"
    assert set(error) == {"message", "type", "param", "code"}


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b"\xff", b"[" * 100_000, b'{"messages": ' + b"[" * 5000]
)
def test_bodies_that_are_no_request(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        decode(body)


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels // 2):
        schema = {"properties": {"a": schema}}
    return schema


def test_schemas_may_be_deep_but_not_too_deep() -> None:
    import json

    tool = {"type": "function", "function": {"name": "x", "parameters": deep(60)}}
    request, plain = decode(json.dumps({"messages": USER, "tools": [tool]}).encode())
    assert normalise(request, plain).tools.callable
    for body, param in (
        (
            {"tools": [tool, {"function": {"name": "y", "parameters": deep(66)}}]},
            "tools[1].function.parameters",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"schema": deep(300)}}},
            "response_format.json_schema.schema",
        ),
        ({"chat_template_kwargs": deep(200)}, "chat_template_kwargs"),
        ({"messages": [{**USER[0], "extra": deep(300)}]}, "messages"),
    ):
        with pytest.raises(InvalidRequest, match="levels deep") as caught:
            decode(json.dumps({"messages": USER, **body}).encode())
        assert caught.value.param == param


def test_defaults_and_unknown_fields() -> None:
    import json

    body = {"messages": USER, "anything": {"a": 1}, "guided_json": None, "temperature": None, "top_k": -1}
    ask = normalise(*decode(json.dumps(body).encode()))
    assert (ask.n, ask.stream, ask.parallel_tool_calls, ask.include_reasoning) == (1, False, True, True)
    assert (ask.sampling.temperature, ask.sampling.top_k, ask.budget, ask.schema) == (1.0, 0, None, None)
    assert ask.tools.choice == "none"


def test_messages_as_templates_want_them() -> None:
    import json

    messages = [
        {"role": "developer", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": None, "reasoning": "r", "extra": 1},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "content": "x", "tool_call_id": "1", "tool_calls": []},
    ]
    ask = normalise(*decode(json.dumps({"messages": messages}).encode()))
    assert ask.messages[0] == {"role": "system", "content": "a\nb"}
    assert ask.messages[1] == {
        "role": "assistant",
        "content": "",
        "reasoning": "r",
        "reasoning_content": "r",
        "extra": 1,
    }
    assert ask.messages[2]["content"] is None
    assert "tool_calls" not in ask.messages[3]
    assert ask.history_calls == 1


def test_an_engine_that_mixes_token_ids_up_gets_markers_as_text() -> None:
    body = {"messages": USER, "tools": [WEATHER], "tool_choice": "required", **NOT_THINKING}
    tags = []
    for able in (True, False):
        engine = replay(CALL, dialects=("structural_tag",))
        engine.capabilities = replace(engine.capabilities, marker_ids=able)

        async def ask(engine: Any = engine) -> Any:
            async with raw(engine) as http:
                return (await http.post("/v1/chat/completions", json=body)).json()

        (choice,) = asyncio.run(ask())["choices"]
        assert choice["message"]["tool_calls"][0]["function"]["name"] == "get_weather"
        constraint = engine.requests[0].constraint
        assert constraint is not None
        tags.append(constraint.grammar)
    assert '"token"' in tags[0]
    assert "<tool_call>" not in tags[0]
    assert '"token"' not in tags[1]
    assert "<tool_call>" in tags[1]
