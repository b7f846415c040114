"""The life of thinking, case by case, for every reasoning half of the registry."""

from __future__ import annotations

from typing import Any

import pytest

from tests.laws.reading import Fold, read_every_way, strands
from tests.support import channels, templates
from tests.support.hostile import REASONING, answer, end_of_thinking, open_prompt, thought, turn_prompt
from unbraid import Event, Parser
from unbraid.formats import reasoning_format
from unbraid.prompts import prompt_state
from unbraid.syntax import ANY, Channels, Reasoning, ResponseTemplate, Switch

every = pytest.mark.parametrize("name", REASONING)
TAGS = [name for name in REASONING if isinstance(reasoning_format(name), Reasoning)]
every_tag = pytest.mark.parametrize("name", TAGS)


def half_of(name: str) -> Any:
    return reasoning_format(name)


def opener(half: Any) -> str:
    if isinstance(half, Channels):
        return channels.head(half, "reasoning")
    if isinstance(half, ResponseTemplate):
        return templates.head(half, "reasoning")
    return half.open.text + half.label + half.lead.text


def closer(half: Any) -> str:
    return thought(half, "", opener=False)


def opened(name: str, **options: Any) -> Parser:
    """A parser whose prompt opened thinking."""
    return Parser(name, prompt=open_prompt(half_of(name)), **options)


def begun(name: str, **options: Any) -> Parser:
    """A parser whose prompt only began the turn."""
    return Parser(name, prompt=turn_prompt(half_of(name)), **options)


# -- named cases -----------------------------------------------------------------------


@every
def test_start_in_the_prompt(name: str) -> None:
    half = half_of(name)
    text = f"r{closer(half)}{answer(half, 'c')}"
    assert strands(read_every_way(opened(name), text)) == ("r", "c", [])


@every
def test_start_in_the_output(name: str) -> None:
    half = half_of(name)
    text = f"{opener(half)}r{closer(half)}{answer(half, 'c')}"
    assert strands(read_every_way(begun(name), text)) == ("r", "c", [])


@every
@pytest.mark.parametrize("finish", ["length", "stop"])
def test_cut(name: str, finish: str) -> None:
    message = read_every_way(opened(name), "so far", finish)
    assert strands(message) == ("so far", None, [])
    assert message.finish_reason == finish
    message = read_every_way(begun(name), f"{opener(half_of(name))}so far", finish)
    assert strands(message) == ("so far", None, [])


@every_tag
def test_nested(name: str) -> None:
    """An opener inside thinking is thought, and the first end counts."""
    half = half_of(name)
    text = f"a{half.open.text}b{half.close.text}{half.after.text}c"
    message = read_every_way(opened(name), text)
    assert (message.reasoning, message.content) == (f"a{half.open.text}b", "c")


@every
def test_empty(name: str) -> None:
    half = half_of(name)
    assert strands(read_every_way(opened(name), closer(half) + answer(half, "c"))) == (None, "c", [])
    text = opener(half) + closer(half) + answer(half, "c")
    assert strands(read_every_way(begun(name), text)) == (None, "c", [])


@every
def test_empty_output(name: str) -> None:
    for parser in (opened(name), begun(name), Parser(name)):
        message = read_every_way(parser, "")
        assert strands(message) == (None, None, [])
        assert message.diagnostics == []


@every
def test_only_the_start(name: str) -> None:
    assert strands(read_every_way(begun(name), opener(half_of(name)), "length")) == (None, None, [])


@every
def test_only_the_end(name: str) -> None:
    assert strands(read_every_way(opened(name), closer(half_of(name)))) == (None, None, [])


@every_tag
def test_content_before_thinking(name: str) -> None:
    """Text in front of the opener is content; whether the opener still counts is the family's declaration."""
    half = half_of(name)
    text = f"c{opener(half)}r{closer(half)}d"
    message = read_every_way(begun(name), text)
    if half.reopens:
        assert strands(message) == ("r", "cd", [])
    else:
        assert strands(message) == (None, text, [])


@every_tag
def test_thinking_again(name: str) -> None:
    half = half_of(name)
    text = f"{opener(half)}r{closer(half)}c{opener(half)}s{closer(half)}d"
    message = read_every_way(begun(name), text)
    assert strands(message)[0] == ("rs" if half.reopens else "r")
    assert (message.content or "").startswith("c")
    assert (message.content or "").endswith("d")


# -- deltas ------------------------------------------------------------------------------


def deltas(parser: Parser, pieces: list[str]) -> list[list[Event]]:
    stream = parser.stream()
    fold = Fold()
    out = []
    for piece in pieces:
        out.append(stream.feed(piece))
        fold.add(out[-1])
    out.append(stream.finish())
    fold.add(out[-1])
    fold.matches(stream.message)
    return out


def texts(events: list[Event]) -> list[tuple[str, str]]:
    return [(type(event).__name__, event.text) for event in events if hasattr(event, "text")]


@every
def test_delta_that_is_only_the_start(name: str) -> None:
    out = deltas(begun(name), [opener(half_of(name)), "r"])
    assert [texts(one) for one in out] == [[], [("ReasoningDelta", "r")], []]


@every
def test_delta_that_is_only_the_end(name: str) -> None:
    half = half_of(name)
    out = deltas(opened(name), ["r", closer(half), answer(half, "c")])
    assert [texts(one) for one in out] == [[("ReasoningDelta", "r")], [], [("ContentDelta", "c")], []]


@every
def test_end_over_two_deltas(name: str) -> None:
    half = half_of(name)
    end = closer(half) + answer(half, "c")
    for cut in range(1, len(end)):
        out = deltas(opened(name), ["r", end[:cut], end[cut:]])
        assert [texts(one) for one in out] == [[("ReasoningDelta", "r")], [], [("ContentDelta", "c")], []]


@every
def test_all_in_one_delta(name: str) -> None:
    half = half_of(name)
    out = deltas(opened(name), [f"r{closer(half)}{answer(half, 'c')}"])
    assert texts(out[0]) == [("ReasoningDelta", "r"), ("ContentDelta", "c")]
    out = deltas(begun(name), [f"{opener(half)}r{closer(half)}{answer(half, 'c')}"])
    assert texts(out[0]) == [("ReasoningDelta", "r"), ("ContentDelta", "c")]


@every
def test_text_that_looks_like_the_end_is_only_delayed(name: str) -> None:
    half = half_of(name)
    end = end_of_thinking(half)
    out = deltas(opened(name), ["a", end[:-1], "b"])
    assert [texts(one) for one in out[:2]] == [[("ReasoningDelta", "a")], []]
    assert texts(out[2]) == [("ReasoningDelta", end[:-1] + "b")]


# -- the end question -----------------------------------------------------------------------


@every
def test_thinking_before_in_and_after(name: str) -> None:
    half = half_of(name)
    stream = begun(name).stream()
    assert not stream.thinking
    stream.feed(opener(half))
    stream.feed("r")
    assert stream.thinking
    stream.feed(closer(half) + answer(half, "c"))
    assert not stream.thinking
    stream.finish()
    assert not stream.thinking


@every_tag
def test_the_state_of_the_prompt(name: str) -> None:
    half = half_of(name)
    before, open_, after = turn_prompt(half), open_prompt(half), f"{turn_prompt(half)}{thought(half, 'r')}"
    assert [prompt_state(half, one).thinking for one in (before, open_, after)] == [
        "absent",
        "open",
        "closed",
    ]
    assert [Parser(name, prompt=one).plan.thinking for one in (open_, after)] == ["open", "closed"]
    assert [Parser(name, prompt=one).thinking for one in (open_, after)] == [True, False]


@every_tag
def test_a_prompt_in_the_middle_of_thinking(name: str) -> None:
    """A prefilled thought goes on: nothing of the framing is expected again."""
    half = half_of(name)
    parser = Parser(name, prompt=open_prompt(half) + "so")
    assert strands(read_every_way(parser, f" far{closer(half)}c")) == (" far", "c", [])


# -- the switch -------------------------------------------------------------------------------

LEVELS: list[tuple[Switch, dict[str, Any], bool]] = [
    (Switch(("t",), off_words=("none",)), {"reasoning_effort": "none", "t": True}, False),
    (Switch(("t",), off_words=("none",)), {"reasoning_effort": "high"}, True),
    (Switch(("t",), off_words=("none",)), {"reasoning_effort": "high", "t": False}, False),
    (Switch(("t",), off_words=("none",)), {"reasoning_effort": None}, True),
    (Switch((), False, off_words=("none",), on_words=(ANY,)), {}, False),
    (Switch((), False, off_words=("none",), on_words=(ANY,)), {"reasoning_effort": "none"}, False),
    (Switch((), False, off_words=("none",), on_words=(ANY,)), {"reasoning_effort": "low"}, True),
    (Switch((), False, off_words=("none",), on_words=(ANY,)), {"reasoning_effort": ""}, False),
    (Switch((), False, level="mode", on_words=("enabled",)), {"mode": "enabled"}, True),
    (Switch((), False, level="mode", on_words=("enabled",)), {"mode": "adaptive"}, False),
]


@pytest.mark.parametrize(("switch", "kwargs", "on"), LEVELS, ids=str)
def test_a_word_of_the_level_decides_over_the_switches(
    switch: Switch, kwargs: dict[str, Any], on: bool
) -> None:
    assert switch.on(kwargs) is on
    assert set(kwargs) <= set(switch.variables)


@every_tag
def test_thinking_off_for_every_switch(name: str) -> None:
    half = half_of(name)
    for kwarg in half.switch.names:
        parser = Parser(name, chat_template_kwargs={kwarg: False})
        assert parser.plan.thinking == "off"
        assert strands(read_every_way(parser, "c", "length")) == (None, "c", [])


@every_tag
def test_unknown_template_variables_change_nothing(name: str) -> None:
    plain = Parser(name)
    unknown = {"foo": False, "reasoning_effort": "none"}
    half = half_of(name)
    known = {*half.switch.variables, half.variants.variable if half.variants else ""}
    odd = Parser(name, chat_template_kwargs={k: v for k, v in unknown.items() if k not in known})
    assert odd.thinking == plain.thinking
    assert odd.plan == plain.plan
