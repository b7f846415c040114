"""Thinking that stays in the content, between its markers: as a stream, and as a message to be written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from unbraid.events import ContentDelta, Event, ReasoningDelta
from unbraid.message import Message
from unbraid.stream import Stream
from unbraid.syntax import Reasoning

__all__ = ["InlineStream", "separated"]


class InlineStream:
    """The same stream, thinking given out as content.

    The markers are written in their canonical spelling; the opener also where the prompt
    wrote it, so that a client gets back what the next prompt has to hold. Spans still say
    which characters were thinking.
    """

    def __init__(self, stream: Stream, half: Reasoning, opened: bool) -> None:
        self._stream = stream
        self._open, self._close = half.open.text, half.close.text
        self._owed = opened
        self._inside = False
        self._parts: list[str] = []

    def feed(self, text: str, token_ids: Iterable[int] | None = None) -> list[Event]:
        """As ``Stream.feed``."""
        return self._inlined(self._stream.feed(text, token_ids))

    def finish(self, finish_reason: str | None = "stop") -> list[Event]:
        """As ``Stream.finish``."""
        out = self._inlined(self._stream.finish(finish_reason))
        if not self._stream.thinking:
            self._end(out)
        return out

    def _inlined(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if isinstance(event, ReasoningDelta):
                self._begin(out)
                self._give(out, event.text)
                continue
            self._end(out)
            if isinstance(event, ContentDelta):
                self._give(out, event.text)
            else:
                out.append(event)
        return out

    def _begin(self, out: list[Event]) -> None:
        """Thinking is open."""
        if not self._inside:
            self._owed, self._inside = False, True
            self._give(out, self._open)

    def _end(self, out: list[Event]) -> None:
        """Thinking is over, if there was any or the prompt opened it."""
        if self._owed:
            self._begin(out)
        if self._inside:
            self._inside = False
            self._give(out, self._close)

    def _give(self, out: list[Event], text: str) -> None:
        self._parts.append(text)
        out.append(ContentDelta(text))

    @property
    def message(self) -> Message:
        """The message so far, without reasoning."""
        return replace(self._stream.message, reasoning=None, content="".join(self._parts) or None)

    @property
    def thinking(self) -> bool:
        """Whether thinking is open."""
        return self._stream.thinking


def separated(message: Message, half: Reasoning, opened: bool) -> Message | str:
    """The message with the thinking at the beginning of its content as reasoning, or why it has none.

    ``opened``: the prompt opened thinking, so that the content must begin with it.
    """
    if message.reasoning:
        return "thinking stays in the content, between its markers"
    text = message.content or ""
    if not text.startswith(half.open.text):
        return "it must begin with the thinking that the prompt opened" if opened else message
    inner, found, rest = text.removeprefix(half.open.text).partition(half.close.text)
    if not found:
        return "its thinking is not closed"
    if not inner and not opened:
        return "its thinking is empty"
    return replace(message, reasoning=inner or None, content=rest or None)
