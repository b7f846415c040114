"""Answers of the Messages API, whole and streamed; the numbers are those of the list of known traps."""

from __future__ import annotations

import asyncio
import copy
import json
import random
from typing import Any

import pytest

from unbraid.engines.replay import Recording
from unbraid.errors import InvalidRequest
from unbraid.events import Event

from .anthropic_helpers import (
    BODY,
    NOT_THINKING,
    THINKING,
    TIME_TOOL,
    WEATHER_TOOL,
    alike,
    both,
    fold,
    parse_events,
    post,
)
from .helpers import CALL, USER, replay

GRAMMAR: Any = {"dialects": ("llguidance",)}
OPEN_THOUGHT = "I think.\n</think>\n\n"
TOOLS = {"tools": [WEATHER_TOOL, TIME_TOOL]}


def ask(text: Any, body: dict[str, Any], engine: dict[str, Any] | None = None, **options: Any) -> Any:
    """The message of a request, the same whole and streamed."""
    message, _ = asyncio.run(both(replay(text, **(engine or {})), body, **options))
    return message


def said(message: Any) -> tuple[str, str, list[tuple[str, Any]], str]:
    """Thinking, text, calls and the reason of the end."""
    blocks = message["content"]
    thinking = "".join(one["thinking"] for one in blocks if one["type"] == "thinking")
    text = "".join(one["text"] for one in blocks if one["type"] == "text")
    calls = [(one["name"], one["input"]) for one in blocks if one["type"] == "tool_use"]
    return thinking, text, calls, message["stop_reason"]


def call(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


OSLO = ("get_weather", {"city": "Oslo"})


@pytest.mark.parametrize("choice", [{}, {"tool_choice": None}, {"tool_choice": {"type": "auto"}}])
def test_C1_a_null_choice_is_auto(choice: dict[str, Any]) -> None:
    message = ask(CALL, {**TOOLS, **choice, **NOT_THINKING})
    assert said(message) == ("", "", [OSLO], "tool_use")
    assert [one["type"] for one in message["content"]] == ["tool_use"]


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (f"{OPEN_THOUGHT}Hello", {}),
        (
            f'{OPEN_THOUGHT}{{"a": 1}}',
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
        ),
        (f"{OPEN_THOUGHT}{CALL}", {"tools": [WEATHER_TOOL], "tool_choice": {"type": "any"}}),
        (f"{OPEN_THOUGHT}{CALL}", {"tools": [{**WEATHER_TOOL, "strict": True}]}),
    ],
    ids=["plain", "schema", "any", "strict"],
)
@pytest.mark.parametrize("kind", ["enabled", "adaptive"])
def test_C3_omitted_thinking_changes_nothing_else(text: str, body: dict[str, Any], kind: str) -> None:
    thinking = {"type": kind, "budget_tokens": 3000} if kind == "enabled" else {"type": kind}

    def run(display: str) -> Any:
        engine = replay(text, **GRAMMAR)
        sent = {**body, "thinking": {**thinking, "display": display}}
        message, stream = asyncio.run(both(engine, sent))
        return message, stream, engine.requests[0].constraint

    shown, hidden = run("summarized"), run("omitted")
    assert (shown[2] is None) == (not body)
    assert shown[2] == hidden[2]
    assert said(shown[0])[0] == "I think."
    assert said(hidden[0]) == ("", *said(shown[0])[1:])
    assert "I think" not in hidden[1]
    for message in (shown[0], hidden[0]):
        assert message["usage"]["output_tokens_details"]["thinking_tokens"] == len("I think.")


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "get_weather"}])
def test_C5_a_forced_call_that_is_cut(choice: Any) -> None:
    text = CALL + '\n<tool_call>\n{"name": "get_time", "arguments": {"at": 1, "zone": "Eu'
    message = ask(Recording(text, "length"), {**TOOLS, "tool_choice": choice, **NOT_THINKING}, GRAMMAR)
    assert said(message) == ("", "", [OSLO, ("get_time", {"at": 1})], "max_tokens")


@pytest.mark.parametrize("arguments", ["{}", "null", "3", '"x"', ""])
def test_C6_a_named_call_with_odd_arguments(arguments: str) -> None:
    choice = {"type": "tool", "name": "get_time"}
    body = {"tools": [TIME_TOOL], "tool_choice": choice, **NOT_THINKING}
    message = ask(call("get_time", arguments), body, GRAMMAR, enforce="off")
    whole = arguments in ("{}", "null")
    assert said(message)[2:] == (([("get_time", {})], "tool_use") if whole else ([], "end_turn"))


@pytest.mark.parametrize("kind", ["auto", "any"])
def test_C7_one_call_only(kind: str) -> None:
    text = f"Two.\n{CALL}\n{call('get_time', '{}')}"
    choice = {"type": kind, "disable_parallel_tool_use": True}
    message = ask(text, {**TOOLS, "tool_choice": choice, **NOT_THINKING}, GRAMMAR)
    assert said(message) == ("", "Two.", [OSLO], "tool_use")


NAMED = {"type": "tool", "name": "get_weather"}


@pytest.mark.parametrize(
    ("text", "engine_reason", "choice", "seen"),
    [
        ("Hi", "stop", {"type": "auto"}, "end_turn"),
        (CALL, "stop", {"type": "auto"}, "tool_use"),
        (CALL, "stop", {"type": "any"}, "tool_use"),
        (CALL, "stop", NAMED, "tool_use"),
        (CALL, "length", {"type": "auto"}, "max_tokens"),
        (CALL, "length", {"type": "any"}, "max_tokens"),
        (CALL, "length", NAMED, "max_tokens"),
        (CALL, "stop", {"type": "none"}, "end_turn"),
        (CALL, "abort", {"type": "auto"}, "max_tokens"),
        (CALL[:-20], "stop", {"type": "auto"}, "max_tokens"),
    ],
)
def test_C8_stop_reasons(text: str, engine_reason: str, choice: Any, seen: str) -> None:
    body = {**TOOLS, "tool_choice": choice, **NOT_THINKING}
    message = ask(Recording(text, engine_reason), body, GRAMMAR)
    assert (message["stop_reason"], message["stop_sequence"]) == (seen, None)


def test_C8_a_stop_sequence() -> None:
    message = ask("one two three", {"stop_sequences": ["two", "three"]})
    assert said(message) == ("", "one ", [], "stop_sequence")
    assert message["stop_sequence"] == "two"


def test_C8_a_stop_sequence_within_a_call() -> None:
    message = ask(CALL, {**TOOLS, "stop_sequences": ["Os"], **NOT_THINKING})
    assert said(message) == ("", "", [("get_weather", {})], "stop_sequence")


def test_C8_the_limit() -> None:
    assert said(ask("one two three", {"max_tokens": 5})) == ("", "one t", [], "max_tokens")


OUTPUT = f"Thought.\n</think>\n\nText.\n{CALL}\n{call('get_time', '{}')}<|im_end|>"


def test_C9_C10_every_cut_gives_the_same() -> None:
    """One piece, single characters and random pieces: the same blocks, each call's start before its input."""
    rng = random.Random(5)
    cuts: list[list[str]] = [[OUTPUT], list(OUTPUT)]
    for _ in range(12):
        places = sorted(rng.sample(range(1, len(OUTPUT)), rng.randint(1, 30)))
        edges = zip([0, *places], [*places, len(OUTPUT)], strict=True)
        cuts.append([OUTPUT[start:end] for start, end in edges])
    messages = [ask(Recording(pieces), {**TOOLS, **THINKING}) for pieces in cuts]
    for message in messages:
        assert said(message) == ("Thought.", "Text.", [OSLO, ("get_time", {})], "tool_use")
        assert alike(message) == alike(messages[0])
        ids = [one["id"] for one in message["content"] if one["type"] == "tool_use"]
        assert len(set(ids)) == 2


def test_C11_a_call_without_arguments_first() -> None:
    text = call("get_time", "{}") + "\n" + CALL
    assert said(ask(text, {**TOOLS, **NOT_THINKING}))[2] == [("get_time", {}), OSLO]


@pytest.mark.parametrize(
    "value", ["}", "</tool_call>", 'a "b" c', "x\ny", "é", "😀👩‍👩‍👧", "\\", "{[<think>", "a\u2028b"]
)
@pytest.mark.parametrize("escaped", [True, False])
def test_C12_difficult_values(value: str, escaped: bool) -> None:
    arguments = json.dumps({"city": value, "n": 2**70}, ensure_ascii=escaped)
    message = ask(call("get_weather", arguments), {**TOOLS, **NOT_THINKING}, {"special": ()})
    assert said(message)[2] == [("get_weather", {"city": value, "n": 2**70})]


@pytest.mark.parametrize("split", [None, 1, 7])
def test_C13_usage(split: int | None) -> None:
    text = "Größe 😀 of it.\n</think>\n\nDone."
    pieces: Any = text if split is None else [text[n : n + split] for n in range(0, len(text), split)]
    engine = replay(Recording(pieces))
    message, stream = asyncio.run(both(engine, THINKING))
    prompt = len(engine.tokenizer.encode(engine.requests[0].prompt))
    assert message["usage"] == {
        "input_tokens": prompt,
        "output_tokens": len(engine.tokenizer.encode(text)),
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
        "output_tokens_details": {"thinking_tokens": len("Größe 😀 of it.".encode())},
    }
    assert parse_events(stream)[0]["message"]["usage"]["input_tokens"] == prompt
    assert ask("Done.", NOT_THINKING)["usage"]["output_tokens_details"] == {"thinking_tokens": 0}
    assert "output_tokens_details" not in ask("Done.", {}, reasoning_parser=None)["usage"]


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize(
    ("body", "options", "path"),
    [
        (THINKING, {"reasoning_parser": None}, "thinking.budget_tokens"),
        ({"tools": [WEATHER_TOOL], "tool_choice": {"type": "any"}}, {}, "tool_choice"),
        (
            {"output_config": {"format": {"type": "json_schema", "schema": {"type": "object"}}}},
            {},
            "output_config.format",
        ),
    ],
    ids=["thinking", "tools", "schema"],
)
def test_C14_refused_before_the_first_byte(stream: bool, body: Any, options: Any, path: str) -> None:
    engine = replay("x")
    answer = asyncio.run(post(engine, {**body, "stream": stream}, **options))
    error = answer.json()
    assert (answer.status_code, error["type"]) == (400, "error")
    assert error["error"]["type"] == "invalid_request_error"
    assert error["error"]["message"].startswith(path)
    assert error["request_id"] == answer.headers["request-id"]
    assert not engine.requests


@pytest.mark.parametrize("stream", [True, False])
def test_C14_the_engine_refuses(stream: bool) -> None:
    fault = InvalidRequest("the prompt is too long", param="messages")
    answer = asyncio.run(post(replay(Recording("", fault=fault)), {"stream": stream}))
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "messages: the prompt is too long"


def test_C15_a_parser_that_fails(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    from unbraid.machine.core import Machine

    caplog.set_level("DEBUG", "unbraid.server")
    feed = Machine.feed

    def failing(machine: Any, text: str, ids: Any = None) -> list[Event]:
        if "boom" in text:
            raise KeyError("inside")
        return feed(machine, text, ids)

    monkeypatch.setattr(Machine, "feed", failing)
    bad = Recording(["so far ", "boom", "more"])
    streamed = asyncio.run(post(replay(bad), {"stream": True, **NOT_THINKING}))
    full = asyncio.run(post(replay(bad), NOT_THINKING))
    events = parse_events(streamed.text)
    assert streamed.status_code == 200
    assert [event["type"] for event in events][-2:] == ["content_block_delta", "error"]
    assert events[-1]["error"]["type"] == "api_error"
    assert events[-1]["request_id"] == streamed.headers["request-id"]
    assert full.status_code == 500
    assert full.json()["error"] == events[-1]["error"]
    told = {record.levelname for record in caplog.records if "so far" in record.getMessage()}
    assert told == {"DEBUG"}
    assert "inside" not in full.text + streamed.text


CUT = [
    ('{"zone": "Eu', {}),
    ('{"zone": "EU", "at": "1', {"zone": "EU"}),
    ('{"at": [1, {"b": 2}, ', {"at": [1, {"b": 2}]}),
    ('{"at": [1, tr', {"at": [1]}),
    ("{", {}),
    ('{"zone', {}),
    ('{"zone":', {}),
]


@pytest.mark.parametrize("reason", ["length", "stop"])
@pytest.mark.parametrize(("arguments", "seen"), CUT)
def test_C17_a_cut_call(arguments: str, seen: Any, reason: str) -> None:
    text = f'{CALL}\n<tool_call>\n{{"name": "get_time", "arguments": {arguments}'
    message = ask(Recording(text, reason), {**TOOLS, **NOT_THINKING})
    assert said(message) == ("", "", [OSLO, ("get_time", seen)], "max_tokens")


def test_C17_broken_arguments() -> None:
    """What is no JSON at all is given as far as it went."""
    text = '<tool_call>\n{"name": "get_time", "arguments": {"a": 1, "b": ]]]\n</tool_call>'
    message = ask(text, {**TOOLS, **NOT_THINKING})
    assert said(message)[2] in ([("get_time", {"a": 1})], [("get_time", {})])
    assert message["stop_reason"] == "max_tokens"


def test_C18_ids_count_on_from_the_history() -> None:
    special = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>")
    special += ("<|tool_call_argument_begin|>", "<|tool_call_end|>", "<think>", "</think>")
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>get_time<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    ids = [f"functions.get_time:{n}" for n in range(2)]
    history = [
        *USER,
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": one, "name": "get_time", "input": {}} for one in ids],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": one, "content": "12"} for one in ids],
        },
    ]
    message = ask(
        text,
        {"messages": history, "tools": [TIME_TOOL]},
        {"special": special},
        reasoning_parser=None,
        tool_call_parser="kimi_k2",
        chat_template="unbraid",
    )
    assert message["content"][0]["id"] == "functions.get_time:2"


ODD_SCHEMAS: list[Any] = [
    {},
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
    {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
    {"type": "object", "properties": {"x": {"enum": [1, 2.5, 3]}}},
]


@pytest.mark.parametrize("name", ["plain", "with-dash", "with.dot"])
@pytest.mark.parametrize("schema", ODD_SCHEMAS)
def test_C19_odd_tools(name: str, schema: Any) -> None:
    body = {"tools": [{"name": name, "input_schema": schema}], **NOT_THINKING}
    before = copy.deepcopy(body)
    assert said(ask(call(name, '{"x": 1}'), body))[2] == [(name, {"x": 1})]
    assert body == before


def test_C21_no_calls_wanted() -> None:
    body = {"tools": [WEATHER_TOOL], "tool_choice": {"type": "none"}, **THINKING}
    assert said(ask(f"{OPEN_THOUGHT}See: {CALL}", body)) == ("I think.", f"See: {CALL}", [], "end_turn")
    assert said(ask(f"See: {CALL}", NOT_THINKING)) == ("", f"See: {CALL}", [], "end_turn")


def test_C22_an_unknown_tool() -> None:
    assert said(ask(call("nothing", '{"a": 1}'), {**TOOLS, **NOT_THINKING}))[2] == [("nothing", {"a": 1})]


def test_C23_markers_in_the_history() -> None:
    messages = [
        {"role": "user", "content": "What is <think>?"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nA tag."},
        {"role": "user", "content": "And an open one: <think>"},
    ]
    assert said(ask("Plain.", {"messages": messages})) == ("", "Plain.", [], "end_turn")
    asked = {"messages": messages, **THINKING}
    assert said(ask("In.\n</think>\n\nOut.", asked)) == ("In.", "Out.", [], "end_turn")


def test_C24_text_without_special_tokens() -> None:
    assert said(ask("Thought.\n\nDone.", THINKING)) == ("Thought.\n\nDone.", "", [], "end_turn")


@pytest.mark.parametrize(
    "field", ["guided_json", "structured_outputs", "response_format", "output_format", "mcp_servers"]
)
def test_C25_other_constraints(field: str) -> None:
    answer = asyncio.run(post(replay("x"), {field: {"type": "object"}}))
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(f"{field} is not supported")


# -- blocks ---------------------------------------------------------------------------


def test_an_empty_answer_is_an_empty_text() -> None:
    message = ask("<|im_end|>", NOT_THINKING)
    assert message["content"] == [{"type": "text", "text": ""}]
    assert said(message)[3] == "end_turn"


def test_thinking_alone_is_the_only_block() -> None:
    message = ask(Recording("I think", "length"), THINKING)
    assert [one["type"] for one in message["content"]] == ["thinking"]
    assert said(message) == ("I think", "", [], "max_tokens")


HARMONY: dict[str, Any] = {
    "reasoning_parser": "openai_gptoss",
    "tool_call_parser": "openai",
    "markers": "text",
    "chat_template": "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>"
    "{% endfor %}<|start|>assistant",
}
CHANNELS = (
    "<|channel|>analysis<|message|>One.<|end|><|start|>assistant<|channel|>commentary<|message|>So.<|end|>"
    "<|start|>assistant<|channel|>analysis<|message|>Two.<|end|><|start|>assistant<|channel|>commentary "
    'to=functions.get_weather <|constrain|>json<|message|>{"city": "Oslo"}<|call|>'
)


def test_blocks_are_in_the_order_of_the_output() -> None:
    message = ask(CHANNELS, TOOLS, **HARMONY)
    order = [(one["type"], one.get("thinking", one.get("text"))) for one in message["content"]]
    assert order == [("thinking", "One."), ("text", "So."), ("thinking", "Two."), ("tool_use", None)]
    assert said(message)[2:] == ([OSLO], "tool_use")


def test_text_behind_calls_is_a_block_of_its_own() -> None:
    text = f"{CALL}\nAnd so on."
    types = [one["type"] for one in ask(text, {**TOOLS, **NOT_THINKING})["content"]]
    assert types == ["tool_use", "text"]


# -- thinking ---------------------------------------------------------------------------


def prompt_of(body: dict[str, Any], text: Any = "x", **options: Any) -> str:
    """The prompt of a request."""
    engine = replay(text)
    answer = asyncio.run(post(engine, body, **options))
    assert answer.status_code == 200, answer.text
    return engine.requests[0].prompt


ON, OFF, LEFT = "assistant\n<think>\n", "assistant\n<think>\n\n</think>\n\n", "<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ({}, LEFT),
        ({"thinking": None}, LEFT),
        (THINKING, ON),
        ({"thinking": {"type": "adaptive"}}, ON),
        (NOT_THINKING, OFF),
        ({"output_config": {"effort": "high"}}, LEFT),
        ({**NOT_THINKING, "output_config": {"effort": "high"}}, OFF),
        ({"chat_template_kwargs": {"enable_thinking": True}}, ON),
        ({**THINKING, "chat_template_kwargs": {"enable_thinking": False}}, OFF),
    ],
    ids=str,
)
def test_thinking_switches_the_template(body: dict[str, Any], ending: str) -> None:
    assert prompt_of(body).endswith(ending)


def test_an_effort_reaches_the_template() -> None:
    template = "{{ reasoning_effort }}|{{ enable_thinking }}<|im_start|>assistant\n"
    for body, seen in (({}, "high|"), (THINKING, "high|True"), (NOT_THINKING, "|False")):
        found = prompt_of({**body, "output_config": {"effort": "high"}}, chat_template=template)
        assert found.startswith(f"{seen}<")


def test_a_budget_ends_the_thinking() -> None:
    engine = replay("a" * 1500, "The end.")
    body = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
    answer = asyncio.run(post(engine, body))
    assert said(answer.json()) == ("a" * 1024, "The end.", [], "end_turn")
    assert answer.json()["usage"]["output_tokens_details"] == {"thinking_tokens": 1024}
    assert engine.aborted == 1


def test_thinking_that_a_template_always_opens_is_ended_at_once() -> None:
    engine = replay("The end.")
    template = "{{ messages[0].content }}<|im_start|>assistant\n<think>\n"
    answer = asyncio.run(post(engine, NOT_THINKING, reasoning_parser="deepseek_r1", chat_template=template))
    assert said(answer.json()) == ("", "The end.", [], "end_turn")
    assert b"".join(map(engine.tokenizer.token_bytes, engine.requests[0].prompt)).endswith(b"<think></think>")


def test_thinking_that_can_not_be_turned_off_is_hidden() -> None:
    message = ask(CHANNELS, {**TOOLS, **NOT_THINKING}, **HARMONY)
    assert said(message) == ("", "So.", [OSLO], "tool_use")
    assert message["usage"]["output_tokens_details"]["thinking_tokens"] > 0


# -- counting -------------------------------------------------------------------------


@pytest.mark.parametrize("body", [{}, TOOLS, THINKING, {**NOT_THINKING, "system": "Short."}], ids=str)
def test_a_count_is_that_of_the_answer(body: dict[str, Any]) -> None:
    engine = replay("x")
    asked = {name: value for name, value in BODY.items() if name != "max_tokens"}

    async def run() -> Any:
        counted = await post(engine, {**asked, **body}, "/v1/messages/count_tokens")
        assert not engine.requests
        return counted, await post(engine, body)

    counted, answer = asyncio.run(run())
    assert counted.json() == {"input_tokens": answer.json()["usage"]["input_tokens"]}
    assert "request-id" in counted.headers


@pytest.mark.parametrize(
    "body",
    [
        {"messages": []},
        {"model": "other"},
        {"tools": [WEATHER_TOOL], "tool_choice": {"type": "any"}},
        {"thinking": {"type": "enabled", "budget_tokens": 3}},
        {"mcp_servers": [{}]},
        {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
    ],
    ids=str,
)
def test_a_count_refuses_what_the_answer_does(body: dict[str, Any]) -> None:
    counted = asyncio.run(post(replay("x"), body, "/v1/messages/count_tokens"))
    answer = asyncio.run(post(replay("x"), body))
    assert counted.status_code == answer.status_code >= 400
    assert counted.json()["error"] == answer.json()["error"]


# -- errors ---------------------------------------------------------------------------


def test_no_body_and_no_route() -> None:
    from .helpers import raw

    async def run() -> None:
        async with raw(replay("x")) as http:
            broken = await http.post("/v1/messages", content=b"{")
            wrong = await http.get("/v1/messages")
            unknown = await http.post("/v1/messages/nothing", json={})
        for answer, status, kind in (
            (broken, 400, "invalid_request_error"),
            (wrong, 405, "invalid_request_error"),
            (unknown, 404, "not_found_error"),
        ):
            assert answer.status_code == status
            assert (answer.json()["type"], answer.json()["error"]["type"]) == ("error", kind)

    asyncio.run(run())


def test_a_stream_ends_with_its_error() -> None:
    fault = Recording(["some ", "text"], fault=RuntimeError("secret"))
    answer = asyncio.run(post(replay(fault), {"stream": True, **NOT_THINKING}))
    events = parse_events(answer.text)
    assert [event["type"] for event in events].count("error") == 1
    assert events[-1]["type"] == "error"
    assert "secret" not in answer.text
    assert fold([*events[:-1], *END])["content"] == [{"type": "text", "text": "some text"}]


END = [
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 0},
    },
    {"type": "message_stop"},
]
