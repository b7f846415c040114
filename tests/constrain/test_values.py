"""Values of every kind of schema, in every notation: what may be written is read as something valid."""

from __future__ import annotations

import copy
import json
from typing import Any

import jsonschema
import pytest

from tests.constrain.cases import function, markers, parser
from tests.constrain.helpers import accepts, vocabulary, walk
from unbraid import Parser
from unbraid.constrain import constrain
from unbraid.errors import Unsupported
from unbraid.message import Message, ToolCall
from unbraid.writer import write

KIDS = {"type": "array", "items": {"$ref": "#/$defs/t"}}
TREE = {"type": "object", "properties": {"n": {"type": "integer"}, "kids": KIDS}}
OBJECT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
VALUES: dict[str, Any] = {
    "string": {"type": "string"},
    "nullable": {"type": ["string", "null"]},
    "openapi-nullable": {"type": "integer", "nullable": True},
    "integer": {"type": "integer"},
    "bounded-integer": {"type": "integer", "minimum": -3, "exclusiveMaximum": 12},
    "number": {"type": "number"},
    "bounded-number": {"type": "number", "minimum": 0.5, "maximum": 2},
    "boolean": {"type": "boolean"},
    "null": {"type": "null"},
    "enum": {"type": "string", "enum": ["a", "ab", "1", "true", " x", "é"]},
    "mixed-enum": {"enum": ["a", 1, None, True, 2.5]},
    "number-enum": {"type": "integer", "enum": [1, 10, 100]},
    "const": {"const": "only"},
    "const-number": {"const": 7},
    "lengths": {"type": "string", "minLength": 2, "maxLength": 4},
    "least": {"type": "string", "minLength": 3},
    "pattern": {"type": "string", "pattern": "^[A-Z]{2}-\\d+$"},
    "pattern-inside": {"type": "string", "pattern": "b+c"},
    "pattern-choice": {"type": "string", "pattern": "^a|b$"},
    "date": {"type": "string", "format": "date"},
    "strings": {"type": "array", "items": {"type": "string"}},
    "two": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 3},
    "tuple": {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": False},
    "any-array": {"type": "array"},
    "any-object": {"type": "object"},
    "map": {"type": "object", "additionalProperties": {"type": "integer"}},
    "nested": {
        "type": "object",
        "properties": {
            "a": {"type": "string"},
            "b-c": {"type": ["integer", "null"]},
            "d": {"enum": ["x", 3]},
        },
        "required": ["a"],
        "additionalProperties": False,
    },
    "optional-only": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "b": {"type": "null"}},
        "additionalProperties": False,
    },
    "open-object": {"type": "object", "properties": {"a": {"type": "integer"}}, "additionalProperties": True},
    "string-or-object": {"anyOf": [OBJECT, {"type": "string"}]},
    "types-with-object": {"type": ["object", "string", "array"], "required": ["q"], "minItems": 1},
    "integer-or-string": {"anyOf": [{"type": "integer", "minimum": 10}, {"type": "string"}]},
    "integer-or-short": {"anyOf": [{"type": "integer"}, {"type": "string", "maxLength": 2}]},
    "one-of": {"oneOf": [{"type": "boolean"}, {"type": "null"}, {"const": "auto"}]},
    "all-of": {"allOf": [{"type": "integer"}, {"minimum": 3}, {"maximum": 30}]},
    "untyped": {},
    "described": {"description": "anything"},
    "ref": {"$ref": "#/$defs/t"},
    "required-extra": {"type": "object", "required": ["a"], "additionalProperties": {"type": "integer"}},
    "required-by-pattern": {
        "type": "object", "required": ["x_a"], "patternProperties": {"^x_": {"type": "integer"}},
    },
    "declared-and-pattern": {
        "type": "object", "properties": {"x_a": {"type": "number"}}, "required": ["x_a"],
        "patternProperties": {"^x_": {"type": "integer", "minimum": 3}}, "additionalProperties": False,
    },
    "closed-beside": {
        "allOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}},
            {"properties": {"b": {"type": "integer"}}, "additionalProperties": False},
        ]
    },
    "extra-beside": {
        "type": "object", "required": ["a", "b"],
        "allOf": [
            {"properties": {"a": {}}},
            {"properties": {"b": {"type": "string"}}, "additionalProperties": {"type": "integer"}},
        ],
    },
}  # fmt: skip
TOOLS = {
    "hermes": "hermes",
    "qwen3_coder": "qwen3_coder",
    "glm47": "glm47",
    "gemma4": "gemma4",
    "pythonic": "pythonic",
}
BITS = (
    '"',
    '"]',
    '{"a": ',
    "[",
    "null",
    "true",
    "12",
    "\n",
    "{",
    '<|"|>',
    "'",
    "</parameter>",
    "\n<parameter=v>",
    "kids",
    "a",
)


def schema_of(value: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"v": value}, "required": ["v"], "$defs": {"t": TREE}}


@pytest.mark.parametrize("name", sorted(VALUES))
@pytest.mark.parametrize("tool", sorted(TOOLS))
def test_values_are_valid(tool: str, name: str) -> None:
    schema = schema_of(VALUES[name])
    tools = [function("f", schema, True)]
    before = copy.deepcopy(tools)
    constraint = constrain(
        None, tool, tools=tools, tool_choice="required", parallel_tool_calls=False, max_string=5
    )
    assert constraint is not None
    assert tools == before
    reader = parser(None, tool, "off", tools=tools, tool_choice="required")
    words = vocabulary()
    done = seed = 0
    seen = set()
    while done < 12:
        seed += 1
        assert seed < 200
        ids = walk(
            constraint.lark(), words, seed, fragments=[*markers(None, tool), *BITS], bias=(0.0, 0.5)[seed % 2]
        )
        if ids is None:
            continue
        done += 1
        text = words.decode(ids)
        message = reader.parse(text)
        assert message.diagnostics == [], text
        (call,) = message.tool_calls
        assert call.complete, text
        seen.add(call.arguments)
        jsonschema.validate(json.loads(call.arguments), {**schema, "additionalProperties": False})
    assert seen


MAPS: dict[str, Any] = {
    "integers": {"type": "object", "additionalProperties": {"type": "integer"}},
    "one at least": {"type": "object", "additionalProperties": {"type": "boolean"}, "minProperties": 1},
    "two at most": {"type": "object", "additionalProperties": {"type": "boolean"}, "maxProperties": 2},
    "maps": {"type": "object", "additionalProperties": {"type": "object", "additionalProperties": OBJECT}},
    "lists": {"type": "object", "additionalProperties": {"type": "array", "items": {"type": "integer"}}},
}  # fmt: skip


@pytest.mark.parametrize("name", sorted({*MAPS, *(one for one in VALUES if "-" in one)}))
def test_elements_of_any_name_hold_their_schema(name: str) -> None:
    """MiniMax M3: what elements of undeclared names hold is what the schema says of undeclared keys."""
    schema = schema_of({**VALUES, **MAPS}[name])
    tools = [function("f", schema, True)]
    constraint = constrain(None, "minimax_m3", tools=tools, tool_choice="required", max_string=5)
    assert constraint is not None
    reader = parser(None, "minimax_m3", "off", tools=tools, tool_choice="required")
    words = vocabulary()
    pieces = [*markers(None, "minimax_m3"), "</", "<x>", "<item>", "12", "true", *BITS]
    found = []
    for seed in range(60):
        ids = walk(constraint.lark(), words, seed, fragments=pieces, bias=(0.2, 0.5)[seed % 2], limit=500)
        found += reader.parse(words.decode(ids)).tool_calls if ids is not None else []
    assert len(found) > 5
    for call in found:
        jsonschema.validate(json.loads(call.arguments), {**schema, "additionalProperties": False})


RAW = {
    "qwen3_coder": "<tool_call>\n<function=f>\n<parameter=v>\n{}\n</parameter>\n</function>\n</tool_call>",
    "glm47": "<tool_call>f<arg_key>v</arg_key><arg_value>{}</arg_value></tool_call>",
    "hermes": '<tool_call>\n{{"name": "f", "arguments": {{"v": {}}}}}\n</tool_call>',
    "pythonic": "[f(v={})]",
    "gemma4": "<|tool_call>call:f{{v:{}}}<tool_call|>",
}
ACCEPTED = {
    ("qwen3_coder", "string"): ["", "a\n\nb", "{", "</b>"],
    ("qwen3_coder", "nullable"): ["null", "text"],
    ("qwen3_coder", "integer"): ["3", "-12"],
    ("qwen3_coder", "enum"): ["a", "ab", "é"],
    ("qwen3_coder", "nested"): ['{"a": "x"}', '{"a":"x","b-c":null,"d":3}'],
    ("qwen3_coder", "string-or-object"): ['{"a": 1}', "text"],
    ("qwen3_coder", "strings"): ['["\\u003cb>"]', "[]"],
    ("qwen3_coder", "pattern"): ["AB-12"],
    ("glm47", "lengths"): ["abcd"],
    ("glm47", "mixed-enum"): ["a", "1", "null", "true", "2.5"],
    ("hermes", "lengths"): ['"abc"'],
    ("pythonic", "nested"): ["{'a': 'x', 'd': 3}"],
    ("pythonic", "nullable"): ["None", "'x'", '"it\'s"'],
    ("pythonic", "tuple"): ["[1, 'x']"],
    ("gemma4", "nested"): ['{a:<|"|>x<|"|>,d:3}', '{a:<|"|>x<|"|>,b-c:null}'],
    ("gemma4", "boolean"): ["true", "false"],
}
REJECTED = {
    ("qwen3_coder", "string"): ["a</parameter>", "a\n<parameter=w>\nb", "\n</function>"],
    ("qwen3_coder", "integer"): ["x", "3.5", '"3"'],
    ("qwen3_coder", "enum"): ["b", "A"],
    ("qwen3_coder", "nested"): ["{}", '{"a": 3}', '{"a": "x", "z": 1}', '{"a": "</parameter>"}'],
    ("qwen3_coder", "string-or-object"): ['{"b": 1}', " [1]"],
    ("glm47", "lengths"): ["a", "abcde"],
    ("glm47", "string"): ["x</arg_value>", "x</tool_call>"],
    ("hermes", "lengths"): ['"a"', "3"],
    ("pythonic", "nested"): ["{'a': 3}", "{'d': 3}"],
    ("pythonic", "nullable"): ["3", "'"],
    ("gemma4", "string"): ["x", "3", '<|"|>a<|"|>b<|"|>'],
}


@pytest.mark.parametrize(("tool", "name"), sorted({*ACCEPTED, *REJECTED}))
def test_spellings(tool: str, name: str) -> None:
    tools = [function("f", schema_of(VALUES[name]), True)]
    constraint = constrain(None, tool, tools=tools, tool_choice="required")
    assert constraint is not None
    for value in ACCEPTED.get((tool, name), ()):
        assert accepts(constraint.lark(), RAW[tool].format(value)), value
    for value in REJECTED.get((tool, name), ()):
        assert not accepts(constraint.lark(), RAW[tool].format(value)), value


@pytest.mark.parametrize(
    ("tool", "schema", "param"),
    [
        ("qwen3_coder", schema_of({"type": "string", "pattern": "(?=a)b"}), ".v.pattern"),
        ("glm47", schema_of({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}), ".v"),
        ("pythonic", {"type": "object", "properties": {"a-b": {}}, "required": ["a-b"]}, ".a-b"),
        ("glm47", {"type": "object", "properties": {"a<b": {}}, "required": ["a<b"]}, ".a<b"),
        ("hermes", {"type": "string"}, ".type"),
        ("glm47", schema_of({"type": "string", "minLength": 3, "maxLength": 1}), ".v.minLength"),
        ("gemma4", schema_of({"not": {"type": "string"}}), ".v.not"),
        ("glm47", schema_of({"type": "string", "not": {"const": "a"}}), ".v.not"),
    ],
)
def test_what_cannot_be_held_names_its_place(tool: str, schema: Any, param: str) -> None:
    tools = [function("other"), function("f", schema, True)]
    with pytest.raises(Unsupported) as caught:
        constrain(None, tool, tools=tools, tool_choice="required")
    assert (caught.value.param or "").startswith("tools[1].function.parameters")
    assert (caught.value.param or "").endswith(param)


@pytest.mark.parametrize("tool", ["qwen3_coder", "seed_oss", "nemotron_v3", "glm45"])
def test_words_of_python_where_the_format_writes_them(tool: str) -> None:
    """JSON's words are always accepted; Python's where the model's template writes them."""
    schema = {
        "type": "object",
        "properties": {"b": {"type": "boolean"}, "n": {"type": ["null", "integer"]}, "e": {"enum": [True]}},
        "required": ["b", "n", "e"],
        "additionalProperties": False,
    }
    tools = [function("f", schema, strict=True)]
    constraint = constrain(None, tool, tools=tools, tool_choice="required", thinking="off")
    assert constraint is not None
    message = Message(None, None, [ToolCall("", "f", '{"b": false, "n": null, "e": true}')])
    text = write(None, tool, message, tools=tools)
    python = tool != "glm45"
    assert ("None" in text) is python
    json_words = text.replace("False", "false").replace("None", "null").replace("True", "true")
    for words, wanted in ((text, True), (json_words, True), (json_words.replace("null", "None"), python)):
        assert accepts(constraint.lark(), words) is wanted, words
        called = Parser(None, tool, tools=tools).parse(words).tool_calls[0]
        assert json.loads(called.arguments) == {"b": False, "n": None, "e": True}


@pytest.mark.parametrize(("char", "fine"), [("-", True), ("\x1c", False), ("\x1f", False), ("\u2028", False)])
def test_names_of_elements_are_those_that_are_read(char: str, fine: bool) -> None:
    tools = [function("f", {"type": "object"})]
    found = constrain(None, "minimax_m3", tools=tools, tool_choice="required")
    assert found is not None
    mark = "]<]minimax[>["
    text = f'{mark}<tool_call>{mark}<invoke name="f">{mark}<a{char}b>1{mark}</a{char}b>{mark}</invoke>'
    assert accepts(found.lark(), text + f"{mark}</tool_call>") is fine
    calls = parser(None, "minimax_m3", "off", tools=tools).parse(text + f"{mark}</tool_call>").tool_calls
    assert [json.loads(one.arguments) for one in calls if one.complete] == (
        [{f"a{char}b": "1"}] if fine else []
    )


def test_keys_that_are_not_read_are_not_written() -> None:
    """MiniCPM 5 drops a key that a tool with declared keys does not declare: its grammar has none."""
    tools = [function("f", {"type": "object", "properties": {"a": {}}})]
    found = constrain(None, "minicpm5", tools=tools, tool_choice="required")
    assert found is not None
    for key, fine in (("a", True), ("b", False)):
        text = f'<function name="f"><param name="{key}">1</param></function>'
        assert accepts(found.lark(), text) is fine
