"""Law 7: for any batching of the token ids the gate's boundary and count are the parser's."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hostile import Pair, Tokenised, examples, hostile, pairs, prompts, tokenise
from unbraid.formats import reasoning_format
from unbraid.gate import Gate
from unbraid.syntax import Channels

THINKING = [pair for pair in pairs() if pair.reasoning]
SEEDS = st.integers(0, 2**16)


def batches(ids: list[int], seed: int) -> list[list[int]]:
    """The ids in random batches, some of them empty."""
    choose = random.Random(seed)
    found: list[list[int]] = []
    at = 0
    while at < len(ids):
        size = choose.randint(0, 7)
        found.append(ids[at : at + size])
        at += size
    return found


def ends(gate: Gate, tokens: Tokenised, split: list[list[int]], **start: Any) -> tuple[int, bool] | None:
    """Where a gate sees the end of thinking in these batches, drafts with the answer behind them."""
    carry = gate.begin(**start)
    for n, batch in enumerate(split):
        drafted, _ = gate.find_end([*batch, *(one for later in split[n + 1 :] for one in later)], carry)
        end, after = gate.find_end(batch, carry)
        again, _ = gate.find_end(batch, carry)
        assert end == again, "asking changes nothing"
        if end is not None:
            assert drafted == end, "what comes later changes nothing"
            return end.token, end.implicit
        carry = after
    return None


@pytest.mark.parametrize("pair", THINKING, ids=str)
def test_every_batching_has_the_same_boundary(pair: Pair) -> None:
    @settings(max_examples=examples(800))
    @given(hostile(pair, surrogates=False), st.sampled_from(prompts(pair)), SEEDS, st.booleans())
    def law(text, prompt, seed, constrained):
        tokens = tokenise(text, pair, seed)
        gate = Gate(pair.reasoning, pair.tools, tokenizer=tokens.tokenizer, constrained=constrained)
        whole = ends(gate, tokens, [tokens.ids], prompt=prompt)
        assert ends(gate, tokens, [[one] for one in tokens.ids], prompt=prompt) == whole
        assert ends(gate, tokens, batches(tokens.ids, seed), prompt=prompt) == whole

    law()


@pytest.mark.parametrize("pair", THINKING, ids=str)
def test_the_boundary_is_the_parsers(pair: Pair) -> None:
    """Thinking tokens are those whose first character the parser gave to reasoning."""

    @settings(max_examples=examples(800))
    @given(hostile(pair, surrogates=False), st.sampled_from(prompts(pair)), SEEDS, st.booleans())
    def law(text, prompt, seed, constrained):
        tokens = tokenise(text, pair, seed)
        gate = Gate(pair.reasoning, pair.tools, tokenizer=tokens.tokenizer, constrained=constrained)
        parser = pair.parser(tokenizer=tokens.tokenizer, prompt=prompt, constrained=constrained, spans=True)
        message = parser.parse(text, token_ids=tokens.ids)
        spans = message.spans or []
        data = [tokens.tokenizer.token_bytes(one) for one in tokens.ids]
        offsets = [len(b"".join(data[:n]).decode("utf-8", "ignore")) for n in range(len(data))]
        kinds = [next((one.kind for one in spans if one.start <= at < one.end), "") for at in offsets]
        carry = gate.begin(prompt=prompt)
        assert gate.count_thinking(tokens.ids, carry) == kinds.count("reasoning")
        end = gate.end_of(tokens.ids, carry)
        if end is not None and not reopens(pair):
            assert "reasoning" not in kinds[end.token :]
        if end is None and carry.phase == "open":
            assert not {"content", "arguments"} & set(kinds)

    law()


def reopens(pair: Pair) -> bool:
    """Whether thinking may begin again behind its end."""
    half = reasoning_format(pair.reasoning or "")
    return isinstance(half, Channels) or half.reopens
