"""Newlines that a tokenizer writes as escapes, put back into thinking and content.

Some models write a line break as the two characters ``\\n``. Outside code and formulas it
becomes a line break again: ``\\n``, ``\\r`` and ``\\r\\n`` are one each. Several backslashes in
a row, and what stands behind them, stay as they are, as do ``\\t`` and ``\\frac``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from unbraid.events import ContentDelta, Event, ReasoningDelta
from unbraid.message import Message
from unbraid.stream import Stream

__all__ = ["NewlineStream", "Newlines", "recovered"]

_MARK = re.compile(r"[\\`$\n]")
_RUN = {one: re.compile(re.escape(one) + "*") for one in "\\`$"}
_CLOSERS = {"(": ")", "[": "]"}
FENCE = 3
"""Backticks in a row that open code of several lines."""


class Newlines:
    """Recovers the newlines of one strand as it streams.

    ``_inside`` is what closes the code or formula that is open: a run of backticks,
    ``$``, ``$$``, or the bracket behind a backslash; ``_run`` is a run at the end
    of what was given out, which may go on; ``_held`` at most three characters.
    """

    __slots__ = ("_held", "_inside", "_run")

    def __init__(self) -> None:
        self._held = ""
        self._inside = ""
        self._run = ""

    def feed(self, text: str, *, done: bool = False) -> str:
        """The text that is certain behind the next piece; all of it when the strand is ``done``."""
        text = self._held + text
        self._held = ""
        out: list[str] = []
        at = self._go_on(text, out) if self._run else 0
        while at < len(text):
            found = _MARK.search(text, at)
            stop = found.start() if found else len(text)
            out.append(text[at:stop])
            at = stop
            if found is None:
                break
            if text[at] == "\n":
                if self._inside == "$" or self._inside in ("`", "``"):
                    self._inside = ""
                out.append("\n")
                at += 1
            elif text[at] == "\\" and self._inside[:1] != "`" and text[at + 1 : at + 2] != "\\":
                length = self._escape(text, at, out, done)
                if not length:
                    self._held = text[at:]
                    break
                at += length
            else:
                self._run = text[at] if self._inside != "$" or text[at] != "$" else ""
                if not self._run:
                    self._inside = ""
                out.append(text[at])
                at = self._go_on(text, out, at + 1) if self._run else at + 1
        return "".join(out)

    def _go_on(self, text: str, out: list[str], at: int = 0) -> int:
        """Read on in a run; where it ends it opens or closes what it can."""
        mark = self._run[0]
        end = _RUN[mark].match(text, at).end()  # type: ignore[union-attr]
        out.append(text[at:end])
        self._run = (self._run + text[at : min(end, at + FENCE)])[:FENCE]
        if end == len(text):
            return end
        run, self._run = self._run, ""
        if mark == "\\":
            if len(run) > 1 and self._inside[:1] != "`":
                out.append(text[end])
                end += 1
        elif mark == "$":
            if self._inside in ("", "$$"):
                opens = "" if self._inside else run[:2]
                self._inside = "$$" if self._inside and len(run) == 1 else opens
        elif not self._inside:
            self._inside = run
        elif self._inside == run:
            self._inside = ""
        return end

    def _escape(self, text: str, at: int, out: list[str], done: bool) -> int:
        """Read a single backslash and what it escapes; 0 when that is still to come."""
        char = text[at + 1 : at + 2]
        if not char and not done:
            return 0
        if self._inside:
            if char == self._inside != "$":
                self._inside = ""
        elif char == "r":
            rest = text[at + 2 : at + 4]
            if not done and rest in ("", "\\"):
                return 0
            out.append("\n")
            return 4 if rest == "\\n" else 2
        elif char == "n":
            out.append("\n")
            return 2
        elif char in _CLOSERS:
            self._inside = _CLOSERS[char]
        out.append(text[at : at + 2])
        return 1 + len(char)


def recovered(text: str, *, done: bool = True) -> str:
    """What a strand that is ``text`` becomes; what is certain of it when it is not ``done``."""
    return Newlines().feed(text, done=done)


class NewlineStream:
    """The same stream, the newlines of its thinking and of its content recovered, each by itself.

    An escape is not read across what stands between: a strand's end is certain when another goes on.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._strands = {ReasoningDelta: _Strand(ReasoningDelta), ContentDelta: _Strand(ContentDelta)}

    def feed(self, text: str, token_ids: Iterable[int] | None = None) -> list[Event]:
        """As ``Stream.feed``."""
        return self._recover(self._stream.feed(text, token_ids))

    def finish(self, finish_reason: str | None = "stop") -> list[Event]:
        """As ``Stream.finish``."""
        events = self._recover(self._stream.finish(finish_reason))
        for strand in self._strands.values():
            events += strand.end()
        return events

    def _recover(self, events: list[Event]) -> list[Event]:
        out: list[Event] = []
        for event in events:
            for kind, strand in self._strands.items():
                if not isinstance(event, kind):
                    out += strand.end()
            if isinstance(event, (ReasoningDelta, ContentDelta)):
                out += self._strands[type(event)].feed(event.text)
            else:
                out.append(event)
        return out

    @property
    def message(self) -> Message:
        """The message so far."""
        reasoning, content = (strand.text for strand in self._strands.values())
        return replace(self._stream.message, reasoning=reasoning or None, content=content or None)

    @property
    def thinking(self) -> bool:
        """Whether thinking is open."""
        return self._stream.thinking


class _Strand:
    """One strand of a message: its newlines, and what was given out."""

    def __init__(self, delta: type[ReasoningDelta] | type[ContentDelta]) -> None:
        self._delta = delta
        self._newlines = Newlines()
        self._given: list[str] = []

    def feed(self, text: str, *, done: bool = False) -> list[Event]:
        """The events of the next piece."""
        text = self._newlines.feed(text, done=done)
        if not text:
            return []
        self._given.append(text)
        return [self._delta(text)]

    def end(self) -> list[Event]:
        """The events of what was held: nothing more can change it."""
        return self.feed("", done=True)

    @property
    def text(self) -> str:
        """What was given out."""
        return "".join(self._given)
