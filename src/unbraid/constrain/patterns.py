"""Patterns of JSON schemas as regular expressions of the shared subset.

A schema's pattern is found anywhere in a string; what is written here matches the whole
string, and holds no character of a forbidden set, so that no marker can stand in it.
What can't be said that way raises Unsupported.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Collection
from functools import lru_cache
from importlib import import_module
from typing import Any

from unbraid.errors import Unsupported

__all__ = ["AROUND", "FORMATS", "char", "negated", "other_than", "parsed", "whole", "widths", "without"]

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

AROUND = 64
"""The longest text in front of a pattern that has no anchor there, and behind it."""

_parser = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_TOP = 0x10FFFF
_LONGEST = 1 << 31  # what the parser says where there is no limit
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


_ESCAPE = re.compile(r"\\(?:[dDwWsSnrtfv!-/:;=?@\[-`{-~]|x[0-9a-fA-F]{2}|u(?![dD][89a-fA-F])[0-9a-fA-F]{4})")
_CLASS = re.compile(r"\[\^?\]?([^\]]*)\]")
_ODD = re.compile(r"\\|\(\?(?!:|P<)|\{(?![0-9]+(?:,[0-9]*)?\})")
_ODD_IN_CLASS = re.compile(r"\[|&&|--|~~")
_OPS = frozenset(
    ("LITERAL", "NOT_LITERAL", "ANY", "IN", "MAX_REPEAT", "MIN_REPEAT", "SUBPATTERN", "BRANCH", "AT")
)
_MOST_COPIES = 1_000_000


def widths(pattern: str) -> tuple[int, float]:
    """The least and the greatest length of the strings in which ``pattern`` is found.

    Raises Unsupported unless it is an expression of the subset that every regular
    expression engine reads alike: no look-around, back-reference, flag or inner anchor.
    """
    bare = _ESCAPE.sub("x", pattern)
    odd = _ODD.search(_CLASS.sub("x", bare)) or next(
        (one for found in _CLASS.finditer(bare) for one in [_ODD_IN_CLASS.search(found[1])] if one), None
    )
    if odd or "\\" in bare:
        what = repr(odd.group()) if odd else "an escape of its own"
        raise Unsupported(f"the pattern {pattern!r} holds {what}, which no grammar here can say")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = _parser.parse(pattern)
        anchored = _look(tree, (True, True), 1, pattern)
        shortest, longest = tree.getwidth()
    except (re.error, OverflowError, RecursionError, ValueError) as problem:
        raise _no_expression(pattern, problem) from problem
    return int(shortest), int(longest) if anchored == (True, True) and longest < _LONGEST else math.inf


def _look(items: Any, ends: tuple[bool, bool], copies: int, pattern: str) -> tuple[bool, bool]:
    """Refuse what is odd in a parsed pattern; whether its beginning and its end are anchored.

    ``ends``: whether it stands at the beginning and at the end of the whole.
    """
    found = [False, False]
    listed = list(items)
    for n, (op, value) in enumerate(listed):
        here = (ends[0] and n == 0, ends[1] and n == len(listed) - 1)
        inner: list[tuple[bool, bool]] = []
        name = str(op)
        if name == "AT":
            side = {"AT_BEGINNING": 0, "AT_END": 1}.get(str(value))
            if side is None or not here[side]:
                raise _refused(pattern, "an anchor inside")
            found[side] = True
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            most = int(value[1]) if int(value[1]) < _LONGEST else max(int(value[0]), 1)
            if copies * most > _MOST_COPIES:
                raise _refused(pattern, "too many repetitions")
            _look(value[2], (False, False), copies * max(most, 1), pattern)
        elif name == "SUBPATTERN":
            inner = [_look(value[3], here, copies, pattern)]
        elif name == "BRANCH":
            inner = [_look(one, here, copies, pattern) for one in value[1]]
        elif name not in _OPS:
            raise _refused(pattern, {"ASSERT": "a look-around"}.get(name, name.lower()))
        for side in (0, 1):
            found[side] = found[side] or (bool(inner) and all(one[side] for one in inner))
    return found[0], found[1]


def _refused(pattern: str, what: str) -> Unsupported:
    return Unsupported(f"the pattern {pattern!r} holds {what}, which no grammar here can say")


def _no_expression(pattern: str, problem: Exception) -> Unsupported:
    return Unsupported(f"the pattern {pattern!r} is no regular expression: {problem}")


def other_than(words: Collection[str], chars: str, most: int) -> str:
    """The expression of 1 to ``most`` characters of the negated class ``chars``, none of ``words``."""
    firsts = sorted({word[0] for word in words if word})
    others = chars[:-1] + "".join(char(ord(one)) for one in firsts) + "]"
    options = [f"{others}{chars}{{0,{most - 1}}}"]
    for first in firsts:
        rests = [word[1:] for word in words if word.startswith(first)]
        more = other_than(rests, chars, most - 1)
        options.append(char(ord(first)) + (more if "" in rests else f"(?:{more})?"))
    return "(?:" + "|".join(options) + ")"


def whole(pattern: str, forbidden: str) -> str:
    """The expression of whole strings in which ``pattern`` is found, without the forbidden characters."""
    return _Writer(pattern, forbidden).top(parsed(pattern))


@lru_cache(maxsize=1024)
def without(pattern: str, forbidden: str) -> str:
    """``pattern`` without the forbidden characters."""
    return _Writer(pattern, forbidden).sequence(parsed(pattern))


def parsed(pattern: str) -> list[Any]:
    """The pattern as the standard library parses it; raises Unsupported for none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return list(_parser.parse(pattern))
    except (re.error, OverflowError, RecursionError, ValueError) as problem:
        raise _no_expression(pattern, problem) from problem


class _Writer:
    def __init__(self, pattern: str, forbidden: str) -> None:
        self.pattern = pattern
        self.forbidden = {ord(one) for one in forbidden}
        self.any = negated(forbidden) + f"{{0,{AROUND}}}"

    def refuse(self, what: str) -> Unsupported:
        return _refused(self.pattern, what)

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
