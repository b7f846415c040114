"""Outputs of response templates, as their models write them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from unbraid.response.expression import expression
from unbraid.response.spelling import spelling, tag_of
from unbraid.syntax import Field, Lit, Pattern, ResponseTemplate

__all__ = ["begin", "call", "close", "end", "head", "prompts", "specials", "texts", "thought"]


def _text(marker: Lit | Pattern | None, names: dict[str, str]) -> str:
    if marker is None:
        return ""
    if isinstance(marker, Lit):
        return marker.text
    pieces = spelling(marker.text)
    assert pieces is not None
    return "".join(one if isinstance(one, str) else names[one[0]] for one in pieces)


def texts(marker: Pattern) -> Iterator[str]:
    """The plain pieces of an expression."""
    yield from expression(marker.text).literals()


def specials(half: ResponseTemplate) -> list[str]:
    """What looks like a special token in a template's markers."""
    found: list[str] = []
    for marker in (marker for one in half.fields for marker in (one.open, one.close) if marker):
        listed = marker.spellings if isinstance(marker, Lit) else texts(marker)
        found += [one for text in listed for one in re.findall(r"</?\|?\w+\|?>", text)]
    return list(dict.fromkeys(found))


def begin(half: ResponseTemplate) -> str:
    """What begins the assistant's message in a prompt."""
    return _text(half.anchor, {})


def head(half: ResponseTemplate, strand: str, name: str = "") -> str:
    """What opens a region; nothing for text outside all regions."""
    field = half.field(strand)
    groups = expression(field.open.text).groups if field and isinstance(field.open, Pattern) else ()
    return _text(field.open, dict.fromkeys(groups, name)) if field else ""


def close(half: ResponseTemplate, strand: str) -> str:
    """What closes a region that another follows."""
    field = half.field(strand)
    return _text(field.close, {}) if field and field.open is not None else ""


def end(half: ResponseTemplate, strand: str) -> str:
    """What closes a region, without the beginning of the next message."""
    text = close(half, strand)
    return text.removesuffix(begin(half)) or text


def thought(half: ResponseTemplate, text: str, *, opener: bool = True) -> str:
    """Thinking with its markers."""
    return (head(half, "reasoning") if opener else "") + text + close(half, "reasoning")


def call(half: ResponseTemplate, name: str, arguments: dict[str, Any]) -> str:
    """One call in its region."""
    field = half.field("call")
    assert field is not None
    return head(half, "call", name) + _body(field, name, arguments) + close(half, "call")


def _body(field: Field, name: str, arguments: dict[str, Any]) -> str:
    rule = {"function": {"name": "{content.function.name}", "arguments": "{content.function.arguments}"}}
    function = (json.loads(field.transform) if field.transform else rule)["function"]
    value: Any = arguments
    if function["arguments"] != "{content}":
        value = {}
        for placeholder, one in ((function["name"], name), (function["arguments"], arguments)):
            *outer, last = [key for key in placeholder[1:-1].split(".") if key != "content"]
            place = value
            for key in outer:
                place = place.setdefault(key, {})
            place[last] = one
    if field.each:
        value = [value]
    content = field.content
    if content.kind == "xml-inline" and content.tag is not None:
        tag = tag_of(content.tag.text)
        assert tag is not None
        return "".join(f"{tag.open}{key}{tag.middle}{_raw(one)}{tag.close}" for key, one in value.items())
    if content.kind == "kv-lines":
        return content.line_sep.join(f"{key}{content.kv_sep}{_raw(one)}" for key, one in value.items())
    return _bare(value, content.string_delims[0]) if content.string_delims else json.dumps(value)


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _bare(value: Any, delims: tuple[str, str]) -> str:
    if isinstance(value, str):
        return delims[0] + value + delims[1]
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_bare(one, delims)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_bare(one, delims) for one in value) + "]"
    return json.dumps(value)


def prompts(half: ResponseTemplate) -> list[str | None]:
    """Ends of prompts that open a region, close one, or hold none."""
    start = begin(half)
    opened = start + head(half, "reasoning")
    found = [None, start, opened, opened + "so far", "x", start + thought(half, "x")]
    return [*found, start + head(half, "content") + "so far", start + head(half, "call", "f")]
