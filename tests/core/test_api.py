"""The parser's and the stream's contract, and the command line's ``parse``."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.laws.reading import Fold, strands
from unbraid import (
    ContentDelta,
    InvalidRequest,
    Parser,
    ReasoningDelta,
    TokenTable,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallStart,
    UnbraidError,
)

TOOLS: list[dict[str, Any]] = [
    {"type": "function", "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {
            "city": {"type": "string"}, "days": {"type": "integer"}}}}},
    {"type": "function", "function": {"name": "ping"}},
]  # fmt: skip

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
PING = '<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>'
TEXT = f"r\n</think>\n\nLet me see.\n{CALL}\n{PING}"


def parser(**options: Any) -> Parser:
    return Parser("qwen3", "hermes", **{"tools": TOOLS, **options})


# -- feed and finish -----------------------------------------------------------------------


def test_parse_is_feed_and_finish() -> None:
    one = parser(make_id=lambda: "id")
    stream = one.stream()
    fold = Fold()
    for piece in (TEXT[:30], TEXT[30:], ""):
        fold.add(stream.feed(piece))
    fold.add(stream.finish("stop"))
    assert one.parse(TEXT) == stream.message
    fold.matches(stream.message)
    assert strands(stream.message) == (
        "r",
        "Let me see.",
        [("get_weather", '{"city": "Oslo"}'), ("ping", "{}")],
    )


def test_events_are_small_and_compare() -> None:
    stream = parser(make_id=lambda: "id").stream()
    events = stream.feed(f"r</think>c{PING}") + stream.finish()
    assert events == [
        ReasoningDelta("r"),
        ContentDelta("c"),
        ToolCallStart(0, "id", "ping"),
        ToolCallArguments(0, "{}"),
        ToolCallEnd(0, True),
    ]
    assert ContentDelta("r") != ReasoningDelta("r")
    assert len(set(events)) == 5
    assert repr(events[2]) == "ToolCallStart(id='id', index=0, name='ping')"
    assert not hasattr(events[0], "__dict__")


def test_finish_twice_returns_nothing() -> None:
    stream = parser().stream()
    stream.feed("r")
    stream.finish("length")
    assert stream.finish("stop") == []
    assert stream.message.finish_reason == "length"


def test_feed_after_finish_is_refused() -> None:
    stream = parser().stream()
    stream.feed(TEXT)
    stream.finish()
    message = stream.message
    with pytest.raises(InvalidRequest) as caught:
        stream.feed("x")
    assert caught.value.param == "text"
    assert isinstance(caught.value, ValueError)
    assert stream.message == message


@pytest.mark.parametrize("wrong", [None, b"x", 3, ["x"], object()])
@pytest.mark.parametrize("before", ["", "thinking so", "thinking <"])
@pytest.mark.parametrize("arguments", ["incremental", "complete"])
def test_a_wrong_piece_is_refused_and_nothing_is_lost(wrong: Any, before: str, arguments: Any) -> None:
    stream = parser(arguments=arguments).stream()
    stream.feed(before)
    with pytest.raises(InvalidRequest):
        stream.feed(wrong)
    stream.feed(" on</think>c")
    stream.finish()
    assert strands(stream.message) == (f"{before} on", "c", [])


@pytest.mark.parametrize("wrong", [3, "x", [1.5], ["x"], [None], object()])
def test_wrong_token_ids_are_refused(wrong: Any) -> None:
    stream = parser(tokenizer=TokenTable({1: "<think>", 2: "a"}, [1])).stream()
    stream.feed("a", [2])
    with pytest.raises(InvalidRequest):
        stream.feed("a", wrong)
    stream.finish()
    assert stream.message.reasoning == "a"


@pytest.mark.parametrize("reason", ["stop", "length", None, "content_filter"])
def test_the_finish_reason_is_the_engines(reason: str | None) -> None:
    assert parser().parse("r", finish_reason=reason).finish_reason == reason
    message = parser().parse(f"r</think>{CALL}", finish_reason=reason)
    assert message.finish_reason == ("tool_calls" if reason == "stop" else reason)


def test_an_incomplete_call_is_no_reason_for_tool_calls() -> None:
    message = parser().parse("r</think>" + CALL.partition("Oslo")[0])
    assert [call.complete for call in message.tool_calls] == [False]
    assert message.finish_reason == "stop"


def test_a_message_before_the_end() -> None:
    stream = parser(spans=True).stream()
    assert stream.message.finish_reason is None
    assert strands(stream.message) == (None, None, [])
    stream.feed("r</think>\n\nLet")
    assert strands(stream.message) == ("r", "Let", [])
    stream.feed(" me see.")
    assert stream.message.content == "Let me see."
    stream.feed(f"\n{CALL[:-25]}")
    message = stream.message
    assert [(call.name, call.complete) for call in message.tool_calls] == [("get_weather", False)]
    assert message.spans is not None
    stream.feed(CALL[-25:])
    assert stream.message.tool_calls[0].complete
    stream.finish()
    assert stream.message.tool_calls[0].complete


def test_streams_of_one_parser_share_nothing() -> None:
    one = parser()
    first, second, third = one.stream(), one.stream(), one.stream()
    for n in range(0, len(TEXT), 5):
        first.feed(TEXT[n : n + 5])
        second.feed(f"{n} ")
        third.feed(TEXT[n : n + 5].upper())
    for stream in (first, second, third):
        stream.finish()
    assert strands(first.message) == strands(one.parse(TEXT))
    assert strands(second.message)[0] == "".join(f"{n} " for n in range(0, len(TEXT), 5))
    assert third.message.tool_calls == []


def test_nothing_given_is_changed() -> None:
    tools = json.loads(json.dumps(TOOLS))
    kwargs = {"enable_thinking": True}
    choice = {"type": "function", "function": {"name": "ping"}}
    Parser("qwen3", "qwen3_coder", tools=tools, tool_choice=choice, chat_template_kwargs=kwargs).parse(TEXT)
    assert tools == TOOLS
    assert kwargs == {"enable_thinking": True}
    assert choice == {"type": "function", "function": {"name": "ping"}}


# -- options -------------------------------------------------------------------------------------


def test_include_reasoning_false_leaves_only_thinking_out() -> None:
    one = parser(include_reasoning=False, spans=True)
    stream = one.stream()
    events = [event for char in TEXT for event in stream.feed(char)] + stream.finish()
    assert not any(isinstance(event, ReasoningDelta) for event in events)
    assert stream.message.reasoning is None
    whole = parser(spans=True).parse(TEXT)
    assert strands(stream.message)[1:] == strands(whole)[1:]
    assert stream.message.spans == whole.spans
    assert one.thinking


def test_spans_only_when_asked_for() -> None:
    assert parser().parse(TEXT).spans is None
    spans = parser(spans=True).parse(TEXT).spans or []
    assert [span.kind for span in spans][:2] == ["reasoning", "framing"]


@pytest.mark.parametrize(("limit", "names"), [(0, []), (1, ["get_weather"]), (2, ["get_weather", "ping"])])
def test_max_calls(limit: int, names: list[str]) -> None:
    message = parser(max_calls=limit).parse(TEXT)
    assert [call.name for call in message.tool_calls] == names
    assert [one.code for one in message.diagnostics] == ["too_many_calls"] * (2 - limit)
    assert message.content == "Let me see."


@pytest.mark.parametrize(("parallel", "count"), [(True, 2), (None, 2), (False, 1)])
def test_parallel_tool_calls(parallel: bool | None, count: int) -> None:
    message = parser(parallel_tool_calls=parallel).parse(TEXT)
    assert len(message.tool_calls) == count
    assert message.finish_reason == "tool_calls"
    assert message.content == "Let me see."


def test_unknown_tools() -> None:
    text = 'r</think><tool_call>{"name": "other", "arguments": {}}</tool_call>'
    message = parser().parse(text)
    assert strands(message) == ("r", None, [("other", "{}")])
    assert [one.code for one in message.diagnostics] == ["unknown_tool"]
    message = parser(unknown_tools="text").parse(text)
    assert strands(message)[1:] == ('<tool_call>{"name": "other", "arguments": {}}</tool_call>', [])
    assert [one.code for one in message.diagnostics] == ["unknown_tool"]
    message = parser(tools=None, unknown_tools="text").parse(text)
    assert strands(message) == ("r", None, [("other", "{}")])


@pytest.mark.parametrize(
    "options", [{"tools": []}, {"tool_choice": "none"}, {"tools": [], "tool_choice": "auto"}]
)
def test_no_tools_offered_leaves_calls_as_text(options: dict[str, Any]) -> None:
    message = parser(**options).parse(f"r</think>{CALL}")
    assert strands(message) == ("r", CALL, [])
    assert message.finish_reason == "stop"


def test_ids_are_random_unless_given() -> None:
    ids = [call.id for call in parser().parse(TEXT).tool_calls]
    assert len(set(ids)) == 2
    assert all(one.startswith("chatcmpl-tool-") and len(one) == 30 for one in ids)
    numbers = iter("ab")
    assert [call.id for call in parser(make_id=lambda: next(numbers)).parse(TEXT).tool_calls] == ["a", "b"]


def test_kimi_ids_count_on_from_the_history() -> None:
    begin, between, end = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
    bare = "".join(f"{begin}{name}{between}{{}}{end}" for name in ("functions.f", "g"))
    text = f"<|tool_calls_section_begin|>{bare}<|tool_calls_section_end|>"
    one = Parser(None, "kimi_k2", history_calls=2)
    assert [call.id for call in one.parse(text).tool_calls] == ["functions.f:2", "functions.g:3"]
    assert [call.id for call in one.parse(text).tool_calls] == ["functions.f:2", "functions.g:3"]
    written = text.replace("functions.f", "functions.f:7")
    assert [call.id for call in one.parse(written).tool_calls] == ["functions.f:7", "functions.g:3"]


def test_a_model_s_own_mistral_id() -> None:
    message = Parser(None, "mistral").parse('[TOOL_CALLS]f[CALL_ID]abcDEF123[ARGS]{"a": 1}')
    assert [call.id for call in message.tool_calls] == ["abcDEF123"]


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"arguments": "eager"}, "arguments"),
        ({"unknown_tools": "drop"}, "unknown_tools"),
        ({"markers": "bytes"}, "markers"),
        ({"tool_choice": "always"}, "tool_choice"),
        ({"tools": {"name": "f"}}, "tools"),
        ({"tools": "f"}, "tools"),
        ({"tools": [{}]}, "tools[0].function.name"),
        ({"tools": [*TOOLS, {"type": "function", "function": {}}]}, "tools[2].function.name"),
        ({"tools": [{"function": {"name": ""}}]}, "tools[0].function.name"),
        ({"tools": [3]}, "tools[0].function.name"),
        ({"prompt": [1, 2]}, "prompt"),
    ],
    ids=str,
)
def test_a_wrong_option_is_refused_by_name(options: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        parser(**options)
    assert isinstance(caught.value, UnbraidError)
    assert caught.value.param == param
    assert caught.value.code == "invalid_request"


def test_tools_of_any_shape_that_openai_takes() -> None:
    for tool in (
        {"type": "function", "function": {"name": "ping"}},
        {"type": "function", "name": "ping", "parameters": None},
        {"name": "ping", "parameters": {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}}},
    ):
        assert strands(parser(tools=[tool]).parse(f"</think>{PING}"))[2] == [("ping", "{}")]


def test_the_plan() -> None:
    plan = parser().plan
    assert (plan.thinking, plan.constrained, plan.skip_special_tokens) == ("open", False, False)
    assert "<|im_end|>" in plan.stop
    assert parser(tool_choice="required").plan.constrained
    assert parser(tool_choice={"type": "function", "function": {"name": "ping"}}).plan.constrained
    assert not parser(tool_choice="required", constrained=False).plan.constrained
    assert Parser(None, "hermes").plan.thinking == "off"
    assert Parser("qwen3", chat_template_kwargs={"enable_thinking": False}).plan.thinking == "off"


def test_a_message_is_plain_data() -> None:
    plain = parser(spans=True).parse(TEXT).as_dict()
    assert json.loads(json.dumps(plain)) == plain
    assert list(plain) == ["reasoning", "content", "tool_calls", "finish_reason", "diagnostics", "spans"]
    assert list(plain["tool_calls"][0]) == ["id", "name", "arguments", "complete"]


# -- the command line ---------------------------------------------------------------------------------


def unbraid(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "unbraid", *args],
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


CASES: list[Any] = [
    {"reasoning_parser": "qwen3", "tool_parser": "hermes", "text": f"r</think>{CALL}", "tools": TOOLS},
    {"reasoning_parser": "nothing", "text": "a"},
    {"tool_parser": "hermes", "chunks": ["<tool", "_call>", CALL[11:]], "spans": True},
    {"tool_parser": "hermes", "text": "abc", "chunks": ["a", "b"]},
    {
        "tool_parser": "gemma4",
        "tokens": [[1, "<|tool_call>", True], [2, "call:f{}", False], [3, "<tool_call|>", True]],
    },
    {
        "tool_parser": "gemma4",
        "tokens": [[9, "<|tool_call>", False], [2, "call:f{}", False], [3, "<tool_call|>", True]],
    },
    {"text": None},
    [1, 2],
    {"reasoning_parser": "openai_gptoss", "tool_parser": "hermes", "text": "a"},
    {"text": "lone \ud83d half", "finish_reason": "length"},
    {"tool_parser": "hermes", "text": CALL[:-30], "finish_reason": "length", "arguments": "complete"},
    {"reasoning_parser": "qwen3", "prompt": "<|im_start|>assistant\n<think>\n\n</think>\n\n", "text": "Hi"},
]


@pytest.fixture(scope="module")
def results() -> list[dict[str, Any]]:
    """All cases in one process, between lines that are no cases."""
    lines = [json.dumps(case) for case in CASES]
    done = unbraid("parse", "--jsonl", stdin="\n".join([lines[0], "", "no json", *lines[1:], "{"]) + "\n")
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.isascii()
    out = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(out) == len(CASES) + 2
    assert out[1]["error"]["code"] == "invalid_json"
    assert out[-1]["error"]["code"] == "invalid_json"
    return [out[0], *out[2:-1]]


def test_jsonl_gives_one_result_a_line(results: list[dict[str, Any]]) -> None:
    assert len(results) == len(CASES)
    first = results[0]
    assert (first["reasoning"], first["content"], first["finish_reason"]) == ("r", None, "tool_calls")
    assert [call["arguments"] for call in first["tool_calls"]] == ['{"city": "Oslo"}']
    assert first["stream_equal"] is True
    assert first["spans"] is None


def test_jsonl_errors_stand_in_place(results: list[dict[str, Any]]) -> None:
    codes = {n: result["error"]["code"] for n, result in enumerate(results) if "error" in result}
    assert codes == {
        1: "unknown_parser",
        3: "invalid_request",
        6: "invalid_request",
        7: "invalid_request",
        8: "incompatible_pair",
    }
    assert all(results[n]["error"]["message"] for n in codes)


def test_jsonl_chunks_and_spans(results: list[dict[str, Any]]) -> None:
    assert [call["name"] for call in results[2]["tool_calls"]] == ["get_weather"]
    assert results[2]["stream_equal"] is True
    assert results[2]["spans"][0] == {"kind": "markup", "start": 0, "end": 11, "index": 0}


def test_jsonl_tokens_decide_what_is_a_marker(results: list[dict[str, Any]]) -> None:
    assert [call["name"] for call in results[4]["tool_calls"]] == ["f"]
    assert results[4]["stream_equal"] is True
    assert results[5]["tool_calls"] == []
    assert results[5]["content"].startswith("<|tool_call>call:f{}")


def test_jsonl_unicode_and_the_rest(results: list[dict[str, Any]]) -> None:
    assert results[9]["content"] == "lone \ud83d half"
    assert results[9]["finish_reason"] == "length"
    assert results[10]["tool_calls"] == []
    assert results[11]["content"] == "Hi"
    assert results[11]["reasoning"] is None


def test_parse_one_output() -> None:
    done = unbraid(
        "parse",
        "--reasoning-parser",
        "qwen3",
        "--tool-parser",
        "hermes",
        "--chunks",
        "char",
        "--trace",
        stdin=TEXT,
    )
    assert done.returncode == 0
    message = json.loads(done.stdout)
    assert message["reasoning"] == "r"
    assert [call["name"] for call in message["tool_calls"]] == ["get_weather", "ping"]
    assert "spans" not in message
    assert "ToolCallStart" in done.stderr


def test_parse_without_a_name_says_so() -> None:
    done = unbraid("parse", stdin="r</think>a")
    assert json.loads(done.stdout)["content"] == "r</think>a"
    assert done.stderr == "no parser is named, so all is content: see --format\n"


def test_parse_with_a_wrong_name() -> None:
    done = unbraid("parse", "--tool-parser", "hermess", stdin="x")
    assert done.returncode != 0
    assert done.stdout == ""
    assert "hermes" in done.stderr
    assert "Traceback" not in done.stderr
