"""The Responses API, whole and streamed; the numbers are those of the list of known traps."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.engines.replay import Recording
from unbraid.errors import EngineError, InvalidRequest
from unbraid.events import Event

from .helpers import CALL, NOT_THINKING, THINKING, raw, replay
from .responses_helpers import (
    FLAT_TIME,
    FLAT_WEATHER,
    GRAMMAR,
    PATH,
    Stream,
    answer,
    both,
    events_of,
    neutral,
    post,
    seen,
)

ARGUMENTS = '{"city": "Oslo"}'
WEATHER_CALL = ("call", "get_weather", ARGUMENTS)
OPEN_THOUGHT = "I think.\n</think>\n\n"
NAMED = {"type": "function", "name": "get_weather"}


def call(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


@pytest.mark.parametrize("choice", [{}, {"tool_choice": None}, {"tool_choice": "auto"}])
def test_C1_a_null_choice_is_auto(choice: dict[str, Any]) -> None:
    response = answer(CALL, {"tools": [FLAT_WEATHER], **choice, **NOT_THINKING})
    assert seen(response) == [WEATHER_CALL]
    assert response["status"] == "completed"
    assert response["tool_choice"] == "auto"


@pytest.mark.parametrize("mode", ["auto", "required"])
def test_C2_allowed_tools(mode: str) -> None:
    choice = {"type": "allowed_tools", "mode": mode, "tools": [NAMED]}
    body = {"tools": [FLAT_WEATHER, FLAT_TIME], "tool_choice": choice, **NOT_THINKING}
    assert seen(answer(CALL, body, GRAMMAR)) == [WEATHER_CALL]
    engine = replay(CALL, **GRAMMAR)
    assert post(body, engine).json()["tool_choice"] == choice
    constraint = engine.requests[0].constraint
    assert constraint is not None
    assert "get_weather" in constraint.grammar
    assert "get_time" not in constraint.grammar
    assert "get_time" in engine.requests[0].prompt


STRICT = {**FLAT_WEATHER, "strict": True}


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (f"{OPEN_THOUGHT}Hello", {}),
        (f'{OPEN_THOUGHT}{{"a": 1}}', {"text": {"format": {"type": "json_object"}}}),
        (f"{OPEN_THOUGHT}{CALL}", {"tools": [FLAT_WEATHER], "tool_choice": "required"}),
        (f"{OPEN_THOUGHT}{CALL}", {"tools": [STRICT]}),
    ],
    ids=["plain", "schema", "required", "strict"],
)
def test_C3_hidden_thinking_changes_nothing_else(text: str, body: dict[str, Any]) -> None:
    shown = answer(text, {**body, **THINKING}, GRAMMAR)
    engine = replay(text, **GRAMMAR)
    full, stream, raw_text = asyncio.run(both(engine, {**body, **THINKING, "include_reasoning": False}))
    assert seen(shown)[0] == ("reasoning", "I think.")
    assert seen(full) == seen(stream.response) == seen(shown)[1:]
    assert "I think" not in raw_text
    assert (engine.requests[0].constraint is None) == (not body)
    for response in (shown, full, stream.response):
        assert response["usage"]["output_tokens_details"]["reasoning_tokens"] == len("I think.")


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_C5_a_forced_call_that_is_cut(choice: Any) -> None:
    text = CALL + '\n<tool_call>\n{"name": "get_time", "arguments": {"zone": "Eu'
    body = {"tools": [FLAT_WEATHER, FLAT_TIME], "tool_choice": choice, **NOT_THINKING}
    response = answer(Recording(text, "length"), body, GRAMMAR)
    assert seen(response) == [WEATHER_CALL, ("call", "get_time", '{"zone": "Eu', "!")]
    assert response["status"] == "incomplete"
    assert response["incomplete_details"] == {"reason": "max_output_tokens"}
    assert response["completed_at"] is None


@pytest.mark.parametrize("arguments", ["{}", "null"])
def test_C6_a_named_call_without_arguments(arguments: str) -> None:
    body = {"tools": [FLAT_TIME], "tool_choice": {"type": "function", "name": "get_time"}, **NOT_THINKING}
    assert seen(answer(call("get_time", arguments), body, GRAMMAR)) == [("call", "get_time", "{}")]


@pytest.mark.parametrize("arguments", ["3", '"x"', ""])
def test_C6_a_named_call_that_is_none(arguments: str) -> None:
    """No call: an error in the one way and in the other."""
    body = {"tools": [FLAT_TIME], "tool_choice": {"type": "function", "name": "get_time"}, **NOT_THINKING}
    text = call("get_time", arguments)
    full = post(body, replay(text, **GRAMMAR))
    stream = Stream(post({**body, "stream": True}, replay(text, **GRAMMAR)).text)
    assert full.status_code == 502
    assert stream.response["status"] == "failed"
    assert stream.response["error"]["message"] == full.json()["error"]["message"]
    assert all(item["type"] == "message" for item in stream.items)


def test_C7_one_call_only() -> None:
    text = f"Two.\n{CALL}\n{call('get_time', '{}')}"
    body = {"tools": [FLAT_WEATHER, FLAT_TIME], "parallel_tool_calls": False, **NOT_THINKING}
    response = answer(text, body)
    assert seen(response) == [("message", "Two."), WEATHER_CALL]
    assert response["parallel_tool_calls"] is False


@pytest.mark.parametrize(
    ("text", "engine_reason", "choice", "items", "status", "reason"),
    [
        ("Hi", "stop", "auto", [("message", "Hi")], "completed", None),
        (CALL, "stop", "auto", [WEATHER_CALL], "completed", None),
        (CALL, "stop", "required", [WEATHER_CALL], "completed", None),
        (CALL, "stop", NAMED, [WEATHER_CALL], "completed", None),
        ("Hi", "length", "auto", [("message", "Hi", "!")], "incomplete", "max_output_tokens"),
        (CALL, "length", "auto", [WEATHER_CALL], "incomplete", "max_output_tokens"),
        (CALL, "length", NAMED, [WEATHER_CALL], "incomplete", "max_output_tokens"),
        (CALL, "stop", "none", [("message", CALL)], "completed", None),
        ("Hi", "content_filter", "auto", [("message", "Hi", "!")], "incomplete", "content_filter"),
        ("Hi", "abort", "auto", [("message", "Hi", "!")], "incomplete", ""),
        (CALL[:-20], "stop", "auto", [(*WEATHER_CALL[:2], '{"city": "', "!")], "incomplete", ""),
    ],
)
def test_C8_how_a_response_ends(
    text: str, engine_reason: str, choice: Any, items: Any, status: str, reason: str | None
) -> None:
    body = {"tools": [FLAT_WEATHER], "tool_choice": choice, **NOT_THINKING}
    response = answer(Recording(text, engine_reason), body, GRAMMAR)
    assert seen(response) == items
    assert response["status"] == status
    details = None if reason is None else {"reason": reason or None}
    assert response["incomplete_details"] == details


def test_C8_a_stop_string_within_a_call() -> None:
    response = answer(CALL, {"tools": [FLAT_WEATHER], "stop": ["Os"], **NOT_THINKING})
    assert seen(response) == [("call", "get_weather", '{"city": "', "!")]
    assert response["status"] == "incomplete"


def test_C8_thinking_that_is_cut() -> None:
    response = answer(Recording("I should first", "length"), THINKING)
    assert seen(response) == [("reasoning", "I should first", "!")]


def test_C8_nothing_at_all() -> None:
    assert answer("", NOT_THINKING)["output"] == []


PIECES = [f"Thought.</think>Text.{CALL}{call('get_time', '{}')}More."]
ALL = [
    ("reasoning", "Thought."),
    ("message", "Text."),
    WEATHER_CALL,
    ("call", "get_time", "{}"),
    ("message", "More."),
]


def test_C9_C10_everything_in_one_piece() -> None:
    body = {"tools": [FLAT_WEATHER, FLAT_TIME], **THINKING}
    assert seen(answer(Recording(PIECES), body)) == ALL
    assert seen(answer(Recording(list(PIECES[0])), body)) == ALL


def test_C11_a_call_without_arguments_first() -> None:
    text = call("get_time", "{}") + "\n" + CALL
    response = answer(text, {"tools": [FLAT_WEATHER, FLAT_TIME], **NOT_THINKING})
    assert seen(response) == [("call", "get_time", "{}"), WEATHER_CALL]


@pytest.mark.parametrize(
    "value", ["}", "</tool_call>", 'a "b" c', "x\ny", "é", "😀👩‍👩‍👧", "\\", "{[<think>"]
)
def test_C12_difficult_values(value: str) -> None:
    arguments = json.dumps({"city": value}, ensure_ascii="é" in value)
    text = call("get_weather", arguments)
    response = answer(text, {"tools": [FLAT_WEATHER], **NOT_THINKING}, {"special": ()})
    assert seen(response) == [("call", "get_weather", arguments)]


@pytest.mark.parametrize("split", [None, 1, 7])
def test_C13_reasoning_tokens(split: int | None) -> None:
    text = "Größe 😀 of it.\n</think>\n\nDone."
    pieces: Any = text if split is None else [text[n : n + split] for n in range(0, len(text), split)]
    usage = answer(Recording(pieces), THINKING)["usage"]
    assert usage["output_tokens_details"] == {"reasoning_tokens": len("Größe 😀 of it.".encode())}
    assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
    assert usage["input_tokens_details"] == {"cached_tokens": 0, "cache_write_tokens": 0}
    for body, options in ((NOT_THINKING, {}), ({}, {"reasoning_parser": None})):
        found = answer("Done.", body, **options)["usage"]
        assert found["output_tokens_details"] == {"reasoning_tokens": 0}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("body", "options", "param"),
    [
        ({"thinking_token_budget": 5}, {"reasoning_parser": None}, "thinking_token_budget"),
        ({"tools": [FLAT_WEATHER], "tool_choice": "required"}, {}, "tool_choice"),
        ({"text": {"format": {"type": "json_schema", "schema": {"type": "object"}}}}, {}, "text.format"),
    ],
)
def test_C14_refused_before_the_first_byte(
    body: dict[str, Any], options: dict[str, Any], param: str, stream: bool
) -> None:
    engine = replay("x")
    refused = post({"stream": stream, **body}, engine, **options)
    assert refused.status_code == 400, refused.text
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert refused.json()["error"]["param"] == param
    assert not engine.requests


@pytest.mark.parametrize("stream", [True, False])
def test_C14_the_engine_refuses(stream: bool) -> None:
    fault = InvalidRequest("messages: the prompt is too long", param="messages")
    refused = post({"stream": stream}, replay(Recording("", fault=fault)))
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert (error["param"], error["message"]) == ("input", "input: the prompt is too long")


def test_C15_a_parser_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    from unbraid.machine.core import Machine

    feed = Machine.feed

    def failing(machine: Any, text: str, ids: Any = None) -> list[Event]:
        if "boom" in text:
            raise KeyError("inside")
        return feed(machine, text, ids)

    monkeypatch.setattr(Machine, "feed", failing)
    recording = Recording(["so far ", "boom", "more"])
    full = post(NOT_THINKING, replay(recording))
    stream = Stream(post({**NOT_THINKING, "stream": True}, replay(recording)).text)
    assert full.status_code == 500
    assert full.json()["error"]["type"] == "server_error"
    assert seen(stream.response) == [("message", "so far", "!")]
    assert stream.response["error"] == {
        "code": "server_error",
        "message": full.json()["error"]["message"],
    }
    assert "inside" not in full.text


def test_C16_the_order_of_events() -> None:
    _, stream, _ = asyncio.run(
        both(
            replay(f"I think.\n</think>\n\nText.{CALL}"),
            {"tools": [FLAT_WEATHER], **THINKING},
        )
    )
    assert stream.types == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "reasoning_text.delta", "reasoning_text.done"),
        *("content_part.done", "output_item.done"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.done"),
        *("content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done"),
        *("output_item.done", "completed"),
    ]
    assert len({item["id"] for item in stream.items}) == 3
    assert [item["id"].split("_")[0] for item in stream.items] == ["rs", "msg", "fc"]


@pytest.mark.parametrize("pieces", [["Half a"], ["I think.</think>", CALL[:-30]], [f"Well.{CALL}"]])
@pytest.mark.parametrize("fault", [EngineError("the engine died"), RuntimeError("secret")])
def test_C16_a_failure_within_the_answer(pieces: list[str], fault: Exception) -> None:
    engine = replay(Recording(pieces, fault=fault))
    stream = Stream(post({"tools": [FLAT_WEATHER], "stream": True}, engine).text)
    response = stream.response
    assert response["status"] == "failed"
    assert response["error"]["code"] == "server_error"
    assert ("the engine died" in response["error"]["message"]) == isinstance(fault, EngineError)
    assert "secret" not in json.dumps(response)
    assert response["usage"] is None
    assert response["output"]


def test_C16_a_prompt_that_is_found_wrong_within_the_answer() -> None:
    fault = InvalidRequest("messages: too long after all", param="messages")
    stream = Stream(post({"stream": True}, replay(Recording(["Half a"], fault=fault))).text)
    assert stream.response["error"] == {"code": "invalid_prompt", "message": "input: too long after all"}


@pytest.mark.parametrize("fault", [EngineError("the engine died"), RuntimeError("secret")])
def test_C16_a_failure_before_the_answer(fault: Exception) -> None:
    failed = post({"stream": True}, replay(Recording("", fault=fault)))
    assert failed.status_code >= 500
    assert failed.headers["content-type"] == "application/json"
    assert failed.json()["error"]["type"] == "server_error"


def test_C18_ids_count_on_from_the_history() -> None:
    special = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>")
    special += ("<|tool_call_argument_begin|>", "<|tool_call_end|>", "<think>", "</think>")
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>get_time<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    history: list[Any] = [{"role": "user", "content": "Hello"}]
    for n in range(2):
        name = f"functions.get_time:{n}"
        history += [
            {"type": "function_call", "call_id": name, "name": "get_time", "arguments": "{}"},
            {"type": "function_call_output", "call_id": name, "output": "12"},
        ]
    options: Any = {"reasoning_parser": None, "tool_call_parser": "kimi_k2", "chat_template": "unbraid"}
    full, stream, _ = asyncio.run(
        both(replay(text, special=special), {"input": history, "tools": [FLAT_TIME]}, **options)
    )
    for response in (full, stream.response):
        assert response["output"][0]["call_id"] == "functions.get_time:2"


ODD_SCHEMAS: list[Any] = [
    None,
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
    {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
    {"type": "object", "properties": {"x": {"enum": [1, 2.5, 3]}}},
]


@pytest.mark.parametrize("name", ["plain", "with-dash", "with.dot"])
@pytest.mark.parametrize("schema", ODD_SCHEMAS)
def test_C19_odd_tools(name: str, schema: Any) -> None:
    body = {"tools": [{"type": "function", "name": name, "parameters": schema}], **NOT_THINKING}
    assert seen(answer(call(name, '{"x": 1}'), body)) == [("call", name, '{"x": 1}')]


def test_C19_a_request_is_not_changed() -> None:
    from unbraid.server.apis.responses_chat import ask_of
    from unbraid.server.apis.responses_request import decode
    from unbraid.server.plan import plan
    from unbraid.server.startup import prepare

    from .helpers import Options

    engine = replay("x", **GRAMMAR)
    setup = prepare(engine, Options(reasoning_parser="qwen3", tool_call_parser="hermes"))
    history = [
        {"role": "user", "content": [{"type": "input_text", "text": "Hello"}]},
        {"type": "reasoning", "id": "rs_1", "summary": []},
    ]
    tools = [FLAT_WEATHER, {"type": "custom", "name": "note"}]
    sent = {"input": history, "tools": tools, "tool_choice": "required", **THINKING}
    request, plain = decode(json.dumps(sent).encode())
    before = copy.deepcopy(plain)
    plan(ask_of(request, plain), setup, engine, "request")
    assert plain == before == sent


def test_C21_no_calls_wanted() -> None:
    body = {"tools": [FLAT_WEATHER], "tool_choice": "none", **THINKING}
    assert seen(answer(f"{OPEN_THOUGHT}See: {CALL}", body)) == [
        ("reasoning", "I think."),
        ("message", f"See: {CALL}"),
    ]
    for body in ({}, {"tools": []}):
        assert seen(answer(f"See: {CALL}", {**body, **NOT_THINKING})) == [("message", f"See: {CALL}")]


def test_C22_an_unknown_tool() -> None:
    response = answer(call("nothing", '{"a": 1}'), {"tools": [FLAT_WEATHER], **NOT_THINKING})
    assert seen(response) == [("call", "nothing", '{"a": 1}')]


def test_C23_markers_in_the_history() -> None:
    history = [
        {"role": "user", "content": "What is <think>?"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nA tag."},
        {"role": "user", "content": "And an open one: <think>"},
    ]
    assert seen(answer("Plain.", {"input": history})) == [("message", "Plain.")]
    assert seen(answer("In.\n</think>\n\nOut.", {"input": history, **THINKING})) == [
        ("reasoning", "In."),
        ("message", "Out."),
    ]


def test_C24_text_without_special_tokens() -> None:
    assert seen(answer("Thought.\n\nDone.", THINKING)) == [("reasoning", "Thought.\n\nDone.")]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *((name, {"type": "object"}) for name in ("guided_json", "structured_outputs", "response_format")),
        ("guided_regex", "a"),
        ("functions", [{}]),
        ("function_call", "auto"),
        ("max_tokens", 5),
        ("logprobs", True),
        ("reasoning_effort", "low"),
    ],
)
def test_C25_fields_of_other_apis(field: str, value: Any) -> None:
    refused = post({field: value})
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == field


HARMONY: dict[str, Any] = {
    "reasoning_parser": "openai_gptoss",
    "tool_call_parser": "openai",
    "markers": "text",
    "chat_template": "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>"
    "{% endfor %}<|start|>assistant",
}
CHANNELS = (
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>"
    "<|start|>assistant<|channel|>analysis<|message|>so<|end|><|start|>assistant<|channel|>commentary "
    'to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>'
)


def test_A10_channels_are_items_in_the_order_in_which_they_came() -> None:
    response = answer(CHANNELS, {"tools": [FLAT_WEATHER]}, **HARMONY)
    assert seen(response) == [
        ("reasoning", "hm"),
        ("message", "I look."),
        ("reasoning", "so"),
        WEATHER_CALL,
    ]


def test_it_is_stateless() -> None:
    async def run() -> list[Any]:
        async with raw(replay("x")) as http:
            return [
                await http.get(f"{PATH}/resp_1"),
                await http.delete(f"{PATH}/resp_1"),
                await http.post(f"{PATH}/resp_1/cancel"),
                await http.get(f"{PATH}/resp_1/input_items"),
            ]

    for found in asyncio.run(run()):
        assert found.status_code == 404
        assert "keeps no responses" in found.json()["error"]["message"]
    assert answer("x", {"store": True})["store"] is False


def test_a_stream_has_no_other_end() -> None:
    text = post({"stream": True}, replay("x")).text
    assert "[DONE]" not in text
    assert events_of(text)[-1]["type"] == "response.completed"


BRAIDED = (
    f"I <think> so.\n</think>\n\nText 😀.\n{CALL}\n{call('note', json.dumps({'input': 'a é😀'}))}\n"
    f"{call('get_time', '{}')}\nMore."
)


@settings(derandomize=True, deadline=None, max_examples=25, database=None)
@given(
    st.lists(st.integers(1, len(BRAIDED) - 1), max_size=12), st.sampled_from([len(BRAIDED), 20, 60, 120, 200])
)
def test_any_cutting_gives_the_same_items(places: list[int], length: int) -> None:
    text, reason = BRAIDED[:length], "stop" if length == len(BRAIDED) else "length"
    ends = sorted({place for place in places if place < len(text)})
    pieces = [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]
    body = {"tools": [FLAT_WEATHER, FLAT_TIME, {"type": "custom", "name": "note"}], **THINKING}
    whole, stream, _ = asyncio.run(both(replay(Recording(text, reason), Recording(pieces, reason)), body))
    assert neutral(stream.response) == neutral(whole)
    if reason == "stop":
        kinds = ["reasoning", "message", "call", "custom", "call", "message"]
        assert [kind for kind, *_ in seen(whole)] == kinds


LOGPROBS = {"include": ["message.output_text.logprobs"], "top_logprobs": 2}


def spelled(tokens: list[dict[str, Any]]) -> str:
    return b"".join(bytes(token["bytes"]) for token in tokens).decode()


@settings(derandomize=True, deadline=None, max_examples=15, database=None)
@given(st.lists(st.integers(1, len(BRAIDED) - 1), max_size=12), st.booleans())
def test_C4_log_probabilities_are_those_of_the_content(places: list[int], shown: bool) -> None:
    ends = sorted(set(places))
    pieces = [BRAIDED[start:end] for start, end in zip([0, *ends], [*ends, len(BRAIDED)], strict=True)]
    body = {"tools": [FLAT_WEATHER, FLAT_TIME], "include_reasoning": shown, **LOGPROBS, **THINKING}
    whole, stream, _ = asyncio.run(both(replay(BRAIDED, Recording(pieces)), body))
    assert neutral(stream.response) == neutral(whole)
    messages = [item["content"][0] for item in whole["output"] if item["type"] == "message"]
    assert [spelled(one["logprobs"]) for one in messages] == [one["text"] for one in messages]
    assert all(len(token["top_logprobs"]) == 2 for one in messages for token in one["logprobs"])
    for event in stream.events:
        if event["type"] == "response.output_text.done":
            assert spelled(event["logprobs"]) == event["text"]
    deltas = [event for event in stream.events if event["type"] == "response.output_text.delta"]
    assert spelled([token for event in deltas for token in event["logprobs"]]) == "".join(
        event["delta"] for event in deltas
    )


def test_C4_no_log_probabilities_unless_they_are_asked_for() -> None:
    engine = replay("Hello")
    assert post({}, engine).json()["output"][0]["content"][0]["logprobs"] == []
    assert engine.requests[0].logprobs is None
    body = {"include": LOGPROBS["include"], "include_reasoning": False}
    [part] = post(body, replay("Hi")).json()["output"][0]["content"]
    assert [token["top_logprobs"] for token in part["logprobs"]] == [[], []]
