"""The benchmarks measure every format, and what they measure is read right."""

from __future__ import annotations

import json

import pytest
from benchmarks.report import Figure, Table
from benchmarks.shapes import TEXTS, TOOLS, around, body, formats, shapes

from unbraid import Parser
from unbraid.formats import TOOL_PARSERS, tool_names


def test_every_format_is_measured() -> None:
    assert formats() == [name for name in tool_names() if name in TOOL_PARSERS]
    assert {one.tool for one in shapes() if one.name == "1,000 calls"} == set(formats())


@pytest.mark.parametrize("tool", formats())
@pytest.mark.parametrize("name", TEXTS)
def test_a_long_string_is_read_back(tool: str, name: str) -> None:
    text = body(TEXTS[name], 2_000)
    (call,) = Parser(None, tool, tools=TOOLS).parse("".join(around(tool, text))).tool_calls
    assert call.complete
    assert json.loads(call.arguments) == {"content": text}


def test_the_worst_row_is_named() -> None:
    table = Table("", "", ("format", "ms"), [("a", Figure(1, 1)), ("b", Figure(3, 1)), ("c", "none")])
    assert table.worst_row("ms") == "b (3.0)"
