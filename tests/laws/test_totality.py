"""Law 4: any text gives a message, in linear time and bounded memory, and never an exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hostile import First, Pair, cases, examples, markers, pairs, splits, write_call
from unbraid import Message
from unbraid.machine.core import Machine
from unbraid.syntax import Reasoning, ResponseTemplate, Tools

LOOK_AHEAD = 4096


def undecided(machine: Any) -> int:
    """How much text a machine, or the one inside a stream, holds that it would look at again."""
    while not isinstance(machine, Machine):
        machine = machine._stream
    return len(machine.buf) - machine.i


def read_bounded(pair: Pair, text: str, size: int = 10, **options: Any) -> Message:
    """Read a text in small pieces; the text that is looked at again stays short."""
    stream = pair.parser(spans=True, **options).stream()
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
        assert undecided(stream) < LOOK_AHEAD
    stream.finish("stop")
    return stream.message


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_any_text_gives_a_message(pair: Pair) -> None:
    @settings(max_examples=examples(1000))
    @given(cases(pair), st.integers(0, 99))
    def law(case, seed):
        stream = case.parser().stream()
        for piece in splits(case.text, seed)[4]:
            stream.feed(piece)
        stream.finish(case.finish)
        json.dumps(stream.message.as_dict())

    law()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_any_unicode_gives_a_message(pair: Pair) -> None:
    @settings(max_examples=examples(500))
    @given(st.text(st.characters(codec=None), max_size=60), st.sampled_from(("", *markers(pair))))
    def law(text, opener):
        message = pair.parser(spans=True).parse(opener + text)
        assert message.spans is not None
        assert sum(span.end - span.start for span in message.spans) == len(opener + text)

    law()


def endless(pair: Pair) -> dict[str, str]:
    """Texts that are long in one respect."""
    first = markers(pair)[0]
    every = "".join(markers(pair))
    return {
        "brackets": "[" * 20_000,
        "braces": '{"a":' * 6_000,
        "lines_of_brackets": "[\n{\n" * 5_000,
        "white": " \n" * 10_000,
        "white_then_text": " " * 20_000 + "x",
        "quotes": '"' * 20_000,
        "backslashes": "\\" * 20_000,
        "digits": "9" * 20_000,
        "letters": "a" * 40_000,
        "first_marker": first * (20_000 // len(first)),
        "every_marker": every * (20_000 // len(every) + 1),
        "cut_markers": "".join(one[:-1] for one in markers(pair) if len(one) > 1) * 40,
    }


LENGTHS = list(endless(pairs()[0]))


@pytest.mark.parametrize("what", LENGTHS)
@pytest.mark.parametrize("pair", [one for one in pairs() if one.tools or one.reasoning == "granite"], ids=str)
def test_endless_text_alone_and_inside_a_call(pair: Pair, what: str) -> None:
    text = endless(pair)[what]
    read_bounded(pair, text, 500)
    for half in pair.halves:
        if not isinstance(half, Reasoning):
            call = write_call(half, "f", {"a": "HERE"}, First())
            head = call.partition("HERE")[0]
            read_bounded(pair, head + text, 500)
            read_bounded(pair, head.rpartition("a")[0] + text, 500)


@pytest.mark.parametrize("pair", [one for one in pairs() if one.tools and not one.reasoning], ids=str)
def test_a_long_argument_arrives_whole_and_as_it_comes(pair: Pair) -> None:
    """300,000 characters of one argument: all of them come out, and never late."""
    body = 'line "q" \\ é\n' * 23_000
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": schema}}]
    text = write_call(pair.halves[0], "f", {"a": body}, First())
    stream = pair.parser(tools=tools).stream()
    given = 0
    for at in range(0, len(text), 97):
        for event in stream.feed(text[at : at + 97]):
            given += len(getattr(event, "text", ""))
        assert undecided(stream) < LOOK_AHEAD
    half = pair.halves[0]
    if not (isinstance(half, Tools) and half.call.atomic):
        assert given > len(body) * 0.99
    stream.finish()
    calls = stream.message.tool_calls
    assert [call.complete for call in calls] == [True] * len(calls)
    assert json.loads(calls[0].arguments) == {"a": body}


@pytest.mark.parametrize("depth", [500, 600, 100_000])
@pytest.mark.parametrize("pair", [one for one in pairs() if one.tools and not one.reasoning], ids=str)
def test_deep_nesting_is_a_broken_call_not_a_crash(pair: Pair, depth: int) -> None:
    """Up to the declared depth nesting is fine; over it the call is incomplete, an atomic one is content."""
    marker = [["HERE"]]
    text = write_call(pair.halves[0], "f", {"a": marker}, First())
    here = json.dumps(marker)
    for written in (here, "[['HERE']]", '[[<|"|>HERE<|"|>]]'):
        text = text.replace(written, "[" * depth + "]" * depth)
    tools = [{"type": "function", "function": {"name": "f"}}]
    message = read_bounded(pair, text, 1000, tools=tools)
    half = pair.halves[0]
    atomic = isinstance(half, ResponseTemplate) or (isinstance(half, Tools) and half.call.atomic)
    if atomic and not message.tool_calls:
        assert depth > 500
        assert message.content == text
        return
    assert [call.name for call in message.tool_calls][:1] == ["f"]
    call = message.tool_calls[0]
    if call.complete:
        assert isinstance(json.loads(call.arguments)["a"], str if depth > 512 else (list, str))
    else:
        assert depth > 500
        assert any(one.code == "too_deep" for one in message.diagnostics)
