"""Results held until it is known whether they count: drafts, and calls that count only as a whole."""

from __future__ import annotations

from collections.abc import Callable, Generator

from unbraid.machine.calls import CallMachine, Outcome
from unbraid.machine.core import Call, Run
from unbraid.machine.markers import Scanner, scanner
from unbraid.syntax import WHITE

__all__ = ["Aside"]

HARMLESS = frozenset(
    {"undeclared_key", "unwrapped", "cut_call", "too_many_calls", "unfinished_call", "value_does_not_fit"}
)
"""What may be said of an atomic call."""
NOT_HELD = HARMLESS | {"duplicate_key"}
"""What may be said of one that a grammar enforced: it can't hold that each key comes once."""


class Aside(CallMachine):
    """A machine that can take back what it read, as nothing of it was given out."""

    def set_aside(self) -> tuple[int, tuple[int, ...]]:
        """From here on results are held until it is known whether they count.

        Returns the place, and how far the results go.
        """
        self.spread()
        undo = self.before_draft = self.snapshot()
        self.ready, self.out = self.out, []
        self.drafting = True
        self.draft_text = [self.buf[self.i :]]
        return self.at(), undo

    def undo(self, start: int, snapshot: tuple[int, ...]) -> str:
        """Forget the results since ``snapshot``; the text that was consumed since ``start``."""
        self.drafting = False
        self.trial = None
        self.call = Call()
        self.white = []
        self.pos = snapshot[0]
        for results, length in zip(self.results(), snapshot[1:], strict=True):
            del results[length:]
        self.out, self.ready = self.ready, []
        return "".join(self.draft_text)[: self.at() - start]

    def keep(self) -> None:
        """What was held counts."""
        self.drafting = False
        self.out = self.ready + self.out
        self.ready = []

    # -- drafts ---------------------------------------------------------------

    def drafted(self, white: str) -> Generator[None, None, str | None]:
        """A run of calls in open thinking, set aside until it is known whether it is meant.

        None when the output ended by itself behind it: the calls are real. Otherwise its text.
        """
        assert self.setup.reasoning is not None
        start, undo = self.set_aside()
        close = scanner(self.setup.reasoning.close.spellings)
        calls = self.draft_calls(white)
        checked = self.at()
        real = False
        while True:
            hidden, closed = self.hide_closer(close, checked)
            checked = self.base + len(self.buf)
            try:
                next(calls)
            except StopIteration as decided:
                real = decided.value and not closed
                self.buf += hidden
                break
            if closed:
                calls.close()
                self.i = len(self.buf)
                self.buf += hidden
                break
            self.buf += hidden
            yield
        self.drafting = False
        if not real:
            return self.undo(start, undo)
        self.keep()
        return None

    def hide_closer(self, close: Scanner, checked: int) -> tuple[str, bool]:
        """Cut the buffer in front of the closer of thinking, or of what may become one."""
        at = max(checked - self.base, self.i)
        while True:
            found = close.search(self.buf, at)
            if found is None:
                return "", False
            marker = self.standing(close, found)
            counts = self.is_marker(marker, found.start()) if marker is not None else None
            if counts is False or (counts is None and self.eof):
                at = found.start() + 1
                continue
            hidden = self.buf[found.start() :]
            self.buf = self.buf[: found.start()]
            return hidden, bool(counts)

    def draft_calls(self, white: str) -> Generator[None, None, bool]:
        """Read a run of calls; True when the output ended by itself behind it."""
        tools = self.setup.tools
        assert tools is not None
        kind = "section" if tools.section else "call"
        while True:
            before = self.snapshot()
            outcome = yield from (self.section if kind == "section" else self.attempt)(white)
            if outcome == "cut":
                whole = self.call.announced and not tools.call.atomic
                return whole and self.finish_reason != "length"
            if outcome != "read" or (tools.call.atomic and not self.sound(before)):
                return False
            white = ""
            while True:
                yield from self.white_run(WHITE)
                if self.eof and self.i >= len(self.buf):
                    return self.finish_reason != "length"
                marker = yield from self.literal((*self.setup.content.markers,))
                kind = self.setup.kinds[marker] if marker is not None else ""
                if kind in ("call", "section"):
                    break
                if marker is None or kind not in ("dropped", "end"):
                    return False
                start = self.at()
                self.take(len(marker), "markup")
                if kind == "end":
                    self.note("stray_marker", start, self.at(), "no marker here")

    # -- calls that count only as a whole -------------------------------------

    def unit(self, read: Callable[[str], Outcome], white: str) -> Outcome | Run:
        """Read a call or a section."""
        assert self.setup.tools is not None
        return self.whole_unit(read, white) if self.setup.tools.call.atomic else read(white)

    def whole_unit(self, read: Callable[[str], Outcome], white: str) -> Run:
        """Read an atomic call or section: one that is not sound is content, all of it."""
        flags = self.blank, self.fresh, self.after_call
        start, undo = self.set_aside()
        outcome = yield from read(white)
        if outcome in ("read", "cut") and self.sound(undo):
            if outcome == "cut":
                self.forget_cut()
            self.keep()
            return
        text = white + self.undo(start, undo)
        self.blank, self.fresh, self.after_call = flags
        self.note("not_a_call", self.pos + len(white), self.pos + len(text.rstrip()), "a sound call")
        self.give_back(text)

    def sound(self, before: tuple[int, ...]) -> bool:
        """Whether what was read since ``before`` has no fault and no key is missing.

        Where a grammar enforced the call, its keys are no fault: there is no answer that it could be.
        """
        _, _, noted, called, *_ = before
        constrained = self.setup.constrained
        harmless = NOT_HELD if constrained else HARMLESS
        if any(code not in harmless for code, *_ in self.diagnostics[noted:]):
            return False
        assert self.setup.tools is not None
        if constrained or not self.setup.tools.call.needs_required:
            return True
        calls = [call for call in self.calls[called:] if call.proven]
        return all(key in call.keys for call in calls for key in self.state.typer(call.name).required)

    def forget_cut(self) -> None:
        """An announced call that was cut is none after all: its text is unfinished."""
        call = self.calls[-1] if self.calls else None
        if call is None or call.proven:
            return
        first = next(n for n, span in enumerate(self.spans) if span[2] == call.index)
        start, end = self.spans[first][1], self.pos
        del self.spans[first:]
        self.calls.pop()
        self.out = [event for event in self.out if getattr(event, "index", None) != call.index]
        self.call = Call()
        self.pos = start
        self.mark("unfinished", end - start)
