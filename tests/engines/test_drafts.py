"""Grammars for an engine that drafts: xgrammar loses count of tokens that are taken back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from unbraid.constrain import constrain
from unbraid.errors import UnbraidError
from unbraid.formats import tool_names

TOOL = {
    "name": "f",
    "parameters": {"type": "object", "properties": {"x": {"type": "string", "maxLength": 9}}},
}


def keys(tag: Any) -> Iterator[str]:
    """The names of all fields in a tag."""
    if isinstance(tag, dict):
        yield from tag
        for value in tag.values():
            yield from keys(value)
    elif isinstance(tag, list):
        for value in tag:
            yield from keys(value)


def test_no_tag_counts_tokens() -> None:
    made = 0
    for name in tool_names():
        try:
            demand = constrain(None, name, tools=[TOOL], tool_choice="required", max_string=64)
            tag = demand.structural_tag() if demand is not None else None
        except UnbraidError:
            continue
        assert tag is not None
        made += 1
        assert "max_tokens" not in set(keys(tag)), name
    assert made > 40
