"""Formats of messages with headers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from unbraid.syntax.halves import Tools
from unbraid.syntax.text import Lit

__all__ = ["Channels", "Route"]


@dataclass(frozen=True)
class Route:
    """Where the body of a message goes: the first route whose conditions hold.

    ``to`` are recipients: a pattern with ``{name}``, the function's (what stands before
    it may be missing), a name, which also stands for all below it (``browser`` for
    ``browser.open``), or ANY for any recipient; empty is no condition. ``channel`` is a
    channel's name, ``body`` the marker that ends the header and so tells what the
    message is; None is no condition. ``ends`` close the body. ``calls`` says how calls
    stand in a call's body, its ``calls_per_turn`` how many in one message; None: the
    body is one JSON object and the header names the function. ``write`` gives header
    fields for the writer (``channel``, ``to``, ``type``); a route without it is only
    read. Of the written routes of content the first is for text before calls, the last
    for an answer.
    """

    strand: Literal["reasoning", "content", "call", "dropped"]
    ends: tuple[str, ...]
    to: tuple[str, ...] = ()
    channel: str | None = None
    body: Lit | None = None
    calls: Tools | None = None
    write: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Channels:
    """A format of messages with headers; a routing table chooses each body's strand.

    ``start`` and ``role`` begin a message (the prompt ends with the first ones), ``body``
    ends the header where no marker of a route does. Header words come in any order: a
    channel after ``channel``, a recipient directly behind ``to``, a content type after
    ``constrain`` or bare. With ``to`` empty the header is the recipient; None: words in
    it carry no meaning. ``alone``: a recipient and ``body`` begin a message also where
    ``start`` is missing. ``calls_per_turn`` bounds the writer and the grammar. It is both
    halves at once.
    """

    start: Lit
    role: str
    ends: tuple[Lit, ...]
    routes: tuple[Route, ...]
    body: Lit | None = None
    channel: Lit | None = None
    constrain: Lit | None = None
    to: str | None = None
    alone: bool = False
    dropped: tuple[str, ...] = ()
    calls_per_turn: int | None = None
    models: tuple[str, ...] = ()

    @property
    def bodies(self) -> tuple[Lit, ...]:
        """Every marker that ends a header."""
        found = (self.body, *(one.body for one in self.routes))
        return tuple(dict.fromkeys(one for one in found if one is not None))

    @property
    def frames(self) -> tuple[Lit, ...]:
        """Every marker of headers and ends."""
        inside = tuple(one for one in (self.channel, self.constrain) if one is not None)
        return (self.start, *inside, *self.bodies, *self.ends)
