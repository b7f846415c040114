"""Rows of calls, calls by their only key, the answer's region and calls inside thinking that goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.laws.reading import read_every_way
from unbraid import InvalidRequest, Message, Parser, ToolCall
from unbraid.formats import reasoning_format, register, tool_format
from unbraid.formats.registry import REASONING_PARSERS, TOOL_PARSERS
from unbraid.syntax import Answer, Calls, Envelopes, Named, Tools, Ws, lit, space
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
