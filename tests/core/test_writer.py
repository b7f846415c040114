"""The writer, what is expressible, and law 5: what is written is read back."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import channels, templates
from tests.support.hostile import pairs
from tests.support.messages import Turn, any_text, hostile_turns, ordinary_turns
from tests.support.pairing import Names, families
from unbraid import Inexpressible, InvalidRequest, Message, Parser, ToolCall
from unbraid.expressible import expressible
from unbraid.formats import REASONING_PARSERS, TOOL_PARSERS, reasoning_format, tool_format
from unbraid.machine.setup import written_parts
from unbraid.prompts import PromptState, prompt_state
from unbraid.syntax import (
    Channels,
    Envelope,
    Envelopes,
    Joint,
    Json,
    Named,
    Reasoning,
    ResponseTemplate,
    Space,
    Tools,
)
from unbraid.writer import write
from unbraid.writing.values import same_value

ALONE: list[Names] = [
    *((None, name) for name in TOOL_PARSERS if isinstance(tool_format(name), Joint)),
    *((name, None) for name in REASONING_PARSERS if isinstance(reasoning_format(name), Joint)),
]
OWN: list[Names] = list(dict.fromkeys([*families(), *ALONE]))
TAGS: list[Names] = [
    (pair.reasoning, pair.tools)
    for pair in pairs()
    if not any(isinstance(half, Joint) for half in pair.halves)
]

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "parameters": {
                "type": "object",
                "properties": {
                    "s": {"type": "string"},
                    "n": {"type": "integer"},
                    "b": {"type": "boolean"},
                    "o": {"type": "object"},
                    "u": {"type": ["integer", "string"]},
                },
            },
        },
    }
]


def call(arguments: str, name: str = "f", identity: str = "") -> ToolCall:
    return ToolCall(identity, name, arguments)


def prompt_of(name: str | None, thinking: str) -> str | None:
    """A prompt that leaves thinking in a state, its framing written."""
    half = reasoning_format(name) if name else None
    if isinstance(half, Channels):
        begin = channels.begin(half)
        return begin + channels.head(half, "reasoning") if thinking == "open" else begin
    if isinstance(half, ResponseTemplate):
        begin = templates.begin(half)
        return begin + templates.head(half, "reasoning") if thinking == "open" else begin
    if half is None:
        return None
    opener = half.open.text + half.label + half.lead.text
    endings = {"open": opener, "closed": half.open.text + half.close.text + half.after.text, "absent": ""}
    return "Question. " + endings[thinking]


def opens_thinking(names: Names) -> str | None:
    """The half whose prompt opens thinking: a response template also where only its calls are read."""
    reasoning, tools = names
    return (
        tools
        if reasoning is None and tools and isinstance(tool_format(tools), ResponseTemplate)
        else reasoning
    )


def possible(names: Names, turn: Turn) -> Message:
    """The part of a message that a pair has strands for."""
    reasoning_name, tool_name = names
    calls = turn.message.tool_calls if tool_name else []
    most = tool_format(tool_name).calls_per_turn if tool_name else None
    calls = calls[:most] if most is not None else calls
    return Message(turn.message.reasoning if reasoning_name else None, turn.message.content, calls)


def check_round_trip(names: Names, message: Message, tools: Any, thinking: str) -> bool:
    """Write and read back; False if the message is not expressible."""
    if expressible(*names, message, tools=tools, thinking=thinking) is not None:
        with pytest.raises(Inexpressible):
            write(*names, message, tools=tools, thinking=thinking)
        return False
    text = write(*names, message, tools=tools, thinking=thinking)
    read = Parser(*names, tools=tools, prompt=prompt_of(opens_thinking(names), thinking)).parse(text)
    assert (read.reasoning, read.content) == (message.reasoning, message.content), text
    assert [one.name for one in read.tool_calls] == [one.name for one in message.tool_calls], text
    for one, other in zip(read.tool_calls, message.tool_calls, strict=True):
        assert one.complete
        assert same_value(one.arguments, other.arguments), text
    return True


# ---------------------------------------------------------------- law 5


@pytest.mark.parametrize("names", OWN, ids=str)
@given(
    turn=st.one_of(ordinary_turns, hostile_turns),
    thinking=st.sampled_from(["open", "absent"]),
    known=st.booleans(),
)
def test_families_read_what_they_write(names: Names, turn: Turn, thinking: str, known: bool) -> None:
    check_round_trip(names, possible(names, turn), turn.tools if known else None, thinking)


@settings(max_examples=300)
@given(
    names=st.sampled_from(TAGS),
    turn=hostile_turns,
    thinking=st.sampled_from(["open", "absent", "closed"]),
    offered=st.sampled_from(["known", "unknown", "none"]),
)
def test_any_pair_reads_what_it_writes(names: Names, turn: Turn, thinking: str, offered: str) -> None:
    tools = {"known": turn.tools, "unknown": None, "none": []}[offered]
    message = possible(names, turn)
    if offered == "none":
        message = Message(message.reasoning, message.content)
    check_round_trip(names, message, tools, thinking)


@cache
def ordinary_sample() -> list[Turn]:
    """The same sixty turns for every pair, drawn once."""
    found: list[Turn] = []

    @settings(max_examples=60, derandomize=True, database=None)
    @given(turn=ordinary_turns)
    def collect(turn: Turn) -> None:
        found.append(turn)

    collect()
    return found


@pytest.mark.parametrize("names", OWN, ids=str)
def test_ordinary_messages_are_expressible(names: Names) -> None:
    """At least 80 %; where nothing but content breaks the line in front of an unmarked call, it does."""
    half = tool_format(names[1]) if names[1] else None
    anchored = isinstance(half, Tools) and half.call.anchor and "\n" not in half.before.text
    seen: list[bool] = []
    for turn in ordinary_sample():
        message = possible(names, turn)
        if anchored and message.tool_calls and message.content:
            message = Message(message.reasoning, message.content + "\n", message.tool_calls)
        seen.append(expressible(*names, message, tools=turn.tools, thinking="absent") is None)
    assert sum(seen) >= 0.8 * len(seen)


def writes_json(half: Tools | Joint) -> bool:
    """Whether arguments are written as JSON; a template's region ends at its closer inside a string too."""
    if isinstance(half, ResponseTemplate):
        return False
    calls = channels.route(half, "call").calls if isinstance(half, Channels) else half
    json_parts = (Json, Envelope, Envelopes, Named)
    return calls is None or any(isinstance(one, json_parts) for one in written_parts(calls.call.parts))


JSON_NAMES = [name for name in TOOL_PARSERS if writes_json(tool_format(name))]


@pytest.mark.parametrize("name", JSON_NAMES)
@given(texts=st.lists(any_text, max_size=3), escaped=st.booleans())
def test_json_arguments_carry_any_string(name: str, texts: list[str], escaped: bool) -> None:
    arguments = json.dumps({"s": texts, "".join(texts): None}, ensure_ascii=escaped)
    assert check_round_trip((None, name), Message(tool_calls=[call(arguments)]), None, "absent")


@given(turn=hostile_turns)
def test_turn_ends_are_in_no_strand(turn: Turn) -> None:
    for names in OWN:
        message = possible(names, turn)
        try:
            text = write(*names, message, tools=turn.tools, end=True)
        except Inexpressible:
            continue
        read = Parser(*names, tools=turn.tools, prompt=prompt_of(names[0], "absent")).parse(text)
        assert (read.reasoning, read.content) == (message.reasoning, message.content), (names, text)
        assert len(read.tool_calls) == len(message.tool_calls), (names, text)


def test_what_is_expressible_never_asks_the_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Parser, "__init__", lambda *args, **options: pytest.fail("a parser was made"))
    for names in OWN:
        message = Message(content="Hi", tool_calls=[call('{"s": "x"}')] if names[1] else [])
        expressible(*names, message, tools=TOOLS)


# ---------------------------------------------------------------- what is written

TWO = [call('{"s": "x", "n": 3}'), call("{}", identity="functions.f:7")]
WRITTEN: list[tuple[Names, str, Message, str]] = [
    (("qwen3", "hermes"), "absent", Message("r", "c"), "<think>\nr\n</think>\n\nc"),
    (("qwen3", "hermes"), "absent", Message(None, "c"), "<think>\n\n</think>\n\nc"),
    (("qwen3", "hermes"), "open", Message("r", None, TWO[1:]),
     'r\n</think>\n\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'),
    (("qwen3", "hermes"), "open", Message(None, "c"), "\n</think>\n\nc"),
    (("qwen3", "hermes"), "closed", Message(None, "c"), "c"),
    (("qwen3", "qwen3_coder"), "closed", Message(None, "c", TWO[:1]),
     "c\n\n<tool_call>\n<function=f>\n<parameter=s>\nx\n</parameter>\n<parameter=n>\n3\n</parameter>\n"
     "</function>\n</tool_call>"),
    (("glm45", "glm45"), "absent", Message("r", "c", TWO[:1]),
     "\n<think>r</think>\nc\n<tool_call>f\n<arg_key>s</arg_key>\n<arg_value>x</arg_value>\n<arg_key>n</arg_key>\n"
     "<arg_value>3</arg_value>\n</tool_call>"),
    ((None, "glm47"), "absent", Message(None, "c", TWO),
     "c<tool_call>f<arg_key>s</arg_key><arg_value>x</arg_value><arg_key>n</arg_key><arg_value>3</arg_value>"
     "</tool_call><tool_call>f</tool_call>"),
    (("kimi_k2", "kimi_k2"), "closed", Message(None, None, TWO),
     "<|tool_calls_section_begin|><|tool_call_begin|>functions.f:2<|tool_call_argument_begin|>"
     '{"s": "x", "n": 3}'
     "<|tool_call_end|><|tool_call_begin|>functions.f:7<|tool_call_argument_begin|>{}<|tool_call_end|>"
     "<|tool_calls_section_end|>"),
    (("gemma4", "gemma4"), "absent", Message("r", None, TWO[:1]),
     '<|channel>thought\nr\n<channel|><|tool_call>call:f{n:3,s:<|"|>x<|"|>}<tool_call|>'),
    (("mistral", "mistral"), "absent", Message("r", "c", TWO),
     '[THINK]r[/THINK]c[TOOL_CALLS]f[ARGS]{"s": "x", "n": 3}[TOOL_CALLS]f[ARGS]{}'),
    ((None, "mistral_v3"), "absent", Message(None, "c", [*TWO, call("{}", identity="abcDEF123")]),
     'c[TOOL_CALLS] [{"name": "f", "arguments": {"s": "x", "n": 3}, "id": "000000002"}, '
     '{"name": "f", "arguments": {}, "id": "000000003"}, {"name": "f", "arguments": {}, "id": "abcDEF123"}]'),
    ((None, "mistral_nemo"), "absent", Message(None, None, TWO[1:]),
     '[TOOL_CALLS][{"name": "f", "arguments": {}, "id": "000000002"}]'),
    ((None, "mistral_small32"), "absent", Message(None, None, [*TWO[1:], call("{}", identity="abcDEF123")]),
     "[TOOL_CALLS]f[CALL_ID]000000002[ARGS]{}[TOOL_CALLS]f[CALL_ID]abcDEF123[ARGS]{}"),
    ((None, "cohere_command3"), "absent", Message(None, None, [call("{}"), call("{}", identity="7")]),
     '<|START_ACTION|>[\n    {"tool_call_id": "2", "tool_name": "f", "parameters": {}},\n'
     '    {"tool_call_id": "7", "tool_name": "f", "parameters": {}}\n]<|END_ACTION|>'),
    ((None, "llama3_json"), "absent", Message(None, None, TWO),
     '{"name": "f", "parameters": {"s": "x", "n": 3}}; {"name": "f", "parameters": {}}'),
    ((None, "pythonic"), "absent", Message(None, None, TWO), "[f(s='x', n=3), f()]"),
    (("deepseek_v3", "deepseek_v31"), "open", Message("r", None, TWO[1:]),
     "r</think><｜tool▁calls▁begin｜><｜tool▁call▁begin｜>f<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"),
    ((None, "deepseek_v3"), "absent", Message(None, None, TWO[1:]),
     "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{}\n```<｜tool▁call▁end｜>"
     "<｜tool▁calls▁end｜>"),
    (("openai_gptoss", "openai"), "absent", Message("r", "c", TWO[1:]),
     "<|channel|>analysis<|message|>r<|end|><|start|>assistant<|channel|>commentary<|message|>c<|end|>"
     "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}"),
    (("openai_gptoss", "openai"), "open", Message("r", "c"),
     "r<|end|><|start|>assistant<|channel|>final<|message|>c"),
    (("granite", None), "absent", Message("r", "c"), "Here is my thought process: r Here is my response: c"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "thinking", "message", "text"), WRITTEN)
def test_canonical_text(names: Names, thinking: str, message: Message, text: str) -> None:
    assert write(*names, message, tools=TOOLS, thinking=thinking, history_calls=2) == text


def test_what_the_prompt_left_out_is_written() -> None:
    message = Message("r", "c")
    assert write("qwen3", None, message, thinking=PromptState("open")) == "\nr\n</think>\n\nc"
    assert (
        write("gemma4", None, message, thinking=PromptState("open", label=True)) == "thought\nr\n<channel|>c"
    )
    after = PromptState("closed", after=Space("\n"))
    assert write("qwen3", None, Message(None, "c"), thinking=after) == "\nc"


@given(turn=hostile_turns, written=st.integers(0, 20), name=st.sampled_from(sorted(REASONING_PARSERS)))
def test_prompts_that_end_anywhere_in_the_framing(turn: Turn, written: int, name: str) -> None:
    half = reasoning_format(name)
    if not isinstance(half, Reasoning):
        return
    endings = [half.open.text, half.open.text + half.label, half.open.text + half.label + half.lead.text]
    endings += [
        half.open.text + half.close.text + half.after.text[:n] for n in range(len(half.after.text) + 1)
    ]
    prompt = "Question. " + endings[written % len(endings)]
    message = Message(turn.message.reasoning, turn.message.content)
    try:
        text = write(name, None, message, thinking=prompt_state(half, prompt))
    except Inexpressible:
        return
    read = Parser(name, None, prompt=prompt).parse(text)
    assert (read.reasoning, read.content) == (message.reasoning, message.content), (prompt, text)


def test_turn_ends() -> None:
    assert write("qwen3", "hermes", Message(None, "c"), thinking="closed", end=True) == "c<|im_end|>"
    assert write(None, "openai", Message(None, "c"), end=True) == "<|channel|>final<|message|>c<|return|>"
    called = write(None, "openai", Message(None, None, [call("{}")]), end=True)
    assert called.endswith("<|message|>{}<|call|>")


def test_python_strings_escape_what_they_must() -> None:
    arguments = json.dumps({"s": "a'b\\c\n\t\x00\x7f é 😀"}, ensure_ascii=False)
    text = write(None, "pythonic", Message(tool_calls=[call(arguments)]))
    assert text == "[f(s='a\\'b\\\\c\\n\\t\\x00\\x7f é 😀')]"


# ---------------------------------------------------------------- what is refused

REFUSED: list[tuple[Names, str, Message, str]] = [
    ((None, "hermes"), "absent", Message("r"), "no reasoning parser"),
    (("qwen3", None), "absent", Message(None, None, TWO), "no tool parser"),
    (("qwen3", "hermes"), "open", Message("a</think>b"), "holds </think>"),
    (("qwen3", "hermes"), "open", Message("a<tool_call>b"), "holds <tool_call>"),
    (("kimi_k2", None), "open", Message("a<|tool_calls_section_begin|>b"), "tool_calls_section_begin"),
    (("qwen3", "hermes"), "open", Message("<think>a"), "begins with <think>"),
    (("granite", None), "absent", Message("r "), "white space at its end"),
    (("granite", None), "absent", Message("r", " c"), "white space at its beginning"),
    (("qwen3", "hermes"), "absent", Message(None, "tail ", TWO[1:]), "in front of a call"),
    (("qwen3", "hermes"), "absent", Message(None, " ", TWO[1:]), "stands alone"),
    (("qwen3", "hermes"), "absent", Message(" ", "c"), "stands alone"),
    (("qwen3", "hermes"), "absent", Message(None, "a<tool_call>b"), "holds the marker <tool_call>"),
    (("qwen3", "hermes"), "closed", Message(None, "<think>a"), "begins as thinking does"),
    (("glm45", None), "closed", Message(None, "a<think>b"), "holds the marker <think>"),
    (("qwen3", None), "absent", Message(None, "a<|im_end|>b"), "holds the marker <|im_end|>"),
    ((None, "llama3_json"), "absent", Message(None, 'see\n{"a": 1}'), "begins as a call does"),
    ((None, "llama3_json"), "absent", Message(None, None, [call("{}", "g")]), "declared"),
    ((None, "hermes"), "absent", Message(None, None, [call("[1]")]), "JSON object"),
    ((None, "hermes"), "absent", Message(None, None, [call('{"a": ' + "[" * 600 + "]" * 600 + "}")]), "512"),
    ((None, "hermes"), "absent", Message(None, None, [call('{"a": ' + "1" * 2000 + "}")]), "1024"),
    ((None, "hermes"), "absent", Message(None, None, [call("{}", " f")]), "white space"),
    ((None, "glm45"), "absent", Message(None, None, [call("{}", "f g")]), "name"),
    ((None, "glm45"), "absent", Message(None, None, [call("{}", "f" * 300)]), "256"),
    ((None, "glm45"), "absent", Message(None, None, [ToolCall("", "f", "{}", False)]), "incomplete"),
    ((None, "glm45"), "absent", Message(None, None, [call('{"s": "a", "s": "b"}')]), "twice"),
    ((None, "glm45"), "absent", Message(None, None, [call('{" s": "a"}')]), "key"),
    ((None, "glm45"), "absent", Message(None, None, [call('{"s<": "a"}')]), "key"),
    ((None, "glm45"), "absent", Message(None, None, [call('{"s": "\\ud800"}')]), "surrogate"),
    ((None, "glm45"), "absent", Message(None, None, [call('{"u": "3"}')]), "read as 3"),
    ((None, "glm45"), "absent", Message(None, None, [call('{"s": 3}')]), 'read as "3"'),
    (
        (None, "glm45"),
        "absent",
        Message(None, None, [call('{"s": "a</arg_value></tool_call>"}')]),
        "end the value",
    ),
    (
        (None, "qwen3_coder"),
        "absent",
        Message(None, None, [call('{"s": "a\\n<parameter=n>\\n3"}')]),
        "end the value",
    ),
    ((None, "gemma4"), "absent", Message(None, None, [call('{"s": "a<|\\"|>"}')]), "marker"),
    ((None, "gemma4"), "absent", Message(None, None, [call('{"n": "3"}')]), "schema makes 3"),
    ((None, "pythonic"), "absent", Message(None, None, [call('{"a b": 1}')]), "identifier"),
    ((None, "pythonic"), "absent", Message(None, None, [call('{"n": 1e999}')]), "Python number"),
    ((None, "openai"), "absent", Message(None, None, TWO), "at most 1 call"),
    ((None, "openai"), "absent", Message(None, None, [call("{}", "a b")]), "name"),
    ((None, "openai"), "absent", Message(None, "a<|end|>b"), "marker <|end|>"),
    ((None, "minicpm5"), "absent", Message(None, None, [call('{"z": "a"}')]), "only declared keys"),
    ((None, "functionary_v32"), "absent", Message(None, None, [call("{}", "g")]), "only declared tools"),
    (("plamo3", "plamo3"), "absent", Message(None, "a <|plamo:begin_"), "ends with a part of <|plamo:begin_"),
]


@pytest.mark.parametrize(("names", "thinking", "message", "reason"), REFUSED)
def test_refused_with_a_reason(names: Names, thinking: str, message: Message, reason: str) -> None:
    found = expressible(*names, message, tools=TOOLS, thinking=thinking)
    assert found is not None
    assert reason in found
    with pytest.raises(Inexpressible) as refused:
        write(*names, message, tools=TOOLS, thinking=thinking)
    assert refused.value.message == found
    assert refused.value.param


EXPRESSIBLE: list[tuple[Names, str, Message]] = [
    (("qwen3", "hermes"), "open", Message("\n r \n", "\n\n c \n")),
    (("qwen3", "hermes"), "absent", Message("r", "say <think> or </think>")),
    (("qwen3", "hermes"), "absent", Message(" r ", " ")),
    (("kimi_k2", "kimi_k2"), "absent", Message("r", "kept ", TWO[1:])),
    ((None, "glm45"), "absent", Message(None, None, [call('{"s": "3", "n": 3, "o": {"a": [1, null]}}')])),
    (
        (None, "glm45"),
        "absent",
        Message(None, None, [call('{"s": "use </arg_value> and </tool_call> here"}')]),
    ),
    ((None, "qwen3_coder"), "absent", Message(None, None, [call('{"s": "\\n</parameter>\\n text \\n"}')])),
    ((None, "hermes"), "absent", Message(None, None, [call('{"a": 1, "a": "</tool_call>"}', 'na"me')])),
    ((None, "gemma4"), "absent", Message(None, None, [call('{"a,b": {"": [true, null, -1.5e3, "}"]}}')])),
    ((None, "llama3_json"), "absent", Message(None, "Hi\n", TWO)),
    ((None, "pythonic"), "absent", Message(None, None, [call('{"s": "\'", "o": {"a b": [true, null]}}')])),
]


@pytest.mark.parametrize(("names", "thinking", "message"), EXPRESSIBLE)
def test_what_looks_hard_is_read_back(names: Names, thinking: str, message: Message) -> None:
    assert check_round_trip(names, message, TOOLS, thinking)


@pytest.mark.parametrize("name", TOOL_PARSERS)
def test_deep_and_long_arguments(name: str) -> None:
    for arguments in ('{"o": ' + '{"a": [' * 255 + "]}" * 255 + "}", json.dumps({"s": "x<\n\\" * 100_000})):
        assert check_round_trip((None, name), Message(tool_calls=[call(arguments)]), TOOLS, "absent")


def test_a_wrong_state_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="thinking"):
        write("qwen3", None, Message("r"), thinking="maybe")
