"""What answers look like, whole and streamed; the numbers are those of the list of known traps."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest

from unbraid.engines.base import Constraint
from unbraid.engines.replay import Recording
from unbraid.events import Event

from .helpers import (
    CALL,
    NOT_THINKING,
    THINKING,
    TIME,
    USER,
    WEATHER,
    both,
    client,
    fold,
    parse_events,
    raw,
    replay,
    whole,
)

ARGUMENTS = '{"city": "Oslo"}'
GRAMMAR: Any = {"dialects": ("llguidance",)}


def ask(text: Any, body: dict[str, Any], engine: dict[str, Any] | None = None, **options: Any) -> Any:
    """The message of a request, which must be the same whole and streamed."""
    recordings = text if isinstance(text, list) else [text]
    full, choices, _ = asyncio.run(both(lambda: replay(*recordings, **(engine or {})), body, **options))
    assert whole(full["choices"][0]) == choices[0].message
    return choices[0].message


def call(name: str, arguments: str) -> str:
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


@pytest.mark.parametrize("choice", [{}, {"tool_choice": None}, {"tool_choice": "auto"}])
def test_C1_a_null_choice_is_auto(choice: dict[str, Any]) -> None:
    message = ask(CALL, {"tools": [WEATHER], **choice, **NOT_THINKING})
    assert message == (None, None, [("get_weather", ARGUMENTS)], "tool_calls")


@pytest.mark.parametrize("mode", ["auto", "required"])
@pytest.mark.parametrize("wrapped", [True, False])
def test_C2_allowed_tools(mode: str, wrapped: bool) -> None:
    inner = {"mode": mode, "tools": [{"type": "function", "function": {"name": "get_weather"}}]}
    choice = (
        {"type": "allowed_tools", "allowed_tools": inner} if wrapped else {"type": "allowed_tools", **inner}
    )
    engine = replay(CALL, **GRAMMAR)

    async def run() -> Any:
        async with raw(engine) as http:
            body = {"messages": USER, "tools": [WEATHER, TIME], "tool_choice": choice, **NOT_THINKING}
            return (await http.post("/v1/chat/completions", json=body)).json()

    answer = asyncio.run(run())
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    constraint = engine.requests[0].constraint
    assert constraint is not None
    assert "get_weather" in constraint.grammar
    assert "get_time" not in constraint.grammar
    assert "get_time" in engine.requests[0].prompt


OPEN_THOUGHT = "I think.\n</think>\n\n"


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (f"{OPEN_THOUGHT}Hello", {}),
        (f'{OPEN_THOUGHT}{{"a": 1}}', {"response_format": {"type": "json_object"}}),
        (f"{OPEN_THOUGHT}{CALL}", {"tools": [WEATHER], "tool_choice": "required"}),
        (
            f"{OPEN_THOUGHT}{CALL}",
            {"tools": [{**WEATHER, "function": {**WEATHER["function"], "strict": True}}]},
        ),
    ],
    ids=["plain", "schema", "required", "strict"],
)
def test_C3_hidden_thinking_changes_nothing_else(text: str, body: dict[str, Any]) -> None:
    body = {**body, **THINKING, "stream_options": {"include_usage": True}}

    def run(shown: bool) -> Any:
        engine = replay(text, **GRAMMAR)

        async def go() -> Any:
            async with raw(engine) as http:
                sent = {"messages": USER, **body, "include_reasoning": shown}
                streamed = await http.post("/v1/chat/completions", json={**sent, "stream": True})
                sent.pop("stream_options")
                full = await http.post("/v1/chat/completions", json=sent)
            return full.json(), streamed.text

        full, text_of = asyncio.run(go())
        assert (engine.requests[0].constraint is None) == (set(body) == {*THINKING, "stream_options"})
        return full, text_of, engine.requests[0].constraint

    shown, hidden = run(True), run(False)
    assert shown[2] == hidden[2]
    with_it, without = whole(shown[0]["choices"][0]), whole(hidden[0]["choices"][0])
    assert with_it[0] == "I think."
    assert without == (None, *with_it[1:])
    assert "reasoning" not in hidden[0]["choices"][0]["message"]
    assert fold(hidden[1])[0].message == without
    assert "I think" not in hidden[1]
    for answer in (shown[0], hidden[0], parse_events(shown[1])[-1], parse_events(hidden[1])[-1]):
        assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == len("I think.")


def test_C4_logprobs_are_hidden_only_with_thinking() -> None:
    body = {"include_reasoning": False, "logprobs": True, "top_logprobs": 2, "return_token_ids": True}
    full, _, text = asyncio.run(both(lambda: replay("Hello"), body, reasoning_parser=None))
    assert len(full["choices"][0]["logprobs"]["content"]) == 5
    assert len(full["choices"][0]["token_ids"]) == 5
    assert "top_logprobs" in text
    full, _, text = asyncio.run(both(lambda: replay("Hello"), body))
    assert full["choices"][0]["logprobs"] is None
    assert "token_ids" not in full["choices"][0]
    assert "top_logprobs" not in text
    assert full["prompt_token_ids"]


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
def test_C5_a_forced_call_that_is_cut(choice: Any) -> None:
    text = CALL + '\n<tool_call>\n{"name": "get_time", "arguments": {"zone": "Eu'
    body = {"tools": [WEATHER, TIME], "tool_choice": choice, **NOT_THINKING}
    message = ask(Recording(text, "length"), body, GRAMMAR)
    assert message[2] == [("get_weather", ARGUMENTS), ("get_time", '{"zone": "Eu')]
    assert message[3] == "length"


@pytest.mark.parametrize("arguments", ["{}", "null"])
def test_C6_a_named_call_without_arguments(arguments: str) -> None:
    choice = {"type": "function", "function": {"name": "get_time"}}
    body = {"tools": [TIME], "tool_choice": choice, **NOT_THINKING}
    message = ask(call("get_time", arguments), body, GRAMMAR)
    assert message[2:] == ([("get_time", "{}")], "stop")


@pytest.mark.parametrize("arguments", ["3", '"x"', ""])
def test_C6_a_named_call_with_odd_arguments(arguments: str) -> None:
    choice = {"type": "function", "function": {"name": "get_time"}}
    body = {"messages": USER, "tools": [TIME], "tool_choice": choice, **NOT_THINKING}

    async def run() -> tuple[Any, Any]:
        async with raw(replay(call("get_time", arguments), **GRAMMAR)) as http:
            full = await http.post("/v1/chat/completions", json=body)
            return full, await http.post("/v1/chat/completions", json={**body, "stream": True})

    full, streamed = asyncio.run(run())
    assert full.status_code == 502
    assert full.json()["error"]["code"] == "not_enforced"
    assert parse_events(streamed.text)[-1] == full.json()


def test_C7_one_call_only() -> None:
    text = f"Two.\n{CALL}\n{call('get_time', '{}')}"
    message = ask(text, {"tools": [WEATHER, TIME], "parallel_tool_calls": False, **NOT_THINKING})
    assert message == (None, "Two.", [("get_weather", ARGUMENTS)], "tool_calls")


NAMED = {"type": "function", "function": {"name": "get_weather"}}


@pytest.mark.parametrize(
    ("text", "engine_reason", "choice", "seen"),
    [
        ("Hi", "stop", "auto", "stop"),
        (CALL, "stop", "auto", "tool_calls"),
        (CALL, "stop", "required", "tool_calls"),
        (CALL, "stop", NAMED, "stop"),
        (CALL, "length", "auto", "length"),
        (CALL, "length", "required", "length"),
        (CALL, "length", NAMED, "length"),
        (CALL, "stop", "none", "stop"),
        (CALL, "abort", "auto", "abort"),
        (CALL[:-20], "stop", "auto", "stop"),
    ],
)
def test_C8_finish_reasons(text: str, engine_reason: str, choice: Any, seen: str) -> None:
    body = {"tools": [WEATHER], "tool_choice": choice, **NOT_THINKING}
    assert ask(Recording(text, engine_reason), body, GRAMMAR)[3] == seen


def test_C8_a_stop_string_within_a_call() -> None:
    body = {"tools": [WEATHER], "stop": ["Os"], **NOT_THINKING}
    message = ask(CALL, body)
    assert message[2] == [("get_weather", '{"city": "')]
    assert message[3] == "stop"


PIECES = [f"Thought.</think>Text.{CALL}{call('get_time', '{}')}"]


def test_C9_C10_everything_in_one_piece() -> None:
    message = ask(Recording(PIECES), {"tools": [WEATHER, TIME], **THINKING})
    assert message == (
        "Thought.",
        "Text.",
        [("get_weather", ARGUMENTS), ("get_time", "{}")],
        "tool_calls",
    )
    assert message == ask(Recording(list(PIECES[0])), {"tools": [WEATHER, TIME], **THINKING})


def test_C11_a_call_without_arguments_first() -> None:
    text = call("get_time", "{}") + "\n" + CALL
    message = ask(text, {"tools": [WEATHER, TIME], **NOT_THINKING})
    assert message[2] == [("get_time", "{}"), ("get_weather", ARGUMENTS)]


@pytest.mark.parametrize(
    "value", ["}", "</tool_call>", 'a "b" c', "x\ny", "é", "😀👩‍👩‍👧", "\\", "{[<think>"]
)
def test_C12_difficult_values(value: str) -> None:
    arguments = json.dumps({"city": value}, ensure_ascii="é" in value)
    message = ask(call("get_weather", arguments), {"tools": [WEATHER], **NOT_THINKING}, {"special": ()})
    assert json.loads(message[2][0][1]) == {"city": value}
    assert message[2][0][1] == arguments


@pytest.mark.parametrize("split", [None, 1, 7])
def test_C13_reasoning_tokens(split: int | None) -> None:
    text = "Größe 😀 of it.\n</think>\n\nDone."
    pieces: Any = text if split is None else [text[n : n + split] for n in range(0, len(text), split)]
    full, _, stream = asyncio.run(
        both(lambda: replay(Recording(pieces)), {**THINKING, "n": 2}),
    )
    usage = full["usage"]
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 2 * len("Größe 😀 of it.".encode())
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert "usage" not in stream
    full, _, _ = asyncio.run(both(lambda: replay("Done."), NOT_THINKING))
    assert full["usage"]["completion_tokens_details"]["reasoning_tokens"] == 0
    full, _, _ = asyncio.run(both(lambda: replay("Done."), {}, reasoning_parser=None))
    assert "completion_tokens_details" not in full["usage"]


@pytest.mark.parametrize("stream", [True, False])
def test_C14_refused_before_the_first_byte(stream: bool) -> None:
    bodies = [
        {"thinking_token_budget": 5},
        {"tools": [WEATHER], "tool_choice": "required"},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}},
    ]
    options: list[dict[str, Any]] = [{"reasoning_parser": None}, {}, {}]

    async def run() -> None:
        for body, given in zip(bodies, options, strict=True):
            engine = replay("x")
            async with raw(engine, **given) as http:
                sent = {"messages": USER, "stream": stream, **body}
                answer = await http.post("/v1/chat/completions", json=sent)
            assert answer.status_code == 400, answer.text
            assert answer.json()["error"]["type"] == "invalid_request_error"
            assert not engine.requests

    asyncio.run(run())


@pytest.mark.parametrize("stream", [True, False])
def test_C14_the_engine_refuses(stream: bool) -> None:
    from unbraid.errors import InvalidRequest

    fault = InvalidRequest("the prompt is too long", param="messages")

    async def run() -> Any:
        async with raw(replay(Recording("", fault=fault))) as http:
            return await http.post("/v1/chat/completions", json={"messages": USER, "stream": stream})

    answer = asyncio.run(run())
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "messages"


class _Faulty:
    """Makes a parser fail when it sees a word."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from unbraid.machine.core import Machine

        feed = Machine.feed

        def failing(machine: Any, text: str, ids: Any = None) -> list[Event]:
            if "boom" in text:
                raise KeyError("inside")
            return feed(machine, text, ids)

        monkeypatch.setattr(Machine, "feed", failing)


def test_C15_a_parser_that_fails(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    _Faulty(monkeypatch)
    caplog.set_level("DEBUG", "unbraid.server")
    bad, good = Recording(["so far ", "boom", "more"]), Recording(["fine ", "as ", "it ", "is"])

    async def run() -> Any:
        async with raw(replay(bad, good)) as http:
            streamed = await http.post(
                "/v1/chat/completions", json={"messages": USER, "stream": True, "n": 2, **NOT_THINKING}
            )
        async with raw(replay(bad, good)) as http:
            full = await http.post("/v1/chat/completions", json={"messages": USER, **NOT_THINKING})
        return streamed, full

    streamed, full = asyncio.run(run())
    events = parse_events(streamed.text)
    assert streamed.status_code == 200
    assert events[-1]["error"]["type"] == "server_error"
    assert full.status_code == 500
    assert full.json() == events[-1]
    choices = fold(streamed.text)
    assert choices[0].content == "so far"
    assert choices[0].finish is None
    assert choices[1].message == (None, "fine as it is", [], "stop")
    told = {record.levelname for record in caplog.records if "so far" in record.getMessage()}
    assert told == {"DEBUG"}
    assert "failed after" in caplog.text
    assert "inside" not in full.text


def test_C18_ids_count_on_from_the_history() -> None:
    special = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>")
    special += ("<|tool_call_argument_begin|>", "<|tool_call_end|>", "<think>", "</think>")
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>get_time<|tool_call_argument_begin|>{}"
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    earlier = [
        {
            "id": f"functions.get_time:{n}",
            "type": "function",
            "function": {"name": "get_time", "arguments": "{}"},
        }
        for n in range(2)
    ]
    history = [
        *USER,
        {"role": "assistant", "content": None, "tool_calls": earlier},
        *({"role": "tool", "tool_call_id": one["id"], "content": "12"} for one in earlier),
    ]
    body = {"messages": history, "tools": [TIME], "n": 2}
    full, choices, _ = asyncio.run(
        both(
            lambda: replay(text, special=special),
            body,
            reasoning_parser=None,
            tool_call_parser="kimi_k2",
            chat_template="unbraid",
        )
    )
    for n in (0, 1):
        assert full["choices"][n]["message"]["tool_calls"][0]["id"] == "functions.get_time:2"
        assert choices[n].calls[0]["id"] == "functions.get_time:2"


ODD_SCHEMAS: list[Any] = [
    None,
    {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
    {"type": "object", "properties": {"x": {"anyOf": [{"type": "string"}, {"type": "null"}]}}},
    {"type": "object", "properties": {"x": {"enum": [1, 2.5, 3]}}},
]


@pytest.mark.parametrize("name", ["plain", "with-dash", "with.dot"])
@pytest.mark.parametrize("schema", ODD_SCHEMAS)
def test_C19_odd_tools(name: str, schema: Any) -> None:
    tools = [{"type": "function", "function": {"name": name, "parameters": schema}}]
    body = {"tools": tools, **NOT_THINKING}
    before = copy.deepcopy(body)
    assert ask(call(name, '{"x": 1}'), body)[2] == [(name, '{"x": 1}')]
    assert body == before


def test_C19_a_request_is_not_changed() -> None:
    from unbraid.server.normal import normalise
    from unbraid.server.plan import plan
    from unbraid.server.requests import decode
    from unbraid.server.startup import prepare

    from .helpers import Options

    engine = replay("x", **GRAMMAR)
    setup = prepare(engine, Options(reasoning_parser="qwen3", tool_call_parser="hermes"))
    history = [
        *USER,
        {"role": "assistant", "reasoning_content": "r", "content": [{"type": "text", "text": "a"}]},
    ]
    sent = {"messages": history, "tools": [WEATHER], "tool_choice": "required", **THINKING}
    request, plain = decode(json.dumps(sent).encode())
    before = copy.deepcopy(plain)
    plan(normalise(request, plain), setup, engine, "request")
    assert plain == before


def test_C21_no_calls_wanted() -> None:
    message = ask(f"{OPEN_THOUGHT}See: {CALL}", {"tools": [WEATHER], "tool_choice": "none", **THINKING})
    assert message == ("I think.", f"See: {CALL}", [], "stop")
    assert ask(f"See: {CALL}", NOT_THINKING) == (None, f"See: {CALL}", [], "stop")


def test_C22_an_unknown_tool() -> None:
    message = ask(call("nothing", '{"a": 1}'), {"tools": [WEATHER], **NOT_THINKING})
    assert message[2] == [("nothing", '{"a": 1}')]


def test_C23_markers_in_the_history() -> None:
    messages = [
        {"role": "user", "content": "What is <think>?"},
        {"role": "assistant", "content": "<think>\nhm\n</think>\n\nA tag."},
        {"role": "user", "content": "And an open one: <think>"},
    ]
    assert ask("Plain.", {"messages": messages}) == (None, "Plain.", [], "stop")
    assert ask("In.\n</think>\n\nOut.", {"messages": messages, **THINKING})[:2] == ("In.", "Out.")


def test_C24_text_without_special_tokens() -> None:
    assert ask("Thought.\n\nDone.", THINKING) == ("Thought.\n\nDone.", None, [], "stop")


@pytest.mark.parametrize(
    "field", ["guided_json", "guided_regex", "guided_choice", "structured_outputs", "functions"]
)
def test_C25_removed_constraints(field: str) -> None:
    async def run() -> Any:
        async with raw(replay("x")) as http:
            return await http.post("/v1/chat/completions", json={"messages": USER, field: {"type": "object"}})

    answer = asyncio.run(run())
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == field


def test_several_choices_are_independent() -> None:
    texts = ["First.\n</think>\n\nA.", f"Second.\n</think>\n\n{CALL}"]
    full, choices, _ = asyncio.run(both(lambda: replay(*texts), {"n": 2, "tools": [WEATHER], **THINKING}))
    for n, expected in enumerate(
        [("First.", "A.", [], "stop"), ("Second.", None, [("get_weather", ARGUMENTS)], "tool_calls")]
    ):
        assert choices[n].message == expected
        assert whole(full["choices"][n]) == expected


def test_logprobs_and_ids_are_complete() -> None:
    body = {"logprobs": True, "top_logprobs": 2, "return_token_ids": True, "tools": [WEATHER], **THINKING}
    text = f"{OPEN_THOUGHT}{CALL}"
    full, _, stream = asyncio.run(both(lambda: replay(text), body))
    one = full["choices"][0]
    streamed = [event["choices"][0] for event in parse_events(stream)]
    content = [token for part in streamed for token in (part.get("logprobs") or {}).get("content", ())]
    ids = [token for part in streamed for token in part.get("token_ids", ())]
    assert content == one["logprobs"]["content"]
    assert ids == one["token_ids"]
    assert b"".join(bytes(token["bytes"]) for token in content).decode() == text
    assert len(content[0]["top_logprobs"]) == 2
    assert parse_events(stream)[0]["prompt_token_ids"] == full["prompt_token_ids"]


def test_stop_strings_and_limits() -> None:
    full, choices, _ = asyncio.run(both(lambda: replay("one two three"), {"stop": "two"}))
    assert choices[0].message == (None, "one ", [], "stop")
    assert full["choices"][0]["stop_reason"] == "two"
    message = ask("one two three", {"max_tokens": 99, "max_completion_tokens": 5})
    assert message == (None, "one t", [], "length")


@pytest.mark.parametrize(
    ("body", "ending"),
    [
        ({"reasoning_effort": "none"}, "<think>\n\n</think>\n\n"),
        ({"reasoning_effort": "high"}, "<think>\n"),
        ({"reasoning_effort": "none", **THINKING}, "<think>\n"),
        ({}, "<|im_start|>assistant\n"),
    ],
)
def test_reasoning_effort(body: dict[str, Any], ending: str) -> None:
    engine = replay("x")

    async def run() -> None:
        async with raw(engine) as http:
            await http.post("/v1/chat/completions", json={"messages": USER, **body})

    asyncio.run(run())
    assert engine.requests[0].prompt.endswith(ending)


def test_server_kwargs_give_way_to_the_request() -> None:
    on = {"default_chat_template_kwargs": {"enable_thinking": True}}
    assert ask("a\n</think>\n\nb", {}, **on) == ("a", "b", [], "stop")
    assert ask("b", NOT_THINKING, **on) == (None, "b", [], "stop")


def test_a_message_is_continued() -> None:
    engine = replay(" it is.")

    async def run() -> Any:
        async with raw(engine) as http:
            messages = [*USER, {"role": "assistant", "content": "Here"}]
            body = {"messages": messages, "continue_final_message": True, "add_generation_prompt": False}
            return (await http.post("/v1/chat/completions", json=body)).json()

    assert whole(asyncio.run(run())["choices"][0])[1] == " it is."
    assert engine.requests[0].prompt.endswith("<|im_start|>assistant\nHere")


def test_A15_names_of_thinking() -> None:
    engine = replay("a\n</think>\n\nb")
    old = {"role": "assistant", "content": "x", "reasoning_content": "old name"}
    history = [*USER, old, {**old, "reasoning": "new name"}, {"role": "tool", "content": "1"}]

    async def run(**options: Any) -> Any:
        async with raw(engine, **options) as http:
            body = {"messages": history, **THINKING}
            full = await http.post("/v1/chat/completions", json=body)
            streamed = await http.post("/v1/chat/completions", json={**body, "stream": True})
        return full.json(), streamed.text

    full, streamed = asyncio.run(run())
    assert "old name" in engine.requests[0].prompt
    assert "new name" in engine.requests[0].prompt
    assert engine.requests[0].prompt.count("old name") == 1
    assert "reasoning_content" not in json.dumps(full) + streamed
    full, streamed = asyncio.run(run(reasoning_content_alias=True))
    message = full["choices"][0]["message"]
    assert message["reasoning_content"] == message["reasoning"] == "a"
    assert '"reasoning_content":"a"' in streamed


def test_a_thinking_budget() -> None:
    engine = replay("aaaaaaaaaa", "The end.")

    async def run(body: dict[str, Any]) -> Any:
        async with raw(engine) as http:
            return (await http.post("/v1/chat/completions", json={"messages": USER, **body})).json()

    answer = asyncio.run(run({"thinking_token_budget": 4, **THINKING}))
    assert whole(answer["choices"][0]) == ("aaaa", "The end.", [], "stop")
    assert answer["usage"]["completion_tokens_details"]["reasoning_tokens"] == 4
    assert engine.aborted == 1


def test_the_official_client_sees_errors() -> None:
    import openai

    async def run() -> None:
        server = client(replay("x"))
        with pytest.raises(openai.BadRequestError) as refused:
            await server.chat.completions.create(model="replay", messages=USER, tools=[])
        assert refused.value.param == "tools"
        with pytest.raises(openai.NotFoundError) as unknown:
            await server.chat.completions.create(model="other", messages=USER)
        assert unknown.value.code == "model_not_found"
        broken = client(replay(Recording("some text", fault=RuntimeError("secret"))))
        stream = await broken.chat.completions.create(model="replay", messages=USER, stream=True)
        with pytest.raises(openai.APIError) as failed:
            async for _ in stream:
                pass
        assert "secret" not in str(failed.value)

    asyncio.run(run())


def test_a_constraint_holds_from_the_first_token() -> None:
    for body, state in ((THINKING, "</think>"), (NOT_THINKING, "")):
        engine = replay(CALL, **GRAMMAR)

        async def run(engine: Any = engine, body: Any = body) -> None:
            async with raw(engine) as http:
                sent = {"messages": USER, "tools": [WEATHER], "tool_choice": "required", **body}
                assert (await http.post("/v1/chat/completions", json=sent)).status_code == 200

        asyncio.run(run())
        constraint = engine.requests[0].constraint
        assert isinstance(constraint, Constraint)
        assert constraint.dialect == "llguidance"
        assert bool(state) == ("259" in constraint.grammar)


@pytest.mark.parametrize(("level", "constrained"), [(None, False), ("auto", False), ("function", True)])
def test_strict_levels(level: str | None, constrained: bool) -> None:
    engine = replay(CALL, **GRAMMAR)

    async def run() -> None:
        async with raw(engine, tool_strict_level=level) as http:
            body = {"messages": USER, "tools": [WEATHER], **NOT_THINKING}
            assert (await http.post("/v1/chat/completions", json=body)).status_code == 200

    asyncio.run(run())
    assert bool(engine.requests[0].constraint) == constrained


HARMONY: dict[str, Any] = {
    "reasoning_parser": "openai_gptoss",
    "tool_call_parser": "openai",
    "markers": "text",
    "chat_template": "{% for m in messages %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>"
    "{% endfor %}<|start|>assistant",
}
FINAL = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>"
CALLING = (
    "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>commentary to=functions.get_weather "
    '<|constrain|>json<|message|>{"city": "Oslo"}<|call|>'
)


def test_A10_channels() -> None:
    assert ask(FINAL, {}, **HARMONY) == ("hm", "Hi", [], "stop")
    assert ask(FINAL, {"include_reasoning": False}, **HARMONY) == (None, "Hi", [], "stop")
    body = {"tools": [WEATHER], "tool_choice": "required"}
    assert ask(CALLING, body, GRAMMAR, **HARMONY) == ("hm", None, [("get_weather", ARGUMENTS)], "tool_calls")
    full, _, _ = asyncio.run(both(lambda: replay(FINAL), {}, **HARMONY))
    assert full["usage"]["completion_tokens_details"]["reasoning_tokens"] == 2


def test_A10_a_budget_needs_an_end_of_thinking() -> None:
    async def run() -> Any:
        async with raw(replay(FINAL), **HARMONY) as http:
            return await http.post(
                "/v1/chat/completions", json={"messages": USER, "thinking_token_budget": 3, "stream": True}
            )

    answer = asyncio.run(run())
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "thinking_token_budget"
