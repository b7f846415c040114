"""Law 2: every character of the output belongs to exactly one span, and the strands are their spans' text."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hostile import Pair, cases, examples, hostile, pairs, requests, splits, tokenise
from unbraid import Message
from unbraid.newlines import recovered

from .reading import KINDS, read


def conserved(
    text: str, message: Message, pair: Pair, *, over: bool = True, prompt: str | None = None
) -> None:
    """The spans of a message cover the text in order, and the strands hold what their spans do.

    A family that writes line breaks as escapes has them recovered; what is not certain of
    a strand before its end is left out.
    """
    escaped = pair.thinking is not None and pair.thinking.escaped_newlines
    assert message.spans is not None
    at = 0
    for before, span in zip([None, *message.spans], message.spans, strict=False):
        assert span.kind in KINDS
        assert span.start == at, "a gap or an overlap"
        assert span.end > span.start, "an empty span"
        at = span.end
        assert before is None or (before.kind, before.index) != (span.kind, span.index), "a span in two"
    assert at == len(text), "the end is not covered"
    for strand in ("reasoning", "content"):
        held = "".join(text[span.start : span.end] for span in message.spans if span.kind == strand)
        if escaped:
            answers = any(span.kind == "content" or span.index is not None for span in message.spans)
            held = recovered(held, done=over or (strand == "reasoning" and answers))
        assert held == (getattr(message, strand) or "")
    for span in message.spans:
        if span.index is not None:
            assert 0 <= span.index < len(message.tool_calls)
        assert (span.kind in ("name", "id", "arguments")) <= (span.index is not None), "no call's span"
    for index, call in enumerate(message.tool_calls):
        named = "".join(
            text[s.start : s.end] for s in message.spans if s.index == index and s.kind in ("name", "id")
        )
        named += prompt or ""
        assert call.name in named or "\\" in named or not named.isprintable()
    for one in message.diagnostics:
        assert 0 <= one.start <= one.end <= len(text)
        assert one.code.replace("_", "").isalpha()
        assert one.code.islower()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_spans_cover_the_output_once(pair: Pair) -> None:
    @settings(max_examples=examples(2500))
    @given(cases(pair), st.integers(0, 99))
    def law(case, seed):
        conserved(
            case.text,
            case.parser().parse(case.text, finish_reason=case.finish),
            pair,
            prompt=case.options["prompt"],
        )
        conserved(
            case.text,
            read(case.parser(), splits(case.text, seed)[3], case.finish)[0],
            pair,
            prompt=case.options["prompt"],
        )

    law()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_spans_cover_the_output_once_with_ids(pair: Pair) -> None:
    @settings(max_examples=examples(1000))
    @given(hostile(pair, surrogates=False), requests(pair), st.integers(0, 2**16))
    def law(text, options, seed):
        tokens = tokenise(text, pair, seed)
        conserved(
            text,
            pair.parser(**{**options, "tokenizer": tokens.tokenizer}).parse(text, token_ids=tokens.ids),
            pair,
            prompt=options["prompt"],
        )

    law()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_the_message_before_the_end_is_conserved_too(pair: Pair) -> None:
    """A message that is asked for early covers what is decided, and no more."""

    @settings(max_examples=examples(500))
    @given(cases(pair), st.integers(0, 99))
    def law(case, seed):
        stream = case.parser().stream()
        given = ""
        for piece in splits(case.text, seed)[4]:
            stream.feed(piece)
            given += piece
            spans = stream.message.spans or []
            decided = spans[-1].end if spans else 0
            assert decided <= len(given)
            conserved(given[:decided], stream.message, pair, over=False, prompt=case.options["prompt"])

    law()
