"""Hypothesis strategies: tools with schemas, and messages with arguments valid for them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from hypothesis import strategies as st

from unbraid.formats import REASONING_PARSERS, TOOL_PARSERS, reasoning_format, tool_format
from unbraid.message import Message, ToolCall
from unbraid.syntax import Lit

MARKER_FIELDS = ("spellings", "ends_at", "dropped", "early", "label", "quote", "ends", "turns")


@dataclass(frozen=True)
class Turn:
    """A message, and the tools that its calls may use."""

    message: Message
    tools: list[dict[str, Any]]


def markers_of(part: object) -> set[str]:
    """Every literal text that a declaration holds."""
    found: set[str] = set()
    if isinstance(part, Lit):
        found.update(part.spellings)
    elif is_dataclass(part) and not isinstance(part, type):
        for one in fields(part):
            value = getattr(part, one.name)
            if one.name in MARKER_FIELDS and isinstance(value, str):
                found.add(value)
            elif (
                one.name in MARKER_FIELDS
                and isinstance(value, tuple)
                and all(isinstance(v, str) for v in value)
            ):
                found.update(value)
            else:
                found |= markers_of(value)
    elif isinstance(part, tuple):
        for one in part:
            found |= markers_of(one)
    return found - {""}


def every_marker() -> list[str]:
    """The literals of every registered format."""
    found: set[str] = set()
    for name in TOOL_PARSERS:
        found |= markers_of(tool_format(name))
    for name in REASONING_PARSERS:
        found |= markers_of(reasoning_format(name))
    return sorted(found)


WORDS = ["the", "weather", "in", "Oslo", "is", "fine", "x < y", "a[0]", "f(x)", "if a: b", "café",
         "日本", "😀", "3", "-", "e.g.", "don't", '"quoted"', "{", "}", "<b>", "100%", "C:\\dir",
         "&amp;"]  # fmt: skip
SCRAPS = [" ", "\n", "\t", "\r\n", "\n\n", "{", "}", "[", "]", '"', "'", "\\", ",", ":", "<", ">", "a", "3",
          "true", "None", "\x00", "\x0b", "\u2028", "é", "😀", '{"name": "f", "arguments": {}}', "f(a=1)",
          "thought\n"]  # fmt: skip

ordinary_text = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from([" ", " ", " ", "\n", ", ", ". "])),
    min_size=1,
    max_size=12,
).map(lambda pairs: "".join(word + space for word, space in pairs).strip(" \n,{}"))

hostile_text = st.lists(
    st.one_of(
        st.sampled_from(every_marker()),
        st.sampled_from(every_marker()).flatmap(lambda one: st.integers(0, len(one)).map(lambda n: one[:n])),
        st.sampled_from(SCRAPS),
        st.text(max_size=3),
    ),
    max_size=8,
).map("".join)

any_text = st.one_of(ordinary_text, hostile_text, st.text(max_size=20))

ordinary_name = st.from_regex(r"[a-z][a-z0-9_]{0,11}", fullmatch=True)
hostile_name = st.one_of(
    ordinary_name, st.text(min_size=1, max_size=12), st.from_regex(r"[\w.-]{1,12}", fullmatch=True)
)

numbers = st.one_of(st.integers(-(10**30), 10**30), st.integers(-10, 10))
floats = st.floats(allow_nan=False, allow_infinity=False).filter(
    lambda value: value != int(value) or abs(value) < 1e15
)


def json_values(text: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Any JSON value with strings of ``text``."""
    return st.recursive(
        st.one_of(st.none(), st.booleans(), numbers, floats, text),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(text, inner, max_size=3)),
        max_leaves=6,
    )


def slot_schemas(
    text: st.SearchStrategy[str],
) -> st.SearchStrategy[tuple[dict[str, Any], st.SearchStrategy[Any]]]:
    """Schemas of one parameter, each with a strategy of values that are valid for it."""
    string = st.just(({"type": "string"}, text))
    integer = st.just(({"type": "integer"}, numbers))
    number = st.just(({"type": "number"}, st.one_of(numbers, floats)))
    boolean = st.just(({"type": "boolean"}, st.booleans()))
    plain = st.one_of(string, integer, number, boolean)
    union = plain.map(lambda one: ({"anyOf": [one[0], {"type": "null"}]}, st.one_of(st.none(), one[1])))
    enum = st.lists(text.filter(bool), min_size=1, max_size=4, unique=True).map(
        lambda some: ({"type": "string", "enum": some}, st.sampled_from(some))
    )
    array = plain.map(lambda one: ({"type": "array", "items": one[0]}, st.lists(one[1], max_size=3)))
    nested = st.dictionaries(ordinary_name, plain, max_size=3).map(
        lambda some: (
            {"type": "object", "properties": {key: one[0] for key, one in some.items()}},
            st.fixed_dictionaries({}, optional={key: one[1] for key, one in some.items()}),
        )
    )
    anything = st.just(({"description": "any"}, json_values(text)))
    return st.one_of(string, string, integer, number, boolean, union, enum, array, nested, anything)


@st.composite
def tools_and_values(draw: st.DrawFn, text: st.SearchStrategy[str], name: st.SearchStrategy[str]) -> Any:
    """Tools, and for each the strategies of its parameters' values."""
    tools: list[dict[str, Any]] = []
    values: dict[str, dict[str, st.SearchStrategy[Any]]] = {}
    for tool in draw(st.lists(name, min_size=1, max_size=3, unique=True)):
        slots = draw(st.dictionaries(name, slot_schemas(text), max_size=4))
        parameters = {"type": "object", "properties": {key: slot[0] for key, slot in slots.items()}}
        tools.append({"type": "function", "function": {"name": tool, "parameters": parameters}})
        values[tool] = {key: slot[1] for key, slot in slots.items()}
    return tools, values


@st.composite
def turns(
    draw: st.DrawFn,
    text: st.SearchStrategy[str] = ordinary_text,
    name: st.SearchStrategy[str] = ordinary_name,
    strings: st.SearchStrategy[str] | None = None,
    most_calls: int = 3,
) -> Turn:
    """A turn: reasoning and content of ``text``, calls whose string arguments are ``strings``."""
    tools, values = draw(tools_and_values(strings or text, name))
    calls = []
    for index in range(draw(st.integers(0, most_calls))):
        tool = draw(st.sampled_from(sorted(values)))
        arguments = draw(st.fixed_dictionaries({}, optional=values[tool]))
        calls.append(ToolCall(f"call_{index}", tool, json.dumps(arguments, ensure_ascii=draw(st.booleans()))))
    message = Message(
        reasoning=draw(st.none() | text) or None, content=draw(st.none() | text) or None, tool_calls=calls
    )
    return Turn(message, tools)


ordinary_turns = turns()
hostile_turns = turns(text=any_text, name=hostile_name)
