"""The keys of an object that is being read."""

from __future__ import annotations

__all__ = ["Keys"]


class Keys:
    """A set of keys in many small sets, so that no step has to move thousands of keys."""

    __slots__ = ("_parts",)

    def __init__(self) -> None:
        self._parts: dict[int, set[str]] = {}

    def __contains__(self, key: str) -> bool:
        part = self._parts.get(hash(key) & 127)
        return part is not None and key in part

    def __bool__(self) -> bool:
        return bool(self._parts)

    def add(self, key: str) -> None:
        """Add a key."""
        self._parts.setdefault(hash(key) & 127, set()).add(key)
