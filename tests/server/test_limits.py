"""Limits of requests: what is within them passes, one more is refused with its path and the limit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from unbraid.errors import InvalidRequest
from unbraid.server.limits import Limits, check_body, check_limits, check_names
from unbraid.server.normal import normalise
from unbraid.server.requests import decode
from unbraid.server.ways import MOST_WAYS, ways

LIMITS = Limits(
    messages=3,
    calls=2,
    tools=2,
    name_chars=5,
    schema_depth=6,
    schema_values=12,
    schema_chars=200,
    enum_values=3,
    pattern_chars=10,
    stops=2,
    stop_chars=4,
    choices=2,
    max_tokens=100,
    biases=2,
    template_chars=20,
    kwargs_values=3,
    kwargs_depth=2,
)
CALL = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
PARAMETERS = "tools[0].function.parameters"
ANSWER = "response_format.json_schema.schema"


def tool(parameters: Any = None, name: str = "f") -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": parameters or {}}}


def answer(schema: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"schema": schema}}}


def nested(levels: int) -> Any:
    found: Any = {}
    for _ in range(levels - 1):
        found = {"items": found}
    return found


def check(body: dict[str, Any], limits: Limits = LIMITS) -> None:
    message = {"role": "user", "content": "a"}
    check_limits(normalise(*decode(json.dumps({"messages": [message], **body}).encode())), limits)


def messages(count: int) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": "a"}] * count}


def calls(count: int) -> dict[str, Any]:
    return {"messages": [{"role": "assistant", "content": None, "tool_calls": [CALL] * count}]}


# What is allowed at most, what is too much, and where.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str, int]] = {
    "messages": (messages(3), messages(4), "messages", 3),
    "calls": (calls(2), calls(3), "messages[0].tool_calls", 2),
    "tools": (
        {"tools": [tool(name=one) for one in "ab"]},
        {"tools": [tool(name=one) for one in "abc"]},
        "tools",
        2,
    ),
    "name": ({"tools": [tool(name="abcde")]}, {"tools": [tool(name="abcdef")]}, "tools[0].function.name", 5),
    "depth": ({"tools": [tool(nested(6))]}, {"tools": [tool(nested(7))]}, PARAMETERS, 6),
    "values": (
        {"tools": [tool({"required": ["a"] * 11})]},
        {"tools": [tool({"required": ["a"] * 12})]},
        PARAMETERS,
        12,
    ),
    "chars": (
        {"tools": [tool({"description": "d" * 189})]},
        {"tools": [tool({"description": "d" * 190})]},
        PARAMETERS,
        200,
    ),
    "keys": (answer({"properties": {"k" * 190: {}}}), answer({"properties": {"k" * 191: {}}}), ANSWER, 200),
    "enum": (answer({"enum": [1, 2, 3]}), answer({"items": {"enum": [1, 2, 3, 4]}}), ANSWER, 3),
    "pattern": (answer({"pattern": "a" * 10}), answer({"pattern": "a" * 11}), ANSWER, 10),
    "stops": ({"stop": ["a", "b"]}, {"stop": ["a", "b", "c"]}, "stop", 2),
    "stop": ({"stop": ["a", "abcd"]}, {"stop": ["a", "abcde"]}, "stop[1]", 4),
    "n": ({"n": 2}, {"n": 3}, "n", 2),
    "max_tokens": ({"max_tokens": 100}, {"max_completion_tokens": 101}, "max_tokens", 100),
    "biases": ({"logit_bias": {"1": 1, "2": 1}}, {"logit_bias": {"1": 1, "2": 1, "3": 1}}, "logit_bias", 2),
    "template": ({"chat_template": "t" * 20}, {"chat_template": "t" * 21}, "chat_template", 20),
    "kwargs": (
        {"chat_template_kwargs": {"a": [1, 2]}},
        {"chat_template_kwargs": {"a": [1, 2, 3]}},
        "chat_template_kwargs",
        3,
    ),
    "deep kwargs": (
        {"chat_template_kwargs": {"a": [1]}},
        {"chat_template_kwargs": {"a": [[]]}},
        "chat_template_kwargs",
        2,
    ),
}


@pytest.mark.parametrize("name", sorted(CASES))
def test_as_much_as_may_be_and_one_more(name: str) -> None:
    allowed, refused, param, most = CASES[name]
    check(allowed)
    check(refused, Limits())
    with pytest.raises(InvalidRequest, match=str(most)) as caught:
        check(refused)
    assert caught.value.param == param


def test_the_usual_request_passes() -> None:
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    check({"tools": [tool(schema)], "tool_choice": "auto", **answer(schema)}, Limits())


def test_a_seed_has_64_bits() -> None:
    check({"seed": -(2**63)})
    for seed in (2**63, -(2**63) - 1, 10**100):
        with pytest.raises(InvalidRequest, match="seed"):
            check({"seed": seed})


# -- bodies -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (b"[1,2,3]", 4),
        (b'{"a":[],"b":{}}', 4),
        (b'["a,b,c,[{","\\",[",1]', 4),
        (b"[[[[", 4),
        (b'["an end that never comes, [1,2,3', 6),
    ],
)
def test_values_are_counted_outside_of_strings(body: bytes, values: int) -> None:
    check_body(body, Limits(json_values=values + 1))
    with pytest.raises(InvalidRequest, match=f"more than {values - 1} JSON values"):
        check_body(body, Limits(json_values=values - 1))


ESCAPED = b'\\",'  # a quote that ends nothing


def test_quotes_are_counted_too_and_escaped_ones_are_none() -> None:
    few = Limits(json_values=10)
    check_body(b'["' + ESCAPED * 100 + b'"]', few)
    for body in (b'"' * 100, b'["' + ESCAPED * 100, b"[" + b'\\\\"' * 100):
        check_body(body, Limits(json_values=200))
        with pytest.raises(InvalidRequest, match="more than 10 JSON values"):
            check_body(body, few)


def test_a_long_body_is_refused() -> None:
    check_body(b"[]", Limits(body_bytes=2))
    with pytest.raises(InvalidRequest, match="at most 1 bytes"):
        check_body(b"[]", Limits(body_bytes=1))


@pytest.mark.parametrize(
    "value",
    [
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"9" * 5000,
        b'"\\ud800"',
        b'"\xff"',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"\xef\xbb\xbf1",
        b"01",
        b"'a'",
        b'"\n"',
        b"",
    ],
)
def test_what_is_no_json_is_refused(value: bytes) -> None:
    body = b'{"messages":[{"role":"user","content":"a"}],"metadata":' + value + b"}"
    with pytest.raises(InvalidRequest):
        decode(body)


def test_the_last_of_two_values_of_a_key_counts_and_a_nul_is_a_character() -> None:
    body = b'{"messages":[{"role":"user","content":"a"}],"messages":[{"role":"user","content":"b\\u0000"}]}'
    _, plain = decode(body)
    assert plain["messages"] == [{"role": "user", "content": "b\0"}]


# -- ways ---------------------------------------------------------------------


def union(count: int) -> dict[str, Any]:
    return {"anyOf": [{"const": n} for n in range(count)]}


def bomb(word: str, levels: int) -> dict[str, Any]:
    """Definitions each of which refers twice to the next."""
    named: dict[str, Any] = {f"d{n}": {word: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**named, f"d{levels}": {"type": "string"}}}


def test_ways_are_counted_exactly() -> None:
    assert ways(union(MOST_WAYS))
    assert not ways(union(MOST_WAYS + 1))
    assert ways({"allOf": [union(32), union(32)]})
    assert not ways({"allOf": [union(32), union(33)]})
    assert not ways({"properties": {"a": {"items": {"allOf": [union(32), union(33)]}}}})
    assert ways({"properties": {f"k{n}": union(100) for n in range(100)}})


def test_bombs_are_found_and_circles_end() -> None:
    assert ways(bomb("anyOf", 10))
    assert not ways(bomb("anyOf", 11))
    assert not ways(bomb("allOf", 40))
    assert not ways(bomb("anyOf", 10_000))
    assert ways({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {}]}}, "$ref": "#/$defs/a"})
    assert ways({"$ref": "#/nothing", "anyOf": 5, "allOf": [True, 3]})


def test_a_bomb_in_a_tool_is_refused_even_when_nothing_enforces_it() -> None:
    with pytest.raises(InvalidRequest, match="1024 ways") as caught:
        check({"tools": [tool(bomb("anyOf", 20))]}, Limits())
    assert caught.value.param == PARAMETERS
    with pytest.raises(InvalidRequest) as caught:
        check(answer(bomb("allOf", 60)), Limits())
    assert caught.value.param == ANSWER


# -- names --------------------------------------------------------------------

CARRIED = ("get_weather", "a.b-c", "x" * 64, "naïve", "天気", "functions.a")
NOT_BY_TAGS = ("get weather", 'a"b', "a</tool_call>", "<|im_end|>", "a>b", " a", "x,y")


@pytest.mark.parametrize("parser", [None, "hermes", "qwen3_coder", "kimi_k2"])
def test_names_that_can_be_called(parser: str | None) -> None:
    check_names([tool(name=one) for one in CARRIED], None, parser)


@pytest.mark.parametrize("parser", [None, "hermes", "qwen3_coder", "openai"])
@pytest.mark.parametrize("name", ["a\nb", "a\x00", "\x1b[31m", "a\x7f", "a\x85", "a\u2028b", "   "])
def test_names_that_no_format_may_carry(parser: str | None, name: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        check_names([tool(), tool(name=name)], None, parser)
    assert caught.value.param == "tools[1].function.name"
    assert not any(ord(char) < 32 for char in caught.value.message)


@pytest.mark.parametrize("name", NOT_BY_TAGS)
def test_names_that_one_notation_can_not_carry(name: str) -> None:
    with pytest.raises(InvalidRequest, match="can't carry") as caught:
        check_names([tool(name=name)], "qwen3", "qwen3_coder")
    assert caught.value.param == "tools[0].function.name"
    with pytest.raises(InvalidRequest):
        check_names([tool(name=name)], format="qwen3-coder")


def test_limits_can_be_changed_one_by_one() -> None:
    check(messages(5), replace(LIMITS, messages=5))
