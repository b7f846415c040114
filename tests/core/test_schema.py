"""Coercion of raw argument text by schema, and the readers of JSON and Python literals below it."""

from __future__ import annotations

import ast
import copy
import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unbraid.schema import Slot, Typer, bare, integer_text, json_kind, number_text, python_to_json, quote

MISFIT = "value_does_not_fit"


def slot(schema: object, root: dict[str, Any] | None = None) -> Slot:
    return Typer({"type": "object", **(root or {}), "properties": {"x": schema}}).property("x")


def kind(name: str, **more: object) -> dict[str, object]:
    return {"type": name, **more}


STRING, INTEGER, NUMBER, BOOLEAN = kind("string"), kind("integer"), kind("number"), kind("boolean")
NULL, OBJECT, ARRAY = kind("null"), kind("object"), kind("array")

FITS = [
    # strings stay raw text
    (STRING, "02139", '"02139"'),
    (STRING, "true", '"true"'),
    (STRING, '{"a": 1}', '"{\\"a\\": 1}"'),
    (STRING, "", '""'),
    (STRING, " a\n", '" a\\n"'),
    ({}, "3", '"3"'),
    (True, "3", '"3"'),
    (None, "null", '"null"'),
    ({"description": "anything"}, "3", '"3"'),
    ({"type": "mystery"}, "3", '"3"'),
    # null
    (NULL, "null", "null"),
    (NULL, "NULL", "null"),
    (NULL, " None\n", "null"),
    (kind("string", nullable=True), "null", "null"),
    (kind("string", nullable=True), "nil", '"nil"'),
    # boolean
    (BOOLEAN, "true", "true"),
    (BOOLEAN, "False", "false"),
    (BOOLEAN, " TRUE\n", "true"),
    (BOOLEAN, "1", "true"),
    (BOOLEAN, "0", "false"),
    (kind("boolean", enum=[True]), "true", "true"),
    # integer
    (INTEGER, "5", "5"),
    (INTEGER, " 5\n", "5"),
    (INTEGER, "+3", "3"),
    (INTEGER, "007", "7"),
    (INTEGER, "-007", "-7"),
    (INTEGER, "000", "0"),
    (INTEGER, "-0", "-0"),
    (INTEGER, "5.0", "5"),
    (INTEGER, "1e3", "1000"),
    (INTEGER, "-1.50e1", "-15"),
    (INTEGER, "120e-1", "12"),
    (INTEGER, "0e99999999999999999999", "0"),
    (INTEGER, "1e400", "1" + "0" * 400),
    (INTEGER, "123456789012345678901234567890", "123456789012345678901234567890"),
    # number
    (NUMBER, "5", "5"),
    (NUMBER, "5.0", "5.0"),
    (NUMBER, "1e20", "1e20"),
    (NUMBER, "1.50", "1.50"),
    (NUMBER, "+1.5", "1.5"),
    (NUMBER, ".5", "0.5"),
    (NUMBER, "-.5e-3", "-0.5e-3"),
    (NUMBER, "5.", "5.0"),
    (NUMBER, "007", "7"),
    # objects and arrays
    (OBJECT, ' {"a":1,  "a":[1.50]}\n', '{"a":1,  "a":[1.50]}'),
    (OBJECT, "{'a': True, 'b': None}", '{"a": true, "b": null}'),
    (OBJECT, "{'é': ('x', 1)}", '{"é": ["x", 1]}'),
    (kind("object", properties={"n": INTEGER}), '{"n": "7"}', '{"n": "7"}'),
    (ARRAY, "[1,2]", "[1,2]"),
    (ARRAY, "(1, 2)", "[1, 2]"),
    (ARRAY, "{1, 2}", "[1, 2]"),
    (ARRAY, "['it\\'s']", '["it\'s"]'),
    # which branch
    ({"anyOf": [kind("integer", minimum=10), STRING]}, "3", '"3"'),
    ({"anyOf": [kind("integer", minimum=10), STRING]}, "30", "30"),
    ({"type": ["string", "integer"]}, "3", "3"),
    ({"type": ["string", "null"]}, "null", "null"),
    ({"type": ["string", "null"]}, "plain", '"plain"'),
    ({"type": ["number", "integer"]}, "5.0", "5"),
    ({"anyOf": [NUMBER, INTEGER]}, "5.0", "5.0"),
    ({"anyOf": [STRING, INTEGER]}, "plain words", '"plain words"'),
    ({"anyOf": [STRING, INTEGER]}, "3", "3"),
    ({"oneOf": [STRING, {"anyOf": [NULL, BOOLEAN]}]}, "true", "true"),
    ({"anyOf": [INTEGER, {"enum": ["3"]}]}, "3", '"3"'),
    ({"anyOf": [INTEGER, {"enum": ["3"]}]}, "4", "4"),
    ({"anyOf": [INTEGER, {"const": "auto"}]}, "auto", '"auto"'),
    ({"anyOf": [kind("string", pattern="^[0-9]{3}$"), INTEGER]}, "123", '"123"'),
    ({"anyOf": [kind("string", pattern="^[0-9]{3}$"), INTEGER]}, "12", "12"),
    ({"anyOf": [kind("string", pattern="("), INTEGER]}, "12", "12"),
    ({"anyOf": [kind("string", minLength=1), INTEGER]}, "12", "12"),
    ({"anyOf": [{}, INTEGER]}, "12", "12"),
    ({"anyOf": [{}, INTEGER]}, "twelve", '"twelve"'),
    ({"allOf": [INTEGER, {"minimum": 3}]}, "3", "3"),
    ({"allOf": [NUMBER, INTEGER]}, "3.0", "3"),
    (kind("integer", anyOf=[{"minimum": 5}, {"maximum": 2}]), "1", "1"),
    # enum and const
    ({"enum": ["auto", 1, 2.5, None, True]}, "auto", '"auto"'),
    ({"enum": ["auto", 1, 2.5, None, True]}, "1", "1"),
    ({"enum": ["auto", 1, 2.5, None, True]}, "2.5", "2.5"),
    ({"enum": ["auto", 1, 2.5, None, True]}, "None", "null"),
    ({"enum": ["auto", 1, 2.5, None, True]}, "true", "true"),
    ({"const": None}, "null", "null"),
    ({"const": {"a": [1, True]}}, "{'a': [1.0, True]}", '{"a": [1.0, true]}'),
    (kind("string", enum=["a", "b"]), "b", '"b"'),
    # bounds
    (kind("number", multipleOf=0.1), "0.3", "0.3"),
    (kind("number", minimum=0.1), "0.1", "0.1"),
    (kind("integer", minimum="no", maximum=True, multipleOf=0), "1", "1"),
    (kind("integer", multipleOf=7), "7" + "0" * 300, "7" + "0" * 300),
    (kind("string", minLength=2, maxLength=3), "éé", '"éé"'),
    # names that people write
    (kind("str"), "1", '"1"'),
    (kind("int64"), "1", "1"),
    (kind("FLOAT"), "1.5", "1.5"),
    (kind("bool"), "True", "true"),
    (kind("dict"), "{}", "{}"),
    (kind("list"), "[]", "[]"),
    (kind("tuple"), "()", "[]"),
    # no type, but a hint
    ({"properties": {"a": {}}}, "{'a': 1}", '{"a": 1}'),
    ({"properties": {"a": {}}}, "words", '"words"'),
    ({"items": INTEGER}, "[1]", "[1]"),
    ({"minimum": 3}, "4", "4"),
]

MISFITS: list[tuple[object, str]] = [
    *((one, "") for one in (INTEGER, NUMBER, BOOLEAN, NULL, OBJECT, ARRAY)),
    *((one, "words") for one in (INTEGER, NUMBER, BOOLEAN, NULL, OBJECT, ARRAY)),
    (INTEGER, "5.5"),
    (INTEGER, "1e401"),
    (INTEGER, "1_000"),
    (INTEGER, "٣"),
    (INTEGER, "."),
    (INTEGER, "1e99999999999999999999"),
    (NUMBER, "NaN"),
    (NUMBER, "Infinity"),
    (NUMBER, "-inf"),
    (NUMBER, "0x10"),
    (NUMBER, "- 5"),
    (NULL, "none"),
    ({"type": ["boolean", "integer"], "maximum": -1}, "1"),
    ({"type": ["boolean", "null"]}, "1"),
    (OBJECT, "[1]"),
    (OBJECT, '{"a": NaN}'),
    (OBJECT, "{'a': 1"),
    (OBJECT, "{'a': f()}"),
    (OBJECT, "12"),
    (ARRAY, "{}"),
    (ARRAY, "(1)"),
    (ARRAY, "[" * 513 + "]" * 513),
    (kind("integer", minimum=5), "4"),
    (kind("integer", exclusiveMinimum=5), "5"),
    (kind("integer", minimum=5, exclusiveMinimum=True), "5"),
    (kind("integer", maximum=5), "6"),
    (kind("integer", exclusiveMaximum=5), "5"),
    (kind("integer", multipleOf=2), "3"),
    (kind("integer", enum=[1, 2]), "3"),
    (kind("integer", enum=["1"]), "1"),
    (kind("boolean", const=True), "false"),
    (kind("string", enum=["a"]), "b"),
    (kind("string", const="a"), "a "),
    (kind("string", pattern="^a"), "b"),
    (kind("string", minLength=2), "a"),
    (kind("string", maxLength=2), "abc"),
    ({"const": {"a": 1}}, '{"a": true}'),
    ({"const": {"a": 1}}, '{"a": 2}'),
    ({"allOf": [INTEGER, STRING]}, "x"),
]


@pytest.mark.parametrize(("schema", "text", "value"), FITS)
def test_fits(schema: object, text: str, value: str) -> None:
    before = copy.deepcopy(schema)
    assert slot(schema).coerce(text) == (value, None)
    assert schema == before
    json.loads(value)


@pytest.mark.parametrize(("schema", "text"), MISFITS)
def test_nothing_fits(schema: object, text: str) -> None:
    if schema == {"allOf": [INTEGER, STRING]} or schema == kind("integer", enum=["1"]):
        assert slot(schema).kinds == ()
    assert slot(schema).coerce(text) == (quote(text), MISFIT)


@pytest.mark.parametrize(
    ("schema", "streams", "untyped"),
    [
        (STRING, True, False),
        (kind("string", enum=["a"], pattern="a"), True, False),
        ({"enum": ["a", "b"]}, True, False),
        ({"const": "a"}, True, False),
        ({"minLength": 1}, True, False),
        ({"type": ["string"]}, True, False),
        ({"anyOf": [STRING, {"enum": ["a"]}]}, True, False),
        ({}, True, True),
        (True, True, True),
        (False, True, True),
        (None, True, True),
        (7, True, True),
        ({"title": "A", "required": True}, True, True),
        ({"$ref": "#/nowhere"}, True, True),
        ({"type": ["string", "null"]}, False, False),
        (kind("string", nullable=True), False, False),
        ({"anyOf": [{}, NULL]}, False, False),
        (INTEGER, False, False),
        ({"properties": {}}, False, False),
    ],
)
def test_streams(schema: object, streams: bool, untyped: bool) -> None:
    assert (slot(schema).streams, slot(schema).untyped) == (streams, untyped)


@pytest.mark.parametrize(
    ("ref", "text", "value"),
    [
        ("#/$defs/Age", "3", "3"),
        ("#/definitions/a~1b%20c", "true", "true"),
        ("#/properties/list/0", "null", "null"),
        ("Age", "3", "3"),
        ("#/definitions/Age", "3", "3"),  # under the other name
        ("#/$defs/Chain", "3", "3"),
        ("#/$defs/Tree", "{'left': None}", '{"left": null}'),
        ("#/$defs/Loop", "3", '"3"'),
        ("#/$defs/Knot", "3", "3"),
        ("#/$defs/Missing", "3", '"3"'),
        ("https://example.com/schema", "3", '"3"'),
        ("#", "{}", "{}"),
    ],
)
def test_references(ref: str, text: str, value: str) -> None:
    tree = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Tree"}, "n": INTEGER}}
    typer = Typer(
        {
            "type": "object",
            "properties": {"x": {"$ref": ref, "description": "beside it"}, "list": [NULL]},
            "$defs": {
                "Age": INTEGER,
                "Chain": {"allOf": [{"$ref": "#/$defs/Age"}]},
                "Tree": tree,
                "Loop": {"$ref": "#/$defs/Loop"},
                "Knot": {"anyOf": [{"$ref": "#/$defs/Knot"}, INTEGER]},
            },
            "definitions": {"a/b c": BOOLEAN},
        }
    )
    assert typer.property("x").coerce(text) == (value, None)


def test_nested_slots() -> None:
    typer = Typer(
        {
            "properties": {
                "tree": {"$ref": "#/$defs/Tree"},
                "pair": {"type": "array", "prefixItems": [INTEGER, NULL]},
                "maybe": {"anyOf": [{"type": "array", "items": NUMBER}, NULL]},
            },
            "$defs": {
                "Tree": {
                    "type": "object",
                    "properties": {"n": INTEGER, "sub": {"type": "array", "items": {"$ref": "#/$defs/Tree"}}},
                }
            },
        }
    )
    tree = typer.property("tree")
    for _ in range(50):
        assert tree.property("n").coerce("4") == ("4", None)
        tree = tree.property("sub").item()
    assert tree.kinds == ("object",)
    assert tree.property("other").untyped
    assert tree.item().untyped
    assert typer.property("pair").item().kinds == ("null", "integer")
    assert typer.property("maybe").item().coerce("1.5") == ("1.5", None)


def test_property_keywords() -> None:
    typer = Typer(
        {
            "properties": {"a": STRING, "b": {}},
            "patternProperties": {"^n_": INTEGER, "(": NULL, "^n_x": {"minimum": 5}},
            "additionalProperties": BOOLEAN,
        }
    )
    assert typer.property("a").streams
    assert typer.property("b").untyped
    assert typer.property("n_1").coerce("3") == ("3", None)
    assert typer.property("n_x").coerce("3") == ('"3"', MISFIT)
    assert typer.property("other").coerce("True") == ("true", None)
    assert typer.property("a") is typer.property("a")
    assert Typer({"properties": {}, "additionalProperties": False}).property("a").untyped
    both = Typer({"anyOf": [{"properties": {"k": INTEGER}}, {"properties": {"k": STRING}}]})
    assert both.property("k").coerce("3") == ("3", None)
    assert both.property("k").coerce("three") == ('"three"', None)


@pytest.mark.parametrize(
    ("parameters", "order", "required"),
    [
        (None, [], set()),
        (True, [], set()),
        ({}, [], set()),
        ({"properties": {"a": {}, "b": {}, "c": {}}, "required": ["c", "a"]}, ["c", "a", "b"], {"a", "c"}),
        ({"properties": {"a": {}, 1: {}}, "required": ["z", 1, "z"]}, ["z", "a"], {"z"}),
        ({"properties": ["a"], "required": "ab"}, [], set()),
        ({"type": "object", "nullable": True, "properties": {"a": {}}, "required": ["a"]}, ["a"], {"a"}),
        (
            {
                "allOf": [
                    {"properties": {"a": {}}, "required": ["a"]},
                    {"properties": {"b": {}}, "required": ["b"]},
                ]
            },
            ["a", "b"],
            {"a", "b"},
        ),
        (
            {
                "properties": {"a": {}, "b": {}, "c": {}},
                "required": ["c"],
                "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            },
            ["c", "a", "b"],
            {"c"},
        ),
        (
            {"$ref": "#/$defs/P", "$defs": {"P": {"properties": {"a": {}, "b": {}}, "required": ["b"]}}},
            ["b", "a"],
            {"b"},
        ),
    ],
)
def test_order(parameters: object, order: list[str], required: set[str]) -> None:
    typer = Typer(parameters)
    assert typer.order() == order
    assert typer.required == required


def test_quoted_and_bare() -> None:
    assert slot({}).coerce_bare("5") == ("5", None)
    assert slot({}).coerce_bare("None") == ("null", None)
    assert slot({}).coerce_bare("five") == ('"five"', None)
    assert slot({"anyOf": [{}, NULL]}).coerce_bare("5") == ("5", None)
    assert slot(STRING).coerce_bare("5") == ('"5"', None)
    assert slot(INTEGER).coerce_bare("5.0") == ("5", None)
    assert slot({"type": ["string", "integer"]}).coerce_quoted("3") == ('"3"', None)
    assert slot({}).coerce_quoted("3") == ('"3"', None)
    assert slot(INTEGER).coerce_quoted("3") == ("3", None)
    assert slot(INTEGER).coerce_quoted("x") == ('"x"', MISFIT)
    assert slot(kind("string", enum=["a"])).coerce_quoted("x") == ('"x"', MISFIT)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("true", "true"),
        ("True", "true"),
        ("false", "false"),
        ("False", "false"),
        ("null", "null"),
        ("None", "null"),
        ("1e-05", "1e-05"),
        ("1e+21", "1e+21"),
        ("-3", "-3"),
        (" 3 ", "3"),
        ("03", None),
        ("TRUE", None),
        ("", None),
        ("nan", None),
        ("word", None),
        ('"a"', None),
    ],
)
def test_bare(text: str, value: str | None) -> None:
    assert bare(text) == value


def test_quote() -> None:
    assert quote('é"\\\n\x00\x7f😀') == '"é\\"\\\\\\n\\u0000\x7f😀"'
    assert quote("a\ud800b\udfff") == '"a\\ud800b\\udfff"'
    assert slot(OBJECT).coerce('{"a": "\ud800"}') == ('{"a": "\\ud800"}', None)


NOT_JSON = [
    "", " ", ",", "x", "01", "1.", ".5", "+1", "-", "- 1", "1e", "1e+", "--", "1 2", "NaN", "Infinity",
    "-Infinity",
    "truefalse", "nulll", "tr ue", "True", "'a'", '"a', '"', '"\\', '"\n"', '"\\x"', '"\\u12g4"',
    '"\\u12"', '"\\" \\"',
    "[1,]", "[,]", "[,1]", "[1 2]", "[1,,2]", "[:1]", "[1:2]", '["a""b"]', '["a":1]', "[[1]", "[1]]",
    "[1}", "[1,[2],]",
    "{,}", "{1}", "{1:2}", "{p}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1,"b"}', '{"a":1,2}',
    '{"a":"b":"c"}',
    '{"a":[1],2}', '{"a":[]"b":1}', '{"a",[]}', "{[]:1}", "{[]}", "{'a':1}", '{"a":1]', '[{"a":1}{"b":1}]',
    "[][]", "[] []", "{}1", "1[]", "[],", ",[]", "]", "}", "\u00a01", "[\f1]", "\ufeff1", "[\u0663]", "(1)",
]  # fmt: skip

JSON_TEXTS = [
    ("{}", "object"),
    (' {"a" : [1, {"b": "c"}, [], 3], "d": {}}\n', "object"),
    ('{"a":{},"b":2,"c":[]}', "object"),
    ("[[], 1]", "array"),
    ('["a\\u00e9\\n", "]"]', "array"),
    ('"{"', "string"),
    ("-0", "integer"),
    ("12", "integer"),
    ("1.0", "number"),
    ("1E+05", "number"),
    (" true ", "boolean"),
    ("null", "null"),
    ("[" * 512 + "]" * 512, "array"),
    ("[" * 513 + "]" * 513, None),
    *((text, None) for text in NOT_JSON),
]


@pytest.mark.parametrize(("text", "expected"), JSON_TEXTS)
def test_json_kind(text: str, expected: str | None) -> None:
    assert json_kind(text) == expected


NOT_PYTHON = [
    "", " ", ",", "1, 2", "1 2", "[1 2]", "[,]", "(,)", "{,}", "[1,,2]", "[1", "1]", "[1)", "{1]",
    "[1]]", "[1][2]",
    "{'a'", "{'a':}", "{'a':,}", "{'a': 1, 2}", "{1, 'a': 2}", "{'a': 1: 2}", "{[1]: 2}", "{(1): 2}",
    "{:1}",
    "[1: 2]", "('a': 1)", "'a' 'b'", "b'a'", "r'a'", "f'a'", "'a", "'a\\", "nan", "inf", "-inf",
    "1e400", "-1e400",
    "1j", "0x10", "1__0", "1_", "_1", "--1", "-True", "-", "1+2", "f(1)", "a", "Nonex", "...", "[*a]",
    "{**a}",
    r"'\x4'", r"'\u12'", r"'\N{DASH}'", r"'\U00110000'", "[" * 513 + "]" * 513,
]  # fmt: skip

PYTHON_TEXTS = [
    ("'a'", '"a"'),
    ('"it\'s"', '"it\'s"'),
    (r"'\n\t\\\'\"\x41\u00e9\U0001F600\101\0'", '"\\n\\t\\\\\'\\"Aé😀A\\u0000"'),
    (r"'\d\w\/'", '"\\\\d\\\\w\\\\/"'),
    ("'a\\\nb'", '"ab"'),
    ("'a\nb'", '"a\\nb"'),
    (r"'\ud83d'", '"\\ud83d"'),
    ("007", "7"),
    ("1_000", "1000"),
    ("-5", "-5"),
    ("+ 5", "5"),
    (".5", "0.5"),
    ("5.", "5.0"),
    ("1_0.5_0e1_0", "10.50e10"),
    ("9" * 5000, "9" * 5000),
    ("None", "null"),
    ("true", "true"),
    ("[]", "[]"),
    ("()", "[]"),
    ("{}", "{}"),
    ("(1)", "1"),
    ("((1,))", "[1]"),
    ("[1,]", "[1]"),
    ("{1, 'a'}", '[1, "a"]'),
    ("{1,}", "[1]"),
    ("{{}}", "[{}]"),
    ("{'a': {'b': (1, [None])},}", '{"a": {"b": [1, [null]]}}'),
    ("{1: 2, 1.5: 3, True: 4, None: 5, -1: 6}", '{"1": 2, "1.5": 3, "true": 4, "null": 5, "-1": 6}'),
    ("{\"a\": true, 'b': None}", '{"a": true, "b": null}'),
    ("[\n  1,\n  2,\n]", "[1, 2]"),
    *((text, None) for text in NOT_PYTHON),
]


@pytest.mark.parametrize(("text", "expected"), PYTHON_TEXTS)
def test_python_to_json(text: str, expected: str | None) -> None:
    assert python_to_json(text) == expected


# ---------------------------------------------------------------- properties

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
PLAIN = st.text(st.characters(exclude_categories=["Cs"]))
LITERALS = st.recursive(
    SCALARS | PLAIN,
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(PLAIN, inner)
        | st.sets(st.integers() | PLAIN, min_size=1)
    ),
    max_leaves=12,
)
JSON_VALUES = st.recursive(SCALARS | PLAIN, lambda inner: st.lists(inner) | st.dictionaries(PLAIN, inner))
RUBBISH = st.text(st.sampled_from("[]{}(),:'\"\\ \n0123456789.eE+-_trufalsnxU\ud800é"), max_size=40)
TEXTS = RUBBISH | st.text(max_size=40) | LITERALS.map(repr) | JSON_VALUES.map(json.dumps)

WORDS = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "nullable", "$ref", "minimum", "maximum",
         "exclusiveMinimum", "multipleOf", "minLength", "maxLength", "pattern", "properties", "items",
         "prefixItems", "required", "additionalProperties", "patternProperties", "$defs"]  # fmt: skip
VALUES = (
    st.sampled_from(["a", "b", "string", "integer", "number", "boolean", "null", "object", "array", "#",
                     "#/$defs/a", "(", "^[0-9]+$",
                     True, False, None, 0, 3, -1.5, 1e300, float("nan"), float("inf")])
    | SCALARS
)  # fmt: skip
SCHEMAS = st.recursive(
    VALUES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*WORDS, "a", "b"]), inner, max_size=5)
        | st.fixed_dictionaries({"type": st.sampled_from(["string", "integer", ["null", "number"]])})
    ),
    max_leaves=20,
)


def untupled(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return [untupled(one) for one in value]
    if isinstance(value, dict):
        return {key: untupled(one) for key, one in value.items()}
    return sorted(value, key=repr) if isinstance(value, set) else value


@given(LITERALS)
def test_python_to_json_agrees_with_the_interpreter(value: object) -> None:
    text = repr(value)
    converted = python_to_json(text)
    assert converted is not None
    expected = ast.literal_eval(text)
    got = json.loads(converted)
    if isinstance(value, set):
        got = sorted(got, key=repr)
    if "{" not in text:
        assert got == untupled(expected)
    assert json_kind(converted) is not None


@given(RUBBISH)
def test_python_to_json_on_rubbish(text: str) -> None:
    converted = python_to_json(text)
    if converted is not None:
        assert json_kind(converted) is not None
        json.loads(converted)


def refuse(constant: str) -> None:
    raise ValueError(constant)


@settings(max_examples=400)
@given(TEXTS)
def test_json_kind_agrees_with_the_json_module(text: str) -> None:
    try:
        value = json.loads(text, parse_constant=refuse)
    except ValueError:
        assert json_kind(text) is None
        return
    names = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number"}
    assert json_kind(text) == names.get(type(value), "null")


@settings(max_examples=400)
@given(JSON_VALUES, st.data())
def test_json_kind_on_damaged_json(value: object, data: st.DataObject) -> None:
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text)))
    text = (
        text[:at]
        + data.draw(st.sampled_from(["", *'[]{},:"\\0a ']))
        + text[at + data.draw(st.integers(0, 2)) :]
    )
    try:
        json.loads(text, parse_constant=refuse)
    except ValueError:
        assert json_kind(text) is None
    else:
        assert json_kind(text) is not None


@settings(max_examples=400)
@given(SCHEMAS, TEXTS)
def test_coerce_is_total(schema: object, text: str) -> None:
    before = repr(schema)
    typer = Typer(schema)
    assert typer.required <= set(typer.order())
    for one in (slot(schema), typer.property("a"), typer.property(text), slot(schema).item().property("b")):
        for value, code in (one.coerce(text), one.coerce_quoted(text), one.coerce_bare(text)):
            json.loads(value)
            value.encode()
            assert json_kind(value) is not None
            assert code in (None, MISFIT)
        value, code = one.coerce(text)
        if one.streams:
            assert value == quote(text)
        if code is not None:
            assert value == quote(text)
        if one.untyped:
            assert code is None
    assert repr(schema) == before


@given(st.text())
def test_quote_round_trip(text: str) -> None:
    quoted = quote(text)
    quoted.encode()
    assert json.loads(quoted).encode("utf-16", "surrogatepass") == text.encode("utf-16", "surrogatepass")


@given(st.decimals(allow_nan=False, allow_infinity=False, places=3) | st.floats(-1e30, 1e30))
def test_numbers_keep_their_value(number: Decimal | float) -> None:
    text = str(number)
    written = number_text(text)
    assert written is not None
    assert Decimal(written) == Decimal(text)
    whole = integer_text(text)
    assert (whole is not None) == (Decimal(text) == Decimal(text).to_integral_value())
    if whole is not None:
        assert Decimal(whole) == Decimal(text)
        assert json_kind(whole) == "integer"


# ---------------------------------------------------------------- hostile sizes

MILLION = 1_000_000
HUGE = [
    "[" * 100_000,
    "[" * 100_000 + "]" * 100_000,
    "(" * 100_000,
    '{"a":' * 100_000,
    "{'a':" * 100_000,
    "9" * MILLION,
    "9" * MILLION + ".0",
    "0." + "9" * MILLION,
    "1e" + "9" * MILLION,
    "1_" * MILLION,
    "[" + "9" * MILLION + "]",
    "[" + "1," * MILLION + "1]",
    "[" + "1, " * MILLION + "x]",
    "[" + "[]," * 200_000 + "[]]",
    "[" + "()," * 200_000 + "]",
    '"' + '\\"' * MILLION,
    '["' + '\\"' * MILLION + '"]',
    "['" + "\\'" * MILLION,
    "['" + "\\n" * MILLION + "']",
    '{"' * MILLION,
    "'" * MILLION,
    " " * MILLION,
    "-" * MILLION,
    "\ud800" * MILLION,
]


@pytest.mark.parametrize("text", HUGE, ids=[f"{text[:6]!r}" for text in HUGE])
def test_hostile_texts_finish(text: str) -> None:
    everything = ["integer", "number", "boolean", "null", "object", "array"]
    bounded = slot({"type": everything, "minimum": 3, "maximum": 5, "multipleOf": 7})
    value, code = bounded.coerce(text)
    assert (value, code) == (quote(text), MISFIT) or value.startswith("[")
    assert slot(STRING).coerce(text) == (quote(text), None)
    slot({"type": everything}).coerce(text)


def test_long_digits_are_kept() -> None:
    digits = "9" * MILLION
    assert slot(INTEGER).coerce(digits) == (digits, None)
    assert slot(kind("integer", minimum=3)).coerce(digits) == (digits, None)
    assert slot(ARRAY).coerce(f"[{digits}]") == (f"[{digits}]", None)
    assert slot(ARRAY).coerce(f"({digits},)") == (f"[{digits}]", None)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "a*a*a*a*a*b", "a?" * 40 + "a" * 40, "("])
def test_patterns_that_could_stall_are_not_run(pattern: str) -> None:
    text = "a" * 5000
    assert slot({"type": ["string", "null"], "pattern": pattern}).coerce(text) == (quote(text), None)
    assert Typer({"patternProperties": {pattern: INTEGER}}).property(text).untyped


def test_schemas_without_end() -> None:
    knot: dict[str, Any] = {"anyOf": []}
    knot["anyOf"] += [knot, knot, INTEGER]
    assert slot(knot).coerce("3")[0] in ("3", '"3"')
    deep: dict[str, Any] = INTEGER
    for _ in range(5000):
        deep = {"allOf": [deep]}
    assert slot(deep).untyped
    defs = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    assert slot({"$ref": "#/$defs/d0"}, {"$defs": defs}).coerce("x") == ('"x"', None)
    assert slot(kind("integer", minimum=10**5000)).coerce("3") == ('"3"', MISFIT)
    many = {"oneOf": [{"const": f"c{n}"} for n in range(1000)]}
    assert slot(many).coerce("c999") == ('"c999"', None)
    assert slot(many).coerce("d") == ('"d"', MISFIT)
