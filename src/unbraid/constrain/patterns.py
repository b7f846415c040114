"""Patterns of JSON schemas as regular expressions of the shared subset.

A schema's pattern is found anywhere in a string; what is written here matches the whole
string, and holds no character of a forbidden set, so that no marker can stand in it.
What can't be said that way raises Unsupported.
"""

from __future__ import annotations

import re
import sys
import warnings
from importlib import import_module
from typing import Any

from unbraid.errors import Unsupported

__all__ = ["FORMATS", "char", "negated", "whole"]

_MONTH_DAY = r"(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])"
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_ZONE = r"(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_BYTE = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
FORMATS = {
    "date": rf"[0-9]{{4}}-{_MONTH_DAY}",
    "time": _CLOCK + _ZONE,
    "date-time": rf"[0-9]{{4}}-{_MONTH_DAY}T{_CLOCK}{_ZONE}",
    "email": r"[a-zA-Z0-9]{1,32}(?:[._-][a-zA-Z0-9]{1,32}){0,4}@[a-z0-9]{1,32}(?:[.-][a-z0-9]{1,32}){0,4}",
    "ipv4": rf"{_BYTE}(?:\.{_BYTE}){{3}}",
    "uuid": r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
}
"""Formats of strings that are held; others are annotations."""

_parser = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_TOP = 0x10FFFF
_CLASSES = {
    "CATEGORY_DIGIT": [(0x30, 0x39)],
    "CATEGORY_SPACE": [(9, 10), (13, 13), (32, 32)],
    "CATEGORY_WORD": [(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)],
}
_SHORT = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}
Ranges = list[tuple[int, int]]


def char(code: int) -> str:
    """A character in or out of a class."""
    one = chr(code)
    if one in "\\/.+*?()|[]{}^$-~&#":
        return "\\" + one
    return _SHORT.get(one) or (f"\\x{code:02x}" if code < 32 or code == 127 else one)


def negated(chars: str) -> str:
    """A class of every character but these, which may be none."""
    inner = "".join(char(code) for code in sorted(set(map(ord, chars))))
    return f"[^{inner}]" if inner else r"[^\x00]"


def whole(pattern: str, forbidden: str) -> str:
    """The expression of whole strings in which ``pattern`` is found, without the forbidden characters."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = list(_parser.parse(pattern))
    except (re.error, OverflowError, RecursionError, ValueError) as problem:
        raise Unsupported(f"the pattern {pattern!r} is no regular expression: {problem}") from problem
    return _Writer(pattern, forbidden).top(tree)


class _Writer:
    def __init__(self, pattern: str, forbidden: str) -> None:
        self.pattern = pattern
        self.forbidden = {ord(one) for one in forbidden}
        self.any = negated(forbidden) + "{0,64}"

    def refuse(self, what: str) -> Unsupported:
        return Unsupported(f"the pattern {self.pattern!r} holds {what}, which no grammar here can say")

    def top(self, tree: list[Any]) -> str:
        """The whole expression; what no anchor closes may begin or end with any text."""
        if len(tree) == 1 and str(tree[0][0]) == "BRANCH":
            return "(?:" + "|".join(self.top(list(one)) for one in tree[0][1][1]) + ")"
        begins = bool(tree) and self.anchor(tree[0], ("AT_BEGINNING", "AT_BEGINNING_STRING"))
        ends = len(tree) > begins and self.anchor(tree[-1], ("AT_END", "AT_END_STRING"))
        inner = tree[begins : len(tree) - ends]
        return ("" if begins else self.any) + self.sequence(inner) + ("" if ends else self.any)

    @staticmethod
    def anchor(item: Any, names: tuple[str, ...]) -> bool:
        return str(item[0]) == "AT" and str(item[1]) in names

    def sequence(self, items: Any) -> str:
        return "".join(self.item(str(op), value) for op, value in items)

    def item(self, op: str, value: Any) -> str:
        """One element of a parsed pattern."""
        if op == "LITERAL":
            if value in self.forbidden:
                raise self.refuse(f"the character {chr(value)!r}")
            return char(value)
        if op == "NOT_LITERAL":
            return self.ranges(_inverse([(value, value)]))
        if op == "ANY":
            return self.ranges(_inverse([(10, 10)]))
        if op == "IN":
            return self.ranges(self.members(value))
        if op in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, inner = value
            return f"(?:{self.sequence(inner)})" + _count(int(least), most)
        if op == "SUBPATTERN":
            _, on, off, inner = value
            if on or off:
                raise self.refuse("flags")
            return f"(?:{self.sequence(inner)})"
        if op == "BRANCH":
            return "(?:" + "|".join(self.sequence(one) for one in value[1]) + ")"
        raise self.refuse({"AT": "an anchor inside", "ASSERT": "a look-around"}.get(op, op.lower()))

    def members(self, members: Any) -> Ranges:
        """The ranges of a class."""
        found: Ranges = []
        inverse = False
        for op, value in members:
            name = str(op)
            if name == "NEGATE":
                inverse = True
            elif name == "LITERAL":
                found.append((value, value))
            elif name == "RANGE":
                found.append(tuple(value))
            else:
                kind = str(value)
                ranges = _CLASSES.get(kind.replace("_NOT", ""))
                if ranges is None:
                    raise self.refuse(kind.lower())
                if "_NOT" in kind:
                    ranges = [(low, high) for low, high in _inverse(ranges) if low < 0x80]
                    ranges = [(low, min(high, 0x7F)) for low, high in ranges]
                found += ranges
        return _inverse(found) if inverse else found

    def ranges(self, found: Ranges) -> str:
        """A class of these ranges, without the forbidden characters."""
        kept = found
        for code in self.forbidden:
            kept = [
                part
                for low, high in kept
                for part in ((low, min(high, code - 1)), (max(low, code + 1), high))
                if part[0] <= part[1]
            ] if any(low <= code <= high for low, high in kept) else kept  # fmt: skip
        if not kept:
            raise self.refuse("only characters that may not be written")
        return (
            "["
            + "".join(char(low) if low == high else f"{char(low)}-{char(high)}" for low, high in kept)
            + "]"
        )


def _inverse(ranges: Ranges) -> Ranges:
    """Every printable character outside the ranges, and the common white space."""
    at = 0x20
    found: Ranges = []
    for low, high in [*sorted(ranges), (_TOP + 1, _TOP + 1)]:
        if low > at:
            found += [
                part
                for part in ((at, min(low - 1, 0xD7FF)), (max(at, 0xE000), low - 1))
                if part[0] <= part[1]
            ]
        at = max(at, high + 1)
    return found + [(code, code) for code in (9, 10) if not any(low <= code <= high for low, high in ranges)]


def _count(least: int, most: Any) -> str:
    if isinstance(most, int) and int(most) < 65535:
        return f"{{{least},{int(most)}}}"
    return "*" if least == 0 else "+" if least == 1 else f"{{{least},}}"
