"""How demands are held: by a grammar, by a check of the finished answer, or not at all; and it is told."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from unbraid.engines.replay import Recording

from .helpers import CALL, NOT_THINKING, USER, WEATHER, fold, parse_events, raw, replay

STRICT = {"type": "function", "function": {**WEATHER["function"], "strict": True}}
PATTERN = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(x+)+$"}}, "required": ["a"]}
UNIQUE = {"type": "object", "properties": {"a": {"type": "array", "uniqueItems": True}}}


def schema(value: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": value}}}


def post(text: Any, body: dict[str, Any], dialects: tuple[str, ...] = (), **options: Any) -> Any:
    """The whole answer and the streamed one, with what the engine was asked."""

    async def run() -> tuple[httpx.Response, httpx.Response, Any]:
        engine = replay(text, dialects=dialects)
        async with raw(engine, **options) as http:
            sent = {"messages": USER, **NOT_THINKING, **body}
            full = await http.post("/v1/chat/completions", json=sent)
            streamed = await http.post("/v1/chat/completions", json={**sent, "stream": True})
        return full, streamed, engine.requests

    return asyncio.run(run())


CASES = [
    ({"tools": [WEATHER], "tool_choice": "required"}, CALL, "No."),
    ({"tools": [WEATHER], "tool_choice": "required"}, CALL, CALL.replace("get_weather", "get_time")),
    (
        {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "get_weather"}}},
        CALL,
        CALL.replace('{"city": "Oslo"}', '{"city": '),
    ),
    ({"tools": [STRICT]}, CALL, CALL.replace('"Oslo"', "5")),
    ({"tools": [STRICT]}, "No call.", CALL.replace("city", "town")),
    (schema({"type": "object", "required": ["a"]}), '{"a": 1}', "{}"),
    (schema(PATTERN), '{"a": "xx"}', '{"a": "' + "x" * 400 + '!"}'),
    (schema({"patternProperties": {"^n": {"type": "integer"}}}), '{"n": 1}', '{"n": "1"}'),
    ({"response_format": {"type": "json_object"}}, "{}", "[]"),
    ({"response_format": {"type": "json_object"}}, "{}", "Hello"),
]


@pytest.mark.parametrize("number", range(len(CASES)))
@pytest.mark.parametrize("dialects", [(), ("llguidance",)])
def test_a_breach_is_never_handed_out_as_an_answer(number: int, dialects: tuple[str, ...]) -> None:
    body, good, bad = CASES[number]
    full, streamed, asked = post(good, body, dialects, enforce="check")
    how = "grammar" if dialects else "check"
    assert [one.constraint is not None for one in asked] == [bool(dialects)] * 2
    for answer in (full, streamed):
        assert answer.status_code == 200, answer.text
        assert answer.headers["x-unbraid-enforced"] == how
    assert fold(streamed.text)[0].finish == full.json()["choices"][0]["finish_reason"]

    full, streamed, _ = post(bad, body, dialects, enforce="check")
    assert full.status_code == 502
    assert full.json()["error"]["code"] == "not_enforced"
    assert parse_events(streamed.text)[-1] == full.json()
    assert fold(streamed.text)[0].finish is None


@pytest.mark.parametrize("number", range(len(CASES)))
def test_what_an_engine_can_not_hold_is_refused(number: int) -> None:
    body, good, _ = CASES[number]
    for answer in post(good, body)[:2]:
        assert answer.status_code == 400
        assert "--enforce check" in answer.json()["error"]["message"]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_nothing_is_held_and_it_is_told(number: int) -> None:
    body, _, bad = CASES[number]
    full, streamed, asked = post(bad, body, ("llguidance",), enforce="off")
    assert [one.constraint for one in asked] == [None, None]
    for answer in (full, streamed):
        assert answer.status_code == 200
        assert answer.headers["x-unbraid-enforced"] == "off"


def test_nothing_demanded() -> None:
    for answer in post(CALL, {"tools": [WEATHER]}, ("llguidance",))[:2]:
        assert answer.headers["x-unbraid-enforced"] == "none"


def test_a_cut_answer_breaks_nothing() -> None:
    body = {"tools": [WEATHER], "tool_choice": "required"}
    for text in (Recording("Hm", "length"), Recording(CALL[:40], "length")):
        for answer in post(text, body, enforce="check")[:2]:
            assert answer.status_code == 200
            assert "not_enforced" not in answer.text
    stopped = {**body, "stop": ["No"]}
    assert post("Well. No.", stopped, enforce="check")[0].status_code == 200


def test_a_schema_that_no_grammar_holds_can_be_checked() -> None:
    full, _, asked = post('{"a": [1, 2]}', schema(UNIQUE), ("llguidance",), enforce="check")
    assert full.headers["x-unbraid-enforced"] == "check"
    assert asked[0].constraint is None
    full, _, _ = post('{"a": [1, 1]}', schema(UNIQUE), ("llguidance",), enforce="check")
    assert full.status_code == 502


def test_a_pattern_that_nobody_can_check_is_refused_before_anything_runs() -> None:
    behind = {"type": "object", "properties": {"a": {"type": "string", "pattern": "(?<=a)b"}}}
    for body in (
        schema(behind),
        {"tools": [{"type": "function", "function": {"name": "f", "strict": True, "parameters": behind}}]},
    ):
        full, _, asked = post("{}", body, enforce="check")
        assert full.status_code == 400, full.text
        assert full.json()["error"]["param"].endswith("properties.a")
        assert not asked


def test_references_are_never_fetched() -> None:
    far = {"type": "object", "properties": {"a": {"$ref": "http://127.0.0.1:9/x.json"}}}
    full, _, asked = post('{"a": 1}', schema(far), enforce="check")
    assert full.status_code in (400, 502)
    assert "127.0.0.1" in full.text or not asked


def _one(value: Any, **more: Any) -> dict[str, Any]:
    return schema({"type": "object", "properties": {"a": value}, **more})


RIGHT = [
    (_one({"type": "number", "multipleOf": 0.1}), '{"a": 0.3}'),
    (_one({"type": "number", "multipleOf": 0.01}), '{"a": 1.13}'),
    (_one({"type": "number", "multipleOf": 0.5}), '{"a": 1%s}' % ("0" * 400)),
    (_one({"type": "string", "nullable": True}), '{"a": null}'),
    (_one({"$ref": "#/$defs/s", "nullable": True}, **{"$defs": {"s": {"type": "string"}}}), '{"a": null}'),
    (_one({"type": "array", "items": [{"type": "string"}]}), '{"a": ["x", 1]}'),
    (_one({"type": "number", "maximum": 5, "exclusiveMaximum": True}), '{"a": 3}'),
    (_one({"type": "number", "minimum": 5, "exclusiveMinimum": False}), '{"a": 5}'),
    (_one({"type": "string", "pattern": "^a.b$"}), '{"a": "a\x7fb"}'),
    (_one({}, patternProperties={"^n": {"type": "integer"}}, additionalProperties=False), '{"a": 1, "n": 1}'),
]
WRONG = [
    (_one({"type": "number", "multipleOf": 0.01}), '{"a": 1.135}'),
    (_one({"type": "string", "nullable": True}), '{"a": 1}'),
    (_one({"$ref": "#/$defs/s", "nullable": True}, **{"$defs": {"s": {"type": "string"}}}), '{"a": 1}'),
    (_one({"type": "array", "items": [{"type": "string"}]}), '{"a": [1]}'),
    (_one({"type": "array", "items": [{}], "additionalItems": False}), '{"a": [1, 2]}'),
    (_one({"type": "number", "maximum": 5, "exclusiveMaximum": True}), '{"a": 5}'),
    (_one({}, patternProperties={"^n": {"type": "integer"}}, additionalProperties=False), '{"b": 1}'),
    (_one({}, patternProperties={"^a": {"type": "integer"}}), '{"a": "x"}'),
    (_one({}, patternProperties={"^(x+)+$": {}}, additionalProperties=False), '{"%s!": 1}' % ("x" * 400)),
    (_one({}, patternProperties={"^(x+)+$": {}}, unevaluatedProperties=False), '{"%s!": 1}' % ("x" * 400)),
    (_one({"type": "number"}), '{"a": NaN}'),
    (schema({"type": "number"}), "-Infinity"),
    (
        {"tools": [{"type": "function", "function": {"name": "f", "strict": True}}]},
        CALL.replace("get_weather", "f"),
    ),
]


@pytest.mark.parametrize("number", range(len(RIGHT)))
@pytest.mark.parametrize("dialects", [(), ("llguidance",)])
def test_a_right_answer_is_no_breach(number: int, dialects: tuple[str, ...]) -> None:
    body, text = RIGHT[number]
    for answer in post(text, body, dialects, enforce="check")[:2]:
        assert answer.status_code == 200, answer.text
        assert "error" not in answer.text


@pytest.mark.parametrize("number", range(len(WRONG)))
@pytest.mark.parametrize("dialects", [(), ("llguidance",)])
def test_a_wrong_answer_is_a_breach(number: int, dialects: tuple[str, ...]) -> None:
    body, text = WRONG[number]
    full, streamed, _ = post(text, body, dialects, enforce="check")
    assert full.status_code == 502, full.text
    assert full.json()["error"]["code"] == "not_enforced"
    assert "not_enforced" in streamed.text


def test_what_looks_like_a_pattern_in_data_is_none() -> None:
    for word in ("const", "default"):
        value = {"pattern": "(?<=x)"}
        body = _one({word: value, "uniqueItems": True})
        full = post('{"a": {"pattern": "(?<=x)"}}', body, enforce="check")[0]
        assert full.status_code == 200, full.text


def test_a_breach_is_logged_without_the_output(caplog: pytest.LogCaptureFixture) -> None:
    full = post('{"a": "the secret"}', _one({"type": "string", "pattern": "^x$"}), enforce="check")[0]
    assert "the secret" in full.text
    assert "not_enforced" in caplog.text
    assert "secret" not in caplog.text
