"""Results held until it is known whether they count: drafts, and calls that count only as a whole."""

from __future__ import annotations

from collections.abc import Callable

from unbraid.machine.calls import CallMachine, Outcome
from unbraid.machine.core import Call, Run

__all__ = ["Aside"]

HARMLESS = frozenset(
    {"undeclared_key", "unwrapped", "cut_call", "too_many_calls", "unfinished_call", "value_does_not_fit"}
)
"""What may be said of an atomic call."""


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
        """Whether what was read since ``before`` has no fault and no key is missing."""
        _, _, noted, called, *_ = before
        if any(code not in HARMLESS for code, *_ in self.diagnostics[noted:]):
            return False
        assert self.setup.tools is not None
        if not self.setup.tools.call.needs_required:
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
