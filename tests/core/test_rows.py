"""Rows of calls, calls by their only key, the answer's region and calls inside thinking that goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.laws.reading import read_every_way
from tests.support.pairing import TOOLS
from unbraid import InvalidRequest, Message, Parser, ToolCall
from unbraid.formats import reasoning_format, register, tool_format
from unbraid.formats.registry import REASONING_PARSERS, TOOL_PARSERS
from unbraid.syntax import Answer, Calls, Envelopes, Named, PythonCalls, Tools, Ws, lit, space
from unbraid.writer import write

CALLS = [ToolCall("", "a", '{"x": 1}'), ToolCall("", "b", "{}")]


@pytest.fixture
def rows() -> Iterator[None]:
    yield
    for name in ("rows",):
        TOOL_PARSERS.pop(name, None)
        REASONING_PARSERS.pop(name, None)


def declare(row: Envelopes, **fields: object) -> None:
    call = Calls((lit("<c>"), Ws(), row, Ws(), lit("</c>")))
    register("rows", replace(Tools(call=call, models=("rows",)), **fields), override=True)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("row", "written"),
    [
        (Envelopes(Named()), '[{"a": {"x": 1}}, {"b": {}}]'),
        (Envelopes(Named(), "", "\n", ""), '{"a": {"x": 1}}\n{"b": {}}'),
        (
            Envelopes(open="[\n  ", between=",\n  ", close="\n]"),
            '[\n  {"name": "a", "arguments": {"x": 1}},\n  {"name": "b", "arguments": {}}\n]',
        ),
    ],
)
def test_a_row_is_written_in_its_layout_and_read_in_any(rows: None, row: Envelopes, written: str) -> None:
    declare(row)
    text = write(None, "rows", Message(tool_calls=CALLS))
    assert text == f"<c>{written}</c>"
    for layout in (text, text.replace("\n", " "), text.replace(", ", " ,\n\n ")):
        calls = read_every_way(Parser(None, "rows", make_id=lambda: "id"), layout).tool_calls
        assert [(call.name, call.complete) for call in calls] == [("a", True), ("b", True)]


@pytest.mark.parametrize("row", [Envelopes(open="("), Envelopes(open=""), Envelopes(between=";")])
def test_a_row_has_brackets_and_commas_or_neither(row: Envelopes) -> None:
    with pytest.raises(InvalidRequest):
        declare(row)


def test_an_answer_has_markers_and_framing(rows: None) -> None:
    declare(Envelopes(), answer=Answer(lit("<r>"), lit("</r>"), space("\n"), space("\n"), "alone"))
    assert write(None, "rows", Message(content="Hi.")) == "<r>\nHi.\n</r>"
    for text, content in (
        ("<r>\nHi.\n</r>\n", "Hi."),
        ("Hi.", "Hi."),
        ("<r>A </r> in a line.\n</r>", "A </r> in a line."),
        ("See <r>.", "See <r>."),
    ):
        assert read_every_way(Parser(None, "rows"), text).content == content


def test_noise_is_told_of() -> None:
    calls = '{"name": "a", "arguments": {}}, [1, {"b": 2}], {"name": "b", "arguments": {}}'
    text = f"<tool_calls>[{calls}]</tool_calls>"
    message = Parser(None, "jamba", spans=True).parse(text)
    noise = [text[span.start : span.end] for span in message.spans or () if span.kind == "noise"]
    assert noise == ['[1, {"b": 2}]']
    assert [one.code for one in message.diagnostics] == ["noise"]


def several() -> list[str]:
    """Formats whose calls stand beside each other, each for itself."""
    found = {name: tool_format(name) for name in TOOLS}
    tags = {name: half for name, half in found.items() if isinstance(half, Tools) and not half.call.atomic}
    return [name for name, half in tags.items() if half.calls_per_turn != 1]


def offered(*names: str) -> list[dict[str, Any]]:
    parameters = {"type": "object", "properties": {"x": {"type": "integer"}}}
    return [{"type": "function", "function": {"name": name, "parameters": parameters}} for name in names]


@pytest.mark.parametrize("name", several())
def test_a_call_that_is_refused_costs_no_other(name: str) -> None:
    half = tool_format(name)
    assert isinstance(half, Tools)
    calls = [ToolCall("", one, '{"x": 1}') for one in ("fa", "fb", "fc")]
    lines = half.call.anchor and not any(isinstance(one, (Envelopes, PythonCalls)) for one in half.call.parts)
    for first in (0,) if half.call.anchor else (0, 1):
        order = [calls[first], calls[1 - first], calls[2]]
        text = write(None, name, Message(tool_calls=order), tools=offered("fa", "fb", "fc"))
        parser = Parser(None, name, tools=offered("fa", "fc"), unknown_tools="text")
        message = read_every_way(parser, text)
        read = [call.name for call in message.tool_calls if call.complete]
        assert read == ["fa", "fc"] or (lines and read == ["fa"])
        assert "fb" in (message.content or "")
        assert "unknown_tool" in [one.code for one in message.diagnostics]


def without_section() -> list[str]:
    halves = {name: tool_format(name) for name in TOOLS}
    tags = {name: half for name, half in halves.items() if isinstance(half, Tools) and half.section}
    return [name for name, half in tags.items() if half.section and half.section.bare]


@pytest.mark.parametrize("name", without_section())
def test_calls_count_without_their_section(name: str) -> None:
    half = tool_format(name)
    assert isinstance(half, Tools)
    assert half.section
    calls = [ToolCall("", one, '{"x": 1}') for one in ("fa", "fb")]
    text = write(None, name, Message(tool_calls=calls), tools=offered("fa", "fb"))
    parser = Parser(None, name, tools=offered("fa", "fb"), spans=True)
    for marker in (half.section.open.text, half.section.close.text):
        text = text.replace(marker, "")
        message = read_every_way(parser, f"Hi.{text}")
        assert [(one.name, one.arguments, one.complete) for one in message.tool_calls] == [
            ("fa", '{"x": 1}', True),
            ("fb", '{"x": 1}', True),
        ]
        assert (message.content or "").strip() == "Hi."


@pytest.mark.parametrize("bad", ["5", "('a', 'b')", "f(1, '), x')", "f([1, 2], a={'k': (1,)})"])
def test_an_item_that_is_no_call_of_python(bad: str) -> None:
    for name, open, between, close in (
        ("lfm2", "<|tool_call_start|>[", ", ", "]<|tool_call_end|>"),
        ("olmo3", "<function_calls>", "\n", "</function_calls>"),
        ("llama4_pythonic", "<|python_start|>[", ", ", "]<|python_end|>"),
    ):
        for items in ([bad, "fa()", "fc(x=1)"], ["fa()", bad, "fc(x=1)"], ["fa()", "fc(x=1)", bad]):
            text = f"{open}{between.join(items)}{close}"
            message = read_every_way(Parser(None, name, tools=offered("fa", "fc"), spans=True), text)
            calls = [(call.name, call.complete) for call in message.tool_calls]
            assert (message.content, calls) == (None, [("fa", True), ("fc", True)]), text
            noise = [text[one.start : one.end] for one in message.spans or () if one.kind == "noise"]
            assert noise == [bad]
        alone = f"{open}{bad}{close}"
        assert read_every_way(Parser(None, name), alone).content == alone


def test_what_is_no_item_is_noise_up_to_the_end_nearby() -> None:
    for text in (
        "<|tool_call_start|>[fa(), or so]<|tool_call_end|>",
        "<function_calls>fa()\nor [so]</function_calls>",
    ):
        name = "lfm2" if "[fa" in text else "olmo3"
        message = read_every_way(Parser(None, name), text)
        assert (message.content, len(message.tool_calls)) == (None, 1)


def test_a_tool_may_be_called_name() -> None:
    tools = [{"type": "function", "function": {"name": one}} for one in ("name", "a")]
    text = '<|tools_prefix|>[{"name": "{}"}]<|tools_suffix|>'
    assert [call.name for call in Parser(None, "apertus", tools=tools).parse(text).tool_calls] == ["name"]


def test_under_a_constraint_a_call_ends_thinking_everywhere() -> None:
    text = '<think>plan<tool_call>{"name": "a", "arguments": {}}</tool_call>more</think>done'
    assert reasoning_format("trinity").tools_inside == "stay"  # type: ignore[union-attr]
    free = Parser("trinity", "trinity").parse(text)
    assert (free.reasoning, free.content) == ("planmore", "done")
    forced = Parser("trinity", "trinity", constrained=True).parse(text)
    assert forced.reasoning == "plan"


def test_the_frame_of_a_turn_is_read_without_tools() -> None:
    assert tool_format("jamba")
    assert Parser(None, "jamba", tools=[]).parse(" Hi.<|eom|>").content == "Hi."
