"""Law 1: the events of any split of one output fold to the same message, diagnostics and spans included."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hostile import (
    Pair,
    cases,
    examples,
    hostile,
    pairs,
    requests,
    splits,
    token_splits,
    tokenise,
)
from unbraid.codecs.json_text import ACCELERATE

from .reading import read

SEEDS = st.integers(0, 2**16)


@pytest.fixture
def no_threshold() -> Iterator[None]:
    """Accelerators at work on every text, however short."""
    before = ACCELERATE[0]
    ACCELERATE[0] = 0
    yield
    ACCELERATE[0] = before


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_every_split_of_text_gives_the_same_message(pair: Pair) -> None:
    @settings(max_examples=examples(1500))
    @given(cases(pair), SEEDS)
    def law(case, seed):
        for arguments in ("incremental", "complete"):
            parser = case.parser(arguments=arguments)
            whole = parser.parse(case.text, finish_reason=case.finish)
            for pieces in splits(case.text, seed):
                assert read(parser, pieces, case.finish)[0] == whole, pieces

    law()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_an_accelerator_changes_nothing(pair: Pair, no_threshold: None) -> None:
    @settings(max_examples=examples(700))
    @given(cases(pair), SEEDS)
    def law(case, seed):
        parser = case.parser()
        ACCELERATE[0] = 1 << 60
        slow = parser.parse(case.text, finish_reason=case.finish)
        ACCELERATE[0] = 0
        for pieces in ([case.text], *splits(case.text, seed, 2)):
            assert read(parser, pieces, case.finish)[0] == slow, pieces

    law()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_every_batching_of_token_ids_gives_the_same_message(pair: Pair) -> None:
    @settings(max_examples=examples(1200))
    @given(hostile(pair, surrogates=False), requests(pair), SEEDS, st.sampled_from(("stop", "length")))
    def law(text, options, seed, finish):
        tokens = tokenise(text, pair, seed)
        parser = pair.parser(**{**options, "tokenizer": tokens.tokenizer})
        whole = parser.parse(text, token_ids=tokens.ids, finish_reason=finish)
        for pieces in token_splits(tokens, seed):
            assert read(parser, pieces, finish)[0] == whole, pieces

    law()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_empty_pieces_and_streams_in_between_change_nothing(pair: Pair) -> None:
    @settings(max_examples=examples(300))
    @given(cases(pair), cases(pair), SEEDS)
    def law(case, other, seed):
        other = replace(other, options=case.options)
        parser = case.parser()
        first, second = parser.stream(), parser.stream()
        one, two = splits(case.text, seed)[2], splits(other.text, seed)[3]
        for n in range(max(len(one), len(two))):
            first.feed("")
            first.feed(one[n] if n < len(one) else "")
            second.feed(two[n] if n < len(two) else "")
            second.feed("")
        first.finish(case.finish)
        second.finish(other.finish)
        assert first.message == parser.parse(case.text, finish_reason=case.finish)
        assert second.message == parser.parse(other.text, finish_reason=other.finish)

    law()
