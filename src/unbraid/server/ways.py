"""In how many ways a value can satisfy a schema, counted without going any of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["MOST_WAYS", "ways"]

MOST_WAYS = 1024
_MOST_PARTS = 32768  # schemas that all ways of one value hold together
_IN_PLACE = ("anyOf", "oneOf")


class _TooMany(Exception):
    pass


@dataclass(frozen=True)
class _Count:
    """``ways``, and the schemas that hold in all of them together."""

    ways: int
    parts: int

    def both(self, other: _Count) -> _Count:
        """One way of each."""
        return _checked(self.ways * other.ways, self.parts * other.ways + other.parts * self.ways)


def _checked(found: int, parts: int) -> _Count:
    if found > MOST_WAYS or parts > _MOST_PARTS:
        raise _TooMany
    return _Count(found, parts)


def ways(root: Any) -> bool:
    """Whether each schema of a document has so few ways that all of them can be looked at."""
    counting = _Counting(root)
    stack = [root]
    try:
        while stack:
            value = stack.pop()
            if isinstance(value, dict):
                counting.of(value)
                stack += value.values()
            elif isinstance(value, list):
                stack += value
    except (_TooMany, RecursionError):
        return False
    return True


class _Counting:
    def __init__(self, root: Any) -> None:
        self.root = root
        self.known: dict[int, _Count] = {}
        self.active: set[int] = set()

    def of(self, schema: Any) -> _Count:
        """The count of one schema; what refers to itself allows nothing that way."""
        if not isinstance(schema, dict):
            return _Count(1, 0)
        if id(schema) in self.active:
            return _Count(0, 0)
        if id(schema) not in self.known:
            self.active.add(id(schema))
            self.known[id(schema)] = self.fresh(schema)
            self.active.discard(id(schema))
        return self.known[id(schema)]

    def fresh(self, schema: Mapping[str, Any]) -> _Count:
        """The count of a schema that was not counted yet."""
        found = _Count(1, 1)
        if isinstance(schema.get("$ref"), str):
            found = found.both(self.of(self.target(schema["$ref"])))
        for part in _list(schema.get("allOf")):
            found = found.both(self.of(part))
        for word in _IN_PLACE:
            options = _list(schema.get(word))
            if options:
                found = found.both(self.any_of(options))
        return found

    def any_of(self, options: Iterable[Any]) -> _Count:
        """One way of one of them."""
        counts = [self.of(one) for one in options]
        return _checked(sum(one.ways for one in counts), sum(one.parts for one in counts))

    def target(self, ref: str) -> Any:
        """What a reference points to, by its last step: definitions are found by their name too."""
        found: Any = self.root
        for step in ref.split("/")[1:]:
            name = step.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
