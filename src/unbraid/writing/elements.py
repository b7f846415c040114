"""Nested elements, written token by token from JSON text."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

from unbraid.codecs.elements import ITEM, KEY, holds_list, leaf_json
from unbraid.errors import Inexpressible
from unbraid.schema import Slot, Typer
from unbraid.syntax import MAX_NAME, Elements
from unbraid.writing.pair import fail
from unbraid.writing.values import TOKEN, check_object, members, same_value, string_text

__all__ = ["write_elements"]


class _Open(NamedTuple):
    """An element that is open: its name, its type, whether it is a list."""

    name: str
    slot: Slot
    listed: bool


def write_elements(part: Elements, typer: Typer, arguments: str, path: str) -> str:
    """A JSON object as elements; raises Inexpressible where a value would be read as another."""
    out = []
    for key, value in members(check_object(arguments, path, repeated=False)):
        name, slot, where = _key(key, path), typer.property(key), f"{path}.{key}"
        try:
            out.append(_element(part, name, slot, value, where))
        except Inexpressible:
            if value[0] not in "{[":
                raise
            out.append(f"{part.mark}<{name}>{_leaf(part, slot, value, where)}{part.mark}</{name}>")
    return "".join(out)


def _element(part: Elements, name: str, slot: Slot, value: str, path: str) -> str:
    """One element, those in it nested."""
    tokens = [found.group() for found in TOKEN.finditer(value)]
    out: list[str] = []
    stack: list[_Open] = []
    for n, token in enumerate(tokens):
        if token in ",:":
            continue
        if token in "}]":
            out.append(f"{part.mark}</{stack.pop().name}>")
            continue
        if stack and stack[-1].listed:
            name, slot = ITEM, stack[-1].slot.item()
        elif stack and tokens[n + 1] == ":" and tokens[n - 1] in "{,":
            name = _key(str(json.loads(token)), path)
            slot = stack[-1].slot.property(name)
            continue
        out.append(f"{part.mark}<{name}>")
        if token in "{[":
            stack.append(_Open(name, slot, token == "["))
            _check_container(slot, token, tokens[n + 1], path)
        else:
            out += [_leaf(part, slot, token, path), f"{part.mark}</{name}>"]
    return "".join(out)


def _key(key: str, path: str) -> str:
    if not re.fullmatch(f"{KEY}{{1,{MAX_NAME}}}", key):
        raise fail(path, f"a key is 1 to {MAX_NAME} of {KEY}")
    return key


def _check_container(slot: Slot, opener: str, following: str, path: str) -> None:
    """Raise Inexpressible unless a list or an object is read back as one."""
    if following in "}]":
        value = opener + following
        if leaf_json(slot, "")[0] != value:
            raise fail(path, f"an empty element is not read as {value}")
        return
    listed = opener == "["
    child = ITEM if listed else str(json.loads(following))
    nests = slot.untyped or bool({"array", "object"} & set(slot.kinds))
    if not nests or (slot.streams and not slot.untyped) or holds_list(slot, child) != listed:
        raise fail(path, f"its schema makes no {'list' if listed else 'object'} of the elements")


def _leaf(part: Elements, slot: Slot, value: str, path: str) -> str:
    string = string_text(value, path)
    text = value if string is None else string
    begin = part.mark + "<"
    if (text + begin).find(begin) != len(text):
        raise fail(path, f"a value holds {begin}")
    if not same_value(leaf_json(slot, text)[0], value):
        raise fail(path, f"its schema makes another value of {value[:60]}")
    return text
