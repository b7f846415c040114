"""What a codec asks of the machine that reads calls."""

from __future__ import annotations

from collections.abc import Callable, Generator

from unbraid.machine.core import Broken, Cut, Refuted, Run
from unbraid.machine.primitives import Primitives
from unbraid.machine.setup import Setup
from unbraid.machine.state import State
from unbraid.schema import Typer
from unbraid.syntax import WHITE, Part

__all__ = ["Reader"]

Skip = Callable[["Reader"], Run]


class Reader(Primitives):
    """A machine that can announce calls; ``CallMachine`` says how.

    ``rest`` are the parts behind the one that is being read, ``white`` is white space
    that is held, ``blank`` says whether only white space came since the last call,
    ``fresh`` since the start, ``after_call`` whether a call came before, and ``listed``
    whether the list that is being read holds a call already.
    """

    setup: Setup
    state: State
    rest: tuple[Part, ...]
    white: list[str]
    blank: bool
    fresh: bool
    after_call: bool
    listed: bool

    def finish_call(self) -> None:
        """Leave the call that was read."""
        raise NotImplementedError

    def announce(self, name: str) -> None:
        """The call is one: its name is whole and the template goes on as it must."""
        raise NotImplementedError

    def next_call(self) -> None:
        """In a list: the call is over, and what follows may be another."""
        raise NotImplementedError

    def plain(self, text: str) -> None:
        """Text that is no call after all: it belongs to the strand in which it stands."""
        raise NotImplementedError

    def commit_white(self, white: str) -> None:
        """White space in front of a call: framing, or the end of the content."""
        raise NotImplementedError

    def read_again(self, start: int) -> None:
        """Give back what is held from piece ``start`` on, to be read as something else."""
        raise NotImplementedError

    def put_aside(self, start: int, why: Refuted) -> None:
        """What is held from piece ``start`` on is an item of a list, and no call."""
        raise NotImplementedError

    def marked(self) -> bool:
        """Whether a marker stands in front of what is held."""
        return any(kind == "markup" for kind, _ in self.trial or ())

    def item(self, read: Run, skip: Skip, marked: bool) -> Generator[None, None, bool]:
        """Read an item of a list; False for one that is no call, which ``skip`` reads over: it is set aside.

        ``marked``: the first item may be one too. Without a marker it refutes the list at
        once, so that an answer that looks like one is not held.
        """
        start = len(self.trial or ())
        try:
            yield from read
        except Broken:
            raise
        except Refuted as why:
            if self.is_cut() or not (marked or self.listed):
                raise
            self.read_again(start)
            try:
                yield from skip(self)
            except Refuted:
                raise why from None
            self.put_aside(start, why)
            return False
        return True

    def end_of_list(self, called: bool) -> None:
        """A list that holds no call is none; ``called``: its last item is one."""
        if not (called or self.listed):
            self.fail("not_a_call", "a call")

    def another_call(self, called: bool = True) -> Generator[None, None, bool]:
        """Behind an item of a list: read a comma, then the next is on trial, or the list's end.

        ``called`` says whether the item was a call.
        """
        if self.blank_here():
            yield from self.white_run(WHITE)
        char = self.buf[self.i : self.i + 1] or (yield from self.peek())
        if not char:
            raise Cut
        if char not in ",]":
            return False
        self.take(1, "markup")
        if char == "]":
            self.end_of_list(called)
            return False
        if called:
            self.next_call()
        return True

    def openers(self) -> tuple[str, ...]:
        """What begins the next call or ends the section: proof that this one is over."""
        raise NotImplementedError

    def typer(self) -> Typer:
        """The types of the call's parameters."""
        raise NotImplementedError
