"""Counting tokens of thinking: by where a token's first character went, whatever the format."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from unbraid.message import Span
from unbraid.tokens import Offsets, Tokenizer

__all__ = ["TokenMeter"]


class TokenMeter:
    """Notes where each token of an output begins.

    A token counts for the strand that its first character went to, so markers and
    framing are no thinking, and neither the cutting into pieces nor the way of
    answering (stream or whole) changes the count. Text without ids counts as one token.
    Without a ``tokenizer`` all tokens of a piece begin where it begins.
    """

    def __init__(self, tokenizer: Tokenizer | None) -> None:
        self._tokenizer = tokenizer
        self._starts: list[int] = []
        self._length = 0

    @property
    def tokens(self) -> int:
        """The tokens so far."""
        return len(self._starts)

    def feed(self, text: str, token_ids: Sequence[int]) -> int:
        """Take a piece of whole characters and its token ids; the tokens so far."""
        count = len(token_ids)
        if count == 1 or (text and not count):
            self._starts.append(self._length)
        elif self._tokenizer is None:
            self._starts += [self._length] * count
        else:
            offsets = Offsets()
            pieces = map(self._tokenizer.token_bytes, token_ids)
            self._starts += [self._length + offsets.of(piece) for piece in pieces]
        self._length += len(text)
        return len(self._starts)

    def reasoning(self, spans: Sequence[Span]) -> int:
        """How many of the tokens are thinking, by the spans of the finished output."""
        starts = self._starts
        return sum(
            bisect_left(starts, span.end) - bisect_left(starts, span.start)
            for span in spans
            if span.kind == "reasoning"
        )
