"""Messages of a response template: a region for each strand, told backwards from the template."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbraid.literals import quote
from unbraid.message import Message, ToolCall
from unbraid.prompts import PromptState
from unbraid.response.calls import PLACEHOLDER, read_entries, rule, typed
from unbraid.response.program import Place, program
from unbraid.response.spelling import closer_of, marker_text, spelling, tag_of
from unbraid.response.values import BARE_KEY, Malformed, Placed
from unbraid.syntax import WHITE, Content, Field, Lit, Pattern, ResponseTemplate
from unbraid.writing.pair import Pair, fail
from unbraid.writing.values import TOKEN, check_object, members, same_value, string_text

__all__ = ["write_response"]


@dataclass(frozen=True)
class _Region:
    """A region as it is written; ``field`` None is text outside every region."""

    field: Field | None
    opener: str
    body: str
    closer: str = ""
    path: str = "content"


def write_response(
    pair: Pair, template: ResponseTemplate, message: Message, state: PromptState, end: bool
) -> str:
    """The text of a message, region by region; raises Inexpressible."""
    if message.reasoning and not pair.reads_reasoning:
        raise fail("reasoning", "no reasoning parser is named")
    if message.tool_calls and not pair.reads_calls:
        raise fail("tool_calls", "no tools are offered, or no tool parser is named")
    if end and message.content and not message.content.strip():
        raise fail("content", "white space that stands alone is framing")
    regions = _regions(pair, template, message, state.thinking == "open")
    closed = [
        _Region(
            one.field, one.opener, one.body, _closing(template, one, n == len(regions) - 1, end), one.path
        )
        for n, one in enumerate(regions)
    ]
    _check(template, closed, state.thinking == "open")
    return "".join(one.opener + one.body + one.closer for one in closed)


def _regions(pair: Pair, template: ResponseTemplate, message: Message, opened: bool) -> list[_Region]:
    found: list[_Region] = []
    if message.reasoning or opened:
        field = _field(template, "reasoning")
        opener = "" if opened else _opener(field, {}, "reasoning")
        found.append(_Region(field, opener, message.reasoning or "", path="reasoning"))
    if message.content:
        field = _field(template, "content")
        if not message.content.strip() and (message.tool_calls or field.open is not None):
            raise fail("content", "white space that stands alone is framing")
        found.append(_Region(field, _opener(field, {}, "content"), message.content))
    if message.tool_calls:
        found += _calls(pair, _field(template, "call"), message.tool_calls)
    return found


def _field(template: ResponseTemplate, strand: str) -> Field:
    field = template.field(strand)
    if field is None:
        raise fail({"call": "tool_calls"}.get(strand, strand), "the template has no field for it")
    return field


# -- markers ------------------------------------------------------------------


def _opener(field: Field, captures: Mapping[str, str], path: str) -> str:
    text = marker_text(field.open, captures)
    if text is None:
        raise fail(path, "no text can be told for the expression that opens its region")
    return text


def _closing(template: ResponseTemplate, region: _Region, last: bool, end: bool) -> str:
    field = region.field
    if field is None or (field.open is None and not (last and end)):
        return ""
    if last and field.strand == "content" and not end:
        return ""
    text = closer_of(template, field, last)
    if text is None:
        raise fail(region.path, "no text can be told for the expression that closes its region")
    if not text and not last:
        raise fail(region.path, "nothing can follow a region without a closer")
    return text


# -- what the scan will find -------------------------------------------------------


def _check(template: ResponseTemplate, regions: Sequence[_Region], opened: bool) -> None:
    """Refuse texts in which the scan would find other regions than those that were meant."""
    found = program(template)
    text = "".join(one.opener + one.body + one.closer for one in regions)
    at = 0
    for n, one in enumerate(regions):
        explicit = one.field is not None and one.field.open is not None
        if explicit and not (n == 0 and opened):
            place = found.outside.find(text, at, True, _always)
            if place is None or (place.start, place.end) != (at, at + len(one.opener)) or _other(place, one):
                raise fail(one.path, f"its opener is not read as one: {one.opener}")
        at += len(one.opener)
        watch = found.inside[one.field] if explicit and one.field is not None else found.outside
        place = watch.find(text, at, True, _always)
        at += len(one.body)
        if place is not None and place.start < at:
            raise fail(one.path, f"holds the marker {text[place.start : place.end]}")
        if explicit and one.closer and (place is None or place.start != at):
            raise fail(one.path, "its closer is not read as one")
        if explicit and not one.closer and n < len(regions) - 1:
            raise fail(one.path, "nothing can follow a region without a closer")
        if not explicit and one.body and n < len(regions) - 1 and (place is None or place.start != at):
            raise fail(one.path, "what follows is not read as an opener")
        at += len(one.closer)


def _always(marker: str, at: int) -> bool:
    return True


def _other(place: Place, region: _Region) -> bool:
    return place.delimiter is None or place.delimiter.field != region.field


# -- calls --------------------------------------------------------------------


def _calls(pair: Pair, field: Field, calls: Sequence[ToolCall]) -> list[_Region]:
    for n, call in enumerate(calls):
        if not call.complete:
            raise fail(f"tool_calls[{n}]", "the call is incomplete")
    if field.lists:
        groups = [list(calls)]
    else:
        groups = [[call] for call in calls]
    found: list[_Region] = []
    for n, group in enumerate(groups):
        path = f"tool_calls[{n}]"
        captures, body = _body(field, group, path)
        body = _escaped(field, body)
        opener = _opener(field, captures, f"{path}.name")
        _read_back(pair, field, captures, body, group, path)
        found.append(_Region(field, opener, body, path=path))
    return found


def _escaped(field: Field, body: str) -> str:
    """JSON in whose strings no closer stands: its first character is written as an escape."""
    if field.content.kind == "json" and not field.content.string_delims and isinstance(field.close, Lit):
        for one in field.close.spellings:
            if one[0] not in '{}[]":,\\' and not one[0].isalnum() and not one[0].isspace():
                body = body.replace(one, f"\\u{ord(one[0]):04x}{one[1:]}")
    return body


def _read_back(
    pair: Pair, field: Field, captures: Mapping[str, str], body: str, calls: Sequence[ToolCall], path: str
) -> None:
    """Refuse a body that the template and the tools' schemas make something else of."""
    try:
        entries = read_entries(field, {name: Placed(text) for name, text in captures.items()}, body, 0)
    except Malformed as wrong:
        raise fail(path, f"the template makes no call of it: {wrong}") from None
    if [one.name for one in entries] != [one.name for one in calls] or any(one.wrong for one in entries):
        raise fail(f"{path}.name", "the template makes another name of it")
    for entry, call in zip(entries, calls, strict=True):
        read = typed(entry, pair.typer(call.name))
        if not same_value(read, call.arguments.strip(WHITE)):
            raise fail(f"{path}.arguments", f"the template and the schema make {read[:60]} of it")


def _body(field: Field, calls: Sequence[ToolCall], path: str) -> tuple[dict[str, str], str]:
    """The opener's groups and the body of the region of these calls."""
    names: dict[str, str] = {}
    texts: list[str] = []
    for call in calls:
        arguments = check_object(call.arguments, f"{path}.arguments", repeated=field.content.kind == "json")
        meant = {"function": {"name": quote(call.name), "arguments": arguments}}
        if field.transform is None:
            texts.append(f'{{"function": {{"name": {quote(call.name)}, "arguments": {arguments}}}}}')
            continue
        found: dict[str, Any] = {}
        template = rule(field.transform)
        inner = template.get("function") if isinstance(template, dict) else None
        if not isinstance(inner, dict):
            raise fail(path, "the template's transform can't be told backwards")
        for key in ("name", "arguments"):
            _assign(inner.get(key), meant["function"][key], found, f"{path}.{key}")
        captured = spelling(field.open.text) if isinstance(field.open, Pattern) else ()
        for piece in captured or ():
            if isinstance(piece, tuple) and piece[0] in found:
                names[piece[0]] = str(json.loads(found.pop(piece[0])))
        texts.append(_nested(found if field.each else found.get("content", {})))
    if field.lists:
        return names, _written(field.content, f"[{', '.join(texts)}]", path)
    return names, _written(field.content, texts[0], path)


def _assign(part: Any, value: str, found: dict[str, Any], path: str) -> None:
    """Give the placeholders of ``part`` the values that make ``value`` (JSON text) of it."""
    placeholder = PLACEHOLDER.fullmatch(part) if isinstance(part, str) else None
    if placeholder is not None:
        *outer, last = placeholder[1].split(".")
        for key in outer:
            found = found.setdefault(key, {})
            if not isinstance(found, dict):
                raise fail(path, "the template's transform can't be told backwards")
        found[last] = value
    elif isinstance(part, dict) and value.startswith("{"):
        given = dict(members(value))
        if set(given) != set(part):
            raise fail(path, f"the template has exactly the keys {', '.join(part)}")
        for key, one in part.items():
            _assign(one, given[key], found, f"{path}.{key}")
    elif not same_value(json.dumps(part, ensure_ascii=False), value):
        raise fail(path, f"the template has {part!r} here")


def _nested(value: Any) -> str:
    """JSON text of nested mappings of JSON text."""
    if isinstance(value, str):
        return value
    return "{" + ", ".join(f"{quote(key)}: {_nested(one)}" for key, one in value.items()) + "}"


# -- values -------------------------------------------------------------------


def _written(content: Content, value: str, path: str) -> str:
    """A value (JSON text) in the notation of a content parser."""
    if content.kind == "json":
        return _notation(content, value, path) if content.unquoted_keys or content.string_delims else value
    if content.kind in ("xml-inline", "kv-lines"):
        if not value.startswith("{"):
            raise fail(path, "the template holds keys and values only")
        entries = [(key, _raw(one, f"{path}.arguments.{key}")) for key, one in members(value)]
        if content.kind == "kv-lines":
            return content.line_sep.join(f"{key}{content.kv_sep}{text}" for key, text in entries)
        return "".join(_tagged(content, key, text, path) for key, text in entries)
    return _raw(value, path)


def _raw(value: str, path: str) -> str:
    string = string_text(value, path)
    return value if string is None else string


def _tagged(content: Content, key: str, text: str, path: str) -> str:
    assert content.tag is not None
    tag = tag_of(content.tag.text)
    if tag is None:
        raise fail(path, "no text can be told for the template's tag")
    if any(one in text for one in tag.ends):
        raise fail(f"{path}.arguments.{key}", "the text holds what would end the value")
    return f"{tag.open}{key}{tag.middle}{text}{tag.close}"


def _notation(content: Content, value: str, path: str) -> str:
    """JSON with bare keys and the template's own string delimiters."""
    out: list[str] = []
    tokens = [found.group() for found in TOKEN.finditer(value)]
    for token, following in zip(tokens, [*tokens[1:], ""], strict=True):
        if token[0] != '"':
            out.append(token)
            continue
        text = string_text(token, path) or ""
        if following == ":" and content.unquoted_keys and re.fullmatch(BARE_KEY, text):
            out.append(text)
        elif content.string_delims and following != ":":
            opener, closer = content.string_delims[0]
            if closer in text:
                raise fail(f"{path}.arguments", f"a string holds the marker {closer}")
            out.append(opener + text + closer)
        else:
            out.append(token)
    return "".join(out)
