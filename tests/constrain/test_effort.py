"""Schemas that would cost too much are refused, counted in steps; large honest ones are held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from llguidance import LLMatcher

from tests.constrain.cases import function
from tests.constrain.helpers import vocabulary
from unbraid.branches import expand
from unbraid.constrain import constrain
from unbraid.constrain.disjoint import disjoint
from unbraid.effort import MOST, Spent, bounded, give_up, spend
from unbraid.errors import Unsupported

STRING = {"type": "string"}
PAIRS = (("qwen3", "hermes"), ("qwen3", "qwen3_coder"), ("gemma4", "gemma4"), ("openai_gptoss", "openai"))
A = ".properties.a"


def keys(count: int, **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {f"k{n}": STRING for n in range(count)}, **more}


def tagged(count: int, word: str) -> dict[str, Any]:
    """A union of objects that a constant tells apart."""
    return {
        word: [
            {"type": "object", "properties": {"kind": {"const": n}, "v": STRING}, "required": ["kind"]}
            for n in range(count)
        ]
    }


def bomb(word: str, levels: int) -> dict[str, Any]:
    named: dict[str, Any] = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**named, f"d{levels}": STRING}}


def bomb_of_keys(levels: int) -> dict[str, Any]:
    """Each level says of a key what the next level says, twice."""
    named: dict[str, Any] = {}
    for n in range(levels):
        inner = {"$ref": f"#/$defs/d{n + 1}"}
        named[f"d{n}"] = {"allOf": [{"properties": {"a": inner}}, {"properties": {"a": inner, "b": inner}}]}
    return {"$ref": "#/$defs/d0", "$defs": {**named, f"d{levels}": STRING}}


def product(parts: int, options: int) -> dict[str, Any]:
    return {
        "allOf": [
            {"anyOf": [{"type": "object", "properties": {f"k{n}_{m}": STRING}} for m in range(options)]}
            for n in range(parts)
        ]
    }


def tool(schema: dict[str, Any]) -> dict[str, Any]:
    inner = dict(schema)
    parameters: dict[str, Any] = {"type": "object", "properties": {"a": inner}, "required": ["a"]}
    if "$defs" in inner:
        parameters["$defs"] = inner.pop("$defs")
    return function("f", parameters, strict=True)


TOO_MUCH: dict[str, dict[str, Any]] = {
    "anyOf of references": bomb("anyOf", 20),
    "oneOf of references": bomb("oneOf", 20),
    "allOf of references": bomb("allOf", 20),
    "keys of references": bomb_of_keys(20),
    "a product of unions": product(12, 2),
    "a product of long unions": product(3, 20),
    "a product in a list": {"type": "array", "items": product(3, 20)},
    "patterns of keys": {"type": "object", "patternProperties": {f"^k{n:03}_": STRING for n in range(120)}},
    "a long union": {"anyOf": [{"type": "string", "maxLength": n + 1} for n in range(1025)]},
    "large steps": {
        "type": "object",
        "properties": {f"k{n}": {"type": "integer", "multipleOf": 4999 - n} for n in range(20)},
    },
}
STEPS: dict[str, tuple[dict[str, Any], str]] = {
    "a large step": ({"type": "integer", "multipleOf": 5001}, A + ".multipleOf"),
    "a prime step": ({"type": "integer", "multipleOf": 999_983}, A + ".multipleOf"),
    "a step of many digits": ({"type": "number", "multipleOf": 0.12345}, A + ".multipleOf"),
    "steps together": ({"allOf": [{"type": "integer", "multipleOf": n} for n in (7, 11, 13, 17)]}, A),
}
HELD: dict[str, dict[str, Any]] = {
    "texts": {"enum": [f"value {n}" for n in range(2000)]},
    "numbers": {"enum": list(range(1000))},
    "optional keys": keys(60),
    "keys": keys(200, required=[f"k{n}" for n in range(200)]),
    "anyOf": tagged(100, "anyOf"),
    "oneOf": tagged(100, "oneOf"),
    "a step": {"type": "integer", "multipleOf": 3600},
    "a step behind the point": {"type": "number", "multipleOf": 0.001},
    "definitions": {"$ref": "#/$defs/d0", "$defs": {f"d{n}": keys(3) for n in range(200)}},
    "long texts": {"type": "string", "maxLength": 10**9},
    "repetitions": {"type": "string", "pattern": "^([a-z]{1,900}-){1,900}$"},
    "a pattern with many states": {"type": "string", "pattern": "^(a|b)*a(a|b){50}$"},
    "nested repetitions": {"type": "string", "pattern": "^" + "(" * 10 + "a+" + ")+" * 10 + "$"},
}


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
@pytest.mark.parametrize("name", sorted(TOO_MUCH))
def test_what_would_cost_too_much_is_refused(name: str, pair: tuple[str, str]) -> None:
    with pytest.raises(Unsupported) as caught:
        constrain(*pair, tools=[tool(TOO_MUCH[name])], tool_choice="required", max_string=100)
    assert "too many" in caught.value.message
    assert str(caught.value.param).startswith("tools")


@pytest.mark.parametrize("name", sorted(TOO_MUCH))
def test_an_answer_that_would_cost_too_much_is_refused(name: str) -> None:
    with pytest.raises(Unsupported, match="too many") as caught:
        constrain("qwen3", "hermes", response_schema=TOO_MUCH[name])
    assert str(caught.value.param).startswith("response_schema")


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
@pytest.mark.parametrize("name", sorted(STEPS))
def test_steps_whose_automaton_is_too_large_are_refused(name: str, pair: tuple[str, str]) -> None:
    schema, path = STEPS[name]
    with pytest.raises(Unsupported, match="5000") as caught:
        constrain(*pair, tools=[tool(schema)], tool_choice="required")
    assert caught.value.param == "tools[0].function.parameters" + path


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[1])
@pytest.mark.parametrize("name", sorted(HELD))
def test_what_is_large_is_held(name: str, pair: tuple[str, str]) -> None:
    made = constrain(*pair, tools=[tool(HELD[name])], tool_choice="required", max_string=4096)
    assert made is not None
    words = vocabulary()
    grammar = LLMatcher.grammar_from_lark(made.lark())
    assert LLMatcher.validate_grammar(grammar, words.ll) == ""
    matcher = LLMatcher(words.ll, grammar)
    assert any(matcher.compute_logit_bias())
    assert not matcher.is_error()


# -- counting -----------------------------------------------------------------


def steps(action: Callable[[], object]) -> int:
    """The steps that something takes: the least bound within which it ends."""
    low, high = 0, MOST
    while low < high:
        middle = (low + high) // 2
        try:
            with bounded(middle):
                action()
        except (Spent, Unsupported):
            low = middle + 1
        else:
            high = middle
    return low


def test_steps_are_counted() -> None:
    assert steps(lambda: spend(7)) == 7
    with bounded(5):
        spend(5)
        with pytest.raises(Spent):
            spend(1)
    with bounded(1), pytest.raises(Spent):
        give_up()
    spend(10**9)
    give_up()


def test_an_inner_bound_counts_for_the_outer_one() -> None:
    with bounded(10):
        with bounded(100):
            spend(6)
        with pytest.raises(Spent), bounded(100):
            spend(5)
    with bounded(10), pytest.raises(Spent), bounded(3):
        spend(4)


@pytest.mark.parametrize("make", [lambda n: tagged(n, "anyOf"), lambda n: {"enum": list(range(n))}])
def test_the_work_grows_with_the_schema(make: Callable[[int], dict[str, Any]]) -> None:
    def taken(count: int) -> int:
        tools = [tool(make(count))]
        return steps(lambda: constrain("qwen3", "qwen3_coder", tools=tools, tool_choice="required"))

    assert 0 < taken(80) <= 2.5 * taken(40)


def test_one_of_is_looked_at_in_pairs_but_read_once() -> None:
    taken = steps(lambda: disjoint({}, tagged(100, "oneOf")["oneOf"]))
    assert taken < 100 * 100 + 100 * 20


def test_without_a_bound_an_expansion_ends_by_itself() -> None:
    for schema in TOO_MUCH.values():
        assert len(expand(schema, schema)) <= 1024
