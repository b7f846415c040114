"""Patterns that leave something out: whole words, or characters."""

from __future__ import annotations

import re

import pytest

from unbraid.constrain.patterns import other_than, without
from unbraid.errors import Unsupported


def test_words_are_left_out_whole() -> None:
    found = re.compile(other_than(("invoke", "in", "tool_call"), "[^<> ]", 8)).fullmatch
    for name in ("i", "inv", "invokes", "tool_cal", "tool", "in_", "city", "é", "x" * 8):
        assert found(name), name
    for name in ("invoke", "in", "", "a b", "a>", "x" * 9, "invoke789"):
        assert not found(name), name


def test_characters_are_left_out_everywhere() -> None:
    found = re.compile(without(r'"(?:[^"\\]|\\(?:n|u[0-9a-f]{4}))*"', "<]")).fullmatch
    for text in ('"a b"', r'"a\n"', r'"\u003c"', '""'):
        assert found(text), text
    for text in ('"a<"', '"]"', '"a""'):
        assert not found(text), text
    with pytest.raises(Unsupported):
        without("a<b", "<")
