"""Coercion: what JSON value a raw argument text stands for, by the tool's schema.

The first branch of the schema that accepts the text decides: with ``anyOf`` an integer
of at least 10 or a string, ``3`` is a string and ``30`` a number. A listed string
(enum, const) that is exactly the text comes first, a string that may be anything last.
If nothing fits, the value is the string and the diagnostic says so: never a guess.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Literal

from .branches import KINDS, Branch, expand, matches
from .literals import (
    WHITE,
    bare,
    escape_surrogates,
    integer_text,
    json_kind,
    number_text,
    python_to_json,
    quote,
)

__all__ = [
    "VALUE_DOES_NOT_FIT",
    "Slot",
    "Typer",
    "bare",
    "integer_text",
    "json_kind",
    "number_text",
    "python_to_json",
    "quote",
]

VALUE_DOES_NOT_FIT = "value_does_not_fit"
"""Diagnostic code: the schema accepts the text as no value, so it was kept as a string."""

_MOST_CACHED = 1024  # slots kept per schema; keys come from the model


class Slot:
    """The place of one value: what its schema makes of a raw text.

    ``streams``: the raw text is always a string (only strings are possible, or nothing
    is known). ``untyped``: the schema says nothing about the type. ``kinds``: the JSON
    types that are possible, in the order in which they are tried.
    """

    __slots__ = (
        "_branches",
        "_item",
        "_open",
        "_plain",
        "_properties",
        "_root",
        "kinds",
        "streams",
        "untyped",
    )

    def __init__(self, root: object, schema: object) -> None:
        """The slot of ``schema``, a part of the document ``root`` in which references are looked up."""
        self._root = root
        self._branches = [Branch(parts) for parts in expand(root, schema)] or [Branch(())]
        kinds = {kind for branch in self._branches for kind in branch.kinds}
        self.kinds: tuple[str, ...] = tuple(kind for kind in KINDS if kind in kinds)
        self.untyped: bool = not any(branch.typed for branch in self._branches)
        self.streams: bool = kinds <= {"string"}
        self._open = not all(branch.typed for branch in self._branches)
        self._plain = self.streams and any(branch.any_string for branch in self._branches)
        self._properties: dict[str, Slot] = {}
        self._item: Slot | None = None

    def coerce(self, text: str) -> tuple[str, str | None]:
        """The JSON text of a raw text, and a diagnostic code if the schema accepts it as no value."""
        if self._plain:
            return quote(text), None
        branches = self._branches
        if any(branch.names(text) for branch in branches):
            return quote(text), None
        seen: dict[str, str | None] = {}
        for branch in branches:
            value = branch.read(text, seen, self.kinds == ("boolean",))
            if value is not None:
                return value, None
            if branch.recognises(text):
                return quote(text), None
        return quote(text), self._string_code(text)

    def coerce_quoted(self, value: str) -> tuple[str, str | None]:
        """The JSON text of a value that was written as a string, and a diagnostic code or None.

        It stays a string if the schema allows any; else its text is coerced.
        """
        if "string" in self.kinds:
            return quote(value), self._string_code(value)
        return self.coerce(value)

    def coerce_bare(self, text: str) -> tuple[str, str | None]:
        """The JSON text of a word written without quotes, and a diagnostic code or None.

        Without a type a number, boolean or null is what it looks like, else a string;
        with a type it is coerced.
        """
        if self._open:
            word = bare(text)
            if word is not None:
                return word, None
        return self.coerce(text)

    def coerce_json(self, text: str) -> tuple[str, str | None]:
        """The JSON text of a value that was written as JSON, and a diagnostic code or None.

        It stays as it is where the schema allows its type; another text is coerced.
        """
        kind = json_kind(text)
        allowed = kind in self.kinds or (kind == "integer" and "number" in self.kinds)
        if kind is not None and (allowed or self._open):
            return escape_surrogates(text.strip(WHITE)), None
        if kind == "string":
            return self.coerce_quoted(str(json.loads(text)))
        return self.coerce(text)

    def typed(
        self, kind: Literal["string", "json"] | None
    ) -> tuple[bool, Callable[[str], tuple[str, str | None]]]:
        """For a value of a written type: whether it is a string as it stands, and what its text means."""
        if kind is None:
            return self.streams, self.coerce
        if kind == "string":
            return self.streams or "string" in self.kinds, self.coerce_quoted
        return False, self.coerce_json

    def property(self, key: str) -> Slot:
        """The slot of the value under ``key``: declared, by pattern, or additional; else untyped."""
        slot = self._properties.get(key)
        if slot is None:
            choices = [
                [found for part in branch.parts for found in _property_schemas(part, key)]
                for branch in self._branches
            ]
            slot = self._nested(choices)
            if len(self._properties) < _MOST_CACHED:
                self._properties[key] = slot
        return slot

    def item(self) -> Slot:
        """The slot of an array's items; untyped if nothing is said about them."""
        if self._item is None:
            choices: list[list[object]] = []
            for branch in self._branches:
                listed = [one for part in branch.parts for one in _positions(part)]
                every = [part["items"] for part in branch.parts if isinstance(part.get("items"), dict)]
                choices += [[one] for one in listed]
                choices.append(every)
            self._item = self._nested(choices)
        return self._item

    def _string_code(self, text: str) -> str | None:
        return None if any(branch.takes(text) for branch in self._branches) else VALUE_DOES_NOT_FIT

    def _nested(self, choices: list[list[object]]) -> Slot:
        """The slot of: any of the choices, each of which is all of its schemas."""
        merged = [one[0] if len(one) == 1 else {"allOf": one} for one in choices if one]
        if not merged:
            return _UNTYPED
        return Slot(self._root, merged[0] if len(merged) == 1 else {"anyOf": merged})

    def object_parts(self) -> list[tuple[dict[str, object], ...]]:
        return [branch.parts for branch in self._branches if "object" in branch.kinds or not branch.typed]


def _property_schemas(part: dict[str, object], key: str) -> list[object]:
    properties = part.get("properties")
    found = [properties[key]] if isinstance(properties, dict) and key in properties else []
    patterns = part.get("patternProperties")
    if isinstance(patterns, dict):
        for pattern, schema in patterns.items():
            if isinstance(pattern, str) and matches(pattern, key):
                found.append(schema)
    additional = part.get("additionalProperties")
    if not found and isinstance(additional, dict):
        found.append(additional)
    return found


def _positions(part: dict[str, object]) -> list[object]:
    for word in ("prefixItems", "items"):
        schemas = part.get(word)
        if isinstance(schemas, (list, tuple)):
            return list(schemas)
    return []


_UNTYPED = Slot(None, None)


class Typer:
    """The types of a tool's parameters; built once per tool, from its JSON schema.

    Any shape is taken: None, True or a broken schema leave every parameter untyped.
    ``required`` are the keys that must be there.
    """

    __slots__ = ("_declared", "_slot", "required")

    def __init__(self, parameters: object) -> None:
        self._slot = Slot(parameters, parameters)
        branches = self._slot.object_parts()
        required = [_strings(part.get("required") for part in parts) for parts in branches]
        first = required[0] if required else []
        self.required: frozenset[str] = frozenset(first).intersection(*required)
        declared = [key for key in first if key in self.required]
        for parts in branches:
            declared += _strings(_keys(part.get("properties")) for part in parts)
        self._declared = list(dict.fromkeys(declared))

    def property(self, key: str) -> Slot:
        """The slot of a parameter; untyped if the schema doesn't know the key."""
        return self._slot.property(key)

    def order(self) -> list[str]:
        """The declared keys: the required ones in the order of ``required``, then the rest as declared."""
        return list(self._declared)


def _strings(values: Iterable[object]) -> list[str]:
    """The strings in some lists, in order; what is no list or string is passed over."""
    lists = [value for value in values if isinstance(value, (list, tuple))]
    return [one for value in lists for one in value if isinstance(one, str)]


def _keys(value: object) -> list[object]:
    return list(value) if isinstance(value, dict) else []
