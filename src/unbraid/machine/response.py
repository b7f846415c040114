"""The flow of a response template: regions found by their openers, calls read when their region closes."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from itertools import pairwise

from unbraid.events import ContentDelta, ReasoningDelta
from unbraid.machine.calls import CallMachine
from unbraid.machine.core import Run
from unbraid.machine.setup import setup
from unbraid.machine.state import State
from unbraid.response.calls import Entry, read_entries, typed
from unbraid.response.expression import expression
from unbraid.response.program import Place, Program, Watch, behind_anchor, program
from unbraid.response.values import Malformed, Placed
from unbraid.syntax import Field, Lit, ResponseTemplate

__all__ = ["ResponseMachine", "Start", "start_of"]

Captures = dict[str, Placed]


@dataclass
class Region:
    """The whole text of a region of calls: opener, body and closer.

    ``opener`` and ``stop`` bound the body; ``prompt`` is how many characters the prompt wrote.
    """

    field: Field
    captures: Captures
    text: str
    opener: int
    stop: int
    prompt: int

    def entries(self, closed: bool, stopped: bool) -> list[Entry]:
        """The entries of the body; raises Malformed.

        One without a closer may end in a part of it, or, where the output ``stopped`` by
        itself, behind a whole tag: engines leave out what they stop at.
        """
        body = self.text[self.opener : self.stop]
        ended = closed or (stopped and self.whole_tags(body))
        try:
            return read_entries(self.field, self.captures, body, self.opener, ended)
        except Malformed:
            cut = 0 if closed else self.cut_closer(body)
            if not cut:
                raise
            ended = stopped and self.whole_tags(body[:-cut])
            return read_entries(self.field, self.captures, body[:-cut], self.opener, ended)

    def whole_tags(self, body: str) -> bool:
        """Whether nothing but tags stands in the body."""
        tag = self.field.content.tag
        if tag is None:
            return False
        hits = expression(tag.text).matches(body)
        return not body[hits[-1].end if hits else 0 :].strip()

    def cut_closer(self, body: str) -> int:
        """The length of a closer's beginning at the end of the body."""
        spellings = self.field.close.spellings if isinstance(self.field.close, Lit) else ()
        return max((n for one in spellings for n in range(1, len(one)) if body.endswith(one[:n])), default=0)

    def begins(self, entries: list[Entry]) -> list[int]:
        """Where the text of each entry begins; the first has all that stands before it."""
        found = [0]
        for entry in entries[1:]:
            at = self.text.find(entry.name, found[-1]) if entry.start is None else entry.start
            found.append(max(at, found[-1]))
        return found

    def kinds(self, entry: Entry, begin: int, end: int) -> list[tuple[str, int, int]]:
        """The spans of a call's text: its name, its arguments, and markup around them."""
        name = entry.name_at or self.name_place(entry, begin, end)
        body = (self.opener, self.stop) if isinstance(entry.arguments, dict) else name
        arguments = entry.arguments_at or body
        cuts = sorted({begin, end, *(min(max(at, begin), end) for at in (*name, *arguments))})
        found: list[tuple[str, int, int]] = []
        for a, b in pairwise(cuts):
            inside = "arguments" if arguments[0] <= a < arguments[1] else "markup"
            found.append(("name" if name[0] <= a < name[1] else inside, a, b))
        return found

    def name_place(self, entry: Entry, begin: int, end: int) -> tuple[int, int]:
        """Where the name stands: as it is, escaped somewhere in the text, or meant by the opener."""
        at = self.text.find(entry.name, begin, end)
        if at >= 0:
            return at, at + len(entry.name)
        return (begin, end) if "\\" in self.text else (begin, max(self.opener, begin + 1))


@dataclass(frozen=True)
class Start:
    """Where a prompt leaves the output.

    ``field``: the region that is open; ``opener`` and ``body`` are the prompt's part of it;
    ``captures`` the opener's groups. ``pending``: the prompt's last characters, in which a
    marker may have begun. ``thought``: a region of thinking was closed; ``answered``: one of
    content or calls was opened.
    """

    field: Field | None = None
    opener: str = ""
    body: str = ""
    captures: tuple[tuple[str, str, int], ...] = ()
    pending: str = ""
    thought: bool = False
    answered: bool = False


def start_of(template: ResponseTemplate, prompt: str | None) -> Start:
    """The state that a prompt leaves, by the same scan that reads the output."""
    if prompt is None:
        return Start()
    text = behind_anchor(template, prompt)
    found = program(template)
    field: Field | None = None
    opener = ""
    captures: tuple[tuple[str, str, int], ...] = ()
    thought = answered = False
    at = begin = 0
    while True:
        watch = found.inside[field] if field else found.outside
        place = watch.find(text, at, False, lambda *_: True)
        if place is None or place.delimiter is None:
            break
        at = begin = place.end
        if place.delimiter.opens and place.delimiter.field is not None:
            field = place.delimiter.field
            answered = answered or field.strand != "reasoning"
            opener = text[place.start : place.end]
            captures = tuple(
                (name, text[start:end], start - place.start) for name, start, end in place.groups
            )
        elif field is not None:
            thought = thought or field.strand == "reasoning"
            field, opener, captures = None, "", ()
    stop = place.start if place is not None else len(text)
    return Start(field, opener, text[begin:stop], captures, text[stop:], thought, answered)


class ResponseMachine(CallMachine):
    """Reads one output of a response template.

    ``reasoning`` and ``calls``: whether that half was named. Thinking of a half that was
    not is content without its markers; calls of one that was not are content with them.
    """

    def __init__(
        self,
        state: State,
        template: ResponseTemplate,
        *,
        reasoning: bool = True,
        calls: bool = True,
        start: Start = Start(),
    ) -> None:
        self.template = template
        self.program: Program = program(template)
        self.reads_reasoning = reasoning
        self.reads_calls = calls and state.tools != {}
        self.start = start
        self.ghost = len(start.pending)
        self.answered = start.answered
        self.specials = sorted(state.markers, key=len, reverse=True)
        super().__init__(state, setup(None, None, False))

    def openers(self) -> tuple[str, ...]:
        """Nothing but its closer ends a region."""
        return ()

    # -- the flow -------------------------------------------------------------

    def run(self) -> Run:
        """The whole output."""
        start = self.start
        self.buf, self.base = start.pending, -self.ghost
        if start.field is not None:
            captures = {name: Placed.of(text, at) for name, text, at in start.captures}
            opening = start.opener + start.body
            yield from self.region(start.field, len(start.opener), captures, opening, len(opening))
        while True:
            place = yield from self.outside()
            if place is None:
                self.last_white()
                return
            field = place.delimiter.field if place.delimiter is not None else None
            captures = {
                name: Placed.of(self.buf[begin:end], begin - place.start) for name, begin, end in place.groups
            }
            marker, prompt = self.lift(place.end - place.start)
            if field is not None and field.open is not None:
                self.opened(field, len(marker))
                yield from self.region(field, len(marker), captures, marker, prompt)
            else:
                self.frame_white()
                self.mark("markup", len(marker) - prompt)
                if field is not None:
                    self.closed(field)

    def opened(self, field: Field, length: int) -> None:
        """A region's opener of this length was lifted."""
        self.answered = self.answered or field.strand != "reasoning"

    def closed(self, field: Field) -> None:
        """A region is over, its closer lifted."""

    def lift(self, length: int) -> tuple[str, int]:
        """Take characters out of the buffer, not accounted for yet; how many of them the prompt wrote."""
        prompt = min(self.ghost, length)
        self.ghost -= prompt
        text = self.buf[self.i : self.i + length]
        self.i += length
        return text, prompt

    def counts(self, marker: str, at: int) -> bool | None:
        """Whether a marker counts: each special token in it must begin where its text stands."""
        if self.alignment is None or self.base + at < 0:
            return True
        n = 0
        while n < len(marker):
            special = next((one for one in self.specials if marker.startswith(one, n)), None)
            if special is None:
                n += 1
                continue
            verdict = self.is_marker(special, at + n)
            if not verdict:
                return verdict
            n += len(special)
        return True

    # -- text -----------------------------------------------------------------

    def outside(self) -> Generator[None, None, Place | None]:
        """Give out the text outside every region up to a delimiter, which stands at ``buf[i]``."""
        implicit = self.program.implicit
        if implicit is None:
            strand = "noise" if self.answered else "content"
        elif implicit.strand == "call" and self.reads_calls:
            return (yield from self.implicit_call(implicit))
        else:
            strand = self.strand_of(implicit)
        self.blank = True
        self.thinking = strand == "reasoning"
        start = self.pos
        place = yield from self.text(self.program.outside, strand)
        self.thinking = False
        if strand == "noise" and not self.blank:
            self.note("noise", start, self.pos, "a region")
        return place

    def strand_of(self, field: Field) -> str:
        """The strand of a region's text; that of a half that is not read is content."""
        return "reasoning" if field.strand == "reasoning" and self.reads_reasoning else "content"

    def text(
        self, watch: Watch, strand: str, cuts: tuple[str, ...] = ()
    ) -> Generator[None, None, Place | None]:
        """Give out text of a strand up to a delimiter, which is returned; None at the end of the output."""
        while True:
            place = self.next_place(watch, cuts)
            stop = place.start if place is not None else len(self.buf)
            text, prompt = self.lift(stop - self.i)
            self.say(text[prompt:], strand)
            if place is not None and place.whole:
                return place
            if self.eof:
                return None
            self.text_lane(watch, strand)
            yield
            self.spread()

    def next_place(self, watch: Watch, cuts: tuple[str, ...]) -> Place | None:
        """The next delimiter; at the end of the output one of ``cuts`` is one too."""
        place = watch.find(self.buf, self.i, self.eof, self.counts)
        if place is None and self.eof:
            cut = next((one for one in cuts if self.buf.endswith(one, self.i)), None)
            if cut is not None and self.counts(cut, len(self.buf) - len(cut)):
                return Place(len(self.buf) - len(cut), len(self.buf))
        return place

    def say(self, text: str, strand: str) -> None:
        """Give out lifted text of a strand; white space in front of content or noise is held."""
        if not text:
            return
        if strand == "reasoning":
            self.reasoning(text)
            self.mark(strand, len(text))
        elif self.blank and not text.strip():
            self.white.append(text)
        else:
            text = "".join(self.white) + text
            self.white = []
            self.blank = False
            if strand == "content":
                self.content(text)
            self.mark(strand, len(text))

    def text_lane(self, watch: Watch, strand: str) -> None:
        """Let plain pieces through."""
        if not self.spans or self.spans[-1][0] != strand or self.white or self.ghost:
            return
        if strand == "reasoning":
            self.set_lane(watch.lane, ReasoningDelta, self.reasoning_parts)
        elif strand == "content" and not self.blank:
            self.set_lane(watch.lane, ContentDelta, self.content_parts)

    def frame_white(self) -> None:
        """White space that stands alone in front of a region is framing."""
        self.mark("framing", sum(map(len, self.white)))
        self.white = []

    def last_white(self) -> None:
        """White space at the end of the output: framing beside calls, content otherwise."""
        white = "".join(self.white)
        if self.calls or self.program.implicit is None:
            self.frame_white()
        elif white:
            self.white = []
            self.content(white)
            self.mark("content", len(white))

    # -- regions --------------------------------------------------------------

    def region(self, field: Field, opener: int, captures: Captures, text: str, prompt: int) -> Run:
        """Read a region of which ``text`` was lifted: an opener of that length and what the prompt wrote.

        ``prompt`` is how many characters of it are the prompt's.
        """
        watch, cuts = self.program.inside[field], self.program.cuts[field]
        if field.strand == "call" and self.reads_calls:
            yield from self.call_region(field, opener, captures, text, prompt)
            return
        strand = self.strand_of(field)
        raw = field.strand == "call"
        if raw:
            self.say(text[prompt:], strand)
        else:
            self.frame_white()
            self.mark("markup", len(text) - prompt)
            self.blank = True
        self.thinking = strand == "reasoning"
        place = yield from self.text(watch, strand, cuts)
        self.thinking = False
        if not raw:
            self.frame_white()
        if place is not None:
            marker, prompt = self.lift(place.end - place.start)
            if raw:
                self.say(marker[prompt:], strand)
            else:
                self.mark("markup", len(marker) - prompt)
            self.closed(field)

    def call_region(self, field: Field, opener: int, captures: Captures, text: str, prompt: int) -> Run:
        """Hold a region's text up to its closer, then read its calls."""
        watch, cuts = self.program.inside[field], self.program.cuts[field]
        body, ghost, place = yield from self.held(watch, cuts)
        text += body
        length = len(text)
        prompt += ghost
        if place is not None:
            closer, ghost = self.lift(place.end - place.start)
            text += closer
            prompt += ghost
        region = Region(field, captures, text, opener, length, prompt)
        self.read_region(region, place is not None or field.close is None)
        self.closed(field)

    def implicit_call(self, field: Field) -> Generator[None, None, Place | None]:
        """Hold the text outside every region up to a delimiter, then read its calls."""
        text, prompt, place = yield from self.held(self.program.outside, ())
        if text.strip():
            self.read_region(Region(field, {}, text, 0, len(text), prompt), True)
        else:
            self.mark("framing", len(text) - prompt)
        return place

    def held(
        self, watch: Watch, cuts: tuple[str, ...]
    ) -> Generator[None, None, tuple[str, int, Place | None]]:
        """The text up to a delimiter, how much of it the prompt wrote, and the delimiter, None at the end."""
        pieces: list[str] = []
        prompt = 0
        while True:
            place = self.next_place(watch, cuts)
            stop = place.start if place is not None else len(self.buf)
            piece, ghost = self.lift(stop - self.i)
            pieces.append(piece)
            prompt += ghost
            if place is not None and place.whole:
                return "".join(pieces), prompt, place
            if self.eof:
                return "".join(pieces), prompt, None
            yield
            self.spread()

    # -- calls ----------------------------------------------------------------

    def read_region(self, region: Region, closed: bool) -> None:
        """Read the calls of a region whose text was lifted."""
        try:
            entries = region.entries(closed, self.finish_reason != "length")
        except Malformed as problem:
            self.no_call(region, closed, str(problem))
            return
        white, self.white = self.white, []
        cuts = [*region.begins(entries), len(region.text)]
        read = 0
        for entry, (begin, end) in zip(entries, pairwise(cuts), strict=True):
            wrong = entry.wrong or self.unknown(entry)
            if wrong and not read and entry is entries[-1]:
                self.white = white
                self.no_call(region, closed, wrong)
                return
            if not read and not wrong:
                self.mark("framing", sum(map(len, white)))
                begin = region.prompt
            if wrong:
                if read:
                    self.bad_entry(end - max(begin, region.prompt), wrong)
                continue
            self.one_call(region, entry, max(begin, region.prompt), end)
            read += 1
        self.blank = True

    def unknown(self, entry: Entry) -> str:
        """What is wrong with an entry that names an undeclared tool, if that is text."""
        state = self.state
        if state.unknown_tools == "text" and state.tools is not None and entry.name not in state.tools:
            return "the name of a declared tool"
        return ""

    def bad_entry(self, length: int, wrong: str) -> None:
        """An entry of a list that is no call, beside others that are."""
        self.note("not_a_call", self.pos, self.pos + length, wrong)
        self.mark("noise", length)

    def one_call(self, region: Region, entry: Entry, begin: int, end: int) -> None:
        """Announce a call and give out its arguments; it owns the region's text from ``begin`` to ``end``."""
        start = self.pos
        self.begin_trial()
        self.trial = [(kind, region.text[a:b]) for kind, a, b in region.kinds(entry, begin, end)]
        self.announce(entry.name)
        self.args(typed(entry, self.typer()))
        for code in entry.notes:
            self.note(code, start, self.pos, "a value of the parameter's type")
        self.finish_call()

    def no_call(self, region: Region, closed: bool, wrong: str) -> None:
        """A region that holds no call: content where it was closed, unfinished where the output was cut."""
        text = region.text[region.prompt :]
        if closed:
            white = "".join(self.white)
            self.note("not_a_call", self.pos + len(white), self.pos + len(white) + len(text), wrong)
            self.say(text, "content")
            return
        self.frame_white()
        self.note("unfinished_call", self.pos, self.pos + len(text), "the rest of a call")
        self.mark("unfinished", len(text))
