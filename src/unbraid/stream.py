"""What a parser's stream looks like, and the streams that give out less: whole calls only, no thinking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from unbraid.events import Event, ReasoningDelta, ToolCallArguments, ToolCallEnd, ToolCallStart
from unbraid.message import Message

__all__ = ["CompleteStream", "Stream", "View"]


class Stream(Protocol):
    """One output as it arrives: ``feed`` its pieces, ``finish`` it, read its ``message``."""

    def feed(self, text: str, token_ids: Iterable[int] | None = None) -> list[Event]:
        """Take the next piece, with the ids of its tokens if they are known; return what it proves.

        Raises InvalidRequest for a piece that is no string or comes after ``finish``.
        """
        ...

    def finish(self, finish_reason: str | None = "stop") -> list[Event]:
        """The output is over (``stop``, ``length``, …): return what it still proves.

        Raises InvalidRequest for a reason that is neither a string nor None.
        """
        ...

    @property
    def message(self) -> Message:
        """The message so far; after ``finish`` the result."""
        ...

    @property
    def thinking(self) -> bool:
        """Whether thinking is open at what has been decided so far."""
        ...


class CompleteStream:
    """The same stream, each call held until it is over; calls that are cut or broken are left out."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._held: list[Event] = []
        self._given = 0

    def feed(self, text: str, token_ids: Iterable[int] | None = None) -> list[Event]:
        """As ``Stream.feed``; a call comes out whole."""
        return self._filter(self._stream.feed(text, token_ids))

    def finish(self, finish_reason: str | None = "stop") -> list[Event]:
        """As ``Stream.finish``."""
        return self._filter(self._stream.finish(finish_reason))

    def _filter(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            if isinstance(event, (ToolCallStart, ToolCallArguments)):
                self._held.append(event)
            elif isinstance(event, ToolCallEnd):
                if event.complete:
                    out += self._whole_call()
                self._held = []
            else:
                out.append(event)
        return out

    def _whole_call(self) -> list[Event]:
        index = self._given
        self._given += 1
        start = self._held[0]
        assert isinstance(start, ToolCallStart)
        text = "".join(event.text for event in self._held if isinstance(event, ToolCallArguments))
        return [
            ToolCallStart(index, start.id, start.name),
            ToolCallArguments(index, text),
            ToolCallEnd(index, True),
        ]

    @property
    def message(self) -> Message:
        """The message so far, with complete calls only."""
        message = self._stream.message
        return replace(message, tool_calls=[call for call in message.tool_calls if call.complete])

    @property
    def thinking(self) -> bool:
        """Whether thinking is open."""
        return self._stream.thinking


class View:
    """A stream without what the caller did not ask for."""

    def __init__(self, stream: Stream, reasoning: bool, spans: bool) -> None:
        self._stream = stream
        self._reasoning = reasoning
        self._spans = spans
        if reasoning:
            self.feed = stream.feed  # type: ignore[method-assign]
            self.finish = stream.finish  # type: ignore[method-assign]

    def feed(self, text: str, token_ids: Iterable[int] | None = None) -> list[Event]:
        """As ``Stream.feed``."""
        return self._without(self._stream.feed(text, token_ids))

    def finish(self, finish_reason: str | None = "stop") -> list[Event]:
        """As ``Stream.finish``."""
        return self._without(self._stream.finish(finish_reason))

    @staticmethod
    def _without(events: list[Event]) -> list[Event]:
        return [event for event in events if not isinstance(event, ReasoningDelta)]

    @property
    def message(self) -> Message:
        """The message so far."""
        message = self._stream.message
        return replace(
            message,
            reasoning=message.reasoning if self._reasoning else None,
            spans=message.spans if self._spans else None,
        )

    @property
    def thinking(self) -> bool:
        """Whether thinking is open."""
        return self._stream.thinking
