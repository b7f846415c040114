"""Thinking that is the answer where no answer follows, for requests that ask for content in any case."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from unbraid.events import ContentDelta, Event, ReasoningDelta, ToolCallStart
from unbraid.machine.core import joined
from unbraid.message import Message, Span
from unbraid.stream import Stream

__all__ = ["AnswerStream"]

_BECOMES = {"reasoning": "content", "content": "framing"}


class AnswerStream:
    """The same stream, thinking held until content or a call follows it.

    If neither comes, all of it is content: what was given out is never taken back, and
    nothing is given twice. White space alone is no content then.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._held: list[Event] = []
        self._decided = False
        self._is_answer = False

    def feed(self, text: str, token_ids: Iterable[int] | None = None) -> list[Event]:
        """As ``Stream.feed``; nothing comes out before it is decided what thinking is."""
        events = self._stream.feed(text, token_ids)
        if self._decided:
            return events
        self._held += events
        self._decided = any(map(_follows, events))
        return self._release() if self._decided else []

    def finish(self, finish_reason: str | None = "stop") -> list[Event]:
        """As ``Stream.finish``."""
        events = self._stream.finish(finish_reason)
        if self._decided:
            return events
        self._decided = True
        self._held += events
        thought = "".join(event.text for event in self._held if isinstance(event, ReasoningDelta))
        self._is_answer = bool(thought.strip()) and not any(map(_follows, events))
        return [ContentDelta(thought)] if self._is_answer else self._release()

    def _release(self) -> list[Event]:
        held, self._held = self._held, []
        return joined(held)

    @property
    def message(self) -> Message:
        """The message so far."""
        message = self._stream.message
        if self._is_answer:
            spans = None if message.spans is None else _renamed(message.spans)
            return replace(message, reasoning=None, content=message.reasoning, spans=spans)
        if self._decided:
            return message
        spans = None if message.spans is None else _before_text(message.spans)
        return replace(message, reasoning=None, content=None, diagnostics=[], spans=spans)

    @property
    def thinking(self) -> bool:
        """Whether thinking is open."""
        return self._stream.thinking


def _follows(event: Event) -> bool:
    """Whether this is content or a call."""
    return isinstance(event, ToolCallStart) or (isinstance(event, ContentDelta) and bool(event.text.strip()))


def _before_text(spans: list[Span]) -> list[Span]:
    """The spans in front of the first text."""
    first = next((n for n, span in enumerate(spans) if span.kind in _BECOMES), len(spans))
    return spans[:first]


def _renamed(spans: list[Span]) -> list[Span]:
    """The spans where thinking is content, neighbours of one kind joined."""
    named = [replace(span, kind=_BECOMES.get(span.kind, span.kind)) for span in spans]
    runs = [list(run) for _, run in groupby(named, lambda span: (span.kind, span.index))]
    return [replace(run[0], end=run[-1].end) for run in runs]
