"""What the page of a response template says: its regions, its grammar, its limits, its states."""

from __future__ import annotations

import json
from typing import Any

from unbraid.syntax import Field, Lit, Pattern, ResponseTemplate

__all__ = ["template_diagram", "template_grammar", "template_limits", "template_markers"]

_NAMES = {"reasoning": "thinking", "content": "content", "call": "call"}
_OPENS = {"reasoning": "opens thinking", "content": "opens content", "call": "opens a call"}
_CLOSES = {"reasoning": "closes thinking", "content": "closes content", "call": "closes a call"}
_BODIES = {
    "json": "JSON", "xml-inline": "TAGS", "kv-lines": "LINES", "text": "TEXT", "int": "INTEGER",
    "float": "NUMBER", "bool": "BOOLEAN",
}  # fmt: skip


def template_markers(half: ResponseTemplate) -> list[tuple[Lit, str]]:
    """Every marker with its role; an expression as it is written."""
    found: list[tuple[Lit, str]] = []
    for one in half.fields:
        found += [(_lit(one.open), _OPENS[one.strand])] if one.open is not None else []
        found += [(_lit(one.close), _CLOSES[one.strand])] if one.close is not None else []
    return found


def _lit(marker: Lit | Pattern) -> Lit:
    return marker if isinstance(marker, Lit) else Lit((f"/{marker.text}/",))


def _text(marker: Lit | Pattern) -> str:
    """A marker in a grammar's notation."""
    if isinstance(marker, Pattern):
        return f"? /{marker.text}/ ?"
    texts = [json.dumps(one, ensure_ascii=False) for one in marker.spellings]
    return texts[0] if len(texts) == 1 else f"( {' | '.join(texts)} )"


def template_grammar(half: ResponseTemplate) -> list[str]:
    """The regions as rules."""
    names = [_NAMES[one.strand] for one in half.fields]
    outside = "" if any(one.open is None for one in half.fields) else " | OUTSIDE"
    lines = [f"output   = {{ {' | '.join(names)}{outside} }} ;"]
    for one in half.fields:
        steps = [_text(one.open)] if one.open is not None else []
        steps.append(_BODIES[one.content.kind] if one.strand == "call" else "TEXT")
        if one.close is not None:
            steps.append(f"[ {_text(one.close)} ]" if one.open is None else f"( {_text(one.close)} | END )")
        lines.append(f"{_NAMES[one.strand]:8} = {' , '.join(steps)} ;")
    return [*lines, f"(* the prompt ends with {_text(half.anchor)} *)"]


def template_limits(half: ResponseTemplate) -> list[str]:
    """What no text of the template can hold."""
    lines = ["Text in a region that holds what closes it."]
    if any(one.open is None for one in half.fields):
        lines.append("Content that holds what opens another region.")
    call = half.field("call")
    if call is not None:
        lines.append("Arguments that hold what closes the call's region, even inside a string.")
        lines += _call_limits(call)
    return lines


def _call_limits(call: Field) -> list[str]:
    if call.content.kind == "json":
        return []
    return ["A value whose text the schema reads as another value, such as `3` for a string or integer."]


def template_diagram(half: ResponseTemplate, escaped: Any) -> list[str]:
    """The states between regions; ``escaped`` writes a marker in a label."""
    lines = ["    [*] --> Outside"]
    for one in half.fields:
        if one.open is None:
            continue
        state = _NAMES[one.strand].capitalize()
        lines.append(f"    Outside --> {state} : {escaped(_lit(one.open).text)}")
        close = escaped(_lit(one.close).text) if one.close is not None else "the output ends"
        lines.append(f"    {state} --> Outside : {close}")
    return [*lines, "    Outside --> [*]"]
