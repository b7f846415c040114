"""Finding markers in text that arrives in pieces."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

__all__ = ["Scanner", "scanner"]

_Tree = dict[str, Any]


class Scanner:
    """Finds the first place where one of several markers stands, or may begin at the end of the text.

    ``search`` is a compiled pattern's: its match is a whole marker, or a proper
    beginning of one that runs up to the end of the text (``ambiguous`` holds the
    whole markers that begin a longer one). ``plain`` matches, with fullmatch, text
    in which no marker can begin and that does not end in white space.
    """

    __slots__ = ("ambiguous", "markers", "match", "plain", "search")

    def __init__(self, markers: tuple[str, ...]) -> None:
        self.markers = frozenset(markers)
        self.ambiguous = frozenset(
            short for short in markers if any(long != short and long.startswith(short) for long in markers)
        )
        pattern = re.compile(_alternatives(_tree(markers)) if markers else "(?!)")
        self.search = pattern.search
        self.match = pattern.match
        first = "".join(sorted({re.escape(marker[0]) for marker in markers}))
        plain = rf"[^{first}]*[^{first}\s]" if markers else r"(?s:.*)\S"
        self.plain: Callable[[str], object] = re.compile(plain).fullmatch


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
