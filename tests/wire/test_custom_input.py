"""The text of a custom tool out of its arguments, however they are cut."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.wire.custom_input import CustomInput


def read(pieces: list[str]) -> str:
    reader = CustomInput()
    found = [reader.feed(piece) for piece in pieces]
    return "".join([*found, reader.end()])


def cut(text: str, places: list[int]) -> list[str]:
    ends = sorted({place % (len(text) + 1) for place in places})
    return [text[start:end] for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from('"\\\n\u2028😀{}'))
PLACES = st.lists(st.integers(0, 200), max_size=8)


@settings(derandomize=True, deadline=None, max_examples=100, database=None)
@given(TEXTS, st.booleans(), PLACES, st.sampled_from(["", " ", "\n\t"]))
def test_any_text_in_any_pieces(text: str, ascii_only: bool, places: list[int], white: str) -> None:
    body = json.dumps(text, ensure_ascii=ascii_only)
    arguments = f'{white}{{{white}"input"{white}:{white}{body}{white}}}'
    assert read(cut(arguments, places)) == text
    assert read(list(arguments)) == text


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"input": "a", "mode": "b"}', "a"),
        ('{"mode": "b", "input": "a"}', "a"),
        ('{"input": 3}', '{"input": 3}'),
        ('{"input": {"a": 1}}', '{"input": {"a": 1}}'),
        ('{"text": "a"}', '{"text": "a"}'),
        ("{}", "{}"),
        ('{"inp', ""),
        ('{"mode": "b", "inp', '{"mode": "b", "inp'),
        ('{"input": "half', "half"),
        ('{"input": "half\\', "half"),
        ('{"input": "half\\u00', "half"),
        ('{"input": "half\\ud83d', "half"),
        ('{"input": "\\ud83d\\ude00"}', "😀"),
        ('{"input": "\\ud83d!"}', "\ufffd!"),
        ('{"input": "\\ude00"}', "\ufffd"),
        ('{"mode": 1, "input": "\\ude00"}', "\ufffd"),
        ('{"input": "raw\ttab"}', "raw\ttab"),
    ],
)
def test_odd_arguments(arguments: str, text: str) -> None:
    assert read([arguments]) == text
    assert read(list(arguments)) == text


def test_text_comes_as_soon_as_it_is_certain() -> None:
    reader = CustomInput()
    assert [reader.feed(piece) for piece in ('{"inp', 'ut": "a', "b", "\\", "n", "c\\u00e", "9", '"}')] == [
        *("", "a", "b", "", "\n", "c", "é", ""),
    ]
    assert reader.end() == ""
