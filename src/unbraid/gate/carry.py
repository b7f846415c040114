"""What a gate tells, and what it has to remember between batches."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, replace

from unbraid.gate.channels import Phase

__all__ = ["Carry", "End"]


@dataclass(frozen=True, slots=True)
class End:
    """Where thinking ends: the first token behind it, counted from the start of the output.

    ``implicit``: that token is itself part of what follows (a call's opener), so a
    grammar has to be fed with it.
    """

    token: int
    implicit: bool


@dataclass(frozen=True, slots=True)
class Carry:
    """What ``find_end`` has to know of the ids before; made by ``Gate.begin``.

    ``tail`` are the last bytes, in which a marker may have begun, and ``starts``
    where the tokens of the tail begin in the output; ``prompt`` is the text in front.
    In a channel format ``header`` is what the prompt wrote of the first header, and
    ``route`` the row of the routing table whose body is being read; ``white`` is the token
    at which white space begins behind a body, which is content if text follows.
    """

    phase: Phase
    tokens: int = 0
    length: int = 0
    tail: bytes = b""
    starts: tuple[tuple[int, int, int], ...] = ()
    prompt: str | None = None
    header: str = ""
    route: int = 0
    white: int | None = None

    def behind(self, done: int) -> Carry:
        """The carry without the first bytes of its tail, and without the tokens that begin in them."""
        first = self.length - len(self.tail) + done
        starts = self.starts[bisect_left(self.starts, (first,)) :]
        return replace(self, tail=self.tail[done:], starts=starts)
