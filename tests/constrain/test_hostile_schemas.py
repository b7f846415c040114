"""Schemas that are wrong, contradictory or endless: refused with their path, or a valid grammar."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llguidance import LLMatcher

from tests.constrain.cases import PAIRS, function
from tests.constrain.helpers import accepts, vocabulary
from unbraid.constrain import Constraint, constrain
from unbraid.errors import InvalidRequest

PARAMETERS = "tools[0].function.parameters"


def nested(depth: int) -> Any:
    found: Any = {"type": "string"}
    for _ in range(depth):
        found = {"type": "object", "properties": {"a": found}}
    return found


def chain(length: int) -> dict[str, Any]:
    """Definitions each of which holds the next one in a key."""
    named = {
        f"d{n}": {"type": "object", "properties": {"k": {"$ref": f"#/$defs/d{n + 1}"}}} for n in range(length)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**named, f"d{length}": {"type": "string"}}}


PAIR = {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}
VALUES: dict[str, tuple[Any, str]] = {
    "no schema": (5, ".properties.a"),
    "null": (None, ".properties.a"),
    "enum is a number": ({"enum": 5}, ".properties.a.enum"),
    "enum is empty": ({"enum": []}, ".properties.a.enum"),
    "enum of another type": ({"type": "integer", "enum": ["x"]}, ".properties.a"),
    "enum too short": ({"type": "string", "enum": ["x", 1], "minLength": 2}, ".properties.a"),
    "anyOf is a number": ({"anyOf": 5}, ".properties.a.anyOf"),
    "anyOf is empty": ({"anyOf": []}, ".properties.a.anyOf"),
    "anyOf of a number": ({"anyOf": [5]}, ".properties.a.anyOf[0]"),
    "allOf of two types": ({"allOf": [{"type": "string"}, {"type": "integer"}]}, ".properties.a"),
    "allOf of two ranges": (
        {"allOf": [{"type": "integer", "minimum": 3}, {"type": "integer", "maximum": 2}]},
        ".properties.a",
    ),
    "allOf of two lengths": (
        {"allOf": [{"type": "string", "minLength": 3}, {"type": "string", "maxLength": 2}]},
        ".properties.a",
    ),
    "allOf of a key of two types": (
        {
            "allOf": [
                {"type": "object", "properties": {"k": {"type": one}}, "required": ["k"]}
                for one in ("string", "integer")
            ]
        },
        ".properties.a.properties.k",
    ),
    "allOf of two constants": ({"allOf": [{"const": 1}, {"const": 2}]}, ".properties.a"),
    "minLength below 0": ({"type": "string", "minLength": -1}, ".properties.a.minLength"),
    "minLength above maxLength": (
        {"type": "string", "minLength": 5, "maxLength": 3},
        ".properties.a.minLength",
    ),
    "minLength out of reach": ({"type": "string", "minLength": 10**9}, ".properties.a.minLength"),
    "minimum is a text": ({"type": "integer", "minimum": "3"}, ".properties.a.minimum"),
    "minimum above maximum": ({"type": "integer", "minimum": 20, "maximum": 17}, ".properties.a.minimum"),
    "no integer between": ({"type": "integer", "minimum": 1.2, "maximum": 1.8}, ".properties.a"),
    "no multiple between": (
        {"type": "integer", "multipleOf": 5, "minimum": 6, "maximum": 9},
        ".properties.a",
    ),
    "exclusive bounds that meet": (
        {"type": "number", "minimum": 2, "exclusiveMaximum": 2},
        ".properties.a",
    ),
    "multipleOf 0": ({"type": "integer", "multipleOf": 0}, ".properties.a.multipleOf"),
    "multipleOf of many digits": ({"type": "number", "multipleOf": 1e-300}, ".properties.a.multipleOf"),
    "minimum too large": ({"type": "integer", "minimum": 10**40}, ".properties.a.minimum"),
    "maximum too small": ({"type": "number", "maximum": -(10**40)}, ".properties.a.maximum"),
    "minimum too close to 0": ({"type": "number", "minimum": 1e-300}, ".properties.a.minimum"),
    "maximum without end": ({"type": "number", "maximum": float("inf")}, ".properties.a.maximum"),
    "minItems above maxItems": ({"type": "array", "minItems": 3, "maxItems": 1}, ".properties.a.minItems"),
    "more items than positions": (
        {"type": "array", "prefixItems": [{}], "items": False, "minItems": 2},
        ".properties.a",
    ),
    "items is a text": ({"type": "array", "items": "x"}, ".properties.a.items"),
    "prefixItems is an object": ({"type": "array", "prefixItems": {}}, ".properties.a.prefixItems"),
    "properties is a list": ({"type": "object", "properties": []}, ".properties.a.properties"),
    "required is a number": ({"type": "object", "required": 5}, ".properties.a.required"),
    "required holds a number": ({"type": "object", "required": [5]}, ".properties.a.required"),
    "required undeclared": (
        {"type": "object", "properties": {"k": {}}, "required": ["z"], "additionalProperties": False},
        ".properties.a",
    ),
    "required denied": ({"type": "object", "properties": {"k": False}, "required": ["k"]}, ".properties.a"),
    "additionalProperties is a number": (
        {"type": "object", "additionalProperties": 5},
        ".properties.a.additionalProperties",
    ),
    "type of no name": ({"type": "foo"}, ".properties.a.type"),
    "type is a number": ({"type": 5}, ".properties.a.type"),
    "type is empty": ({"type": []}, ".properties.a.type"),
    "half a pair in an enum": ({"enum": ["\ud800"]}, ".properties.a.enum[0]"),
    "half a pair in a key": ({"type": "object", "properties": {"\udc00": {}}}, ".properties.a.properties"),
    "a reference to nothing": ({"$ref": "#/$defs/none"}, ".properties.a.$ref"),
    "a reference elsewhere": ({"$ref": "http://example.com/"}, ".properties.a.$ref"),
    "a reference to a number": ({"$ref": "#/properties/a/maximum", "maximum": 3}, ".properties.a.$ref"),
    "a reference to itself": ({"$ref": "#/properties/a"}, ".properties.a"),
    "not": ({"not": {}}, ".properties.a.not"),
    "a key of no text": ({"type": "object", "properties": {1: {}}}, ".properties.a.properties"),
    "patterns that meet": (
        {"type": "object", "patternProperties": {"a": {}, "b": {}}},
        ".properties.a.patternProperties",
    ),
    "a listed object without a key": (
        {"type": "object", "enum": [{"k": 1}], "required": ["z"]},
        ".properties.a",
    ),
    "a set": ({"enum": {1, 2}}, ".properties.a.enum"),
}
PATTERNS = {
    name: ({"type": "string", "pattern": pattern}, ".properties.a.pattern")
    for name, pattern in {
        "an open group": "(",
        "a look-ahead": "(?=a)b",
        "a look-behind": "(?<!a)b",
        "a back-reference": r"(a)\1",
        "a word boundary": r"\bfoo\b",
        "an anchor inside": "a^b",
        "an end inside": "(a$)b",
        "a flag": "(?i)a",
        "a comment": "(?#c)a",
        "an atomic group": "(?>a)",
        "an open count": "x{",
        "a count of its own": "x{,5}",
        "a set in a set": "[[a]",
        "a cut of sets": "[a&&b]",
        "an end of its own": r"a\Z",
        "a class of its own": r"\p{L}",
        "a control": r"\cA",
        "half a pair": r"\ud800",
        "a range to a class": r"[a-\d]",
        "two counts": "a{3}{4}",
        "too many copies": "((a{1,1000}){1,1000}){1,1000}",
        "many groups": "(" * 5000 + ")" * 5000,
    }.items()
}
FINE = {
    name: (schema, None)
    for name, schema in {
        "classes": {"type": "string", "pattern": r"^[\w.-]+@(?:[a-z\d]+\.){1,3}[^\s\]]{2}\/\@\-$"},
        "branches": {"type": "string", "pattern": "^(?:a|b{2})c?$"},
        "dialect names": {"type": "dict"},
        "nullable": {"type": "integer", "nullable": True},
        "numbers of 64 bits": {"type": "integer", "minimum": -(2**63), "maximum": 2**64 - 1},
        "doubles": {"type": "number", "minimum": -1.7e308, "maximum": 1.7e308},
        "small bounds": {"type": "number", "exclusiveMinimum": 1e-9, "multipleOf": 0.01},
        "a list of itself": {"type": "array", "items": {"$ref": "#/properties/a"}},
        "one branch is impossible": {
            "allOf": [{"anyOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "string"}]
        },
        "open": {"type": "object", "properties": {"k": {}}, "required": ["z"], "additionalProperties": True},
        "one key at most": {"type": "object", "maxProperties": 1},
        "one item at most": {"type": "array", "maxItems": 1},
        "patterns apart": {"type": "object", "patternProperties": {"^x-": {"type": "null"}, "^y-": {}}},
        "required alone": {"type": "object", "required": ["z"]},
        "an integer that is a number": {"allOf": [{"type": "number"}, {"type": "integer", "minimum": 3}]},
    }.items()
}
ROOTS: dict[str, tuple[Any, str]] = {
    "no schema": (5, ""),
    "a list": ([], ""),
    "no object": ({"type": "integer"}, ""),
    "properties is a number": ({"properties": 5}, ".properties"),
    "required is a number": ({"required": 5}, ".required"),
    "required undeclared at the top": (
        {"type": "object", "properties": {"k": {}}, "required": ["z"]},
        "",
    ),
    "a circle": ({"$ref": "#/$defs/a", "$defs": PAIR}, ".$defs."),
    "a circle of one": ({"$ref": "#"}, ""),
    "a circle beside": ({"anyOf": [{"$ref": "#"}, {"type": "object"}]}, ""),
    "a circle that nothing names": ({"type": "object", "$defs": PAIR}, ".$defs."),
    "300 levels": (nested(300), ""),
    "100000 levels": (nested(100_000), ""),
    "33 levels": (nested(33), ""),
    "300 definitions in a row": (chain(300), ".$defs.d"),
}
ALL = {
    **{
        name: ({"type": "object", "properties": {"a": schema}, "required": ["a"]}, path)
        for name, (schema, path) in {**VALUES, **PATTERNS, **FINE}.items()
    },
    **ROOTS,
    "31 levels": (nested(31), None),
    "60 definitions in a row": (chain(60), None),
    "60 references in a row": (
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/d0"}},
            "$defs": {**{f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(60)}, "d60": {"type": "null"}},
        },
        None,
    ),
}


def tried(reasoning: str | None, tool: str | None, **options: Any) -> Constraint | InvalidRequest:
    """The grammar, which must be valid, or the refusal."""
    try:
        found = constrain(reasoning, tool, **{"tool_choice": "required", "max_string": 64, **options})
        assert found is not None
        lark = found.lark()
    except InvalidRequest as refused:
        return refused
    problem = LLMatcher.validate_grammar(LLMatcher.grammar_from_lark(lark), vocabulary().ll)
    assert not problem, problem[:300]
    assert found.digest
    return found


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_every_notation_refuses_with_the_path_or_holds(reasoning: str | None, tool: str) -> None:
    wrong = {}
    for name, (schema, path) in ALL.items():
        found = tried(reasoning, tool, tools=[function("f", schema, True)])
        if path is None:
            fine = isinstance(found, Constraint) or (found.param or "").startswith(("tools", PARAMETERS))
        else:
            fine = isinstance(found, InvalidRequest) and (found.param or "").startswith(PARAMETERS + path)
        if not fine:
            wrong[name] = found.param if isinstance(found, InvalidRequest) else "held"
    assert wrong == {}


@pytest.mark.parametrize("tool", ["hermes", "openai", "mistral"])
def test_json_holds_what_is_fine(tool: str) -> None:
    for name in FINE:
        assert isinstance(tried(None, tool, tools=[function("f", ALL[name][0], True)]), Constraint), name


OPEN = ("no object", "required undeclared at the top")


@pytest.mark.parametrize("name", sorted(ALL))
def test_an_answer(name: str) -> None:
    schema, path = ALL[name]
    found = tried("qwen3", None, tools=None, tool_choice="none", response_schema=schema, thinking="open")
    if isinstance(found, InvalidRequest):
        assert (found.param or "").startswith("response_schema" + (path or ""))
    else:
        assert path is None or name in OPEN


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_what_nothing_enforces_may_be_anything_but_deep(reasoning: str | None, tool: str) -> None:
    for name, (schema, _) in ALL.items():
        found = tried(reasoning, tool, tools=[function("f", schema)])
        assert isinstance(found, Constraint) is ("levels" not in name or name == "31 levels"), name


def test_integers_end() -> None:
    tools = [function("f", {"type": "object", "properties": {"a": {"type": "integer"}}}, True)]
    found = constrain(None, "hermes", tools=tools, tool_choice="required")
    assert found is not None
    for digits, fine in ((18, True), (19, False), (40, False)):
        text = '<tool_call>\n{"name": "f", "arguments": {"a": %s}}\n</tool_call>' % ("9" * digits)
        assert accepts(found.lark(), text) is fine


def test_names_are_text() -> None:
    with pytest.raises(InvalidRequest) as caught:
        constrain(None, "hermes", tools=[function("f\ud800")], tool_choice="required")
    assert caught.value.param == "tools[0].function.name"


def test_the_schema_is_not_changed() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer", "maximum": 2**64}}}
    before = json.dumps(schema)
    assert isinstance(tried(None, "hermes", tools=[function("f", schema, True)]), Constraint)
    assert json.dumps(schema) == before
