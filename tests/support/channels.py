"""Messages of channel formats, as their models write them."""

from __future__ import annotations

from unbraid.machine.headers import write_header, written_route
from unbraid.syntax import Channels, Route

__all__ = ["begin", "end", "head", "route"]


def begin(half: Channels) -> str:
    """What begins a message; a prompt ends with it."""
    return half.start.text + half.role


def route(half: Channels, strand: str) -> Route:
    """The route that a message of this strand is written by; of content the one of answers."""
    found = written_route(half, strand, last=True)
    assert found is not None
    return found


def head(half: Channels, strand: str, name: str = "") -> str:
    """The header of a message, from behind its beginning to its body."""
    return write_header(half, route(half, strand), name)


def end(half: Channels, strand: str) -> str:
    """What ends a message that another follows."""
    ends = route(half, strand).ends
    return ends[-1] if ends else ""
