"""What a channel format's markers mean where: compiled once for each declaration."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from unbraid.machine.headers import RECIPIENT, parse_header, route_of
from unbraid.machine.markers import Scanner, scanner
from unbraid.machine.setup import Setup, setup, unit_openers
from unbraid.syntax import MAX_NAME, WHITE, Channels, Route

__all__ = ["Frame", "Place", "begins_thinking", "frame_of", "place_in", "route_at"]


@dataclass(frozen=True)
class Frame:
    """The scanners of a format of channels.

    ``header`` finds what stands behind a header, ``body`` what may end a body, ``inside``
    that and the calls of a body, ``between`` what stands between messages. ``restarts``
    begin a message in a body (``firsts``: the marker at their beginning), ``proved`` only
    if the header that they begin is ``whole`` (``cut``: it may still become so). ``starts``
    are what a header may begin with. ``route`` is that of calls with a markup of their own,
    ``calls`` what they are read by, and ``openers`` the markers that begin them; without any
    a body is one call.
    """

    header: Scanner
    body: Scanner
    inside: Scanner
    between: Scanner
    restarts: frozenset[str]
    proved: frozenset[str]
    whole: re.Pattern[str]
    cut: re.Pattern[str]
    starts: tuple[str, ...]
    bodies: tuple[str, ...]
    ends: frozenset[str]
    firsts: Mapping[str, str]
    route: Route | None
    calls: Setup
    openers: tuple[str, ...]


_FRAMES: dict[int, tuple[Channels, Frame]] = {}


def frame_of(channels: Channels) -> Frame:
    """The compiled markers of this declaration."""
    known = _FRAMES.get(id(channels))
    if known is None or known[0] is not channels:
        known = _FRAMES[id(channels)] = (channels, _compiled(channels))
    return known[1]


def _compiled(channels: Channels) -> Frame:
    start = channels.start.text
    ends = tuple(one.text for one in channels.ends)
    bodies = tuple(one.text for one in channels.bodies)
    kinds = tuple(one.body.text for one in channels.routes if one.body is not None)
    proved = (channels.to or "",) if channels.alone else () if channels.start.special else (start,)
    restarts = dict.fromkeys((*_restarts(channels), *kinds, *proved))
    route = next((one for one in channels.routes if one.calls is not None), None)
    calls = setup(None, route.calls if route else None, False, around=(*ends, start + channels.role))
    tools = calls.tools
    openers = unit_openers(tools) if tools else ()
    ending = (*ends, *channels.dropped, *restarts)
    channel = (channels.channel.text,) if channels.channel else ()
    bare = tuple(one.lstrip(WHITE) for one in proved)
    between = tuple(dict.fromkeys((start, *channel, *kinds, *bare, *ends, *channels.dropped)))
    whole, cut = _patterns(proved, channels)
    return Frame(
        header=scanner(tuple(dict.fromkeys((start, *bodies, *ends, *channels.dropped)))),
        body=scanner(ending),
        inside=scanner((*ending, *openers)),
        between=scanner(between),
        restarts=frozenset(restarts),
        proved=frozenset((*proved, *bare)),
        whole=whole,
        cut=cut,
        starts=tuple(one.text for one in channels.frames if one not in channels.ends),
        bodies=bodies,
        ends=frozenset(ends),
        firsts={
            one: next((first.text for first in channels.frames if one.startswith(first.text)), one)
            for one in (*restarts, *between)
        },
        route=route,
        calls=calls,
        openers=openers,
    )


def _restarts(channels: Channels) -> list[str]:
    """What begins a message whose predecessor has no end: its start and the next word, or a known channel."""
    start = channels.start.text + channels.role
    if not channels.role:
        return [start] if channels.start.special else []
    found = [start + one.text for one in (channels.channel, *channels.bodies) if one]
    found += [start + channels.to] if channels.to else []
    if channels.channel and channels.body:
        names = {one.channel for one in channels.routes} | {
            (one.write or {}).get("channel") for one in channels.routes
        }
        found += [
            f"{channels.channel.text}{name}{channels.body.text}" for name in sorted(filter(None, names))
        ]
    return found


def _patterns(proved: tuple[str, ...], channels: Channels) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A header that proves itself (its beginning, a recipient, the marker of the body), and a cut one."""
    if not proved or channels.body is None:
        return re.compile("(?!)"), re.compile("(?!)")
    begin, body = re.escape(proved[0].lstrip(WHITE)), channels.body.text
    partial = "|".join(re.escape(body[:length]) for length in range(len(body) - 1, 0, -1)) or "(?!)"
    name = f"{RECIPIENT}{{1,{MAX_NAME}}}"
    return (
        re.compile(f"{begin}({name}){re.escape(body)}"),
        re.compile(f"{begin}(?:{name}(?:{partial})?)?\\Z"),
    )


@dataclass(frozen=True)
class Place:
    """Where a prompt leaves the output: the header's text, and the marker behind it if that is written.

    ``ended``: the body is over as well.
    """

    header: str
    body: str | None = None
    ended: bool = False


def place_in(channels: Channels, prompt: str | None) -> Place:
    """What the prompt wrote of the message that the output goes on with."""
    if prompt is None:
        return Place(channels.role)
    start = channels.start.text
    kinds = [one.body.text for one in channels.routes if one.body is not None]
    at = max(prompt.rfind(one) for one in (start, *kinds))
    if at < 0:
        return Place(channels.role)
    begin = prompt.rfind(start)
    text = prompt[begin + len(start) :] if begin >= 0 else prompt[at:]
    found = [(text.find(one.text), one.text) for one in channels.bodies if one.text in text]
    if not found:
        return Place(text)
    at, body = min(found)
    written = text[at + len(body) :]
    return Place(text[:at], body, any(one.text in written for one in channels.ends))


def route_at(channels: Channels, place: Place) -> Route:
    """The route of the message that the prompt began."""
    return route_of(channels, parse_header(channels, place.header, frozenset(), place.body))[0]


def begins_thinking(channels: Channels, place: Place) -> bool:
    """Whether the prompt leaves a body of thinking open."""
    return place.body is not None and not place.ended and route_at(channels, place).strand == "reasoning"
