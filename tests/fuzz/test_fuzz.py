"""A short fuzz run: every kind of task once for every pair, at lengths that take no time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.corpus.files import cases
from tests.support.hostile import Pair, pairs
from unbraid import Parser

from .checks import linear, shallow, slower_than_linear, sound, work
from .tasks import bounded, long, mutated, mutation, prefixes
from .texts import endless

HALVES = [pair for pair in pairs() if not (pair.reasoning and pair.tools)]


@pytest.mark.parametrize("pair", HALVES, ids=str)
def test_work_is_linear_and_bounded(pair: Pair) -> None:
    for name in endless(pair):
        try:
            bounded(pair, name, 800)
        except AssertionError as error:
            raise AssertionError(f"{pair}, {name}: {error}") from error


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_mutated_cases(pair: Pair) -> None:
    mutated(pair, 7, 12)


@pytest.mark.parametrize("case", cases(), ids=lambda case: case["id"])
def test_prefixes(case: dict[str, Any]) -> None:
    prefixes(case, len(case["id"]), every=5)


def test_a_long_argument_takes_linear_memory() -> None:
    long(Pair(None, "hermes"), "argument", 200_000)


# -- the checks can fail ---------------------------------------------------------------


class Forgetful(Parser):
    """Reads a whole output otherwise than its pieces."""

    def parse(self, text: str, **options: Any) -> Any:
        return super().parse(text[:-1], **options)


class Slow(Parser):
    """Reads every output again at each step."""

    def stream(self) -> Any:
        stream = super().stream()
        feed, seen = stream.feed, []

        def slow(text: str, token_ids: Any = None) -> Any:
            seen.append(text)
            for one in "".join(seen):
                one.upper()
                len(list(map(str, (one,))))
                (lambda: None)()
            return feed(text, token_ids)

        stream.feed = slow  # type: ignore[method-assign]
        return stream


def test_a_lost_character_is_found() -> None:
    with pytest.raises(AssertionError):
        sound(Forgetful(None, "hermes", spans=True), "abc", "stop", 1)


def test_quadratic_work_is_found() -> None:
    parser = Slow(None, "hermes", spans=True)
    with pytest.raises(AssertionError, match="steps"):
        linear(parser, "a" * 1000, "a" * 2000, 10)
    assert slower_than_linear(parser, "a" * 8000, 10) is not None


def test_depth_is_found() -> None:
    def deep(levels: int) -> int:
        return deep(levels - 1) if levels else 0

    with shallow(), pytest.raises(RecursionError):
        deep(400)


def test_work_is_counted() -> None:
    parser = Parser(None, "hermes", spans=True)
    few, many = work(parser, "a" * 100, 10), work(parser, "a" * 1000, 10)
    assert 2 * few.steps < many.steps < 20 * few.steps
    assert work(parser, "<tool_call>", 1).waiting > 0


def test_a_mutation_changes_something() -> None:
    import random

    chance = random.Random(3)
    assert len({mutation("<tool_call>x</tool_call>", "abc", chance) for _ in range(50)}) > 25
