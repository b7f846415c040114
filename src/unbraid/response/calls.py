"""From the body of a region to its calls: the template's transform, and the schema's types."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from unbraid.codecs.json_text import unwrap
from unbraid.literals import json_kind, quote
from unbraid.response.values import (
    JsonText,
    Malformed,
    Placed,
    dumps,
    items,
    member,
    members,
    parse,
    string_of,
)
from unbraid.schema import Slot, Typer
from unbraid.syntax import MAX_DEPTH, MAX_NAME, WHITE, Field

__all__ = ["PLACEHOLDER", "Entry", "read_entries", "rule", "typed"]

PLACEHOLDER = re.compile(r"\{(\w+(?:\.\w+)*)\}")


@dataclass
class Entry:
    """One entry of a region: a call, or what was wrong with it.

    ``start`` is where it begins in the region, None when that is not known. ``name_at`` and
    ``arguments_at`` are the places of the name and of arguments that pass as written.
    """

    start: int | None
    name: str = ""
    arguments: Any = None
    wrong: str = ""
    name_at: tuple[int, int] | None = None
    arguments_at: tuple[int, int] | None = None
    notes: list[str] = field(default_factory=list)


@lru_cache(maxsize=256)
def rule(transform: str) -> Any:
    """The JSON value of a transform."""
    return json.loads(transform)


def _filled(part: Any, names: Mapping[str, Any]) -> Any:
    """A transform with its placeholders replaced."""
    if isinstance(part, str):
        found = PLACEHOLDER.fullmatch(part)
        if found is None:
            return part
        first, *path = found[1].split(".")
        if first not in names:
            raise Malformed(f"the key {first}")
        value = names[first]
        for key in path:
            value = member(value, key)
        return value
    if isinstance(part, dict):
        return {key: _filled(one, names) for key, one in part.items()}
    if isinstance(part, list):
        return [_filled(one, names) for one in part]
    return part


def _mapping(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    if isinstance(value, JsonText) and value.source[value.start] == "{":
        found: dict[str, Any] = {}
        for key, one in members(value):
            found.setdefault(key, one)
        return found
    raise Malformed("an object")


def read_entries(
    part: Field, captures: Mapping[str, Placed], body: str, at: int, ended: bool = True
) -> list[Entry]:
    """The entries of a region whose body stood at ``at``; raises Malformed if none is a call.

    Without ``ended`` the body may be cut: only what proves its own end is taken.
    """
    if not ended and part.content.kind != "json":
        raise Malformed("the region's end")
    content = parse(part.content, body, at)
    if not ended and isinstance(content, str):
        raise Malformed("JSON")
    if part.transform is None:
        found = _listed(content)
    elif part.each:
        listed = items(content)
        if listed is None:
            raise Malformed("a list of objects")
        found = [_each(part.transform, captures, one) for one in listed]
    else:
        found = _listed(_filled(rule(part.transform), {**captures, "content": content}))
    if all(entry.wrong for entry in found):
        raise Malformed(found[0].wrong if found else "a call")
    return found


def _listed(value: Any) -> list[Entry]:
    listed = items(value)
    if listed is None:
        return [_entry(value, None)]
    return [_entry(one, _place(one)) for one in listed]


def _place(value: Any) -> int | None:
    return value.at if isinstance(value, JsonText) and value.at >= 0 else None


def _each(transform: str, captures: Mapping[str, Placed], element: Any) -> Entry:
    try:
        made = _filled(rule(transform), {**captures, **_mapping(element)})
    except Malformed as wrong:
        return Entry(_place(element), wrong=str(wrong))
    return _entry(made, _place(element))


def _entry(value: Any, start: int | None) -> Entry:
    """One call of a value ``{"function": {"name": …, "arguments": …}}``."""
    entry = Entry(start)
    try:
        function = member(value, "function")
        name = string_of(member(function, "name"))
        arguments = member(function, "arguments")
    except Malformed as wrong:
        entry.wrong = str(wrong)
        return entry
    stripped = name.strip(WHITE) if name is not None else ""
    if name is None or not stripped or len(stripped) > MAX_NAME:
        entry.wrong = "a function's name"
        return entry
    entry.name = stripped
    if name.at >= 0:
        quoted = isinstance(member(function, "name"), JsonText)
        length = len(member(function, "name").text) if quoted else len(name)
        entry.name_at = (name.at, name.at + length)
    entry.arguments = _object(arguments)
    if entry.arguments is None:
        entry.wrong = "arguments that are an object"
    elif isinstance(arguments, JsonText) and arguments.at >= 0:
        entry.arguments_at = (arguments.at, arguments.at + len(arguments.text))
    return entry


def _object(value: Any) -> Any:
    """Arguments as an object: a string that holds one is opened, null is an empty one."""
    text = string_of(value)
    if text is not None:
        opened = unwrap(text)
        return None if opened is None else JsonText(opened, 0, len(opened), -1)
    if value is None or (isinstance(value, JsonText) and value.text == "null"):
        return {}
    if isinstance(value, JsonText):
        return value if value.source[value.start] == "{" and not _too_deep(value.text) else None
    return value if isinstance(value, dict) else None


def _too_deep(text: str) -> bool:
    return text.count("{") + text.count("[") > MAX_DEPTH and json_kind(text) is None


# -- types --------------------------------------------------------------------


def typed(entry: Entry, typer: Typer) -> str:
    """The JSON text of the arguments, strings cast where the schema allows none."""
    value = entry.arguments
    if isinstance(value, dict):
        pairs = [f"{quote(key)}: {_raw(one, typer.property(key), entry)}" for key, one in value.items()]
        return "{" + ", ".join(pairs) + "}"
    out: list[str] = []
    at = value.start
    seen: set[str] = set()
    for key, one in members(value):
        if key in seen:
            entry.notes.append("duplicate_key")
        seen.add(key)
        if one.source[one.start] != '"':
            continue
        text, code = typer.property(key).coerce_quoted(json.loads(one.text))
        if code is not None:
            entry.notes.append(code)
        if text[0] != '"':
            out += [value.source[at : one.start], text]
            at = one.end
    return "".join((*out, str(value.source[at : value.end])))


def _raw(value: Any, slot: Slot, entry: Entry) -> str:
    """A value of raw text by its schema; anything that is no string is what it is."""
    if isinstance(value, list) and "array" not in slot.kinds:
        return f"[{', '.join(_raw(one, slot, entry) for one in value)}]"
    if isinstance(value, JsonText) and value.source[value.start] == '"':
        text, code = slot.coerce_quoted(json.loads(value.text))
    elif isinstance(value, str):
        text, code = slot.coerce(value)
    else:
        return dumps(value)
    if code is not None:
        entry.notes.append(code)
    return text
