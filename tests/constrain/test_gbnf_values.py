"""What GBNF can say: expressions, lengths, exclusions, numbers, counts, schemas, each by its definition."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Any

import jsonschema
import pytest

from tests.constrain.cases import function, markers, parser
from tests.constrain.gbnf import Matcher, walk
from tests.constrain.test_any_schema import held_or_refused, random_object
from tests.constrain.test_law6 import FUZZ, KEYS
from unbraid.constrain import Constraint, constrain
from unbraid.constrain.gbnf import to_gbnf
from unbraid.constrain.tree import Grammar, Json, Marker, Node, Regex, Repeat, Run, Text, json_node, seq
from unbraid.errors import Unsupported

SCHEMAS = 400 if FUZZ else 30


def matched(node: Node) -> Matcher:
    """The matcher of the GBNF of one node."""
    return Matcher(to_gbnf(Grammar(node, {})))


def texts(alphabet: str, longest: int) -> Iterator[str]:
    """Every text of at most that many characters."""
    for length in range(longest + 1):
        yield from map("".join, product(alphabet, repeat=length))


@pytest.mark.parametrize(
    "pattern",
    [
        "a*b",
        "(?:ab|ac)*",
        "(?:a|ab)(?:c|bc)",
        "a{2,3}b?",
        "(?:a?b?){2}",
        "(?:a*)*b",
        "[^a]a",
        r"[ab]{0,4}[bc]",
        "(?:|a)b|c",
        "a|(?:b|c){2}",
        "(?:(?:a|b)+c?){1,2}",
        "",
    ],
)
def test_expressions(pattern: str) -> None:
    plain, bounded = matched(Regex(pattern)), None
    for text in texts("abc", 5):
        assert plain.accepts(text) == bool(re.fullmatch(pattern, text)), text
    if pattern:
        bounded = matched(Regex(pattern, 1, 3))
        without = matched(Regex(pattern, exclude=("ab", "cc")))
        for text in texts("abc", 5):
            whole = bool(re.fullmatch(pattern, text))
            assert bounded.accepts(text) == (whole and 1 <= len(text) <= 3), text
            assert without.accepts(text) == (whole and "ab" not in text and "cc" not in text), text


def test_characters_of_all_kinds() -> None:
    odd = "\"\\\n\t\r-]^[|<é｜▁😀'"
    assert matched(Text(odd)).accepts(odd)
    negated = matched(Regex(r"[^\n\"\\\]\-^é😀]"))
    for char in odd:
        assert negated.accepts(char) == (char not in '\n"\\]-^é😀'), char
        assert matched(Regex(f"[{re.escape(char)}x]{{2}}")).accepts(char + "x")


END = Marker("bab")


@pytest.mark.parametrize(
    "run",
    [
        Run(("bb",), end=END),
        Run(("bab",), end=END),
        Run(("ab", "ca"), end=END),
        Run((), end=END),
        Run(("aa", "bc")),
        Run(("cc", "bca"), 1, 3, end=Marker("bca")),
        Run((), 0, 2, end=Marker("c")),
        Run(("a",), 2, None, end=Marker("c")),
    ],
)
def test_free_text(run: Run) -> None:
    """Text up to its first end, nothing excluded in it, of its length."""
    match = matched(run)
    for text in texts("abc", 7):
        body = text
        if run.end is not None:
            at = next(
                (
                    n
                    for n in range(len(text) + 1)
                    if text.startswith(run.end.text, n) and not any(one in text[:n] for one in run.exclude)
                ),
                None,
            )
            right = at is not None and text[at:] == run.end.text
            body = text[: len(text) - len(run.end.text)]
        else:
            right = not any(one in text for one in run.exclude)
        right = right and run.least <= len(body) and (run.most is None or len(body) <= run.most)
        if run.least or run.most is not None:
            right = right and not any(one in body for one in run.exclude)
        assert match.accepts(text) == right, text


def test_free_text_before_a_token() -> None:
    match = matched(seq(Run(("<x>",), end=Marker("</t>", 7)), Text("!")))
    assert match.accepts([*"a</t", 7, "!"])
    assert match.accepts([7, "!"])
    for text in ("a</t>!", "a<x>"):
        assert not match.accepts(text)
    assert not match.accepts([*"a", 8, "!"])


def test_lines() -> None:
    free, ended = matched(Run(line="{")), matched(Run(line="{", end=Marker("{")))
    for text in texts("a {\n", 5):
        lines = [one.lstrip(" ") for one in text.split("\n")]
        assert free.accepts(text) == (not any(one.startswith("{") for one in lines)), text
        *before, last = lines
        assert ended.accepts(text) == (last == "{" and not any(one.startswith("{") for one in before)), text


@pytest.mark.parametrize(("least", "most"), [(0, 1500), (3, 1501), (0, 3100), (1600, 3100), (3001, 3001)])
def test_many_repetitions(least: int, most: int) -> None:
    """Counts beyond what llama.cpp takes in one go are held to the letter, one text following few ways."""
    for node in (Repeat(seq(Text("a")), least, most), Regex(f"a{{{least},{most}}}")):
        match = matched(seq(node, Text("b")))
        for count in (0, 2, 3, 1499, 1500, 1501, 1600, 3000, 3001, 3100, 3101):
            assert match.accepts("a" * count + "b") == (least <= count <= most), count
        stacks = match.start
        for _ in range(most):
            stacks = match.step(stacks, "a")
            assert len(stacks) <= 4


NUMBERS = [
    f"{sign}{whole}{fraction}"
    for sign in ("", "-")
    for whole in (
        "0",
        "1",
        "2",
        "3",
        "7",
        "9",
        "10",
        "11",
        "19",
        "20",
        "21",
        "99",
        "100",
        "101",
        "999",
        "1000",
    )
    for fraction in ("", ".0", ".5", ".25", ".249", ".251", ".50", ".05", ".999")
]


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize(
    "bounds",
    [
        {"minimum": 0},
        {"minimum": 1, "maximum": 20},
        {"exclusiveMinimum": 0},
        {"exclusiveMaximum": 0},
        {"minimum": -3, "exclusiveMaximum": 12},
        {"minimum": 0.25, "maximum": 10.5},
        {"exclusiveMinimum": 0.25, "exclusiveMaximum": 10.05},
        {"minimum": -10.25, "maximum": -0.5},
        {"exclusiveMinimum": -1.5, "maximum": 100},
        {"minimum": 100, "maximum": 100},
        {"minimum": 99.5},
        {"maximum": -100},
        {"multipleOf": 7, "minimum": 0, "maximum": 100},
        {"multipleOf": 1},
        {"multipleOf": 2.0, "minimum": -20},
    ],
)
def test_numbers(kind: str, bounds: dict[str, Any]) -> None:
    schema = {"type": kind, **bounds}
    valid = jsonschema.Draft202012Validator(schema)
    match = matched(json_node(schema))
    whole = kind == "integer" or "multipleOf" in bounds
    accepted = 0
    for text in NUMBERS:
        value = Decimal(text)
        right = valid.is_valid(int(value) if value == int(value) else float(value))
        if (whole and "." in text) or (text.startswith("-0") and not value):
            right = right and match.accepts(text)
        assert match.accepts(text) == right, text
        accepted += right
    assert accepted
    assert not match.accepts("01")


def test_numbers_without_bounds() -> None:
    for kind, wrong in (("integer", "1.5"), ("number", "1.")):
        match = matched(json_node({"type": kind, "minimum": -(10**18), "maximum": 10**18}))
        for text in ("0", "-12", "999999999999999999"):
            assert match.accepts(text)
        for text in (wrong, "01", "-", "1e"):
            assert not match.accepts(text)


@pytest.mark.parametrize("tool", ["hermes", "qwen3_coder", "minimax_m3", "gemma4", "pythonic"])
def test_any_schema_is_held_or_refused(tool: str) -> None:
    """What is written by random schemas is read as a call that is valid by them."""
    held = walked = 0
    for seed in range(SCHEMAS):
        rng = random.Random(f"{tool}{seed}")
        schema = random_object(rng, 0)
        schema["$defs"] = {
            "t": {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"$ref": "#/$defs/t"}}}
        }
        tools = [function("f", schema, True)]
        found = held_or_refused(tool, tools)
        if not isinstance(found, Constraint):
            continue
        held += 1
        match = Matcher(found.gbnf())
        reader = parser(None, tool, "off", tools=tools, tool_choice="required", markers="text")
        fragments = [*markers(None, tool), *KEYS, "null", "12", '"', "x", "<"]
        for n in range(3):
            items = walk(match, n, fragments=fragments, bias=0.3)
            if items is None:
                continue
            walked += 1
            (call,) = reader.parse("".join(map(str, items))).tool_calls
            jsonschema.validate(json.loads(call.arguments), {**schema, "type": "object"})
    assert held > SCHEMAS / 3
    assert walked > held


def test_bounds_of_raw_text() -> None:
    """A length that a schema demands is held; markers then begin nowhere in the text, if they must."""
    long = {"type": "object", "properties": {"s": {"type": "string", "maxLength": 3000}}, "required": ["s"]}
    short = {"type": "object", "properties": {"s": {"type": "string", "maxLength": 90}}, "required": ["s"]}
    options: dict[str, Any] = {"tool_choice": "required", "parallel_tool_calls": False}
    shape = "<tool_call>\n<function=f>\n<parameter=s>\n{}\n</parameter>\n</function>\n</tool_call>"
    for schema, most, mild in ((long, 3000, False), (short, 90, True)):
        found = constrain(None, "qwen3_coder", tools=[function("f", schema, True)], **options)
        assert found is not None
        match = Matcher(found.gbnf())
        assert match.accepts(shape.format("x" * most))
        assert not match.accepts(shape.format("x" * (most + 1)))
        assert match.accepts(shape.format("a < b")) == mild
        assert not match.accepts(shape.format("a</parameter>b"))
    free = {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}
    found = constrain(
        None, "qwen3_coder", tools=[function("f", free, True)], **options, max_string=4096, bound_raw=False
    )
    assert found is not None
    assert Matcher(found.gbnf()).accepts(shape.format("if a < b:\n    c = '</x>'"))


@pytest.mark.parametrize("most", [20, 300, 1000, 5000])
def test_bounds_of_an_answer(most: int) -> None:
    """A long string of an answer is held to its length too; then what begins a marker is an escape."""
    schema = {"type": "object", "properties": {"s": {"type": "string", "maxLength": most}}, "required": ["s"]}
    found = constrain("qwen3", "hermes", tool_choice="none", response_schema=schema)
    assert found is not None
    match = Matcher(found.gbnf())
    for text in ("x" * most, "", r"\u003c" + "é" * (most - 1)):
        assert match.accepts(f'{{"s": "{text}"}}')
    for text in ("x" * (most + 1), "<tool_call>"):
        assert not match.accepts(f'{{"s": "{text}"}}')


def length(n: int) -> dict[str, Any]:
    """A string of a length that no other has."""
    return {"type": "string", "minLength": n, "maxLength": n + 900}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "object", "properties": {f"k{n}": length(n) for n in range(300)}}, "repeat over"),
        ({"type": "number", "multipleOf": 0.1}, "multipleOf"),
        ({"type": "integer", "multipleOf": 4_999}, "a number"),
        ({"type": "string", "pattern": "^(?:a|b)*a(?:a|b){40}$"}, "the pattern"),
        ({"type": "string", "pattern": "^(?:(?:a{0,40}){0,40}){0,40}$"}, "the pattern"),
        (
            {"anyOf": [{"type": "string", "pattern": f"^(?:a?b?){{300}}{n}$"} for n in range(90)]},
            "the pattern",
        ),
    ],
)
def test_what_is_too_much_is_refused(schema: dict[str, Any], said: str) -> None:
    """No schema makes a grammar without end, and each refusal says what it is about."""
    parameters = {"type": "object", "properties": {"v": schema}}
    found = constrain(None, "hermes", tools=[function("f", parameters, True)], tool_choice="required")
    assert found is not None
    with pytest.raises(Unsupported, match=said):
        found.gbnf()


def test_schemas_that_nest() -> None:
    tree = {"type": "object", "properties": {"t": {"$ref": "#"}}, "additionalProperties": False}
    match = matched(Json(json.dumps(tree)))
    text = '{"t": ' * 200 + "{}" + "}" * 200
    assert match.accepts(text)
    assert not match.accepts(text[:-1])
