"""Halves of characters in JSON text."""

from __future__ import annotations

import json
import random

import pytest
from jiter import from_json

from unbraid.wire.surrogates import Mender

TEXTS = [
    ('"plain"', '"plain"'),
    (r'"\ud83d\ude00"', r'"\ud83d\ude00"'),
    (r'"\uD83D\uDE00"', r'"\uD83D\uDE00"'),
    (r'"\ud83d"', r'"\ufffd"'),
    (r'"\ude00"', r'"\ufffd"'),
    (r'"\ud83dx"', r'"\ufffdx"'),
    (r'"\ud83d\n"', r'"\ufffd\n"'),
    (r'"\ud83d\u00e9"', r'"\ufffd\u00e9"'),
    (r'"\ud83d\ud83d\ude00"', r'"\ufffd\ud83d\ude00"'),
    (r'"\ude00\ud83d"', r'"\ufffd\ufffd"'),
    (r'"\\ud83d"', r'"\\ud83d"'),
    (r'"\\\ud83d"', r'"\\\ufffd"'),
    (r'"\"\/\b\u00e9"', r'"\"\/\b\u00e9"'),
]


@pytest.mark.parametrize(("text", "mended"), TEXTS)
def test_every_cut(text: str, mended: str) -> None:
    for first in range(len(text) + 1):
        for second in range(first, len(text) + 1):
            mender = Mender()
            pieces = (text[:first], text[first:second], text[second:])
            assert "".join(map(mender.feed, pieces)) + mender.end() == mended
    assert json.loads(mended) == from_json(mended.encode())


def test_what_is_given_can_always_be_read_so_far() -> None:
    """A client reads the text so far after each piece; nothing that it gets may be refused."""
    rng = random.Random(3)
    for _ in range(200):
        parts = rng.choices([r"\ud83d", r"\ude00", r"\n", "a", r"\\", r"\u00e9", "é"], k=8)
        text = '{"a": "' + "".join(parts) + '"}'
        mender, seen = Mender(), b""
        for char in text:
            seen += mender.feed(char).encode()
            if seen:
                from_json(seen, partial_mode=True)
        assert mender.end() == ""
        assert json.loads(seen) == from_json(seen)


@pytest.mark.parametrize("text", [r'{"a": "\ud83d', r'{"a": "\ud8', '{"a": "\\'])
def test_a_cut_escape_is_given_as_it_is(text: str) -> None:
    mender = Mender()
    assert "".join(map(mender.feed, text)) + mender.end() == text
    assert from_json(text.encode(), partial_mode=True) == {}
