"""Gemma's object notation, written token by token from JSON text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from operator import itemgetter

from unbraid.codecs.gemma import KEY, quoted_json
from unbraid.schema import Slot, Typer, bare, quote
from unbraid.syntax import MAX_NAME, WHITE, GemmaObject
from unbraid.writing.pair import fail
from unbraid.writing.values import TOKEN, check_object, members, same_value, string_text

__all__ = ["write_gemma"]

_BARE_KEY = re.compile(f"{KEY}+")


def write_gemma(part: GemmaObject, typer: Typer, arguments: str, path: str) -> str:
    """A JSON object in Gemma's notation; raises Inexpressible where a value would be read as another."""
    text = check_object(arguments, path, repeated=False)
    if not part.strings:
        return _all_quoted(part, typer, text, path)
    written = ""
    frames: list[_Frame] = []
    slot: Slot | None = None
    tokens = [found.group() for found in TOKEN.finditer(text)]
    for n, token in enumerate(tokens):
        frame = frames[-1] if frames else None
        done: str | None = None
        if token in "{[":
            frames.append(_Frame(token == "{", slot))
            slot = slot.item() if token == "[" and slot else None
        elif token in "]}":
            done = frames.pop().text()
        elif token == ",":
            slot = None if frame is None or frame.keyed or frame.slot is None else frame.slot.item()
        elif frame is not None and frame.keyed and tokens[n + 1] == ":" and tokens[n - 1] in "{,":
            frame.key = str(json.loads(token))
            frame.spelled = _key(part, frame.key, path) + ":"
            parent = frame.slot
            slot = typer.property(frame.key) if len(frames) == 1 else parent and parent.property(frame.key)
        elif token != ":":
            done = _scalar(part, token, slot, path)
        if done is not None:
            if frames:
                frames[-1].items.append((frames[-1].key.lower(), frames[-1].spelled + done))
            else:
                written = done
    return written


@dataclass
class _Frame:
    """An object or a list that is being written: its type, its items, and the key of the next one."""

    keyed: bool
    slot: Slot | None
    items: list[tuple[str, str]] = field(default_factory=list)
    key: str = ""
    spelled: str = ""

    def text(self) -> str:
        """The whole of it."""
        items = sorted(self.items, key=itemgetter(0)) if self.keyed else self.items
        inside = ",".join(text for _, text in items)
        return f"{{{inside}}}" if self.keyed else f"[{inside}]"


def _all_quoted(part: GemmaObject, typer: Typer, text: str, path: str) -> str:
    """Every argument between markers."""
    out = []
    for key, value in members(text):
        where = f"{path}.{key}"
        string = string_text(value, where)
        raw = value if string is None else string
        read, _ = quoted_json(part, raw, typer.property(key))
        if not same_value(read, value):
            raise fail(where, f"as raw text its schema makes {read[:60]} of it")
        out.append(f"{_key(part, key, where)}:{_quoted(part, raw, where)}")
    return "{" + ",".join(out) + "}"


def _key(part: GemmaObject, key: str, path: str) -> str:
    if _BARE_KEY.fullmatch(key) and key == key.strip(WHITE) and len(key) <= MAX_NAME:
        return key
    return _quoted(part, key, path)


def _quoted(part: GemmaObject, text: str, path: str) -> str:
    if (text + part.quote).find(part.quote) != len(text):
        raise fail(path, f"a string holds the marker {part.quote}")
    return part.quote + text + part.quote


def _scalar(part: GemmaObject, token: str, slot: Slot | None, path: str) -> str:
    """A string between markers, or a bare number or word."""
    if token[0] == '"':
        text = str(json.loads(token))
        if not (slot is None or slot.untyped or "string" in slot.kinds):
            read, _ = slot.coerce_quoted(text)
            if not same_value(read, token):
                raise fail(path, f"its schema makes {read[:60]} of the string {token[:60]}")
        return _quoted(part, text, path)
    read = slot.coerce_bare(token)[0] if slot else bare(token) or quote(token)
    if not same_value(read, token):
        raise fail(path, f"its schema makes {read[:60]} of {token[:60]}")
    return token
