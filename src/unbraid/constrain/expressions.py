"""Regular expressions of the shared subset as trees of character classes.

What a tree tells: which characters may begin it, and whether one character of look-ahead
is always enough to know the way through it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from unbraid.constrain.patterns import parsed
from unbraid.errors import Unsupported

__all__ = [
    "TOP",
    "Cat",
    "Chars",
    "Expression",
    "Or",
    "Ranges",
    "Rep",
    "expression",
    "inverse",
    "meet",
    "union",
]

TOP = 0x10FFFF
Ranges = tuple[tuple[int, int], ...]
"""Code points from the first to the last of each range, in order, apart from each other."""

_WHITE = ((9, 13), (32, 32))
_CATEGORIES: dict[str, Ranges] = {
    "DIGIT": ((0x30, 0x39),),
    "SPACE": _WHITE,
    "WORD": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
}


def union(found: Iterable[tuple[int, int]]) -> Ranges:
    """All code points of any of the ranges."""
    kept: list[tuple[int, int]] = []
    for low, high in sorted(found):
        if kept and low <= kept[-1][1] + 1:
            kept[-1] = (kept[-1][0], max(kept[-1][1], high))
        else:
            kept.append((low, high))
    return tuple(kept)


def inverse(ranges: Ranges) -> Ranges:
    """All other code points."""
    at, found = 0, []
    for low, high in ranges:
        if low > at:
            found.append((at, low - 1))
        at = high + 1
    return (*found, (at, TOP)) if at <= TOP else tuple(found)


def meet(left: Ranges, right: Ranges) -> bool:
    """Whether two sets of code points have one in common."""
    return any(low <= last and first <= high for low, high in left for first, last in right)


class _Tree:
    """What all expressions tell."""

    nullable: bool
    first: Ranges

    def clear(self, follow: Ranges) -> bool:
        """Whether one character tells the way, where ``follow`` are those that may come behind."""
        raise NotImplementedError


@dataclass(frozen=True)
class Chars(_Tree):
    """One character of a class."""

    ranges: Ranges
    nullable = False

    @property
    def first(self) -> Ranges:  # type: ignore[override]
        return self.ranges

    def clear(self, follow: Ranges) -> bool:
        return bool(self.ranges)


@dataclass(frozen=True)
class Cat(_Tree):
    """Its items in order."""

    items: tuple[Expression, ...]

    @cached_property
    def nullable(self) -> bool:  # type: ignore[override]
        return all(one.nullable for one in self.items)

    @cached_property
    def first(self) -> Ranges:  # type: ignore[override]
        return _first(self.items, ())

    def clear(self, follow: Ranges) -> bool:
        return all(one.clear(_first(self.items[n + 1 :], follow)) for n, one in enumerate(self.items))


def _first(items: tuple[Expression, ...], follow: Ranges) -> Ranges:
    """The characters that may begin a sequence, or come behind it if it may be empty."""
    found: list[tuple[int, int]] = []
    for one in items:
        found += one.first
        if not one.nullable:
            return union(found)
    return union([*found, *follow])


@dataclass(frozen=True)
class Or(_Tree):
    """One of its options."""

    options: tuple[Expression, ...]

    @cached_property
    def nullable(self) -> bool:  # type: ignore[override]
        return any(one.nullable for one in self.options)

    @cached_property
    def first(self) -> Ranges:  # type: ignore[override]
        return union(part for one in self.options for part in one.first)

    def clear(self, follow: Ranges) -> bool:
        seen: Ranges = follow if self.nullable else ()
        for one in self.options:
            if meet(one.first, seen):
                return False
            seen = union([*seen, *one.first])
        empty = sum(one.nullable for one in self.options)
        return empty < 2 and all(one.clear(follow) for one in self.options)


@dataclass(frozen=True)
class Rep(_Tree):
    """``item`` at least ``least`` and at most ``most`` times, without end where that is None."""

    item: Expression
    least: int
    most: int | None

    @cached_property
    def nullable(self) -> bool:  # type: ignore[override]
        return not self.least or self.item.nullable

    @property
    def first(self) -> Ranges:  # type: ignore[override]
        return self.item.first

    def clear(self, follow: Ranges) -> bool:
        varies = self.most != self.least
        if self.item.nullable or (varies and meet(self.item.first, follow)):
            return False
        again = () if self.most == 1 else self.item.first
        return self.item.clear(union([*again, *follow]))


Expression = Chars | Cat | Or | Rep


def expression(pattern: str) -> Expression:
    """The tree of a regular expression without anchors; raises Unsupported for what is outside the subset."""
    return _sequence(parsed(pattern), pattern)


def _sequence(items: Any, pattern: str) -> Expression:
    found = tuple(_item(str(op), value, pattern) for op, value in items)
    return found[0] if len(found) == 1 else Cat(found)


def _item(op: str, value: Any, pattern: str) -> Expression:
    if op == "LITERAL":
        return Chars(((value, value),))
    if op == "NOT_LITERAL":
        return Chars(inverse(((value, value),)))
    if op == "ANY":
        return Chars(inverse(((10, 10),)))
    if op == "IN":
        return Chars(_members(value))
    if op in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inner = value
        return Rep(_sequence(inner, pattern), int(least), int(most) if int(most) < 65535 else None)
    if op == "SUBPATTERN":
        return _sequence(value[3], pattern)
    if op == "BRANCH":
        return Or(tuple(_sequence(one, pattern) for one in value[1]))
    raise Unsupported(f"the pattern {pattern!r} holds {op.lower()}, which no grammar here can say")


def _members(members: Any) -> Ranges:
    """The code points of a class."""
    found: list[tuple[int, int]] = []
    negated = False
    for op, value in members:
        name = str(op)
        if name == "NEGATE":
            negated = True
        elif name == "LITERAL":
            found.append((value, value))
        elif name == "RANGE":
            found.append((value[0], value[1]))
        else:
            kind = str(value).removeprefix("CATEGORY_")
            ranges = _CATEGORIES[kind.removeprefix("NOT_")]
            found += inverse(ranges) if kind.startswith("NOT_") else ranges
    ranges = union(found)
    return inverse(ranges) if negated else ranges
