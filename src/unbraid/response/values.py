"""The values of a field's body: JSON stays text, and every piece knows where it stood.

What can't be parsed raises Malformed. Nothing recurses into what a model wrote: JSON is
checked as text, and parts of it are found by scanning.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from unbraid.literals import json_kind, quote
from unbraid.response.expression import expression
from unbraid.syntax import MAX_DEPTH, MAX_NUMBER, WHITE, Content

__all__ = [
    "BARE_KEY",
    "JsonText",
    "Malformed",
    "Placed",
    "dumps",
    "items",
    "member",
    "members",
    "parse",
    "string_of",
]

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NEXT = re.compile(_STRING.pattern + r"|[\[\]{}]", re.DOTALL)
_SCALAR = re.compile(r"[^\s,\]}]+")
_DEPTH = MAX_DEPTH + 8
"""Arguments may nest as deep as they may, and a template's own levels around them."""
BARE_KEY = r"[\w.$@/+*=-]+"
"""A key that needs no quotes where a template allows that."""
_SEPARATOR = re.compile(r"\s*([:,])\s*")
_LONG = re.compile(rf"[-+.0-9eE]{{{MAX_NUMBER + 1}}}")
_BAD_ESCAPE = re.compile(r'\\(?:(["\\/bfnrt]|u[0-9a-fA-F]{4})|)|[\x00-\x1f]')


class Malformed(Exception):
    """The body is not what the template says; the text says what was expected."""


class Placed(str):
    """A piece of the region's text that knows where it began, -1 when that was lost."""

    at: int = -1

    @classmethod
    def of(cls, text: str, at: int) -> Placed:
        """``text`` that stood at ``at``."""
        made = cls(text)
        made.at = at
        return made


@dataclass(frozen=True, slots=True)
class JsonText:
    """A valid JSON value inside ``source``, which began at ``base`` of the region (-1: lost)."""

    source: str
    start: int
    end: int
    base: int

    @property
    def text(self) -> str:
        """The value as it is written."""
        return self.source[self.start : self.end]

    @property
    def at(self) -> int:
        """Where it stood in the region, -1 when that was lost."""
        return self.base + self.start if self.base >= 0 else -1


# -- parsing ------------------------------------------------------------------


def parse(content: Content, text: str, at: int) -> Any:
    """The value of a body that stood at ``at`` of its region; raises Malformed."""
    if content.kind == "json":
        return _json(content, text, at)
    if content.kind == "xml-inline":
        return _pairs(content, _tagged(content, text, at))
    if content.kind == "kv-lines":
        return _pairs(content, _lines(content, text, at))
    stripped = text.strip() if content.strip else text
    placed = Placed.of(stripped, at + len(text) - len(text.lstrip()) if content.strip else at)
    return placed if content.kind == "text" else _scalar(content.kind, placed)


def _scalar(kind: str, text: str) -> Any:
    if kind == "bool":
        return text.lower() in ("true", "1")
    if len(text) > 1024 or not text.isascii():
        raise Malformed(f"a number of kind {kind}")
    try:
        found = int(text) if kind == "int" else float(text)
    except ValueError:
        raise Malformed(f"a number of kind {kind}") from None
    if found != found or found in (float("inf"), float("-inf")):
        raise Malformed("a finite number")
    return found


def _json(content: Content, text: str, at: int) -> Any:
    source, base = text, at
    if content.unquoted_keys or content.string_delims:
        source = _as_json(content, text)
        base = at if source == text else -1
    if json_kind(source, _DEPTH) is None:
        source, base = _repaired(source), -1
        if json_kind(source, _DEPTH) is None:
            if content.allow_non_json:
                stripped = text.strip()
                return Placed.of(stripped, at + len(text) - len(text.lstrip()))
            raise Malformed("JSON")
    if _LONG.search(source) and any(_LONG.search(one) for one in _STRING.split(source)):
        raise Malformed(f"numbers of at most {MAX_NUMBER} characters")
    start = len(source) - len(source.lstrip(WHITE))
    return JsonText(source, start, len(source.rstrip(WHITE)), base)


def _repaired(text: str) -> str:
    """Strings with raw control characters escaped and backslashes before other characters doubled."""

    def escape(found: re.Match[str]) -> str:
        char = found.group()
        if char[0] == "\\":
            return char if found[1] is not None else "\\\\"
        return f"\\u{ord(char):04x}"

    return _STRING.sub(lambda found: _BAD_ESCAPE.sub(escape, found.group()), text)


def _as_json(content: Content, text: str) -> str:
    """Bare keys quoted, and strings between the template's own delimiters written as JSON's."""
    out: list[str] = []
    plain = 0
    at = 0
    begins = "|".join(re.escape(opener) for opener, _ in content.string_delims)
    key = rf"(?P<before>[{{,]\s*)(?P<key>{BARE_KEY})(?=\s*:)" if content.unquoted_keys else "(?!)"
    find = re.compile(f"(?P<open>{begins or '(?!)'})|{_STRING.pattern}|{key}", re.DOTALL).search
    closers = dict(content.string_delims)
    while True:
        found = find(text, at)
        if found is None:
            return "".join(out) + _tidy(text[plain:])
        at = found.end()
        opener = found["open"]
        out.append(_tidy(text[plain : found.start()]))
        if opener:
            end = text.find(closers[opener], at)
            if end < 0:
                raise Malformed(closers[opener])
            out.append(quote(text[at:end]))
            at = end + len(closers[opener])
        elif content.unquoted_keys and found["key"]:
            out += [_tidy(found["before"]), quote(found["key"])]
        else:
            out.append(found.group())
        plain = at


def _tidy(text: str) -> str:
    """White space as JSON is mostly written, outside strings."""
    return _SEPARATOR.sub(r"\1 ", text)


def _tagged(content: Content, text: str, at: int) -> Iterator[tuple[str, Placed]]:
    assert content.tag is not None
    for hit in expression(content.tag.text).matches(text):
        groups = hit.groups or {}
        if "key" not in groups or "value" not in groups:
            raise Malformed("a key and a value")
        (key, key_end), (start, end) = groups["key"], groups["value"]
        yield text[key:key_end], Placed.of(text[start:end], at + start)


def _lines(content: Content, text: str, at: int) -> Iterator[tuple[str, Placed]]:
    begin = 0
    for line in text.split(content.line_sep):
        start, begin = begin, begin + len(line) + len(content.line_sep)
        key, sep, value = line.partition(content.kv_sep)
        if not sep:
            continue
        place = at + start + len(key) + len(sep)
        if content.strip:
            key, place, value = key.strip(), place + len(value) - len(value.lstrip()), value.strip()
        yield key, Placed.of(value, place)


def _pairs(content: Content, pairs: Iterator[tuple[str, Placed]]) -> dict[str, Any]:
    """Entries as a mapping; the first value of a key stands unless duplicates are merged."""
    found: dict[str, Any] = {}
    merged: set[str] = set()
    for key, text in pairs:
        if key in found and not content.merge_duplicates:
            continue
        value = text if content.value is None else parse(content.value, text, text.at)
        if key not in found:
            found[key] = value
        elif key in merged:
            found[key].append(value)
        else:
            found[key] = [found[key], value]
            merged.add(key)
    return found


# -- looking into values ------------------------------------------------------


def _skip(text: str, at: int) -> int:
    while text[at] in WHITE:
        at += 1
    return at


def _end(text: str, at: int) -> int:
    """Where the valid JSON value that begins at ``at`` ends."""
    char = text[at]
    if char == '"':
        return _match(_STRING, text, at)
    if char not in "{[":
        return _match(_SCALAR, text, at)
    depth = 0
    for found in _NEXT.finditer(text, at):
        char = found.group()
        depth += (char in "{[") - (char in "}]")
        if not depth:
            return found.end()
    return len(text)


def _match(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else len(text)


def members(value: JsonText) -> Iterator[tuple[str, JsonText]]:
    """The members of a JSON object."""
    source = value.source
    at = _skip(source, value.start + 1)
    while source[at] != "}":
        end = _end(source, at)
        key = str(json.loads(source[at:end]))
        start = _skip(source, _skip(source, end) + 1)
        end = _end(source, start)
        yield key, JsonText(source, start, end, value.base)
        at = _skip(source, end)
        at = _skip(source, at + 1) if source[at] == "," else at


def items(value: Any) -> list[Any] | None:
    """The entries of a list, None for another value."""
    if isinstance(value, list):
        return value
    if not isinstance(value, JsonText) or value.source[value.start] != "[":
        return None
    found: list[Any] = []
    source = value.source
    at = _skip(source, value.start + 1)
    while source[at] != "]":
        end = _end(source, at)
        found.append(JsonText(source, at, end, value.base))
        at = _skip(source, end)
        at = _skip(source, at + 1) if source[at] == "," else at
    return found


def member(value: Any, key: str) -> Any:
    """The value under a key; raises Malformed for a missing key or a value that is no mapping."""
    if isinstance(value, dict):
        if key in value:
            return value[key]
    elif isinstance(value, JsonText) and value.source[value.start] == "{":
        for name, found in members(value):
            if name == key:
                return found
    raise Malformed(f"the key {key}")


def string_of(value: Any) -> Placed | None:
    """The characters of a string, None for another value."""
    if isinstance(value, Placed):
        return value
    if isinstance(value, str):
        return Placed(value)
    if isinstance(value, JsonText) and value.source[value.start] == '"':
        return Placed.of(json.loads(value.text), value.at)
    return None


def dumps(value: Any) -> str:
    """A value as JSON text."""
    if isinstance(value, JsonText):
        return value.text
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quote(key)}: {dumps(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(dumps, value))}]"
    return json.dumps(value)
