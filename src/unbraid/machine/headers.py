"""Headers of a channel format: role, channel, recipient and content type, in any order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unbraid.syntax import ANY, MAX_NAME, WHITE, Channels, Route

__all__ = ["RECIPIENT", "Header", "parse_header", "plain_route", "route_of", "write_header", "written_route"]

MAX_TYPE = 64
TYPE = re.compile(rf"[A-Za-z0-9_.+/-]{{1,{MAX_TYPE}}}")
WORD = re.compile(r"\S+")
RECIPIENT = r"[^\s<>]"


@dataclass(frozen=True)
class Header:
    """What a header says; ``body`` is the marker behind it, ``rest`` the text at its end that is no header.

    A header has one content type: several words behind its last marker are text.
    """

    channel: str | None = None
    recipient: str | None = None
    type: str | None = None
    body: str | None = None
    rest: str = ""


def parse_header(channels: Channels, text: str, tools: frozenset[str], body: str | None = None) -> Header:
    """Read a header's text, its markers spelled out; never fails."""
    channel: str | None = None
    kind: str | None = None
    named: str | None = None
    bare: str | None = None
    loose: list[int] = []
    rest = len(text)
    markers = [one.text for one in (channels.start, channels.channel, channels.constrain) if one]
    to = None if channels.to is None else channels.to.strip(WHITE)
    prefixes = _prefixes(channels)
    after = channels.start.text
    at = 0
    for piece in re.split(f"({'|'.join(map(re.escape, markers))})", text):
        start, at = at, at + len(piece)
        if piece in markers:
            after = piece
            continue
        found = ((start + one.start(), one.group()) for one in WORD.finditer(piece))
        words = [one for one in found if one[1] != channels.role]
        if words and channels.channel and after == channels.channel.text and len(words[0][1]) <= MAX_TYPE:
            channel = words.pop(0)[1]
        elif words and channels.constrain and after == channels.constrain.text:
            kind = words.pop(0)[1]
        loose, rest = [], len(text)
        for place, word in words if to is not None else ():
            if word.startswith(to or ""):
                named = word[len(to or "") :] or named
            elif word in tools or word.startswith(prefixes):
                bare = bare or word
            elif channels.constrain and TYPE.fullmatch(word):
                kind = word
                loose.append(place)
            else:
                rest = min(rest, place)
        after = ""
    if loose and (len(loose) > 1 or rest < len(text)):
        rest = min(rest, loose[0])
    return Header(channel, named or bare, kind, body, text[rest:])


def _prefixes(channels: Channels) -> tuple[str, ...]:
    """What stands before a function's name, where something does."""
    found = [one.partition("{name}")[0] for route in channels.routes for one in route.to if "{name}" in one]
    return tuple(prefix for prefix in found if prefix)


def route_of(channels: Channels, header: Header) -> tuple[Route, str | None]:
    """The first route whose conditions hold, and the function's name where the route's recipient tells it."""
    for route in channels.routes:
        if route.channel is not None and route.channel != header.channel:
            continue
        if route.body is not None and route.body.text != header.body:
            continue
        if not route.to:
            return route, None
        for pattern in route.to if header.recipient else ():
            found, name = _matches(pattern, header.recipient or "")
            if found:
                return route, name
    return plain_route(channels), None


def _matches(pattern: str, recipient: str) -> tuple[bool, str | None]:
    """Whether a recipient is the pattern's, and the function's name in it."""
    prefix, found, _ = pattern.partition("{name}")
    if not found:
        return pattern in (ANY, recipient, recipient.partition(".")[0]), None
    name = recipient.removeprefix(prefix)
    whole = re.fullmatch(f"{RECIPIENT}{{1,{MAX_NAME}}}", name) is not None
    return whole, name if whole else None


def written_route(channels: Channels, strand: str, *, last: bool = False) -> Route | None:
    """The first (or last) route of a strand that is written."""
    routes = [one for one in channels.routes if one.strand == strand and one.write is not None]
    return routes[-1 if last else 0] if routes else None


def plain_route(channels: Channels) -> Route:
    """Where text goes that has no header."""
    return written_route(channels, "content", last=True) or channels.routes[-1]


def write_header(channels: Channels, route: Route, name: str = "") -> str:
    """The header of a message, from behind the role to its body; ``name`` is a called function's."""
    fields = route.write or {}
    out = ""
    if channels.channel and "channel" in fields:
        out += channels.channel.text + fields["channel"]
    recipient = fields.get("to") or next((one for one in route.to if "{name}" in one), "")
    if recipient and (name or "{name}" not in recipient):
        out += (channels.to or "") + recipient.format(name=name)
    if channels.constrain and "type" in fields:
        out += f" {channels.constrain.text}{fields['type']}"
    body = route.body or channels.body
    return out + (body.text if body else "")
