"""Any schema: refused by name, or held; and mutants of written texts that are accepted parse rightly."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import jsonschema
import pytest

from tests.constrain.cases import PAIRS, TOOLS, function, markers, parser, thinking_of
from tests.constrain.helpers import accepts, vocabulary, walk
from tests.constrain.test_law6 import FUZZ, KEYS, check
from tests.constrain.test_written import CALLS, rendered
from unbraid.constrain import Constraint, constrain
from unbraid.errors import Unsupported

SCHEMAS = 400 if FUZZ else 40
NAMES = ("a", "ab", "b-c", "d.e", "x y", "é", "1", "<k>", "v'")


def random_schema(rng: random.Random, depth: int = 0) -> Any:
    """A schema as requests have them, odd ones included."""
    kind = rng.choice(
        ("string", "string", "integer", "number", "boolean", "null", "enum", "any", "ref", "types", "format")
        + (("object", "object", "array", "anyOf", "allOf", "map", "oneOf") if depth < 3 else ())
    )
    if kind == "string":
        found: dict[str, Any] = {"type": "string"}
        if rng.random() < 0.3:
            found |= rng.choice(
                (
                    {"minLength": 1},
                    {"maxLength": 3},
                    {"pattern": "^[a-c]+$"},
                    {"pattern": "x|y"},
                    {"enum": ["p", "q"]},
                )
            )
        return found
    if kind in ("integer", "number"):
        bounds = (
            {},
            {"minimum": 0},
            {"exclusiveMaximum": 5},
            {"minimum": -2, "maximum": 2},
            {"multipleOf": 2},
        )
        return {"type": kind, **rng.choice(bounds)}
    if kind in ("boolean", "null"):
        return {"type": kind}
    if kind == "enum":
        return {"enum": rng.sample(["a", "b c", "<", 1, 2.5, True, None, "null", "12", [1], {"z": 1}], 3)}
    if kind == "any":
        return rng.choice(({}, True, {"description": "d"}, {"title": "t", "default": 1}))
    if kind == "ref":
        return {"$ref": "#/$defs/t"}
    if kind == "types":
        return {"type": rng.sample(["string", "integer", "null", "boolean", "array", "object", "number"], 2)}
    if kind == "format":
        return {"type": "string", "format": rng.choice(("date", "uuid", "odd", "date-time"))}
    if kind == "array":
        return {
            "type": "array",
            "items": random_schema(rng, depth + 1),
            **rng.choice(({}, {"minItems": 1, "maxItems": 2})),
        }
    if kind == "map":
        return {"type": "object", "additionalProperties": random_schema(rng, depth + 1)}
    if kind in ("anyOf", "oneOf"):
        return {kind: [random_schema(rng, depth + 1) for _ in range(2)]}
    if kind == "allOf":
        return {"allOf": [{"type": "integer"}, {"minimum": rng.randrange(3)}]}
    return random_object(rng, depth)


def random_object(rng: random.Random, depth: int) -> dict[str, Any]:
    names = rng.sample(NAMES, rng.randrange(1, 4))
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: random_schema(rng, depth + 1) for name in names},
        "required": [name for name in names if rng.random() < 0.5],
    }
    if rng.random() < 0.3:
        found["additionalProperties"] = rng.choice((True, False, {"type": "integer"}))
    return found


def held_or_refused(tool: str, tools: list[Any]) -> Constraint | Unsupported:
    """The grammar of one call, or the refusal."""
    try:
        found = constrain(
            None, tool, tools=tools, tool_choice="required", parallel_tool_calls=False, max_string=4
        )
    except Unsupported as refused:
        return refused
    assert found is not None
    return found


@pytest.mark.parametrize("tool", ["hermes", "qwen3_coder", "glm45", "gemma4", "pythonic"])
def test_any_schema_is_held_or_refused(tool: str) -> None:
    words = vocabulary()
    held = walked = 0
    for seed in range(SCHEMAS):
        rng = random.Random(f"{tool}{seed}")
        schema = random_object(rng, 0)
        schema["$defs"] = {
            "t": {"type": "object", "properties": {"n": {"type": "integer"}, "t": {"$ref": "#/$defs/t"}}}
        }
        tools = [function("f", schema, True)]
        before = copy.deepcopy(tools)
        found = held_or_refused(tool, tools)
        if isinstance(found, Unsupported):
            assert (found.param or "").startswith("tools[0].function.parameters")
            continue
        assert tools == before
        try:
            found.structural_tag()
        except Unsupported:
            assert found.digest
        reader = parser(None, tool, "off", tools=tools, tool_choice="required")
        held += 1
        for walk_seed in range(3):
            try:
                ids = walk(found.lark(), words, walk_seed, fragments=[*markers(None, tool), *KEYS[:6]])
            except AssertionError as problem:
                if "Unsatisfiable" in str(problem):
                    break
                raise
            if ids is None:
                continue
            walked += 1
            text = words.decode(ids)
            message = reader.parse(text)
            (call,) = message.tool_calls
            assert call.complete, text
            jsonschema.validate(json.loads(call.arguments), schema)
    assert held > SCHEMAS // 4
    assert walked > held


MUTANTS = 400 if FUZZ else 60


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_accepted_mutants_parse(reasoning: str | None, tool: str) -> None:
    state = "open" if reasoning else "off"
    found = constrain(reasoning, tool, tools=TOOLS, tool_choice="required", thinking=state)
    assert found is not None
    lark = found.lark()
    reader = parser(reasoning, tool, state, tools=TOOLS, tool_choice="required")
    rng = random.Random(tool)
    bits = [*markers(reasoning, tool), "\n", " ", '"', "{", "}", "x", "0", "ping", "weather", "\\"]
    accepted = tried = 0
    texts = [rendered(reasoning, tool, state, calls) for calls in sorted(CALLS)]
    while tried < MUTANTS or not accepted:
        tried += 1
        assert tried < 1000
        text = rng.choice(texts)
        for _ in range(rng.randrange(1, 4)):
            at, end = rng.randrange(len(text)), rng.randrange(4)
            text = text[:at] + rng.choice(["", *bits]) + text[at + (end if rng.random() < 0.5 else 0) :]
        if not accepts(lark, text):
            continue
        accepted += 1
        thinking, rest = thinking_of(reasoning, tool, state, text)
        check(reader.parse(text), "required", thinking, rest, text, tool)


LOOSE = {"type": "object", "properties": {"a": {"type": "string"}, "b": {}}, "required": ["a", "b"]}


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_calls_count_whose_arguments_nothing_holds(reasoning: str | None, tool: str) -> None:
    """A demanded call of a tool that isn't strict is a call with any keys, none, or one twice."""
    tools = [function("f", LOOSE)]
    constraint = constrain(reasoning, tool, tools=tools, tool_choice="required", max_string=4)
    assert constraint is not None
    reader = parser(reasoning, tool, "off", tools=tools, tool_choice="required")
    words = vocabulary()
    done = 0
    for seed in range(40):
        ids = walk(constraint.lark(), words, seed, fragments=[*markers(reasoning, tool), *KEYS[:6], "a", "b"])
        if ids is None:
            continue
        done += 1
        text = words.decode(ids)
        calls = reader.parse(text).tool_calls
        assert calls, text
        assert all(call.complete and call.name == "f" for call in calls), text
        if done == 6:
            return
    assert done
