"""Argument objects as JSON text: checked, taken apart, compared, and written as Python literals."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from unbraid.literals import PYTHON_WORDS, json_kind, python_to_json
from unbraid.syntax import MAX_NUMBER, WHITE
from unbraid.writing.pair import fail

__all__ = ["TOKEN", "check_object", "members", "python_literal", "same_value", "string_text"]

_STRING = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_SCALAR = re.compile(_STRING + r"|-?[0-9][-+.0-9eE]*|true|false|null")
TOKEN = re.compile(_SCALAR.pattern + r"|[\[\]{}:,]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_DECODER = json.JSONDecoder()
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile("[\\\\'\x00-\x1f\x7f\ud800-\udfff]")


@dataclass(frozen=True)
class _Number:
    """A number as it is written: ``1`` and ``1.0`` differ."""

    text: str


class _Repeated(ValueError):
    """An object has a key twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _Repeated
    return found


def _load(text: str) -> Any:
    return json.loads(text, parse_int=_Number, parse_float=_Number, object_pairs_hook=_object)


def same_value(left: str, right: str) -> bool:
    """Whether two JSON texts have the same value, numbers compared as they are written."""
    try:
        return left == right or bool(_load(left) == _load(right))
    except (ValueError, RecursionError):
        return False


def check_object(text: str, path: str, *, repeated: bool) -> str:
    """The text of an argument object without outer white space; raises Inexpressible for anything else.

    ``repeated``: a key may stand in it twice.
    """
    text = text.strip(WHITE)
    if json_kind(text) != "object":
        raise fail(path, "not the text of a JSON object of at most 512 levels")
    for token in _SCALAR.finditer(text):
        if token.group()[0] in "-0123456789" and len(token.group()) > MAX_NUMBER:
            raise fail(path, f"a number of more than {MAX_NUMBER} characters")
    if not repeated:
        try:
            _load(text)
        except _Repeated:
            raise fail(path, "a key stands in an object twice") from None
        except RecursionError:
            raise fail(path, "nests too deep to be read from here") from None
    return text


def members(text: str) -> Iterator[tuple[str, str]]:
    """The keys of a valid JSON object and the texts of their values, as they are written."""
    at = _skip(text, 1)
    while text[at] != "}":
        key, at = _DECODER.raw_decode(text, at)
        start = _skip(text, _skip(text, at) + 1)
        _, end = _DECODER.raw_decode(text, start)
        yield key, text[start:end]
        at = _skip(text, end)
        if text[at] == ",":
            at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while text[at] in WHITE:
        at += 1
    return at


def string_text(value: str, path: str) -> str | None:
    """The characters of a JSON string, None for another value; a lone surrogate has no raw spelling."""
    if not value.startswith('"'):
        return None
    text = str(json.loads(value))
    if _LONE_SURROGATE.search(text):
        raise fail(path, "a lone surrogate can't be written as raw text")
    return text


def python_literal(value: str, path: str) -> str:
    """A JSON value as a Python literal; raises Inexpressible for a number without a finite value."""

    def one(found: re.Match[str]) -> str:
        token = found.group()
        if token[0] == '"':
            return f"'{_ESCAPED.sub(_escape, json.loads(token))}'"
        if token in PYTHON_WORDS:
            return PYTHON_WORDS[token]
        if python_to_json(token) != token:
            raise fail(path, f"{token[:40]} is no Python number")
        return token

    return _SCALAR.sub(one, value)


def _escape(found: re.Match[str]) -> str:
    char = found.group()
    return _ESCAPES.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")
