"""Expressions told backwards: the text that one would be written as, and how a tag's value ends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from unbraid.response.expression import parsed
from unbraid.response.program import program
from unbraid.syntax import Field, Lit, Pattern, ResponseTemplate

__all__ = ["Tag", "closer_of", "marker_text", "spelling", "tag_of"]

Piece = str | tuple[str]
"""Text, or the name of a group whose text stands here."""


class _NoSpelling(Exception):
    pass


@lru_cache(maxsize=256)
def spelling(pattern: str) -> tuple[Piece, ...] | None:
    """The canonical text of an expression: literals, its named groups, the first of its choices.

    What may be left out is left out. None where a piece could be any of many characters.
    """
    try:
        pieces = _pieces(list(parsed(pattern)), _groups(pattern))
    except _NoSpelling:
        return None
    joined: list[Piece] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece:
            joined.append(piece)
    return tuple(joined)


def marker_text(marker: Lit | Pattern | None, captures: Mapping[str, str]) -> str | None:
    """The text that a marker is written as, None when that can't be told."""
    if marker is None:
        return ""
    if isinstance(marker, Lit):
        return marker.text
    pieces = spelling(marker.text)
    if pieces is None or any(isinstance(one, tuple) and one[0] not in captures for one in pieces):
        return None
    return "".join(one if isinstance(one, str) else captures[one[0]] for one in pieces)


def closer_of(template: ResponseTemplate, field: Field, last: bool) -> str | None:
    """The closer that is written behind a region, None when that can't be told.

    Behind the last region it is one that begins no further message, if there is one.
    """
    if not isinstance(field.close, Lit):
        return marker_text(field.close, {})
    spellings = field.close.spellings
    anchor = marker_text(template.anchor, {}) or ""
    begins = [one for one in spellings if anchor and one.endswith(anchor)]
    others = [one for one in spellings if one not in begins]
    if last:
        return (others or begins)[0]
    if program(template).implicit is not None:
        return spellings[0]
    if begins:
        return begins[0]
    known = {
        one for other in template.fields if isinstance(other.close, Lit) for one in other.close.spellings
    }
    return next((one for one in others if one + anchor in known), others[0]) + anchor


def _groups(pattern: str) -> dict[int, str]:
    return {number: name for name, number in re.compile(pattern, re.DOTALL).groupindex.items()}


def _pieces(items: list[Any], groups: dict[int, str]) -> list[Piece]:
    found: list[Piece] = []
    for op, value in items:
        name = str(op)
        if name == "LITERAL":
            found.append(chr(value))
        elif name == "SUBPATTERN" and value[0] in groups:
            found.append((groups[value[0]],))
        elif name == "SUBPATTERN":
            found += _pieces(list(value[3]), groups)
        elif name == "BRANCH":
            found += _pieces(list(value[1][0]), groups)
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            found += _pieces(list(value[2]), groups) * int(value[0]) if value[0] else []
        elif name == "IN":
            found.append(_first(value))
        else:
            raise _NoSpelling
    return found


def _first(members: Any) -> str:
    op, value = members[0]
    if str(op) == "LITERAL":
        return chr(value)
    if str(value) == "CATEGORY_SPACE":
        return " "
    raise _NoSpelling


@dataclass(frozen=True)
class Tag:
    """A tag of ``xml-inline`` as text around a key and a raw value.

    ``open`` KEY ``middle`` VALUE ``close``; ``ends`` are all texts that end the value,
    ``key_chars`` the class of a key's characters.
    """

    open: str
    middle: str
    close: str
    ends: tuple[str, ...]
    key_chars: str


@lru_cache(maxsize=256)
def tag_of(pattern: str) -> Tag | None:
    """The tag that an expression describes, if key and value are so simple that it can be said."""
    pieces = spelling(pattern)
    key = re.search(r"\(\?P<key>(\\w|\\S|\[(?:\\.|[^\]\\])+\])[+*]\??\)", pattern)
    value = re.search(r"\(\?P<value>(?:\.|\[\\s\\S\]|\[\\S\\s\])\*\?\)", pattern)
    if pieces is None or key is None or value is None:
        return None
    if len(pieces) != 5 or pieces[1] != ("key",) or pieces[3] != ("value",):
        return None
    opener, _, middle, _, close = pieces
    items = list(parsed(pattern))
    numbers = {name: number for number, name in _groups(pattern).items()}
    at = next(
        (n for n, (op, one) in enumerate(items) if str(op) == "SUBPATTERN" and one[0] == numbers["value"]),
        None,
    )
    ends = None if at is None else _every(items[at + 1 :])
    if ends is None or not all(isinstance(one, str) for one in (opener, middle, close)):
        return None
    return Tag(str(opener), str(middle), str(close), tuple(ends), key[1])


def _every(items: list[Any]) -> list[str] | None:
    """All texts that an expression of literals and choices matches, look-ahead included; None for another."""
    found = [""]
    for op, value in items:
        name = str(op)
        if name == "LITERAL":
            more: list[str] | None = [chr(value)]
        elif name == "BRANCH":
            options = [_every(list(one)) for one in value[1]]
            more = None if None in options else [text for one in options for text in one or ()]
        elif name == "SUBPATTERN":
            more = _every(list(value[3]))
        elif name == "ASSERT":
            more = _every(list(value[1]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT") and (int(value[0]), int(value[1])) == (0, 1):
            inner = _every(list(value[2]))
            more = None if inner is None else ["", *inner]
        else:
            more = None
        if more is None or len(found) * len(more) > 64:
            return None
        found = [text + one for text in found for one in more]
    return found
