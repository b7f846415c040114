"""Which tokens are the answer's text: those whose first character went to content."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from unbraid.engines.base import Chunk, TokenLogprob
from unbraid.events import ContentDelta, Event, ReasoningDelta, ToolCallStart
from unbraid.message import Span
from unbraid.tokens import Offsets

__all__ = ["ContentTokens"]

_CALL = ("name", "arguments", "id")


class ContentTokens:
    """Gives each event of content the log probabilities of its tokens, whatever the cutting into pieces.

    ``thinking_parts``: events tell of thinking, so that it stands between two stretches of content.
    """

    def __init__(self, thinking_parts: bool) -> None:
        self._between = (*_CALL, "reasoning") if thinking_parts else _CALL
        self._length = 0
        self._decided = 0
        self._waiting: list[tuple[int, TokenLogprob]] = []

    def feed(
        self, chunk: Chunk, events: Sequence[Event], spans: Callable[[], Sequence[Span]]
    ) -> list[Sequence[TokenLogprob]]:
        """Those of each event of a piece; ``spans`` gives those of what is decided of the output."""
        at_once = not self._waiting and self._decided == self._length
        offsets = Offsets()
        self._waiting += [(self._length + offsets.of(one.token), one) for one in chunk.logprobs]
        self._length += len(chunk.text)
        if not events:
            return []
        [first, *others] = events
        if at_once and not others and getattr(first, "text", None) == chunk.text:
            self._decided = self._length
            tokens = [token for _, token in self._waiting]
            self._waiting.clear()
            return [tokens if isinstance(first, ContentDelta) else ()]
        return self._placed(events, spans())

    def _placed(self, events: Sequence[Event], spans: Sequence[Span]) -> list[Sequence[TokenLogprob]]:
        """The stretches of content among the spans are, in order, those among the events."""
        end = spans[-1].end if spans else 0
        stretches = self._stretches(spans)
        starts = [span.start for span in spans]
        found: dict[int, list[TokenLogprob]] = {}
        for start, token in self._waiting:
            at = bisect_right(starts, start) - 1
            if start < end and spans[at].kind == "content":
                found.setdefault(stretches[at], []).append(token)
        self._waiting = [one for one in self._waiting if one[0] >= end]
        self._decided = end
        placed: list[Sequence[TokenLogprob]] = []
        stretch = 0
        told = False
        for event in events:
            if isinstance(event, ContentDelta):
                placed.append(found.pop(stretch, ()))
                told = True
                continue
            placed.append(())
            if isinstance(event, (ReasoningDelta, ToolCallStart)) and told:
                stretch, told = stretch + 1, False
        return placed

    def _stretches(self, spans: Sequence[Span]) -> dict[int, int]:
        """The number of the stretch that each span of content belongs to, from what is newly decided."""
        numbers: dict[int, int] = {}
        stretch = 0
        told = False
        for at, span in enumerate(spans):
            if span.end <= self._decided:
                continue
            if span.kind == "content":
                numbers[at], told = stretch, True
            elif span.kind in self._between and told:
                stretch, told = stretch + 1, False
        return numbers
