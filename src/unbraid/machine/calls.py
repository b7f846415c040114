"""Reading calls: attempts, sections, and the parts of a call's template."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from unbraid.codecs.envelope import read_envelope, read_envelopes
from unbraid.codecs.gemma import read_gemma
from unbraid.codecs.json_text import read_json
from unbraid.codecs.pairs import read_pairs
from unbraid.codecs.pythonic import read_python_calls
from unbraid.machine.core import Broken, Call, Cut, Machine, Refuted, Run
from unbraid.machine.names import read_choice, read_id, read_name, read_word
from unbraid.machine.setup import Setup
from unbraid.machine.state import State
from unbraid.schema import Typer
from unbraid.syntax import (
    MAX_WHITE,
    WHITE,
    Choice,
    Envelope,
    Envelopes,
    GemmaObject,
    Id,
    Json,
    Lit,
    Name,
    Pairs,
    Part,
    PythonCalls,
    Word,
    Ws,
)

__all__ = ["CallMachine"]

Outcome = Generator[None, None, str]


class CallMachine(Machine):
    """A machine that can read one call, or a section of calls."""

    def __init__(self, state: State, setup: Setup) -> None:
        self.setup = setup
        self.state = state
        self.white: list[str] = []
        self.blank = True
        self.fresh = True
        self.after_call = False
        self.rest: tuple[Part, ...] = ()
        super().__init__(state.alignment())

    # -- one call -------------------------------------------------------------

    def attempt(self, white: str) -> Outcome:
        """Read one call (or one list of calls) at its opener; ``white`` stands in front of it.

        The outcome is ``read``, ``refuted`` (all of it was given back as text),
        ``broken`` or ``cut`` (the output ended inside).
        """
        assert self.setup.tools is not None
        self.begin_trial(white)
        try:
            yield from self.sequence(self.setup.tools.call.parts)
            self.end_trial()
            outcome = "read"
        except Broken as broken:
            yield from self.broken(broken)
            outcome = "broken"
        except Refuted as refuted:
            self.refuted(refuted)
            outcome = "refuted"
        except Cut:
            self.cut()
            outcome = "cut"
        self.call = Call() if outcome != "cut" else self.call
        return outcome

    def begin_trial(self, white: str = "") -> None:
        """From here on consumed text is held until a call is announced."""
        self.call = Call()
        self.lane = self.look = None
        self.trial = [("white", white)] if white else []

    def end_trial(self) -> None:
        """The template has ended: what is held behind the last call is framing."""
        if self.trial is not None:
            trial, self.trial = self.trial, None
            for kind, text in trial:
                self.mark("framing" if kind == "white" else kind, len(text))
        self.finish_call()

    def finish_call(self) -> None:
        """Leave the call that was read."""
        self.end_call(True)
        self.call = Call()
        self.blank = self.after_call = True
        self.fresh = False

    def next_call(self) -> None:
        """In a list: the call is over, and what follows may be another."""
        self.finish_call()
        self.begin_trial()

    def announce(self, name: str) -> None:
        """The call is one: its name is whole and the template goes on as it must."""
        call = self.call
        state = self.state
        if state.tools is not None and name not in state.tools:
            if self.setup.tools is not None and self.setup.tools.call.anchor:
                raise Refuted("unknown_tool", "the name of a declared tool")
            if state.unknown_tools == "text":
                raise Refuted("unknown_tool", "the name of a declared tool")
            at = self.pos + sum(len(text) for _, text in self.trial or ())
            self.note("unknown_tool", at, at, "the name of a declared tool", f"{name!r} is not in tools")
        call.name = name
        call.index = len(self.calls)
        call.id = call.id or state.new_id(name, call.index)
        call.dropped = call.index >= state.max_calls
        self.commit()
        if call.dropped:
            self.note("too_many_calls", self.pos, self.pos, f"at most {state.max_calls} calls")
        self.start_call(call)

    def commit(self) -> None:
        """What was held belongs to the call."""
        trial, self.trial = self.trial or [], None
        for kind, text in trial:
            if kind == "white":
                self.commit_white(text)
            elif kind == "noise":
                self.commit_noise(text)
            else:
                self.call.announced = kind != "framing" or self.call.announced
                self.mark(kind, len(text))
        self.call.announced = True

    def commit_white(self, white: str) -> None:
        """White space in front of a call: framing, or the end of the content."""
        tools = self.setup.tools
        assert tools is not None
        body = white.rstrip(tools.before.chars) if tools.before.any else white
        if self.blank or not body:
            self.mark("framing", len(white))
            return
        self.content(body)
        self.mark("content", len(body))
        self.mark("framing", len(white) - len(body))

    def commit_noise(self, text: str) -> None:
        """Text inside a section that holds a call."""
        if text.strip():
            self.note("noise", self.pos, self.pos + len(text), "a call")
        self.mark("noise", len(text))

    # -- what goes wrong ------------------------------------------------------

    def refuted(self, why: Refuted) -> None:
        """Give the text back, in place."""
        trial, self.trial = self.trial or [], None
        self.call = Call()
        white = sum(len(text) for kind, text in trial if kind == "white")
        text = "".join(text for _, text in trial)
        if len(text) > white:
            self.note(why.code, self.pos + white, self.pos + len(text), why.expected)
        self.give_back(text)

    def give_back(self, text: str) -> None:
        """Refuted text is content, its trailing white space held."""
        body = text.rstrip(WHITE)
        if body:
            self.content(body)
            self.mark("content", len(body))
            self.blank = self.fresh = False
        if len(body) < len(text):
            self.white.append(text[len(body) :])

    def broken(self, why: Broken) -> Run:
        """Stop the call's arguments; skip to where reading can go on."""
        self.note(why.code, self.at(), self.at(), why.expected)
        self.end_call(False)
        while True:
            found = self.setup.recover.search(self.buf, self.i)
            stop = found.start() if found else len(self.buf)
            self.take(stop - self.i, "broken")
            if found is None:
                if self.eof:
                    break
                yield
                continue
            marker = found.group()
            counts = self.is_marker(marker, self.i) if marker in self.setup.recover.markers else None
            if counts:
                if marker in self.closers():
                    self.take(len(marker), "markup")
                break
            if counts is None and not self.eof:
                yield
            else:
                self.take(1, "broken")
        self.blank = self.after_call = True
        self.fresh = False

    def closers(self) -> tuple[str, ...]:
        """The last markers of a call, in every spelling."""
        assert self.setup.tools is not None
        parts = self.setup.tools.call.parts
        last = [part for part in parts[1:] if isinstance(part, Lit)][-1:]
        inner = [
            one
            for part in parts
            if isinstance(part, Choice)
            for option in part.options
            for one in option[-1:]
        ]
        return tuple(
            spelling for one in (*last, *inner) if isinstance(one, Lit) for spelling in one.spellings
        )

    def cut(self) -> None:
        """The output ended inside a call."""
        rest = len(self.buf) - self.i
        start = self.at()
        self.i = len(self.buf)
        if self.call.announced:
            if self.call.proven:
                self.mark("framing", rest)
                self.finish_call()
                return
            self.note("cut_call", start, start + rest, "the end of the call", "raise max_tokens")
            self.mark("unfinished", rest)
            self.end_call(False)
            self.blank = self.after_call = True
            return
        trial, self.trial = self.trial or [], None
        held = "".join(text for kind, text in trial if kind != "white")
        white = "".join(text for kind, text in trial if kind == "white")
        if not held.strip() and not rest:
            self.mark("framing", len(white) + len(held))
            return
        self.mark("framing", len(white))
        self.note("unfinished_call", self.pos, self.pos + len(held) + rest, "the rest of a call")
        self.mark("unfinished", len(held) + rest)

    # -- sections -------------------------------------------------------------

    def section(self, white: str) -> Outcome:
        """Read a section of calls from its opener; the outcome is as for ``attempt``."""
        tools = self.setup.tools
        assert tools is not None
        assert tools.section is not None
        self.begin_trial(white)
        opener = yield from self.literal(tools.section.open.spellings)
        self.take(len(opener or ""), "markup")
        read = 0
        while True:
            marker = yield from self.noise()
            if marker is None:
                outcome = self.section_cut(read)
                break
            if marker in tools.section.close.spellings:
                outcome = self.section_closed(marker, read)
                break
            outcome = yield from self.call_in_section()
            read += outcome in ("read", "broken")
            if outcome == "cut":
                break
        self.call = Call() if outcome != "cut" else self.call
        return outcome

    def noise(self) -> Generator[None, None, str | None]:
        """Consume text between calls up to a marker, which is returned; None at the end."""
        scan = self.setup.inside
        pieces: list[str] = []
        marker: str | None = None
        at = self.i
        while True:
            found = scan.search(self.buf, at)
            stop = found.start() if found else len(self.buf)
            counts: bool | None = None
            if found is not None and found.group() in scan.markers:
                counts = self.is_marker(found.group(), stop)
            if counts is False or (found is not None and not counts and self.eof):
                at = stop + 1
                continue
            pieces.append(self.buf[self.i : stop])
            self.i = stop
            if counts:
                marker = found.group() if found else None
                break
            if self.eof:
                break
            yield
            at = self.i
        self.hold_noise("".join(pieces))
        return marker

    def hold_noise(self, text: str) -> None:
        """Blank text between calls is framing, other text is noise."""
        kind = "noise" if text.strip() else "framing"
        if self.trial is not None:
            if text:
                self.trial.append((kind, text))
        elif kind == "noise":
            self.commit_noise(text)
        else:
            self.mark(kind, len(text))

    def call_in_section(self) -> Outcome:
        """Read one call of a section; a refuted one is noise."""
        assert self.setup.tools is not None
        held = self.trial
        self.call = Call()
        self.trial = held if held is not None else []
        before = len(self.trial)
        try:
            yield from self.sequence(self.setup.tools.call.parts)
            self.end_trial()
            return "read"
        except Broken as broken:
            yield from self.broken(broken)
            self.call = Call()
            return "broken"
        except Refuted:
            trial, self.trial = self.trial or [], held
            refuted = "".join(text for _, text in trial[before:])
            self.call = Call()
            if held is not None:
                del held[before:]
                held.append(("noise", refuted))
            else:
                self.commit_noise(refuted)
            return "refuted"
        except Cut:
            self.cut()
            return "cut"

    def section_closed(self, marker: str, read: int) -> str:
        """The section's end: without a call its text is content."""
        if self.trial is None:
            self.take(len(marker), "markup")
            self.blank = self.after_call = True
            return "read" if read else "refuted"
        self.take(len(marker), "markup")
        trial, self.trial = self.trial, None
        for kind, text in trial:
            if kind == "white":
                self.white.append(text)
                white = "".join(self.white)
                self.white = []
                if not self.blank:
                    self.content(white)
                    self.mark("content", len(white))
                else:
                    self.mark("framing", len(white))
            elif kind == "noise" and text.strip():
                self.note("empty_section", self.pos, self.pos + len(text), "a call")
                self.content(text)
                self.mark("content", len(text))
                self.blank = self.fresh = False
            else:
                self.mark(kind, len(text))
        return "refuted"

    def section_cut(self, read: int) -> str:
        """The output ended between the calls of a section."""
        if self.trial is None:
            return "read" if read else "cut"
        noise = "".join(text for kind, text in self.trial if kind == "noise")
        if noise.strip():
            return self.section_closed("", read)
        self.cut()
        return "cut"

    # -- parts ----------------------------------------------------------------

    def sequence(self, parts: tuple[Part, ...]) -> Run:
        """Read parts in order."""
        skip_to = -1
        outer = self.rest
        try:
            for n, part in enumerate(parts):
                if n < skip_to:
                    continue
                rest = parts[n + 1 :]
                if isinstance(part, Lit):
                    skip = yield from self.read_lit(part, rest)
                    skip_to = n + 1 + skip
                else:
                    self.rest = (*rest, *outer)
                    yield from READERS[type(part)](self, part)
                    self.rest = outer
        finally:
            self.rest = outer

    def read_lit(self, part: Lit, rest: tuple[Part, ...]) -> Generator[None, None, int]:
        """Read a marker; returns how many of the parts behind it are to be skipped."""
        spelling = yield from self.literal(part.spellings)
        if spelling is not None:
            self.take(len(spelling), "markup")
            while part.repeats:
                spelling = yield from self.literal(part.spellings)
                if spelling is None:
                    break
                self.take(len(spelling), "markup")
            return 0
        if part.optional:
            return 0
        if self.eof and self.i >= len(self.buf):
            raise Cut
        return (yield from self.missing(part, rest))

    def missing(self, part: Lit, rest: tuple[Part, ...]) -> Generator[None, None, int]:
        """A marker is not where it must be: a later one or the next call may prove the end."""
        call = self.call
        if not call.announced:
            raise Refuted("not_a_call", part.text)
        for n, later in enumerate(rest):
            if isinstance(later, Lit):
                spelling = yield from self.literal(later.spellings)
                if spelling is not None:
                    self.note("missing_marker", self.at(), self.at(), part.text)
                    return n
        opener = yield from self.literal(self.openers())
        if opener is not None:
            self.note("missing_marker", self.at(), self.at(), part.text)
            self.end_call(True)
            return len(rest)
        if call.proven:
            yield from self.closer_nearby(part, rest)
            return len(rest)
        raise Broken("broken_call", part.text)

    def openers(self) -> tuple[str, ...]:
        """What begins the next call or ends the section: proof that this one is over."""
        tools = self.setup.tools
        assert tools is not None
        section = (*tools.section.open.spellings, *tools.section.close.spellings) if tools.section else ()
        return (*(one for one in self.setup.call_openers if one not in self.setup.anchored), *section)

    def closer_nearby(self, part: Lit, rest: tuple[Part, ...]) -> Run:
        """A proven call without its closer: text up to a closer nearby is noise, else it is content."""
        closers = tuple(s for one in (part, *rest) if isinstance(one, Lit) for s in one.spellings)
        while True:
            window = self.buf[self.i : self.i + MAX_WHITE]
            places = [place for place in map(window.find, closers) if place >= 0]
            if places or self.eof or len(window) >= MAX_WHITE:
                break
            yield
        self.note("missing_marker", self.at(), self.at(), part.text)
        if places:
            self.take(min(places), "noise")
            spelling = yield from self.literal(closers)
            self.take(len(spelling or ""), "markup")

    def read_ws(self, part: Ws) -> Run:
        """Read the white space that a template allows."""
        yield from self.white_run(WHITE)

    def typer(self) -> Typer:
        """The types of the call's parameters."""
        return self.state.typer(self.call.name)


Reader = Callable[[Any, Any], Run]

READERS: dict[type, Reader] = {
    Ws: CallMachine.read_ws,
    Word: read_word,
    Name: read_name,
    Id: read_id,
    Choice: read_choice,
    Json: read_json,
    Envelope: read_envelope,
    Envelopes: read_envelopes,
    Pairs: read_pairs,
    GemmaObject: read_gemma,
    PythonCalls: read_python_calls,
}
