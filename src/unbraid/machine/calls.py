"""Reading calls: attempts, sections, and the parts of a call's template."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any

from unbraid.codecs.elements import read_elements
from unbraid.codecs.envelope import read_envelopes, read_named, read_tagged
from unbraid.codecs.gemma import read_gemma
from unbraid.codecs.json_text import read_json
from unbraid.codecs.pairs import read_pairs
from unbraid.codecs.pythonic import read_python_calls
from unbraid.machine.core import Broken, Call, Cut, Refuted, Run
from unbraid.machine.names import choose, read_given, read_id, read_name, read_word
from unbraid.machine.recovery import Recovery
from unbraid.machine.setup import Setup
from unbraid.machine.state import State
from unbraid.machine.steps import Step
from unbraid.schema import Typer
from unbraid.syntax import (
    WHITE,
    Elements,
    Envelope,
    Envelopes,
    GemmaObject,
    Given,
    Id,
    Json,
    Lit,
    Name,
    Named,
    Nothing,
    Pairs,
    Part,
    PythonCalls,
    Space,
    Word,
    Ws,
)

__all__ = ["CallMachine", "Outcome", "split_tail"]

Outcome = Generator[None, None, str]


def fate(why: Refuted) -> str:
    """What the text of a refuted call among others is: noise, or content if only its name is refused."""
    return "refused" if why.code == "unknown_tool" else "noise"


def split_tail(white: str, space: Space) -> tuple[str, str]:
    """Cut white space in front of a marker into what is text and what is framing."""
    if space.any:
        text = white.rstrip(space.chars)
        return text, white[len(text) :]
    for length in range(len(space.text), 0, -1):
        if white.endswith(space.text[:length]):
            return white[:-length], white[-length:]
    return white, ""


class CallMachine(Recovery):
    """A machine that can read one call, or a section of calls."""

    def __init__(self, state: State, setup: Setup) -> None:
        self.setup = setup
        self.state = state
        self.white: list[str] = []
        self.blank = True
        self.fresh = True
        self.after_call = False
        self.rest: tuple[Part, ...] = ()
        self.listed = False
        super().__init__(state.alignment())
        self.gives_spans = state.spans

    def take_white(self) -> str:
        """The white space that is held, no longer held."""
        white = "".join(self.white)
        self.white = []
        return white

    # -- one call -------------------------------------------------------------

    def attempt(self, white: str, *, behind: int = 0) -> Outcome:
        """Read one call (or one list of calls) at its opener; ``white`` stands in front of it.

        ``behind`` are parts of the template that are not expected again.

        The outcome is ``read``, ``refuted`` (all of it was given back as text),
        ``broken`` or ``cut`` (the output ended inside).
        """
        assert self.setup.tools is not None
        self.begin_trial(white)
        try:
            yield from self.sequence(self.setup.steps[behind:])
            self.end_trial()
            outcome = "read"
        except Refuted as why:
            if self.is_cut():
                self.cut()
                outcome = "cut"
            elif isinstance(why, Broken):
                yield from self.broken(why)
                outcome = "broken"
            else:
                if not (self.listed and (yield from self.rest_of_list(why))):
                    self.refuted(why)
                outcome = "refuted"
        except Cut:
            self.cut()
            outcome = "cut"
        if outcome == "broken":
            self.call = Call()
        return outcome

    def begin_trial(self, white: str = "") -> None:
        """From here on consumed text is held until a call is announced."""
        self.call = Call()
        self.lane = self.look = None
        self.listed = False
        self.trial = [("white", white)] if white else []

    def end_trial(self) -> None:
        """The template has ended: what is held behind the last call is framing."""
        if self.trial is not None:
            trial, self.trial = self.trial, None
            for kind, text in trial:
                self.settle(kind, text)
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
        self.listed = True

    def read_again(self, start: int) -> None:
        """Give back what is held from piece ``start`` on, to be read as something else."""
        assert self.trial is not None
        text = "".join(text for _, text in self.trial[start:])
        del self.trial[start:]
        self.call = Call()
        self.put_back(text)

    def put_aside(self, start: int, why: Refuted) -> None:
        """What is held from piece ``start`` on is an item of a list, and no call."""
        assert self.trial is not None
        text = "".join(text for _, text in self.trial[start:])
        self.trial[start:] = [(fate(why), text)]

    def announce(self, name: str) -> None:
        """The call is one: its name is whole and the template goes on as it must."""
        call = self.call
        state = self.state
        if state.tools is not None and name not in state.tools:
            anchored = self.setup.tools is not None and self.setup.tools.call.anchor
            if anchored or state.unknown_tools == "text":
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
            elif kind in ("noise", "refused", "content"):
                self.call.announced = False
                self.settle(kind, text)
            else:
                self.call.announced = kind != "framing" or self.call.announced
                self.mark(kind, len(text))
        self.call.announced = True

    def plain(self, text: str) -> None:
        """Text that is no call after all: it belongs to the strand in which it stands."""
        if self.thinking and not self.drafting:
            self.reasoning(text)
            self.mark("reasoning", len(text))
        else:
            self.content(text)
            self.mark("content", len(text))

    def settle(self, kind: str, text: str) -> None:
        """Account for held text that belongs to no call: noise, a refused call, framing, markup."""
        if kind == "noise":
            self.commit_noise(text)
        elif kind in ("refused", "content"):
            if kind == "refused":
                self.note("unknown_tool", self.pos, self.pos + len(text), "the name of a declared tool")
            self.plain(text)
        else:
            self.mark("framing" if kind == "white" else kind, len(text))

    def commit_white(self, white: str) -> None:
        """White space in front of a call: framing, or the end of the content."""
        tools = self.setup.tools
        assert tools is not None
        body, _ = split_tail(white, tools.before)
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
        outcome = "refuted"
        while True:
            marker = yield from (
                self.noise("content" if outcome == "refused" else "noise")
                if tools.section.noise or outcome == "refused"
                else self.next_marker()
            )
            if marker is None:
                text = not tools.section.noise and self.i < len(self.buf)
                outcome = self.section_left(read) if text else self.section_cut(read)
                break
            if marker not in (self.setup.call_openers if tools.section.noise else self.setup.bodies):
                closes = marker in tools.section.close.spellings
                if not closes:
                    self.note("missing_marker", self.at(), self.at(), tools.section.close.text)
                outcome = self.section_closed(marker if closes else "", read)
                break
            outcome = yield from self.call_in_section()
            read += outcome in ("read", "broken")
            if outcome == "refuted" and not tools.section.noise:
                outcome = self.section_left(read)
                break
            if outcome == "cut":
                break
        self.call = Call() if outcome != "cut" else self.call
        return outcome

    def noise(self, kind: str) -> Generator[None, None, str | None]:
        """Consume text of this kind between calls up to a marker, which is returned; None at the end."""
        text, marker = yield from self.collect(self.setup.inside, self.is_marker)
        self.hold_noise(text, kind)
        return marker

    def next_marker(self) -> Generator[None, None, str | None]:
        """Consume white space up to a marker, which is returned; None before text and at the end."""
        yield from self.white_run(WHITE)
        return (yield from self.literal((*self.setup.bodies, *self.closing())))

    def closing(self) -> tuple[str, ...]:
        """The section's closers."""
        tools = self.setup.tools
        return tools.section.close.spellings if tools and tools.section else ()

    def section_left(self, read: int) -> str:
        """Text that is no call ends a section: behind a call the section is over, else it was none."""
        if self.is_cut() and self.trial is None:
            self.take(len(self.buf) - self.i, "unfinished")
            return "read" if read else "cut"
        if self.is_cut():
            self.cut()
            return "cut"
        if self.trial is None:
            self.note("missing_marker", self.at(), self.at(), "the end of the calls")
            return "read" if read else "refuted"
        self.refuted(Refuted("not_a_call", "a call"))
        return "refuted"

    def hold_noise(self, text: str, kind: str) -> None:
        """Blank text between calls is framing, other text is noise, or the rest of a refused call."""
        kind = kind if text.strip() else "framing"
        if self.trial is None:
            self.settle(kind, text)
        elif text:
            self.trial.append((kind, text))

    def call_in_section(self) -> Outcome:
        """Read one call of a section; a refuted one is noise, or content if only its name is refused."""
        assert self.setup.tools is not None
        held = self.trial
        self.call = Call()
        self.trial = held if held is not None else []
        before = len(self.trial)
        try:
            yield from self.sequence(self.setup.steps)
            self.end_trial()
            return "read"
        except Refuted as why:
            if self.is_cut():
                self.cut()
                return "cut"
            if isinstance(why, Broken):
                yield from self.broken(why)
                self.call = Call()
                return "broken"
            trial, self.trial = self.trial or [], held
            refuted = "".join(text for _, text in trial[before:])
            self.call = Call()
            kind = fate(why)
            if held is not None:
                held[before:] = [(kind, refuted)]
            elif kind == "refused" or (self.setup.tools.section and self.setup.tools.section.noise):
                self.settle(kind, refuted)
            else:
                self.give_back(refuted)
            return "refused" if kind == "refused" else "refuted"
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
                white = self.take_white() + text
                if not self.blank:
                    self.plain(white)
                else:
                    self.mark("framing", len(white))
            elif kind == "noise" and text.strip():
                self.note("empty_section", self.pos, self.pos + len(text), "a call")
                self.plain(text)
                self.blank = self.fresh = False
            else:
                self.settle(kind, text)
                if kind in ("refused", "content"):
                    self.blank = self.fresh = False
        return "refuted"

    def section_cut(self, read: int) -> str:
        """The output ended between the calls of a section."""
        rest = len(self.buf) - self.i
        if self.trial is None:
            self.take(rest, "unfinished")
            return "read" if read else "cut"
        noise = "".join(text for kind, text in self.trial if kind in ("noise", "refused", "content"))
        if noise.strip():
            outcome = self.section_closed("", read)
            self.take(rest, "unfinished")
            return outcome
        self.cut()
        return "cut"

    # -- parts ----------------------------------------------------------------

    def sequence(self, steps: tuple[Step, ...]) -> Run:
        """Read the parts of a template in order."""
        n = 0
        while n < len(steps):
            step = steps[n]
            n += 1
            if step.text and self.alignment is None and self.buf.startswith(step.text, self.i):
                self.take(len(step.text), "markup")
            elif isinstance(step.part, Ws):
                if self.blank_here():
                    yield from self.white_run(WHITE)
            elif isinstance(step.part, Lit):
                n += yield from self.read_lit(step.part, step)
            elif step.options is not None:
                steps = yield from choose(self, step.options)
                n = 0
            else:
                self.rest = step.behind
                yield from READERS[type(step.part)](self, step.part)

    def read_lit(self, part: Lit, step: Step) -> Generator[None, None, int]:
        """Read a marker; returns how many of the parts behind it are to be skipped."""
        spelling = yield from self.literal(part.spellings)
        if spelling is not None:
            self.take(len(spelling), "markup")
            while part.repeats:
                yield from self.white_run(WHITE)
                spelling = yield from self.literal(part.spellings)
                if spelling is None:
                    break
                self.take(len(spelling), "markup")
            return 0
        if part.optional:
            if self.is_cut() and not self.required(step.behind):
                self.take(len(self.buf) - self.i, "markup")
            return 0
        if (self.eof and self.i >= len(self.buf)) or self.is_cut():
            raise Cut
        return (yield from self.missing(part, step.rest))

    def read_nothing(self, part: Nothing) -> Run:
        """No arguments: nothing more of the call is to come."""
        self.announce(self.call.name)
        self.args("{}")
        self.end_call(True)
        yield from ()

    def typer(self) -> Typer:
        """The types of the call's parameters."""
        return self.state.typer(self.call.name)


READERS: dict[type, Callable[[Any, Any], Run]] = {
    Word: read_word,
    Name: read_name,
    Given: read_given,
    Id: read_id,
    Json: read_json,
    Envelope: read_tagged,
    Named: read_named,
    Envelopes: read_envelopes,
    Nothing: CallMachine.read_nothing,
    Pairs: read_pairs,
    Elements: read_elements,
    GemmaObject: read_gemma,
    PythonCalls: read_python_calls,
}
