"""The flow of a channel format: messages with headers, each body routed to a strand."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

from unbraid.codecs.json_text import read_json
from unbraid.events import ContentDelta, ReasoningDelta
from unbraid.machine.calls import CallMachine
from unbraid.machine.core import Broken, Call, Cut, Refuted, Run
from unbraid.machine.frames import Place, frame_of
from unbraid.machine.headers import RECIPIENT, Header, parse_header, plain_route, route_of
from unbraid.machine.markers import Scanner
from unbraid.machine.state import State
from unbraid.syntax import MAX_NAME, WHITE, Channels, Json, Route

__all__ = ["ChannelMachine"]

MAX_HEADER = 512
MAX_KNOWN = 64
Counts = Callable[[str, int], "bool | None"]
WORD = re.compile(f"{RECIPIENT}{{0,{MAX_NAME}}}")


class ChannelMachine(CallMachine):
    """Reads one output of a channel format.

    ``reasoning`` and ``calls``: whether that half was named; the strand of a half
    that was not is content. ``place``: where the prompt leaves the output.
    """

    def __init__(
        self,
        state: State,
        channels: Channels,
        *,
        reasoning: bool = True,
        calls: bool = True,
        place: Place,
    ) -> None:
        self.channels = channels
        self.reads_reasoning = reasoning
        self.reads_calls = calls and state.tools != {}
        self.place = place
        self.prefix = self.place.header
        self.frame = frame_of(channels)
        self.headers = state.headers
        super().__init__(state, self.frame.calls)

    def openers(self) -> tuple[str, ...]:
        """What ends a body, or begins another call in it."""
        ends = (*(one.text for one in self.channels.ends), self.channels.start.text)
        return ends if self.setup.tools is None else (*super().openers(), *ends)

    # -- messages -------------------------------------------------------------

    def run(self) -> Run:
        """The whole output, message by message."""
        if self.place.body is None:
            yield from self.read_message(first=True)
        else:
            if not self.place.ended:
                yield from self.body(self.parsed(self.prefix, self.place.body), [])
            yield from self.between()
        while self.i < len(self.buf) or not self.eof:
            yield from self.read_message(first=False)

    def parsed(self, text: str, body: str | None = None) -> Header:
        """What a header says; most are the same ones again."""
        header = self.headers.get((text, body))
        if header is None:
            header = parse_header(self.channels, text, self.tool_names(), body)
            if len(self.headers) < MAX_KNOWN:
                self.headers[text, body] = header
        return header

    def tool_names(self) -> frozenset[str]:
        """The names of the declared tools."""
        return frozenset(self.state.tools or ())

    def read_message(self, first: bool) -> Run:
        """Read one header and its body, and what stands behind it."""
        held: list[str] = []
        begins = (yield from self.begins_with(held)) if first else "header"
        if begins != "header":
            self.put_back("".join(held))
            yield from self.unframed(begins == "call")
        else:
            ended = yield from self.header(held)
            text = "".join(held)
            prefix = f"{self.prefix} " if first else ""
            if ended in self.frame.bodies:
                yield from self.body(self.parsed(prefix + text, ended), [*held, ended])
            else:
                self.header_only(text, ended, prefix)
                if ended == "too long":
                    yield from self.unframed(False)
        yield from self.between()

    def unframed(self, calls: bool) -> Run:
        """A body without a header: calls that show what they are, or content."""
        if calls and self.frame.route is not None and self.reads_calls:
            yield from self.calls_in_body(self.frame.route)
        else:
            yield from self.text_body("content", self.frame.body, self.ends_of(plain_route(self.channels)))

    def header(self, held: list[str]) -> Generator[None, None, str]:
        """Hold a header's text; returns the marker behind it, or "" at the end of the output."""
        at = self.i
        length = 0
        scan = self.frame.header
        start = self.channels.start.text
        while True:
            found = scan.search(self.buf, at)
            stop = found.start() if found else len(self.buf)
            marker = self.standing(scan, found) if found is not None else None
            counts = self.is_marker(marker, stop) if marker is not None else None
            if counts is False or (found is not None and not counts and self.eof):
                at = stop + 1
                continue
            whole_text = length + stop - self.i <= MAX_HEADER
            stop = min(stop, self.i + MAX_HEADER - length)
            held.append(self.buf[self.i : stop])
            length += stop - self.i
            self.i = stop
            if not whole_text:
                return "too long"
            if counts and marker is not None:
                if marker == start:
                    held.append(marker)
                    self.i += len(marker)
                    at = self.i
                    continue
                if marker in self.frame.bodies:
                    self.i += len(marker)
                return marker
            if self.eof:
                return ""
            yield
            at = self.i

    def begins_with(self, held: list[str]) -> Generator[None, None, str]:
        """What the output begins with: ``header``, ``call`` or ``text``; white space before it is held."""
        channels, frame = self.channels, self.frame
        role = channels.role
        if self.prefix and not self.prefix.endswith(role):
            return "header"
        to = (channels.to or "").strip(WHITE)
        starts = [*frame.starts, *(one.text for one in channels.ends), *channels.dropped]
        starts += [to] if to else []
        if role:
            begin = [role + one for one in (*frame.starts, channels.to) if one]
            starts += begin if self.prefix else [role]
        while True:
            text = self.buf[self.i :]
            rest = text.lstrip(WHITE)
            held.append(text[: len(text) - len(rest)])
            self.i += len(text) - len(rest)
            if rest.startswith(frame.openers):
                return "call"
            if rest.startswith(tuple(starts)) or self.is_word(rest):
                return "header"
            waits = any(one.startswith(rest) for one in (*starts, *frame.openers)) or self.may_be_word(rest)
            if self.eof or not waits:
                return "text" if rest or not self.eof else "header"
            yield

    def is_word(self, text: str) -> bool:
        """Whether a header that is one word stands here."""
        end = self.word_end(text)
        return (
            self.one_word()
            and text.startswith(self.frame.bodies, end)
            and (self.channels.to is None or (end > 0 and self.names_recipient(text[:end])))
        )

    def may_be_word(self, text: str) -> bool:
        """Whether a header that is one word may still come."""
        tail = text[self.word_end(text) :]
        return self.one_word() and any(one.startswith(tail) for one in self.frame.bodies)

    def one_word(self) -> bool:
        """Whether a header may be a bare word."""
        return not self.channels.to and not self.channels.role

    def word_end(self, text: str) -> int:
        """Where the word ends with which a text begins."""
        found = WORD.match(text)
        return found.end() if found else 0

    def header_only(self, text: str, ended: str, prefix: str) -> None:
        """A header without a body: its words are markup, what is no header word is content."""
        cut = 0 if ended else self.cut_length(text)
        rest = self.parsed(prefix + text[: len(text) - cut]).rest
        rest = text[max(0, len(text) - cut - len(rest)) :] if rest else ""
        self.mark("markup", len(text) - len(rest))
        if rest.strip():
            self.note("not_a_header", self.pos, self.pos + len(rest), self.frame.bodies[0])
            self.content(rest)
            self.mark("content", len(rest))
        else:
            self.mark("markup", len(rest))

    def cut_length(self, text: str) -> int:
        """How much the output's end left of a marker or of a header's own word, at the end of a header."""
        to = (self.channels.to or "").strip(WHITE)
        begun = (*self.frame.starts, self.channels.role, to)
        tails = range(min(max(map(len, begun)), len(text)), 0, -1)
        return next((n for n in tails if any(one.startswith(text[-n:]) for one in begun)), 0)

    def between(self) -> Run:
        """Go on to the next message. Text in front of it is content if neither content nor a call came."""
        while not (self.content_parts or self.calls):
            start = self.pos
            ended = yield from self.text_body("content", self.frame.between, self.begins_message)
            if self.content_parts:
                self.note("missing_marker", start, start, self.channels.start.text)
            if ended not in self.frame.ends:
                return
        while True:
            text, marker = yield from self.collect_rest(self.frame.between, self.begins_message)
            if text.strip():
                self.note("noise", self.pos, self.pos + len(text), self.channels.start.text)
            self.mark("noise" if text.strip() else "framing", len(text))
            if marker not in self.channels.dropped and marker not in self.frame.ends:
                return
            self.take(len(marker or ""), "markup")

    def begins_message(self, marker: str, at: int) -> bool | None:
        """Whether a marker at ``buf[at]`` begins a message; None while that is open."""
        if marker not in self.frame.proved:
            return self.is_marker(self.frame.firsts[marker], at)
        at += len(marker) - len(marker.lstrip(WHITE))
        found = self.frame.whole.match(self.buf, at)
        if found is not None:
            name = found[1]
            body = found.end(1)
            return self.names_recipient(name) and self.is_marker(self.buf[body : found.end()], body)
        return None if not self.eof and self.frame.cut.match(self.buf, at) else False

    def names_recipient(self, name: str) -> bool:
        """Whether a header of ordinary text may name this one: a declared tool, or who a route names."""
        if self.channels.start.special or self.state.tools is None or name in self.state.tools:
            return True
        return any(name in route.to for route in self.channels.routes)

    # -- bodies ---------------------------------------------------------------

    def body(self, header: Header, held: list[str]) -> Run:
        """Read a body into its strand."""
        route, name = route_of(self.channels, header)
        strand = route.strand
        if strand == "call" and not self.reads_calls:
            strand = "content"
        if strand == "reasoning" and not self.reads_reasoning:
            strand = "content"
        if strand == "call" and route.calls is None and name is not None:
            yield from self.call_body(route, name, held)
            return
        self.mark("markup", sum(map(len, held)))
        if strand == "call":
            yield from self.calls_in_body(route)
            return
        self.thinking = strand == "reasoning"
        yield from self.text_body(strand, self.frame.body, self.ends_of(route))
        self.thinking = False

    def text_body(self, strand: str, scan: Scanner, counts: Counts) -> Generator[None, None, str]:
        """Give out a body's text up to a marker that ends it or begins a call, which is returned, or ""."""
        white = ""
        blank = strand == "content"
        at = self.i
        while True:
            found = scan.search(self.buf, at)
            stop = found.start() if found else len(self.buf)
            ends: bool | None = None
            marker = self.standing(scan, found) if found is not None else None
            if marker is not None:
                ends = counts(marker, stop)
            if ends is False or (found is not None and ends is None and self.eof):
                at = stop + 1
                continue
            if ends and marker is not None and marker in self.frame.proved:
                stop += len(marker) - len(marker.lstrip(WHITE))
            text = self.buf[self.i : stop]
            self.i = stop
            if blank and not text.strip():
                white += text
            elif text:
                self.body_text(strand, white + text)
                white, blank = "", False
            if ends and marker is not None:
                self.mark("framing", len(white))
                white = ""
                self.end_of_body(marker)
                if marker in self.channels.dropped:
                    at = self.i
                    continue
                return marker
            if self.eof:
                self.mark("framing", len(white))
                return ""
            if not blank:
                self.body_lane(strand, scan)
            yield
            at = self.i

    def body_text(self, strand: str, text: str) -> None:
        """Give out text of a body."""
        if strand == "reasoning":
            self.reasoning(text)
        elif strand == "content":
            self.content(text)
        self.mark(strand, len(text))

    def body_lane(self, strand: str, scan: Scanner) -> None:
        """Let plain pieces through."""
        if not self.spans or self.spans[-1][0] != strand:
            return
        if strand == "reasoning":
            self.set_lane(scan.lane, ReasoningDelta, self.reasoning_parts)
        elif strand == "content":
            self.set_lane(scan.lane, ContentDelta, self.content_parts)

    def ends_of(self, route: Route) -> Counts:
        """What tells whether a marker ends the body of this route."""
        return lambda marker, at: self.ends_body(marker, at, route)

    def ends_body(self, marker: str, at: int, route: Route) -> bool | None:
        """Whether a marker ends the body: another route's end does so only as a token or at the very end."""
        if marker in self.frame.restarts:
            return self.begins_message(marker, at)
        counts = self.is_marker(marker, at)
        if not counts or marker in route.ends or marker in self.channels.dropped:
            return counts
        if marker in self.frame.openers:
            return True
        if self.alignment is not None and marker in self.state.markers:
            return True
        if at + len(marker) < len(self.buf):
            return False
        return True if self.eof else None

    def end_of_body(self, marker: str) -> None:
        """Consume an end marker; a restart stays for the next header."""
        if marker in self.channels.dropped or marker in self.frame.ends:
            self.take(len(marker), "markup")

    # -- calls ----------------------------------------------------------------

    def call_body(self, route: Route, name: str, held: list[str]) -> Run:
        """Read a call's arguments; what is no object is content."""
        self.begin_trial()
        self.trial = header_pieces("".join(held), name)
        head = len(self.trial)
        self.call.name = name
        try:
            yield from read_json(self, Json())
            self.end_trial()
        except Broken as broken:
            self.note(broken.code, self.at(), self.at(), broken.expected)
            self.end_call(False)
            yield from self.skip_body(route, "broken")
            self.call = Call()
            return
        except Refuted as refuted:
            if not self.is_cut():
                yield from self.no_call(refuted, head, route)
                return
            self.cut()
            self.call = Call()
            return
        except Cut:
            self.cut()
            self.call = Call()
            return
        yield from self.skip_body(route, "noise")

    def no_call(self, why: Refuted, head: int, route: Route) -> Run:
        """The body is no arguments: header markup, the rest content."""
        trial, self.trial = self.trial or [], None
        self.call = Call()
        header = "".join(text for _, text in trial[:head])
        if self.channels.body is None or self.channels.body.special:
            self.mark("markup", len(header))
        else:
            self.content(header)
            self.mark("content", len(header))
        text = "".join(text for _, text in trial[head:])
        self.note(why.code, self.pos, self.pos + len(text), why.expected)
        self.put_back(text)
        yield from self.text_body("content", self.frame.body, self.ends_of(route))

    def calls_in_body(self, route: Route) -> Run:
        """Read a body of calls that have a markup of their own: text in front is content, behind it noise."""
        assert self.setup.tools is not None
        openers, whole = self.frame.openers, not self.frame.openers
        yield from self.white_run(WHITE)
        while True:
            if not whole and (yield from self.literal(openers)) is None:
                if self.is_cut():
                    self.begin_trial()
                    self.cut()
                elif (
                    yield from self.text_body("content", self.frame.inside, self.ends_of(route))
                ) in openers:
                    continue
                return
            outcome = yield from (self.section("") if self.setup.tools.section else self.attempt(""))
            if outcome == "cut":
                return
            if outcome in ("read", "broken"):
                if (yield from self.skip_body(route, "noise")):
                    continue
                return
            self.put_back(self.take_white())
            if whole:
                yield from self.text_body("content", self.frame.body, self.ends_of(route))
                return

    def skip_body(self, route: Route, kind: str) -> Generator[None, None, bool]:
        """Consume what stands behind a call: True at the next opener, False behind the message."""
        text, marker = yield from self.collect_rest(self.frame.inside, self.ends_of(route))
        if text.strip():
            self.note("noise", self.pos, self.pos + len(text), route.ends[0] if route.ends else "")
        self.mark(kind if text.strip() else "framing", len(text))
        if marker in self.frame.openers:
            return True
        self.end_of_body(marker or "")
        return False


def header_pieces(text: str, name: str) -> list[tuple[str, str]]:
    """A header's text as spans: the name in it, the rest markup."""
    before, found, behind = text.rpartition(name)
    if not found:
        return [("markup", text)]
    return [
        (kind, piece) for kind, piece in (("markup", before), ("name", name), ("markup", behind)) if piece
    ]
