"""Calls that count only as a whole: nothing is announced before the end, a fault makes them content."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.laws.reading import read_every_way
from unbraid import Inexpressible, Message, Parser, ToolCall
from unbraid.events import ToolCallStart
from unbraid.formats import register
from unbraid.formats.registry import TOOL_PARSERS
from unbraid.syntax import Calls, Name, Pairs, Section, Tools, Ws, any_space, lit
from unbraid.writer import write

PAIRS = Pairs(open=lit("<k>"), middle=(lit("</k>"),), close=lit("</v>"))
PARTS = (lit("<c>"), Name(), Ws(), PAIRS, lit("</c>"))
PARAMETERS = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {}}, "required": ["a"]}
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": PARAMETERS}}]
GOOD = "<c>f<k>a</k>1</v></c>"


@pytest.fixture(autouse=True)
def formats() -> Any:
    one = Calls(PARTS, atomic=True, needs_required=True)
    register("atomic", Tools(call=one, before=any_space(""), between=any_space("")))
    group = Section(lit("<cs>"), lit("</cs>"), noise=False)
    register("group", Tools(call=Calls(PARTS, atomic=True), section=group))
    yield
    TOOL_PARSERS.pop("atomic")
    TOOL_PARSERS.pop("group")


def read(tool: str, text: str, finish: str = "stop") -> tuple[str | None, list[Any]]:
    """Content and calls, the same in every split."""
    message = read_every_way(Parser(None, tool, tools=TOOLS, spans=True), text, finish)
    assert all(call.complete for call in message.tool_calls)
    return message.content, [json.loads(call.arguments) for call in message.tool_calls]


def test_a_call_is_announced_at_its_end() -> None:
    stream = Parser(None, "atomic", tools=TOOLS).stream()
    for char in GOOD[:-1]:
        assert not stream.feed(char)
    assert any(isinstance(event, ToolCallStart) for event in stream.feed(GOOD[-1]))


@pytest.mark.parametrize(
    "bad",
    [
        "<c>g<k>a</k>1</v></c>",
        "<c>f<k>b</k>1</v></c>",
        "<c>f<k>a</k>1</v><k>a</k>2</v></c>",
        "<c>f x</c>",
    ],
)
def test_a_fault_makes_all_of_it_content(bad: str) -> None:
    assert read("atomic", f"So: {bad} and") == (f"So: {bad} and", [])
    assert read("atomic", f"{GOOD} {bad}{GOOD}") == (f" {bad}", [{"a": 1}, {"a": 1}])


@pytest.mark.parametrize(
    "bad",
    [
        f"<cs>{GOOD}<c>g</c></cs>",
        f"<cs>{GOOD}x{GOOD}</cs>",
        "<cs><c>f<k>a</k>1</v><k>a</k>2</v></c></cs>",
        "<cs></cs>",
        f"<cs>{GOOD}</c></cs>",
    ],
)
def test_a_fault_in_a_group_makes_the_group_content(bad: str) -> None:
    assert read("group", f"So: {bad}<cs>{GOOD}</cs>") == (f"So: {bad}", [{"a": 1}])


@pytest.mark.parametrize("tool", ["atomic", "group"])
def test_a_cut_call_is_unfinished(tool: str) -> None:
    text = f"{'<cs>' if tool == 'group' else ''}{GOOD}<c>f<k>a</k>1"
    for finish in ("stop", "length"):
        assert read(tool, text, finish) == (None, [{"a": 1}])
    assert read(tool, text.replace(GOOD, ""), "length") == (None, [])


@pytest.mark.parametrize(
    ("tool", "keys", "arguments"),
    [
        ("atomic", "<k>b</k>1</v>", {"b": "1"}),
        ("atomic", "<k>a</k>1</v><k>a</k>2</v>", {"a": 1}),
        ("group", "<k>a</k>1</v><k>a</k>2</v>", {"a": 1}),
    ],
)
def test_what_no_grammar_holds_is_no_fault_under_one(tool: str, keys: str, arguments: Any) -> None:
    parser = Parser(None, tool, tools=TOOLS, tool_choice="required")
    call = f"<c>f{keys}</c>"
    message = read_every_way(parser, f"<cs>{call}</cs>" if tool == "group" else call)
    assert message.content is None
    assert [json.loads(call.arguments) for call in message.tool_calls] == [arguments]


def test_the_writer_knows() -> None:
    for call in (ToolCall("", "g", '{"a": 1}'), ToolCall("", "f", '{"b": "x"}')):
        with pytest.raises(Inexpressible):
            write(None, "atomic", Message(None, None, [call]), tools=TOOLS)
    assert write(None, "atomic", Message(None, None, [ToolCall("", "f", '{"a": 1}')]), tools=TOOLS) == GOOD
