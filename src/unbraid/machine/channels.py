"""The flow of a channel format: messages with headers, each body routed to a strand."""

from __future__ import annotations

from collections.abc import Generator

from unbraid.codecs.json_text import read_json
from unbraid.events import ContentDelta, ReasoningDelta
from unbraid.machine.calls import CallMachine
from unbraid.machine.core import Broken, Call, Cut, Refuted, Run
from unbraid.machine.headers import Header, parse_header, route_of
from unbraid.machine.markers import Scanner, scanner
from unbraid.machine.setup import setup
from unbraid.machine.state import State
from unbraid.syntax import WHITE, Channels, Json, Route

__all__ = ["ChannelMachine", "begins_thinking"]

MAX_HEADER = 512
MAX_KNOWN = 64

_SCANNERS: dict[int, tuple[Channels, Scanner, Scanner]] = {}


class ChannelMachine(CallMachine):
    """Reads one output of a channel format.

    ``reasoning`` and ``calls``: whether that half was named; the strand of a half
    that was not is content. ``prompt``: the text in front, whose last header goes on.
    """

    def __init__(
        self,
        state: State,
        channels: Channels,
        *,
        reasoning: bool = True,
        calls: bool = True,
        prompt: str | None = None,
    ) -> None:
        self.channels = channels
        self.reads_reasoning = reasoning
        self.reads_calls = calls and state.tools != {}
        self.prefix = header_prefix(channels, prompt)
        self.header_scan, self.body_scan = scanners(channels)
        self.headers: dict[str, Header] = {}
        super().__init__(state, setup(None, None, False))

    def openers(self) -> tuple[str, ...]:
        """What ends a body."""
        return (*(one.text for one in self.channels.ends), self.channels.start.text)

    # -- messages -------------------------------------------------------------

    def run(self) -> Run:
        """The whole output, message by message."""
        body = self.channels.body.text
        if body in self.prefix:
            header = self.parsed(self.prefix.partition(body)[0])
            yield from self.body(header, [])
            yield from self.between()
        else:
            yield from self.read_message(first=True)
        while self.i < len(self.buf) or not self.eof:
            yield from self.read_message(first=False)

    def parsed(self, text: str) -> Header:
        """What a header says; most are the same ones again."""
        header = self.headers.get(text)
        if header is None:
            header = parse_header(self.channels, text, self.tool_names())
            if len(self.headers) < MAX_KNOWN:
                self.headers[text] = header
        return header

    def tool_names(self) -> frozenset[str]:
        """The names of the declared tools."""
        return frozenset(self.state.tools or ())

    def read_message(self, first: bool) -> Run:
        """Read one header and its body, and what stands behind it."""
        held: list[str] = []
        ended = yield from self.header(held, first)
        text = "".join(held)
        if ended == "refuted":
            yield from self.body(Header(), [])
        elif ended == self.channels.body.text:
            prefix = f"{self.prefix} " if first else ""
            header = self.parsed(prefix + text)
            yield from self.body(header, [*held, ended])
        else:
            self.header_only(text, ended, first)
            if ended == "too long":
                yield from self.body(Header(), [])
        yield from self.between()

    def header(self, held: list[str], first: bool) -> Generator[None, None, str]:
        """Hold a header's text; returns the marker behind it, ``refuted``, or "" at the end of the output."""
        if first and (yield from self.is_plain_text(held)):
            self.put_back("".join(held))
            return "refuted"
        at = self.i
        length = 0
        while True:
            found = self.header_scan.search(self.buf, at)
            stop = found.start() if found else len(self.buf)
            whole = found is not None and self.header_scan.whole(found, self.eof)
            counts = self.is_marker(found.group(), stop) if found is not None and whole else None
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
            if counts and found is not None:
                marker = found.group()
                if marker == self.channels.start.text:
                    held.append(marker)
                    self.i += len(marker)
                    at = self.i
                    continue
                if marker == self.channels.body.text:
                    self.i += len(marker)
                return marker
            if self.eof:
                return ""
            yield
            at = self.i

    def is_plain_text(self, held: list[str]) -> Generator[None, None, bool]:
        """Whether the output begins with text that can be no header; white space before it is held."""
        starts = [*self.header_markers()]
        role = self.channels.role
        if self.prefix and not self.prefix.endswith(role):
            return False
        to = self.channels.to.strip(WHITE)
        again = [role + one for one in (*self.header_markers(), self.channels.to)]
        starts += again if self.prefix else [role]
        while True:
            text = self.buf[self.i :]
            rest = text.lstrip(WHITE)
            held.append(text[: len(text) - len(rest)])
            self.i += len(text) - len(rest)
            options = [*starts, to, *(one.text for one in self.channels.ends), *self.channels.dropped]
            if any(rest.startswith(one) for one in options):
                return False
            if self.eof or not any(one.startswith(rest) for one in options):
                return bool(rest) or not self.eof
            yield

    def header_markers(self) -> tuple[str, ...]:
        """The markers that stand in a header, and the one behind it."""
        channels = self.channels
        return (channels.start.text, channels.channel.text, channels.constrain.text, channels.body.text)

    def header_only(self, text: str, ended: str, first: bool) -> None:
        """A header without a body: its words are markup, what is no header word is content."""
        prefix = self.prefix if first else ""
        header = self.parsed(prefix + text)
        if ended == "too long" or (header.rest and not text.endswith(header.rest)):
            rest = text
        else:
            rest = header.rest
        if not ended and any(one.startswith(rest) for one in self.header_markers()):
            rest = ""
        self.mark("markup", len(text) - len(rest))
        if rest.strip():
            self.note("not_a_header", self.pos, self.pos + len(rest), self.channels.body.text)
            self.content(rest)
            self.mark("content", len(rest))
        else:
            self.mark("markup", len(rest))

    def between(self) -> Run:
        """Behind a body: skip to the next message. Text there is in no strand."""
        scan = scanner((self.channels.start.text, self.channels.channel.text))
        text, marker = yield from self.collect(scan, self.is_marker)
        if marker is None:
            text += self.remainder()
        if text.strip():
            self.note("noise", self.pos, self.pos + len(text), self.channels.start.text)
        self.mark("noise" if text.strip() else "framing", len(text))

    # -- bodies ---------------------------------------------------------------

    def body(self, header: Header, held: list[str]) -> Run:
        """Read a body into its strand."""
        route, name = route_of(self.channels, header)
        strand = route.strand
        if strand == "call" and not self.reads_calls:
            strand = "content"
        if strand == "reasoning" and not self.reads_reasoning:
            strand = "content"
        if strand == "call" and name is not None:
            yield from self.call_body(route, name, held)
            return
        self.mark("markup", sum(map(len, held)))
        self.thinking = strand == "reasoning"
        yield from self.text_body(strand, self.body_scan, route)
        self.thinking = False

    def text_body(self, strand: str, scan: Scanner, route: Route) -> Run:
        """Give out a body's text up to its end."""
        white = ""
        blank = strand == "content"
        at = self.i
        while True:
            found = scan.search(self.buf, at)
            stop = found.start() if found else len(self.buf)
            ends: bool | None = None
            if found is not None and scan.whole(found, self.eof):
                ends = self.ends_body(found.group(), stop, route)
            if ends is False or (found is not None and ends is None and self.eof):
                at = stop + 1
                continue
            text = self.buf[self.i : stop]
            self.i = stop
            if blank and not text.strip():
                white += text
            elif text:
                self.body_text(strand, white + text)
                white, blank = "", False
            if ends and found is not None:
                self.mark("framing", len(white))
                white = ""
                self.end_of_body(found.group())
                if found.group() in self.channels.dropped:
                    at = self.i
                    continue
                return
            if self.eof:
                self.mark("framing", len(white))
                return
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

    def ends_body(self, marker: str, at: int, route: Route) -> bool | None:
        """Whether a marker ends the body: another route's end does so only as a token or at the very end."""
        own = marker in route.ends or marker in self.channels.dropped
        first = next(
            (
                one.text
                for one in (self.channels.start, self.channels.channel, *self.channels.ends)
                if marker.startswith(one.text)
            ),
            marker,
        )
        counts = self.is_marker(first, at)
        if not counts or own or first != marker:
            return counts
        if self.alignment is not None and first in self.state.markers:
            return True
        if at + len(marker) < len(self.buf):
            return False
        return True if self.eof else None

    def end_of_body(self, marker: str) -> None:
        """Consume an end marker; a restart stays for the next header."""
        if marker in self.channels.dropped or any(marker == one.text for one in self.channels.ends):
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
        self.mark("markup", sum(len(text) for _, text in trial[:head]))
        text = "".join(text for _, text in trial[head:])
        self.note(why.code, self.pos, self.pos + len(text), why.expected)
        self.put_back(text)
        yield from self.text_body("content", self.body_scan, route)

    def skip_body(self, route: Route, kind: str) -> Run:
        """Consume what stands between a call's end and its message's."""
        scan = self.body_scan
        text, marker = yield from self.collect(scan, lambda one, at: self.ends_body(one, at, route))
        if marker is None:
            text += self.remainder()
        self.mark(kind if text.strip() else "framing", len(text))
        self.end_of_body(marker or "")


def header_prefix(channels: Channels, prompt: str | None) -> str:
    """What the prompt wrote of the header (or body) that the output goes on with."""
    start = channels.start.text
    if prompt is None or start not in prompt:
        return channels.role
    return prompt.rpartition(start)[2]


def begins_thinking(channels: Channels, prompt: str | None) -> bool:
    """Whether the prompt leaves a body of thinking open."""
    head, body, text = header_prefix(channels, prompt).partition(channels.body.text)
    if not body or any(one.text in text for one in channels.ends):
        return False
    return route_of(channels, parse_header(channels, head, frozenset()))[0].strand == "reasoning"


def header_pieces(text: str, name: str) -> list[tuple[str, str]]:
    """A header's text as spans: the name in it, the rest markup."""
    before, found, behind = text.rpartition(name)
    if not found:
        return [("markup", text)]
    return [
        (kind, piece) for kind, piece in (("markup", before), ("name", name), ("markup", behind)) if piece
    ]


def scanners(channels: Channels) -> tuple[Scanner, Scanner]:
    """The markers behind a header, and those that may end a body, compiled once.

    A body ends at its own ends, at the others, and at the next message without an end.
    """
    known = _SCANNERS.get(id(channels))
    if known is None or known[0] is not channels:
        ends = tuple(one.text for one in channels.ends)
        start = channels.start.text + channels.role
        names = {one.channel for one in channels.routes if one.channel} | {
            one.write["channel"] for one in channels.routes if "channel" in one.write
        }
        restarts = [start + channels.channel.text, start + channels.to, start + channels.body.text]
        restarts += [f"{channels.channel.text}{name}{channels.body.text}" for name in sorted(names)]
        header = scanner((channels.start.text, channels.body.text, *ends, *channels.dropped))
        body = scanner((*ends, *channels.dropped, *restarts))
        known = _SCANNERS[id(channels)] = (channels, header, body)
    return known[1:]
