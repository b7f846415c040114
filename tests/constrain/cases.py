"""The formats under test: their other half, their markers, tools, and the parser in each start state."""

from __future__ import annotations

from typing import Any

from tests.support import channels, templates
from tests.support.pairing import families
from unbraid import Parser
from unbraid.formats import reasoning_format, tool_format
from unbraid.machine.setup import literals
from unbraid.syntax import Channels, Joint, Lit, Reasoning, ResponseTemplate, Tools

PAIRS = [(reasoning, tools) for reasoning, tools in families() if tools is not None]
STATES = ("open", "output", "optional", "off")

WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer", "minimum": 1, "maximum": 20},
        "unit": {"enum": ["c", "f", None]},
        "note": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
        "place": {"$ref": "#/$defs/place"},
        "any_of": {
            "anyOf": [{"type": "integer", "minimum": 10}, {"type": "string", "pattern": "^[a-z]{1,3}$"}]
        },
        "flag": {"type": "boolean"},
    },
    "required": ["city", "days"],
    "$defs": {
        "place": {
            "type": "object",
            "properties": {"x": {"type": "number"}, "name": {"type": "string", "maxLength": 4}},
            "required": ["x"],
        }
    },
}


def function(name: str, parameters: Any = None, strict: bool | None = None) -> dict[str, Any]:
    """A tool in OpenAI's shape."""
    inner: dict[str, Any] = {"name": name}
    if parameters is not None:
        inner["parameters"] = parameters
    if strict is not None:
        inner["strict"] = strict
    return {"type": "function", "function": inner}


TOOLS = [
    function("weather", WEATHER, True),
    function("weather_now", {"type": "object", "properties": {"zone": {"type": "string"}, "b": {}}}),
    function("ping", None, True),
]


def halves(reasoning: str | None, tool: str) -> tuple[Reasoning | Joint | None, Tools | Joint]:
    """The declarations of a pair."""
    return (reasoning_format(reasoning) if reasoning else None), tool_format(tool)


def markers(reasoning: str | None, tool: str, special: bool | None = None) -> tuple[str, ...]:
    """The markers of a pair; ``special`` True: only what its tokenizers hold as one token."""
    found: list[Any] = []
    for half in halves(reasoning, tool):
        if isinstance(half, Channels):
            found += half.frames
            for calls in (one.calls for one in half.routes if one.calls is not None):
                found += literals(calls.call.parts)
                found += [calls.section.open, calls.section.close] if calls.section else []
        elif isinstance(half, ResponseTemplate):
            found += [Lit((one,), special=True) for one in templates.specials(half)]
            found += [Lit(one.spellings) for one in half.markers]
        elif isinstance(half, Reasoning):
            found += [half.open, half.close]
        elif half is not None:
            found += literals(half.call.parts)
            found += [half.section.open, half.section.close] if half.section else []
        if isinstance(half, (Reasoning, Tools)) and half.answer:
            found += [half.answer.open, half.answer.close, *([half.answer.end] if half.answer.end else [])]
    kept = [one for one in found if special is None or one.special == special]
    return tuple(dict.fromkeys(spelling for one in kept for spelling in one.spellings))


def states(reasoning: str | None) -> tuple[str, ...]:
    """The start states of thinking that a reasoning half can have."""
    return ("off",) if reasoning is None else STATES


def parser(reasoning: str | None, tool: str, state: str, **options: Any) -> Parser:
    """The parser whose prompt leaves thinking in ``state``."""
    half = reasoning_format(reasoning) if reasoning else None
    prompt = ""
    if isinstance(half, Reasoning):
        if state == "open":
            prompt = half.open.text + half.label
        elif state == "closed":
            prompt = half.open.text + half.label + half.close.text
    if isinstance(half, Channels):
        prompt = channels.begin(half)
        if state == "open":
            prompt += channels.head(half, "reasoning")
    if isinstance(half, ResponseTemplate):
        prompt = templates.begin(half)
        if state == "open":
            prompt += templates.head(half, "reasoning")
    return Parser(reasoning, tool, prompt=prompt, constrained=True, **options)


def thinking_of(reasoning: str | None, tool: str, state: str, text: str) -> tuple[str, str]:
    """Where the grammar ends the thinking of an output: the thinking, and the rest."""
    if reasoning is None or state in ("off", "closed"):
        return "", text
    half, tools = halves(reasoning, tool)
    if isinstance(half, Channels):
        head = channels.head(half, "reasoning")
        if state != "open":
            if not text.startswith(head):
                return "", text
            text = text[len(head) :]
        inside, _, rest = text.partition(channels.end(half, "reasoning"))
        return inside, rest.removeprefix(channels.begin(half))
    if isinstance(half, ResponseTemplate):
        head = templates.head(half, "reasoning")
        if state != "open":
            if not text.startswith(head):
                return "", text
            text = text[len(head) :]
        inside, _, rest = text.partition(templates.close(half, "reasoning"))
        return inside, rest
    assert isinstance(half, Reasoning)
    if state != "open":
        stripped = text.lstrip(" \n")
        opener = next((one for one in half.open.spellings if stripped.startswith(one)), None)
        if opener is None:
            return "", text
        text = stripped[len(opener) :].removeprefix(half.label)
    ends = [(text.find(one), one, True) for one in half.close.spellings]
    if half.tools_inside in ("end", "stay") and isinstance(tools, Tools) and not tools.call.anchor:
        opener = tools.section.open if tools.section else literals(tools.call.parts)[0]
        ends.append((text.find(opener.text), opener.text, False))
    at, marker, consumed = min(end for end in ends if end[0] >= 0)
    return text[:at], text[at + (len(marker) if consumed else 0) :]
