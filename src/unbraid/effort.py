"""How much work the schemas of a request may cost: counted in steps, so that no clock decides.

A schema of a few lines can have more branches than anyone can look at. Where schemas are read
for a caller who wants an answer or a refusal (grammars, a server's limits), the work is done
inside ``bounded``; the loops whose length a schema decides ``spend`` what they do. Elsewhere
spending does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["MOST", "Spent", "bounded", "give_up", "spend"]

MOST = 200_000
"""Steps of one grammar, or of the look at one schema: half a second, about."""


class Spent(Exception):
    """There is no work left to be spent."""


class _Budget:
    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


_current: ContextVar[_Budget | None] = ContextVar("unbraid_effort", default=None)


@contextmanager
def bounded(most: int = MOST) -> Iterator[None]:
    """Raise Spent inside as soon as more than ``most`` steps were spent; an outer bound counts too."""
    outer = _current.get()
    own = _Budget(most if outer is None else min(most, outer.left))
    granted = own.left
    token = _current.set(own)
    try:
        yield
    finally:
        _current.reset(token)
        if outer is not None:
            outer.left -= granted - own.left


def give_up() -> None:
    """Say that a limit of one's own was reached: raises Spent inside ``bounded``."""
    if _current.get() is not None:
        raise Spent


def spend(steps: int) -> None:
    """Count ``steps`` of work; raises Spent when the bound is passed."""
    budget = _current.get()
    if budget is not None:
        budget.left -= steps
        if budget.left < 0:
            raise Spent
