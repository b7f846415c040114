"""What every primitive of the machine stands on: the buffer, the spans, the events.

A machine is one generator that is resumed when text arrives. It waits with a bare
``yield``; behind it either there is more text in ``buf`` or ``eof`` is set. Text is
consumed with ``take``, in order, each character once, and what is not decided yet
stays in ``buf`` (one bounded look-ahead) or in ``trial`` (a list of pieces).

While a primitive waits in a plain run it leaves a *lane*: what tells of a piece that
it needs no decision, and the event that it makes. ``feed`` then never resumes the
generator.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable
from functools import lru_cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any, NoReturn

from unbraid.errors import InvalidRequest
from unbraid.events import (
    ContentDelta,
    Event,
    ReasoningDelta,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallStart,
)
from unbraid.machine.alignment import Alignment
from unbraid.machine.keys import Keys
from unbraid.machine.lanes import Lane
from unbraid.message import Citation, Diagnostic, Message, Span, ToolCall

__all__ = ["Broken", "Call", "Cut", "Machine", "Refuted", "Run"]

Run = Generator[None, None, None]
WINDOW = 4096
"""How much of a long text is looked at together where something may be looked at again."""
SHORT = 64
"""An event below this length is joined with its neighbour at once."""

Trial = list[tuple[str, str]]


@lru_cache(maxsize=64)
def run_of(chars: str) -> re.Pattern[str]:
    """Matches any run of these characters."""
    return re.compile(f"[{re.escape(chars)}]*")


class Refuted(Exception):
    """The text is no call after all; nothing was announced."""

    def __init__(self, code: str, expected: str) -> None:
        super().__init__(code)
        self.code = code
        self.expected = expected


class Broken(Refuted):
    """An announced call went wrong."""


class Cut(Exception):
    """The output ended inside a call."""


class Call:
    """The call that is being read.

    ``keys`` are the arguments' names; they stay until the stream goes, as freeing
    thousands would take a while.
    """

    __slots__ = ("announced", "dropped", "id", "index", "keys", "name", "parts", "pending", "proven")

    def __init__(self) -> None:
        self.announced = False
        self.dropped = False
        self.proven = False
        self.id = ""
        self.name = ""
        self.index = -1
        self.keys = Keys()
        self.parts: deque[str] = deque()
        self.pending: list[str] = []


class Machine:
    """The state of one stream, and the primitives that change it."""

    def __init__(self, alignment: Alignment | None) -> None:
        self.buf = ""
        self.i = 0
        self.base = 0
        self.eof = False
        self.finish_reason = "stop"
        self.reason_given: str | None = None
        self.out: list[Event] = []
        self.alignment = alignment
        self.lane: Lane | None = None
        self.look: Callable[[str], object] | None = None
        self.lane_event: Callable[[str], Event] = ContentDelta
        self.lane_index = -1
        self.lane_parts: list[str] | deque[str] = []
        self.pos = 0
        self.gives_spans = True
        self.spans: list[tuple[str, int, int | None]] = []
        self.diagnostics: list[tuple[str, int, int, str, str]] = []
        self.reasoning_parts: list[str] = []
        self.content_parts: list[str] = []
        self.citations: list[Citation] = []
        self.calls: list[Call] = []
        self.call = Call()
        self.trial: Trial | None = None
        self.drafting = False
        self.backlog: list[str] = []
        self.before_draft: tuple[int, ...] = ()
        self.cut_place = -1
        self.draft_text: list[str] = []
        self.ready: list[Event] = []
        self.thinking = False
        self.finished = False
        self.generator = self.run()
        next(self.generator, None)

    def run(self) -> Run:
        """The generator that reads the whole output; a subclass's business."""
        raise NotImplementedError

    # -- the public face ------------------------------------------------------

    def feed(self, text: str, token_ids: Iterable[int] | None = None) -> list[Event]:
        """Take the next piece of output and return what it proves.

        ``token_ids`` are the ids of the tokens that this piece was made of, if they
        are known. Any text is fine; a piece after ``finish`` raises InvalidRequest.
        """
        if token_ids is not None and self.alignment is not None:
            self.alignment.feed(token_ids)
        look = self.look
        if look is not None and text and type(text) is str and look(text) is None:
            self.lane_parts.append(text)
            self.base += len(text)
            self.pos += len(text)
            index = self.lane_index
            return [self.lane_event(text) if index < 0 else ToolCallArguments(index, text)]
        return self.slow(text)

    def slow(self, text: str) -> list[Event]:
        """Take a piece that needs a thought: the lane's, or the generator's decision."""
        if self.finished:
            raise InvalidRequest("the stream is finished: start a new one with parser.stream()", param="text")
        if not isinstance(text, str):
            raise InvalidRequest(f"text must be a string, not {type(text).__name__}", param="text")
        i = self.i
        self.base += i
        self.buf = buf = self.buf[i:] + text
        if self.drafting:
            self.draft_text.append(text)
        lane = self.lane
        if lane is not None:
            stop = lane.near(buf)
            if stop is not None:
                self.i = stop
                self.pos += stop
                self.look = lane.look if stop == len(buf) and not self.drafting else None
                text = buf[:stop]
                if lane.encode is not None:
                    text = lane.encode(text)
                if not text:
                    return []
                self.lane_parts.append(text)
                index = self.lane_index
                event = self.lane_event(text) if index < 0 else ToolCallArguments(index, text)
                if not self.drafting:
                    return [event]
                self.out.append(event)
                return []
            self.lane = self.look = None
        self.i = 0
        if self.alignment is not None:
            self.alignment.begins_with(text)
        next(self.generator, None)
        while self.backlog:
            self.refill()
            next(self.generator, None)
        return self.given()

    def spread(self) -> None:
        """Leave most of a long buffer for later, so that a look through it costs a window only."""
        cut = self.i + WINDOW
        if len(self.buf) > cut + WINDOW:
            rest, self.buf = self.buf[cut:], self.buf[:cut]
            self.backlog += [rest[at : at + WINDOW] for at in range(0, len(rest), WINDOW)][::-1]

    def refill(self) -> None:
        """Take the next piece of what was left for later."""
        piece = self.backlog.pop()
        self.lane = self.look = None
        self.base += self.i
        self.buf = self.buf[self.i :] + piece
        self.i = 0
        if self.drafting:
            self.draft_text.append(piece)

    def given(self) -> list[Event]:
        """The events since the last call."""
        if self.drafting:
            out, self.ready = self.ready, []
        else:
            out, self.out = self.out, []
        return out if len(out) < 2 else joined(out)

    def finish(self, finish_reason: str | None = "stop") -> list[Event]:
        """The output is over: return what it still proves. A second call returns nothing.

        ``finish_reason`` is the engine's: with ``length`` the output was cut.
        """
        if not (finish_reason is None or isinstance(finish_reason, str)):
            raise InvalidRequest("finish_reason must be a string or None", param="finish_reason")
        if self.finished:
            return []
        self.finished = True
        self.finish_reason = finish_reason or "stop"
        self.reason_given = finish_reason
        self.lane = self.look = None
        self.eof = True
        for _ in self.generator:
            pass
        return self.given()

    @property
    def message(self) -> Message:
        """The message so far; after ``finish`` it is the result."""
        pos, *lengths = self.decided()
        spans, diagnostics, made, content, reasoning, citations = (
            results[:length] for results, length in zip(self.results(), lengths, strict=True)
        )
        calls = [ToolCall(call.id, call.name, "".join(call.parts), call.proven) for call in made]
        reason = self.reason_given
        if reason == "stop" and any(call.complete for call in calls):
            reason = "tool_calls"
        return Message(
            reasoning="".join(reasoning) or None,
            content="".join(content) or None,
            tool_calls=calls,
            finish_reason=reason,
            diagnostics=[
                Diagnostic(*one) for one in sorted(diagnostics, key=itemgetter(1, 2, 0)) if one[2] <= pos
            ],
            spans=span_list(spans, pos) if self.gives_spans else None,
            citations=citations,
        )

    # -- text -----------------------------------------------------------------

    def take(self, length: int, kind: str) -> None:
        """Consume ``length`` characters as ``kind``; held while a call is on trial."""
        if not length:
            return
        start = self.i
        self.i = start + length
        if self.trial is not None:
            self.trial.append((kind, self.buf[start : self.i]))
        else:
            self.mark(kind, length)

    def put_back(self, text: str) -> None:
        """Text that was consumed, and not accounted for, is to be read again."""
        if self.i >= len(text):
            self.i -= len(text)
            return
        self.buf = text + self.buf[self.i :]
        self.base += self.i - len(text)
        self.i = 0

    def mark(self, kind: str, length: int) -> None:
        """Account for ``length`` characters that were consumed before."""
        if not length:
            return
        call = self.call
        index: int | None = None
        if call.announced:
            if call.dropped:
                kind = "dropped"
            else:
                index = call.index
        if self.spans:
            last, _, of = self.spans[-1]
            if last != kind or of != index:
                self.spans.append((kind, self.pos, index))
        else:
            self.spans.append((kind, self.pos, index))
        self.pos += length

    def at(self) -> int:
        """The position in the output of the next character that is not consumed."""
        return self.base + self.i

    def note(self, code: str, start: int, end: int, expected: str = "", hint: str = "") -> None:
        """Add a diagnostic."""
        self.diagnostics.append((code, start, end, expected, hint))

    def is_marker(self, marker: str, at: int) -> bool | None:
        """Whether the marker at ``buf[at:]`` counts; None when its token id is not known yet."""
        if self.alignment is None:
            return True
        return self.alignment.counts(marker, self.base + at, self.eof)

    # -- strands --------------------------------------------------------------

    def reasoning(self, text: str) -> None:
        """Give out thinking."""
        if not text:
            return
        self.reasoning_parts.append(text)
        self.out.append(ReasoningDelta(text))

    def content(self, text: str) -> None:
        """Give out content."""
        if not text:
            return
        self.content_parts.append(text)
        self.out.append(ContentDelta(text))

    def args(self, text: str) -> None:
        """Give out argument text of the call being read; held until it is announced."""
        call = self.call
        if not call.announced:
            call.pending.append(text)
            return
        if not text or call.dropped:
            return
        call.parts.append(text)
        last = self.out[-1] if self.out else None
        if type(last) is ToolCallArguments and len(last.text) < SHORT and last.index == call.index:
            self.out[-1] = ToolCallArguments(call.index, last.text + text)
        else:
            self.out.append(ToolCallArguments(call.index, text))

    def take_args(self, stop: int) -> None:
        """Consume the text up to ``buf[stop]`` as argument text that passes as it is written."""
        start = self.i
        if stop == start:
            return
        text = self.buf[start:stop]
        call = self.call
        if not call.announced or call.dropped or not self.in_arguments():
            self.args(text)
            self.take(stop - start, "arguments")
            return
        self.i = stop
        self.pos += stop - start
        self.args(text)

    def in_arguments(self) -> bool:
        """Whether the last span is one of this call's arguments."""
        last = self.spans[-1] if self.spans else None
        return last is not None and last[0] == "arguments" and last[2] == self.call.index

    def set_lane(
        self, lane: Lane, event: Callable[[str], Event], parts: list[str] | deque[str], index: int = -1
    ) -> None:
        """Let text through until the next wait: as ``event``, or as arguments of the call ``index``.

        A draft in thinking has none, as thinking may end anywhere in it.
        """
        if self.trial is not None or (self.drafting and self.thinking):
            return
        self.lane = lane
        self.look = lane.look if self.i == len(self.buf) and not self.drafting else None
        self.lane_event = event
        self.lane_index = index
        self.lane_parts = parts

    def args_lane(self, lane: Lane) -> None:
        """The lane inside a value of the announced call."""
        call = self.call
        if call.announced and not call.dropped and self.in_arguments():
            self.set_lane(lane, ContentDelta, call.parts, call.index)

    # -- calls ----------------------------------------------------------------

    def fail(self, code: str, expected: str) -> NoReturn:
        """The text here is not what the template allows."""
        raise (Broken if self.call.announced else Refuted)(code, expected)

    def end_call(self, complete: bool) -> None:
        """The announced call is over."""
        call = self.call
        if call.proven or not call.announced:
            return
        call.proven = complete
        if not call.dropped:
            self.out.append(ToolCallEnd(call.index, complete))

    def start_call(self, call: Call) -> None:
        """Announce the call and give out what was held."""
        call.announced = True
        if not call.dropped:
            self.calls.append(call)
            self.out.append(ToolCallStart(call.index, call.id, call.name))
        pending, call.pending = call.pending, []
        for text in pending:
            self.args(text)

    # -- results --------------------------------------------------------------

    def snapshot(self) -> tuple[int, ...]:
        """How far every list of results goes."""
        return (self.pos, *(len(results) for results in self.results()))

    def results(self) -> tuple[list[Any], ...]:
        """The lists that the message is made of."""
        return (
            self.spans,
            self.diagnostics,
            self.calls,
            self.content_parts,
            self.reasoning_parts,
            self.citations,
        )

    def decided(self) -> tuple[int, ...]:
        """How far the results go that can't be taken back."""
        return self.before_draft if self.drafting else self.snapshot()


def joined(events: list[Any]) -> list[Event]:
    """The same events, neighbours of one strand joined."""
    out: list[Event] = []
    for kind, run in groupby(events, type):
        if kind is ReasoningDelta or kind is ContentDelta:
            out.append(kind("".join(event.text for event in run)))
        elif kind is ToolCallArguments:
            for index, of_call in groupby(run, attrgetter("index")):
                out.append(ToolCallArguments(index, "".join(event.text for event in of_call)))
        else:
            out += run
    return out


def span_list(spans: list[tuple[str, int, int | None]], pos: int) -> list[Span]:
    """The spans that begin at these places, the last one closed at ``pos``."""
    ends = [start for _, start, _ in spans[1:]] + [pos]
    return [Span(kind, start, end, index) for (kind, start, index), end in zip(spans, ends, strict=False)]
