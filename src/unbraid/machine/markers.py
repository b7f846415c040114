"""Finding markers in text that arrives in pieces."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from unbraid.machine.lanes import Lane
from unbraid.syntax import MAX_WHITE

__all__ = ["Scanner", "scanner"]

_Tree = dict[str, Any]


class Scanner:
    """Finds the first place where one of several markers stands, or may begin at the end of the text.

    ``search`` is a compiled pattern's: its match is a whole marker, or a proper
    beginning of one that runs up to the end of the text (``ambiguous`` holds the
    whole markers that begin a longer one). ``first`` are the characters that begin
    a marker, as members of a character class. ``lane`` lets text without markers
    through, ``text_lane`` holds the white space at its end.
    """

    __slots__ = ("ambiguous", "first", "lane", "markers", "match", "search", "text_lane")

    def __init__(self, markers: tuple[str, ...]) -> None:
        self.markers = frozenset(markers)
        self.ambiguous = frozenset(
            short for short in markers if any(long != short and long.startswith(short) for long in markers)
        )
        pattern = re.compile(_alternatives(_tree(markers)) if markers else "(?!)")
        self.search = pattern.search
        self.match = pattern.match
        self.first = "".join(sorted({re.escape(marker[0]) for marker in markers}))
        begins = f"[{self.first}]" if markers else "(?!)"
        self.lane = Lane(re.compile(begins).search, self.decided)
        self.text_lane = Lane(re.compile(rf"{begins}|\s\Z").search, self.decided_text)

    def whole(self, found: re.Match[str], ended: bool) -> bool:
        """Whether a match is a marker that can't become a longer one; ``ended``: no text follows."""
        marker = found.group()
        if marker not in self.markers:
            return False
        return ended or marker not in self.ambiguous or found.end() < len(found.string)

    def begun(self, found: re.Match[str]) -> str | None:
        """The marker that begins the longer one in which the output ends."""
        if not self.ambiguous:
            return None
        return max(filter(found.group().startswith, self.ambiguous), key=len, default=None)

    def decided(self, text: str) -> int | None:
        """How much of ``text`` is no marker and begins none; None when a whole marker stands in it."""
        found = self.search(text)
        if found is None:
            return len(text)
        return None if self.whole(found, False) else found.start()

    def decided_text(self, text: str) -> int | None:
        """As ``decided``, without the white space at the end; None also when that is long."""
        stop = self.decided(text)
        if stop is None:
            return None
        length = len(text[:stop].rstrip())
        return length if len(text) - length <= MAX_WHITE else None


def _tree(markers: tuple[str, ...]) -> _Tree:
    root: _Tree = {}
    for marker in markers:
        node = root
        for char in marker:
            node = node.setdefault(char, {})
        node[""] = {}
    return root


def _alternatives(tree: _Tree) -> str:
    return "|".join(re.escape(char) + _rest(below) for char, below in tree.items())


def _rest(tree: _Tree) -> str:
    below = {char: branch for char, branch in tree.items() if char}
    if not below:
        return ""
    if "" in tree:
        return f"(?:{_alternatives(below)}|\\Z)?"
    return f"(?:{_alternatives(below)}|\\Z)"


@lru_cache(maxsize=1024)
def scanner(markers: tuple[str, ...]) -> Scanner:
    """The scanner for these markers, compiled once."""
    return Scanner(markers)
