"""What a codec asks of the machine that reads calls."""

from __future__ import annotations

from unbraid.machine.core import Run
from unbraid.machine.primitives import Primitives
from unbraid.machine.setup import Setup
from unbraid.machine.state import State
from unbraid.schema import Typer
from unbraid.syntax import Part

__all__ = ["Reader"]


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

    def sequence(self, parts: tuple[Part, ...]) -> Run:
        """Read parts in order."""
        raise NotImplementedError

    def openers(self) -> tuple[str, ...]:
        """What begins the next call or ends the section: proof that this one is over."""
        raise NotImplementedError

    def typer(self) -> Typer:
        """The types of the call's parameters."""
        raise NotImplementedError
