"""The pieces of work of a fuzz run; each raises when something does not hold."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from tests.corpus.files import cases as corpus_cases
from tests.support.hostile import Pair, cases, hostile, pairs, requests
from unbraid.cli.cases import parser_of, tokens_of

from .checks import linear, slower_than_linear, sound, sound_with_ids, work
from .texts import endless

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}
SEEDS = st.integers(0, 2**16)


def made_up(pair: Pair, examples: int, start: int) -> None:
    """Outputs and requests that hypothesis makes up, with and without token ids."""

    @seed(start)
    @settings(max_examples=examples, **QUIET)
    @given(cases(pair), SEEDS)
    def text(case: Any, split: int) -> None:
        for arguments in ("incremental", "complete"):
            sound(case.parser(arguments=arguments), case.text, case.finish, split)

    @seed(start)
    @settings(max_examples=examples, **QUIET)
    @given(hostile(pair, surrogates=False), requests(pair), SEEDS, st.sampled_from(("stop", "length")))
    def ids(output: str, options: dict[str, Any], split: int, finish: str) -> None:
        sound_with_ids(pair, options, output, finish, split)

    text()
    ids()


def prefixes(case: Mapping[str, Any], start: int, every: int = 1) -> None:
    """Each beginning of a corpus case, as an output that was cut there."""
    tokens = tokens_of(case)
    text = case["text"] if tokens is None else "".join(token[1] for token in tokens)
    parser = parser_of({**case, "ids": None, "tokens": None}, make_id=lambda: "made")
    for end in range(start % every, len(text) + 1, every):
        sound(parser, text[:end], "length", start + end)


def mutated(pair: Pair, start: int, rounds: int) -> None:
    """Corpus cases of a pair's formats, cut, doubled, swapped and spliced."""
    chance = random.Random(start)
    own = [case for case in corpus_cases() if pair.tools == case.get("tool_parser")] or corpus_cases()
    for _ in range(rounds):
        first, second = chance.choice(own), chance.choice(own)
        text = mutation(str(first.get("text", "")), str(second.get("text", "")), chance)
        options = {"tools": first.get("tools"), "prompt": first.get("prompt")}
        parser = pair.parser(spans=True, make_id=lambda: "made", **options)
        sound(parser, text, chance.choice(("stop", "length")), chance.randrange(2**16))


def mutation(text: str, other: str, chance: random.Random) -> str:
    """A text changed in one to four places."""
    for _ in range(chance.randint(1, 4)):
        at, to = sorted((chance.randint(0, len(text)), chance.randint(0, len(text))))
        part = text[at:to]
        start = chance.randint(0, len(other))
        text = chance.choice(
            (
                text[:at] + text[to:],
                text[:to] + part + text[to:],
                text[:at] + other[start : start + 20] + text[at:],
                text[:at] + other[start:],
                text[:at] + chance.choice('{}[]<>"\\\n|:,=()\ud83d\x00｜') + text[at:],
                part + text[:at] + text[to:],
            )
        )
    return text


def bounded(pair: Pair, name: str, size: int) -> None:
    """An endless text's work is counted at two lengths; nothing waits and no stack grows."""
    make = endless(pair)[name]
    for arguments in ("incremental", "complete"):
        parser = pair.parser(spans=True, arguments=arguments)
        linear(parser, make(size), make(2 * size), max(7, size // 40))


def long(pair: Pair, name: str, size: int) -> None:
    """An endless text at full length: its memory and, by the clock, its time are linear.

    The shorter text is one of its own, as the beginning of the long one may be read as something else.
    """
    make = endless(pair)[name]
    text = make(size)
    parser = pair.parser(spans=True)
    quarter = work(parser, make(size // 4), 4096, memory=True)
    whole = work(parser, text, 4096, memory=True)
    assert quarter.memory is not None
    assert whole.memory is not None
    assert whole.memory <= 5 * quarter.memory + (1 << 20), (
        f"{quarter.memory} bytes for a quarter, {whole.memory} for all of {len(text)} characters"
    )
    slow = slower_than_linear(parser, text, 4096)
    assert slow is None, slow


def every_pair() -> list[Pair]:
    """All pairs of the registry, in an order that does not favour the alphabet."""
    found = list(pairs())
    random.Random(0).shuffle(found)
    return found
