"""What a request of the Responses API means, and where the error points when it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from unbraid.errors import InvalidRequest
from unbraid.server.apis.responses_chat import ask_of
from unbraid.server.apis.responses_request import decode
from unbraid.server.normal import Ask
from unbraid.server.normal import normalise as chat_ask
from unbraid.server.paths import renamed
from unbraid.server.requests import decode as decode_chat

from .helpers import CALL, NOT_THINKING, WEATHER, replay
from .responses_helpers import FLAT_TIME, FLAT_WEATHER, GRAMMAR, answer, post, seen

HELLO = [{"role": "user", "content": "Hello"}]
CRM = {"type": "namespace", "name": "crm", "description": "", "tools": [FLAT_WEATHER, FLAT_TIME]}


def ask(body: dict[str, Any]) -> Ask:
    return ask_of(*decode(json.dumps({"input": "Hello", **body}).encode()))


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels // 2):
        schema = {"properties": {"a": schema}}
    return schema


def item(**fields: Any) -> dict[str, Any]:
    return {"input": [*HELLO, fields]}


BAD = {"type": "object", "properties": {"a": 5}}
STRICT_BAD = {"type": "function", "name": "f", "strict": True, "parameters": BAD}

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"input": None}, "input"),
    ({"input": 3}, "input"),
    ({"input": []}, "input"),
    ({"input": ["x"]}, "input[0]"),
    ({"input": [{"content": "x"}]}, "input[0].type"),
    (item(role="alien", content="x"), "input[1].role"),
    (item(role="tool", content="x"), "input[1].role"),
    (item(role="user"), "input[1].content"),
    (item(role="user", content=None), "input[1].content"),
    (item(role="user", content=[{"type": "input_text"}]), "input[1].content[0].text"),
    (item(role="user", content=[{"type": "input_image", "image_url": "x"}]), "input[1].content[0].type"),
    (item(type="item_reference", id="x"), "input[1].type"),
    (item(type="web_search_call", id="x"), "input[1].type"),
    (item(type="unheard", id="x"), "input[1].type"),
    (item(type="function_call", name="f", arguments="{}"), "input[1].call_id"),
    (item(type="function_call", call_id="1", name="f", arguments={}), "input[1].arguments"),
    (item(type="function_call_output", call_id="1"), "input[1].output"),
    (
        item(type="function_call_output", call_id="1", output=[{"type": "input_file"}]),
        "input[1].output[0].type",
    ),
    (item(type="custom_tool_call", call_id="1", name="f"), "input[1].input"),
    (item(type="reasoning", content=[{"type": "reasoning_text"}]), "input[1].content[0].text"),
    ({"tools": {}}, "tools"),
    ({"tools": [{"name": "x"}]}, "tools[0].type"),
    ({"tools": [{"type": "function"}]}, "tools[0].name"),
    ({"tools": [WEATHER]}, "tools[0].name"),
    ({"tools": [{"type": "function", "name": ""}]}, "tools[0].name"),
    ({"tools": [FLAT_WEATHER, FLAT_WEATHER]}, "tools[1].name"),
    ({"tools": [FLAT_WEATHER, {"type": "custom", "name": "get_weather"}]}, "tools[1].name"),
    ({"tools": [{"type": "function", "name": "x", "parameters": 3}]}, "tools[0].parameters"),
    ({"tools": [{"type": "function", "name": "x", "parameters": deep(300)}]}, "tools[0].parameters"),
    ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
    ({"tools": [FLAT_TIME, {"type": "mcp", "server_label": "x"}]}, "tools[1].type"),
    (
        {"tools": [{"type": "custom", "name": "x", "format": {"type": "grammar", "definition": "a"}}]},
        "tools[0].format.type",
    ),
    ({"tools": [{"type": "namespace", "name": "x", "tools": []}]}, "tools[0].tools"),
    ({"tools": [{**CRM, "tools": [FLAT_TIME, FLAT_TIME]}]}, "tools[0].tools[1].name"),
    ({"tools": [{**CRM, "name": "n" * 256}]}, "tools[0].tools[0].name"),
    (
        {"tools": [{**CRM, "tools": [{**FLAT_TIME, "parameters": deep(300)}]}]},
        "tools[0].tools[0].parameters",
    ),
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tools": [], "tool_choice": "required"}, "tool_choice"),
    ({"tools": [FLAT_WEATHER], "tool_choice": "maybe"}, "tool_choice"),
    ({"tools": [FLAT_WEATHER], "tool_choice": {"type": "web_search"}}, "tool_choice"),
    ({"tools": [FLAT_WEATHER], "tool_choice": {"type": "function"}}, "tool_choice"),
    ({"tools": [FLAT_WEATHER], "tool_choice": {"type": "function", "name": "other"}}, "tool_choice"),
    ({"tools": [FLAT_WEATHER], "tool_choice": {"type": "allowed_tools"}}, "tool_choice.tools"),
    (
        {"tools": [FLAT_WEATHER], "tool_choice": {"type": "allowed_tools", "mode": "some", "tools": [{}]}},
        "tool_choice.mode",
    ),
    (
        {
            "tools": [FLAT_WEATHER],
            "tool_choice": {"type": "allowed_tools", "tools": [{"type": "mcp", "server_label": "x"}]},
        },
        "tool_choice.tools[0]",
    ),
    ({"tools": [FLAT_TIME, STRICT_BAD]}, "tools[1].parameters.properties.a"),
    ({"tools": [{**CRM, "tools": [FLAT_TIME, STRICT_BAD]}]}, "tools[0].tools[1].parameters.properties.a"),
    ({"text": {"format": {"type": "xml"}}}, "text.format.type"),
    ({"text": {"format": {"type": "json_schema"}}}, "text.format.schema"),
    ({"text": {"format": {"type": "json_schema", "schema": BAD}}}, "text.format.schema.properties.a"),
    ({"text": {"format": {"type": "json_schema", "schema": deep(300)}}}, "text.format.schema"),
    ({"text": {"verbosity": "huge"}}, "text.verbosity"),
    ({"reasoning": {"effort": "huge"}}, "reasoning.effort"),
    ({"reasoning": {"summary": "long"}}, "reasoning.summary"),
    ({"truncation": "auto"}, "truncation"),
    ({"previous_response_id": "resp_1"}, "previous_response_id"),
    ({"conversation": "conv_1"}, "conversation"),
    ({"background": True}, "background"),
    ({"prompt": {"id": "x"}}, "prompt"),
    ({"context_management": [{"type": "compaction"}]}, "context_management"),
    ({"moderation": {"model": "x"}}, "moderation"),
    ({"messages": HELLO}, "messages"),
    ({"n": 2}, "n"),
    ({"max_output_tokens": 0}, "max_output_tokens"),
    ({"top_logprobs": 3}, "top_logprobs"),
    ({"top_logprobs": 21, "include": ["message.output_text.logprobs"]}, "top_logprobs"),
    ({"include": "all"}, "include"),
    ({"metadata": {"a": 1}}, "metadata[...]"),
    ({"temperature": -1}, "temperature"),
    ({"stop": ["a", ""]}, "stop[1]"),
    ({"stream_options": {"include_obfuscation": False}, "stream": False}, "stream_options"),
    ({"thinking_token_budget": -2}, "thinking_token_budget"),
    ({"chat_template": "{{ messages }}"}, "chat_template"),
    ({"chat_template_kwargs": {"messages": []}}, "chat_template_kwargs"),
    ({"chat_template_kwargs": deep(200)}, "chat_template_kwargs"),
    ({"logit_bias": {"x": 1}}, "logit_bias"),
    ({"model": "other"}, "model"),
]


@pytest.mark.parametrize(("body", "param"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_the_error_names_the_field(body: dict[str, Any], param: str) -> None:
    engine = replay("x", **GRAMMAR)
    refused = post({"stream": True, **NOT_THINKING, **body}, engine)
    assert refused.status_code == (404 if param == "model" else 400), refused.text
    error = refused.json()["error"]
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"
    assert set(error) == {"message", "type", "param", "code"}
    assert not engine.requests


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (item(type="item_reference", id="x"), "send the whole conversation as input"),
        ({"previous_response_id": "x"}, "send the whole conversation as input"),
        ({"tools": [{"type": "code_interpreter", "container": "x"}]}, "offer a function instead"),
        (item(role="user", content=[{"type": "input_file", "file_id": "x"}]), "reads text only"),
        (item(role="tool", content="x"), "function_call_output"),
        ({"background": True}, "stream: true"),
        ({"response_format": {"type": "json_object"}}, "text.format"),
    ],
)
def test_the_error_says_what_to_do(body: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidRequest, match=words):
        ask(body)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff", b'{"input": ' + b"[" * 5000])
def test_bodies_that_are_no_request(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        decode(body)


def test_defaults_and_what_is_ignored() -> None:
    found = ask(
        {
            "store": True,
            "background": False,
            "previous_response_id": None,
            "include": ["reasoning.encrypted_content", "web_search_call.action.sources"],
            "text": {"verbosity": "low"},
            "reasoning": {"summary": "auto", "generate_summary": "auto"},
            "max_tool_calls": 3,
            "service_tier": "auto",
            "anything": {"a": 1},
            "tools": [],
        }
    )
    assert (found.n, found.stream, found.parallel_tool_calls, found.include_reasoning) == (
        1,
        False,
        True,
        True,
    )
    assert (found.schema, found.logprobs, found.effort, found.budget) == (None, None, None, None)
    assert found.tools.choice == "none"
    assert found.messages == [{"role": "user", "content": "Hello"}]


def test_what_a_request_says_is_what_the_engine_gets() -> None:
    engine = replay("Hello", **GRAMMAR)
    body = {"max_output_tokens": 3, "temperature": 0.5, "top_p": 0.25, "seed": 7, "stop": "x", "top_k": 9}
    body |= {"min_p": 0.5, "presence_penalty": 1, "frequency_penalty": 2, "repetition_penalty": 1.5}
    body |= {"logit_bias": {"5": 1}, "ignore_eos": True, "reasoning": {"effort": "none"}}
    response = post(body, engine).json()
    sampling = engine.requests[0].sampling
    assert (sampling.max_tokens, sampling.temperature, sampling.top_p, sampling.seed) == (3, 0.5, 0.25, 7)
    assert (sampling.stop, sampling.top_k, sampling.min_p) == (("x",), 9, 0.5)
    assert (sampling.presence_penalty, sampling.frequency_penalty, sampling.repetition_penalty) == (1, 2, 1.5)
    assert (sampling.logit_bias, sampling.ignore_eos) == ({5: 1}, True)
    assert engine.requests[0].prompt.endswith("<think>\n\n</think>\n\n")
    assert seen(response) == [("message", "Hel", "!")]


def test_a_response_repeats_its_request() -> None:
    body = {
        "instructions": "Be brief.",
        "tools": [FLAT_TIME, {"type": "custom", "name": "note"}],
        "tool_choice": "none",
        "metadata": {"a": "b"},
        "temperature": 0.5,
        "top_p": 0.5,
        "max_output_tokens": 9,
        "max_tool_calls": 2,
        "reasoning": {"effort": "high"},
        "text": {"verbosity": "low"},
        "user": "me",
        "prompt_cache_key": "key",
        "safety_identifier": "id",
    }
    response = answer("x", body)
    changed = {"tools", "reasoning", "text"}
    assert {name: response[name] for name in body.keys() - changed} == {
        name: body[name] for name in body.keys() - changed
    }
    assert response["tools"] == [{**FLAT_TIME, "parameters": None, "strict": None}, body["tools"][1]]
    assert response["reasoning"] == {"effort": "high", "summary": None}
    assert response["text"] == {"verbosity": "low", "format": {"type": "text"}}
    assert response["previous_response_id"] is None
    assert response["truncation"] == "disabled"


# -- the conversation ----------------------------------------------------------

THOUGHT = {"type": "reasoning", "id": "rs_1", "content": [{"type": "reasoning_text", "text": "Hm."}]}
SUMMARY = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}], "content": None}
SECRET = {"type": "reasoning", "summary": [], "encrypted_content": "xyz"}
SAID = {
    "type": "message",
    "id": "msg_1",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
}


def called(call_id: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "get_time", "arguments": "{}", "id": None}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": f"result {call_id}"}


def chat_call(call_id: str, name: str = "get_time", arguments: str = "{}") -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool(call_id: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": f"result {call_id}"}


HISTORIES: list[tuple[list[Any], list[dict[str, Any]]]] = [
    ([*HELLO], [*HELLO]),
    ([THOUGHT, SAID], [{"role": "assistant", "reasoning": "Hm.", "content": "I look."}]),
    ([SUMMARY, SAID], [{"role": "assistant", "reasoning": "Hm.", "content": "I look."}]),
    ([SECRET, SAID], [{"role": "assistant", "content": "I look."}]),
    (
        [
            THOUGHT,
            SAID,
            called("1"),
            called("2"),
            result("1"),
            result("2"),
            THOUGHT,
            called("3"),
            result("3"),
        ],
        [
            {
                "role": "assistant",
                "reasoning": "Hm.",
                "content": "I look.",
                "tool_calls": [chat_call("1"), chat_call("2")],
            },
            tool("1"),
            tool("2"),
            {"role": "assistant", "reasoning": "Hm.", "tool_calls": [chat_call("3")]},
            tool("3"),
        ],
    ),
    (
        [called("1"), SAID, THOUGHT, called("2"), result("1"), result("2"), SAID],
        [
            {
                "role": "assistant",
                "reasoning": "Hm.",
                "content": "I look.",
                "tool_calls": [chat_call("1"), chat_call("2")],
            },
            tool("1"),
            tool("2"),
            {"role": "assistant", "content": "I look."},
        ],
    ),
    (
        [SAID, SAID, THOUGHT, SAID, *HELLO],
        [
            {"role": "assistant", "content": "I look."},
            {"role": "assistant", "content": "I look."},
            {"role": "assistant", "reasoning": "Hm.", "content": "I look."},
            *HELLO,
        ],
    ),
    (
        [THOUGHT, THOUGHT, {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]}],
        [{"role": "assistant", "reasoning": "Hm.\nHm.", "content": "No."}],
    ),
    (
        [
            {"type": "custom_tool_call", "call_id": "1", "name": "note", "input": 'a "b"\né'},
            {
                "type": "custom_tool_call_output",
                "call_id": "1",
                "output": [{"type": "input_text", "text": "ok"}],
            },
        ],
        [
            {"role": "assistant", "tool_calls": [chat_call("1", "note", '{"input": "a \\"b\\"\\né"}')]},
            {"role": "tool", "tool_call_id": "1", "content": "ok"},
        ],
    ),
    (
        [{**called("1"), "namespace": "crm"}, result("1")],
        [{"role": "assistant", "tool_calls": [chat_call("1", "crm__get_time")]}, tool("1")],
    ),
    (
        [
            {
                "role": "user",
                "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
            }
        ],
        [{"role": "user", "content": "a\nb"}],
    ),
]


@pytest.mark.parametrize(("items", "messages"), HISTORIES)
def test_the_conversation_is_that_of_chat_completions(items: Any, messages: Any) -> None:
    found = ask({"input": items})
    same = chat_ask(*decode_chat(json.dumps({"messages": messages}).encode()))
    assert found.messages == same.messages
    assert found.history_calls == same.history_calls


@pytest.mark.parametrize(
    ("instructions", "before", "expected"),
    [
        ("A", [], ["A"]),
        ("A", ["developer"], ["A\n\n0"]),
        ("A", ["system", "developer"], ["A\n\n0\n\n1"]),
        (None, ["system", "developer"], ["0", "1"]),
        ("", [], [""]),
    ],
)
def test_instructions_and_what_stands_first_are_one_message(
    instructions: str | None, before: list[str], expected: list[str]
) -> None:
    first = [{"role": role, "content": str(n)} for n, role in enumerate(before)]
    found = ask({"instructions": instructions, "input": [*first, *HELLO, {"role": "system", "content": "z"}]})
    *start, user, last = found.messages
    assert [(one["role"], one["content"]) for one in start] == [("system", text) for text in expected]
    assert (user["role"], last) == ("user", {"role": "system", "content": "z"})


def test_a_message_is_named_by_its_first_item() -> None:
    found = ask({"instructions": "A", "input": [{"role": "system", "content": "B"}, *HISTORIES[4][0]]})
    names = [renamed(InvalidRequest("", param=f"messages[{n}].content"), found.paths) for n in range(6)]
    assert [error.param for error in names if isinstance(error, InvalidRequest)] == [
        *("instructions.content", "input[1].content", "input[5].content", "input[6].content"),
        *("input[7].content", "input[9].content"),
    ]


# -- tools of other kinds ------------------------------------------------------

NOTE = {"type": "custom", "name": "note", "description": "Writes it down", "format": {"type": "text"}}


def written(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


@pytest.mark.parametrize("text", ["plain", 'a "b"\n\\', "😀é", "", "\u2028"])
def test_a_custom_tool_is_called_with_a_text(text: str) -> None:
    body = {"tools": [NOTE, FLAT_TIME], **NOT_THINKING}
    for ascii_only in (True, False):
        arguments = json.dumps({"input": text}, ensure_ascii=ascii_only)
        assert seen(answer(written("note", arguments), body)) == [("custom", "note", text)]


def test_a_custom_tool_whose_call_is_cut() -> None:
    from unbraid.engines.replay import Recording

    text = '<tool_call>\n{"name": "note", "arguments": {"input": "half \\u00e9 \\ud83d'
    response = answer(Recording(text, "length"), {"tools": [NOTE], **NOT_THINKING})
    assert seen(response) == [("custom", "note", "half é ", "!")]


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "custom", "name": "note"},
        {"type": "function", "name": "note"},
        {"type": "allowed_tools", "mode": "required", "tools": [{"type": "custom", "name": "note"}]},
    ],
)
def test_a_custom_tool_is_demanded(choice: dict[str, Any]) -> None:
    engine = replay(written("note", '{"input": "x"}'), **GRAMMAR)
    body = {"tools": [FLAT_TIME, NOTE], "tool_choice": choice, **NOT_THINKING}
    assert seen(post(body, engine).json()) == [("custom", "note", "x")]
    assert engine.requests[0].constraint is not None
    assert "get_time" not in engine.requests[0].constraint.grammar


@pytest.mark.parametrize(
    "choice", ["auto", {"type": "function", "name": "get_weather"}, {"type": "function"}]
)
def test_tools_in_a_namespace(choice: Any) -> None:
    if isinstance(choice, dict) and "name" not in choice:
        choice = {"type": "function", "name": "get_weather", "namespace": "crm"}
    body = {"tools": [CRM, FLAT_TIME], "tool_choice": choice, **NOT_THINKING}
    text = CALL.replace("get_weather", "crm__get_weather")
    response = answer(text, body, GRAMMAR)
    assert seen(response) == [("call", "crm", "get_weather", '{"city": "Oslo"}')]
    assert response["tools"] == [CRM, {**FLAT_TIME, "parameters": None, "strict": None}]


def test_a_name_that_several_namespaces_have_must_be_said_with_one() -> None:
    tools = [CRM, {**CRM, "name": "erp"}]
    body = {"tools": tools, "tool_choice": {"type": "function", "name": "get_weather"}}
    with pytest.raises(InvalidRequest) as caught:
        ask(body)
    assert caught.value.param == "tool_choice"
    named = ask({**body, "tool_choice": {"type": "function", "name": "get_weather", "namespace": "erp"}})
    assert named.tools.choice == {"type": "function", "function": {"name": "erp__get_weather"}}
