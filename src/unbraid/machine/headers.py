"""Headers of a channel format: role, channel, recipient and content type, in any order."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unbraid.syntax import ANY, WHITE, Channels, Route

__all__ = ["Header", "parse_header", "route_of"]

TYPE = re.compile(r"[A-Za-z0-9_.+/-]+")


@dataclass(frozen=True)
class Header:
    """What a header says; ``rest`` is text in it that is no header word."""

    channel: str | None = None
    recipient: str | None = None
    type: str | None = None
    rest: str = ""


def parse_header(channels: Channels, text: str, tools: frozenset[str]) -> Header:
    """Read a header's text, its markers spelled out; never fails."""
    channel: str | None = None
    recipient: str | None = None
    kind: str | None = None
    rest: list[str] = []
    markers = "|".join(re.escape(one.text) for one in (channels.start, channels.channel, channels.constrain))
    pieces = re.split(f"({markers})", text)
    after = channels.start.text
    for piece in pieces:
        if piece in (channels.start.text, channels.channel.text, channels.constrain.text):
            after = piece
            continue
        words = piece.split()
        if after == channels.channel.text and words:
            channel = words.pop(0)
        elif after == channels.constrain.text and words:
            kind = words.pop(0)
        elif after == channels.start.text and words and words[0] == channels.role:
            words.pop(0)
        for word in words:
            if word == channels.role:
                continue
            to = channels.to.strip(WHITE)
            if word.startswith(to):
                recipient = word[len(to) :] or recipient
            elif word.startswith("functions.") or word in tools:
                recipient = recipient or word
            elif TYPE.fullmatch(word):
                kind = word
            else:
                rest.append(word)
        after = ""
    return Header(channel, recipient, kind, " ".join(rest))


def function_name(channels: Channels, header: Header) -> str | None:
    """The function that a message calls, or None."""
    to = header.recipient
    if not to or to in (channels.role, "user") or to.partition(".")[0] in channels.builtin or "<" in to:
        return None
    return to.removeprefix("functions.") or None


def route_of(channels: Channels, header: Header) -> tuple[Route, str | None]:
    """The first route whose conditions hold, and the function's name on a call's."""
    name = function_name(channels, header)
    to = None if header.recipient == "user" else header.recipient
    for route in channels.routes:
        if route.channel is not None and route.channel != header.channel:
            continue
        if route.to == ANY and to is None:
            continue
        if route.to not in (None, ANY) and name is None:
            continue
        return route, name if route.strand == "call" else None
    return channels.routes[-1], None
