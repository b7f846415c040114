"""Grammars on their way to an engine."""

from __future__ import annotations

import json

from unbraid.constrain import constrain
from unbraid.engines.grammars import LAYOUT, fixed_layout

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "strict": True,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


def test_every_version_of_llguidance_reads_the_layout_alike() -> None:
    """The white space of JSON in a grammar is one fixed layout, and nothing else changes."""
    constraint = constrain(None, "hermes", tools=[TOOL], tool_choice="required")
    assert constraint is not None
    lark = constraint.lark()
    assert "whitespace_pattern" in lark
    fixed = fixed_layout(lark)
    assert f'"x-guidance": {json.dumps(LAYOUT)}' in fixed
    assert "whitespace_pattern" not in fixed
    assert fixed.count('"city"') == lark.count('"city"')
    assert fixed_layout(fixed) == fixed
