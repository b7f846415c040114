"""Robustness, E1 to E6 of the list of known pitfalls, for every family by example."""

from __future__ import annotations

import json

import pytest

from tests.laws.reading import Fold, read, read_every_way, strands
from tests.support.hostile import (
    TOOLS,
    WEATHER,
    Pair,
    answer,
    halves,
    markers,
    matched_pairs,
    native_call,
    open_prompt,
    thought,
)
from unbraid import InvalidRequest
from unbraid.machine.core import Machine

PAIRS = matched_pairs()
ALONE = [Pair(None, name) for name in TOOLS]
every_pair = pytest.mark.parametrize("pair", PAIRS, ids=str)
every_tools = pytest.mark.parametrize("pair", ALONE, ids=str)


@every_tools
def test_E1_a_long_argument_per_character(pair: Pair) -> None:
    """60,000 characters one by one: each comes out at once, and little is ever held."""
    body = "x = [1, 2]  # a {b}\n" * 3_000
    text = native_call(pair, "get_weather", {"city": body})
    stream = pair.parser(tools=WEATHER, spans=True).stream()
    assert isinstance(stream, Machine)
    fold = Fold()
    for char in text:
        fold.add(stream.feed(char))
        assert len(stream.buf) - stream.i < 200
    fold.add(stream.finish())
    assert json.loads(fold.calls[0].arguments) == {"city": body}


@every_pair
def test_E1_cut_and_start_anywhere(pair: Pair) -> None:
    """Every end and every beginning of a turn gives a message that covers it."""
    half, _ = halves(pair)
    turn = thought(half, "need data") + native_call(pair, "get_weather", {"city": "Oslo"}) + "\n"
    parser = pair.parser(tools=WEATHER, prompt=open_prompt(half), spans=True)
    for at in range(len(turn)):
        for text in (turn[:at], turn[at:], turn[at:] + turn[:at]):
            spans = read(parser, [text])[0].spans or []
            assert sum(span.end - span.start for span in spans) == len(text)


@every_pair
def test_E2_strands_and_markup_are_the_text(pair: Pair) -> None:
    half, _ = halves(pair)
    text = thought(half, "need data", opener=False) + native_call(pair, "get_weather", {"city": "Oslo"})
    message = read_every_way(pair.parser(tools=WEATHER, prompt=open_prompt(half), spans=True), text)
    spans = message.spans or []
    assert "".join(text[span.start : span.end] for span in spans) == text
    assert "".join(text[span.start : span.end] for span in spans if span.kind == "reasoning") == "need data"
    names = [text[span.start : span.end] for span in spans if span.kind == "name"]
    assert not names or names[0].strip('"') == "get_weather"
    assert not any(span.kind in ("noise", "broken", "unfinished", "dropped", "content") for span in spans)


@every_pair
def test_E2_a_held_piece_is_released_at_the_end(pair: Pair) -> None:
    """A beginning of any marker at the end of the output is text after all."""
    half, _ = halves(pair)
    parser = pair.parser(tools=WEATHER, prompt=open_prompt(half))
    for marker in markers(pair):
        if marker != marker.strip() or len(marker) < 3:
            continue
        text = "so " + marker[:-1]
        if any(one in text for one in markers(pair)):
            continue
        stream = parser.stream()
        given = "".join(event.text for event in stream.feed(text))  # type: ignore[union-attr]
        assert len(text) - len(given) <= len(marker)
        given += "".join(event.text for event in stream.finish())  # type: ignore[union-attr]
        assert given == text


@every_pair
def test_E3_arguments_only_grow(pair: Pair) -> None:
    half, _ = halves(pair)
    text = thought(half, "need", opener=False) + native_call(pair, "get_weather", {"city": "Oslo", "days": 3})
    stream = pair.parser(tools=WEATHER, prompt=open_prompt(half)).stream()
    before = ""
    for char in text:
        stream.feed(char)
        now = "".join(call.arguments for call in stream.message.tool_calls)
        assert now.startswith(before)
        before = now
    stream.finish()
    assert stream.message.tool_calls[0].arguments.startswith(before)


@every_pair
def test_E4_finish_twice_empty_feed_and_feed_after_finish(pair: Pair) -> None:
    half, _ = halves(pair)
    stream = pair.parser(tools=WEATHER, prompt=open_prompt(half)).stream()
    assert stream.feed("") == []
    stream.feed(thought(half, "r", opener=False) + answer(half, "c"))
    stream.finish("stop")
    message = stream.message
    assert stream.finish("stop") == []
    assert stream.finish("length") == []
    assert stream.message == message
    for text in ("more", ""):
        with pytest.raises(InvalidRequest, match="finished"):
            stream.feed(text)
    assert stream.message == message
    assert strands(message) == ("r", "c", [])


UNICODE = [
    "｜▁｜",
    "<｜tool▁",
    "e\u0301a\u0308",
    "👩‍👩‍👧",
    "\u202eabc\u202c",
    "\u2028\u2029",
    "\x00\x01\x7f",
    "\ufeff",
    "İıſß",
]


@every_pair
@pytest.mark.parametrize("odd", UNICODE)
def test_E5_unicode_everywhere(pair: Pair, odd: str) -> None:
    half, _ = halves(pair)
    call = native_call(pair, "get_weather", {"city": f"a{odd}b"})
    text = thought(half, f"a{odd}b", opener=False) + call
    message = read_every_way(pair.parser(tools=WEATHER, prompt=open_prompt(half)), text)
    assert message.reasoning == f"a{odd}b"
    assert [json.loads(one.arguments) for one in message.tool_calls] == [{"city": f"a{odd}b"}]
    text = thought(half, "r", opener=False) + answer(half, f"a{odd}b")
    assert read_every_way(pair.parser(prompt=open_prompt(half)), text).content == f"a{odd}b"


@every_pair
def test_E5_surrogate_halves_in_two_deltas(pair: Pair) -> None:
    half, _ = halves(pair)
    parser = pair.parser(prompt=open_prompt(half))
    message, _ = read(parser, ["a", "\ud83d", "\ude00", "b"])
    assert message.reasoning == "a\ud83d\ude00b"


@every_pair
def test_E6_same_input_same_output(pair: Pair) -> None:
    half, _ = halves(pair)
    text = thought(half, "need", opener=False) + native_call(pair, "get_weather", {"city": "Oslo"}) * 2
    ids = iter(range(100))
    parser = pair.parser(tools=WEATHER, prompt=open_prompt(half), spans=True, make_id=lambda: "id")
    assert parser.parse(text) == parser.parse(text)
    again = pair.parser(tools=WEATHER, prompt=open_prompt(half), spans=True, make_id=lambda: f"id{next(ids)}")
    assert strands(again.parse(text)) == strands(parser.parse(text))
