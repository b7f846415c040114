"""Where a raw value ends: one table, read by the parser, the writer and the grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from unbraid.literals import escape
from unbraid.machine.lanes import UNSAFE, Lane
from unbraid.machine.markers import Scanner, scanner
from unbraid.syntax import MAX_NAME, MAX_WHITE, WHITE, Choice, Lit, Pairs, Part, TypeTag, Ws

__all__ = ["TYPE_CHARS", "Closers", "closers"]

TYPE_CHARS = r"[\w\[\], |]"
"""What a type is written in."""


@dataclass(frozen=True)
class Closers:
    """The texts that may end a value, and what must follow each for it to count.

    ``consumed`` are the value's own closers (``own`` the written one), the others end it without being
    read. ``behind_key`` are the markers between a key and its value, and whether white space may
    stand in front of each. ``after`` is what may stand behind the last pair. ``lane`` lets text of a
    value through. ``pair`` matches a usual pair up to its closer, its groups being
    white space, the opener, the key, the parts between, the pad and the value.
    """

    scan: Scanner
    pair: re.Pattern[str]
    follow: dict[str, tuple[str, ...]]
    key_openers: frozenset[str]
    key: re.Pattern[str]
    behind_key: tuple[tuple[bool, tuple[str, ...]], ...]
    consumed: frozenset[str]
    own: str
    after: tuple[str, ...]
    xml: bool = False

    @cached_property
    def lane(self) -> Lane:
        """The lane in a value that is a string."""
        return Lane(re.compile(f"[{self.scan.first}{UNSAFE}]").search, self.decided, escape)

    def decided(self, text: str) -> int | None:
        """How much of ``text`` belongs to the value; None when a closer that counts stands in it."""
        at = 0
        while True:
            found = self.scan.search(text, at)
            if found is None:
                return len(text)
            if not self.scan.whole(found, False):
                return found.start()
            counts = self.confirmed(text, found.group(), found.end(), False)
            if counts is not False:
                return None if counts else found.start()
            at = found.start() + 1

    def confirmed(self, text: str, closer: str, end: int, ended: bool) -> bool | None:
        """Whether the closer that ends at ``text[end]`` counts; None while that is open."""
        if closer in self.key_openers:
            return self.begins_pair(text, end, ended)
        at = end
        while at < len(text) and at < end + MAX_WHITE and text[at] in WHITE:
            at += 1
        if at == len(text):
            return True if ended else None
        following = self.follow[closer]
        if text.startswith(following, at):
            return True
        rest = text[at : at + MAX_WHITE]
        if any(len(rest) < len(one) and one.startswith(rest) for one in following):
            return True if ended else None
        return False

    def begins_pair(self, text: str, at: int, ended: bool) -> bool | None:
        """Whether a key and what follows keys stands at ``text[at]``; None while that is open."""
        found = self.key.match(text, at)
        at = found.end() if found else at
        for blank, spellings in self.behind_key:
            end = at + MAX_WHITE
            while blank and at < min(len(text), end) and text[at] in WHITE:
                at += 1
            marker = max((one for one in spellings if text.startswith(one, at)), key=len, default=None)
            if marker is None:
                rest = text[at : at + MAX_NAME]
                cut = any(len(rest) < len(one) and one.startswith(rest) for one in spellings)
                return (True if ended else None) if cut else False
            if found is None:
                return False
            at += len(marker)
        return True

    def end_of(self, value_and_rest: str) -> int | None:
        """Where a value that begins at the start of a complete text would be found to end."""
        at = 0
        while True:
            found = self.scan.search(value_and_rest, at)
            if found is None:
                return None
            closer = found.group()
            if closer in self.scan.markers and self.confirmed(value_and_rest, closer, found.end(), True):
                return found.start()
            at = found.start() + 1


def _literals(parts: tuple[Part, ...]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = []
    for part in parts:
        if isinstance(part, Lit):
            found.append(part.spellings)
        elif isinstance(part, Choice):
            break
    return found


def _between(piece: Lit | Ws | TypeTag) -> str:
    """What stands between a key and its value."""
    if isinstance(piece, Lit):
        return _any(piece)
    if isinstance(piece, TypeTag):
        tag = f"(?:{_any(piece.open)}){TYPE_CHARS}{{1,{MAX_NAME}}}(?:{_any(piece.close)})"
        return tag if piece.absent is None else f"(?:{tag})?"
    return f"[{WHITE}]*"


def _behind_key(part: Pairs) -> tuple[tuple[bool, tuple[str, ...]], ...]:
    """The markers behind a key, up to where a type may stand."""
    found: list[tuple[bool, tuple[str, ...]]] = []
    blank = False
    for piece in part.middle:
        if isinstance(piece, TypeTag):
            break
        if isinstance(piece, Lit):
            found.append((blank, piece.spellings))
        blank = isinstance(piece, Ws)
    return tuple(found)


def _any(one: Lit) -> str:
    return "|".join(map(re.escape, sorted(one.spellings, key=len, reverse=True)))


def _pair(part: Pairs, first: str) -> re.Pattern[str]:
    groups = [_any(part.open)]
    groups.append(f"{part.key_chars}{{1,{MAX_NAME}}}(?!{part.key_chars})")
    groups += [_between(piece) for piece in part.middle]
    pad = ""
    for char in reversed(part.pad):
        pad = f"(?:{re.escape(char)}{pad})?"
    return re.compile(f"([{WHITE}]*)" + "".join(f"({group})" for group in (*groups, pad, f"[^{first}]*")))


def _early(part: Pairs) -> tuple[str, ...]:
    """The early closers, each behind the gap too, which is no part of a value then."""
    behind_gap = (f"{part.gap}{one}" for one in part.early if part.gap and one[0] not in WHITE)
    return tuple(dict.fromkeys((*behind_gap, *part.early)))


@lru_cache(maxsize=256)
def closers(
    part: Pairs, rest: tuple[Part, ...], openers: tuple[str, ...], dropped: tuple[str, ...]
) -> Closers:
    """The table for the values of ``part``.

    ``rest`` is what the template writes behind the pairs, ``openers`` what begins
    the next call or ends the section, ``dropped`` the turn ends.
    """
    markers = _literals(rest)
    behind = [spelling for one in markers for spelling in one]
    own = [f"{part.pad}{one}" for one in part.close.spellings if part.pad] + [*part.close.spellings]
    follow = dict.fromkeys(own, (*part.open.spellings, *behind, *openers))
    key_openers = set()
    for early in _early(part):
        bare = early.lstrip(WHITE)
        if bare in part.open.spellings:
            key_openers.add(early)
            follow[early] = ()
        else:
            at = next((n for n, one in enumerate(markers) if bare in one), len(markers))
            later = [spelling for one in markers[at + 1 :] for spelling in one]
            follow[early] = (*later, *dropped) if later else (*openers, *dropped)
    scan = scanner(tuple(follow))
    return Closers(
        scan=scan,
        pair=_pair(part, scan.first),
        follow=follow,
        key_openers=frozenset(key_openers),
        key=re.compile(f"{part.key_chars}{{1,{MAX_NAME}}}"),
        behind_key=_behind_key(part),
        consumed=frozenset(own),
        own=part.close.text,
        after=(*behind, *openers),
        xml=part.xml,
    )
