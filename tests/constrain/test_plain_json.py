"""Forced calls as plain JSON: one schema for back ends that know nothing else, read under the same laws."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.constrain.cases import PAIRS, TOOLS, WEATHER, function
from tests.constrain.helpers import vocabulary, walk
from tests.laws.reading import read, read_every_way
from tests.support.hostile import splits
from unbraid import InvalidRequest, Parser, TokenTable, Unsupported
from unbraid.constrain import constrain
from unbraid.formats import reasoning_format
from unbraid.gate import Gate
from unbraid.syntax import Joint

NAMED = {"type": "function", "function": {"name": "weather"}}
ALLOWED = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "ping"}}]},
}
CHOICES: dict[str, Any] = {"required": "required", "named": NAMED, "allowed": ALLOWED}
SCHEMAS = {
    "weather": {**WEATHER, "additionalProperties": False},
    "weather_now": {"type": "object"},
    "ping": {"type": "object", "maxProperties": 0},
}
CALLS = '[{"name": "weather", "parameters": {"city": "Oslo", "days": 2}}, {"name": "ping", "parameters": {}}]'


def parser(choice: Any = "required", reasoning: str | None = None, tool: str | None = "hermes", **more: Any):
    return Parser(reasoning, tool, tools=TOOLS, tool_choice=choice, reads_as="json", **more)


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_every_pair_reads_it(reasoning: str | None, tool: str) -> None:
    closed = parser("required", reasoning, tool, prompt="", spans=True)
    message = read_every_way(closed, CALLS)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [
        ("weather", '{"city": "Oslo", "days": 2}'),
        ("ping", "{}"),
    ]
    assert message.content is None
    assert message.finish_reason == "tool_calls"


def test_behind_thinking() -> None:
    message = read_every_way(
        parser(NAMED, "qwen3", prompt="<think>\n", spans=True),
        'r [{"name"\n</think>\n\n{"city": "O"}<|im_end|>',
    )
    assert (message.reasoning, message.content) == ('r [{"name"', None)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("weather", '{"city": "O"}')]


@pytest.mark.parametrize("text", ["", " \n", "null", "3", "[]", '"{}"', "{", "No."])
def test_c6_a_named_choice_answered_with_something_else_is_no_call(text: str) -> None:
    message = read_every_way(parser(NAMED, spans=True), text)
    assert [call for call in message.tool_calls if call.complete] == []
    spans = "".join(text[span.start : span.end] for span in message.spans or ())
    assert spans == text


def test_c6_an_empty_object_is_a_call() -> None:
    (call,) = read_every_way(parser(NAMED, spans=True), "{}").tool_calls
    assert (call.name, call.arguments, call.complete) == ("weather", "{}", True)


def test_c5_a_cut_array_keeps_what_is_whole() -> None:
    text = '[{"name":"ping","parameters":{}},{"name":"weather","parameters":{"city":"O'
    first, second = read_every_way(parser(spans=True), text, "length").tool_calls
    assert (first.name, first.arguments, first.complete) == ("ping", "{}", True)
    assert (second.name, second.arguments, second.complete) == ("weather", '{"city":"O', False)
    message = read_every_way(parser(spans=True), '[{"name":"ping","parameters":{}},{"name":"weather","par')
    assert [call.name for call in message.tool_calls] == ["ping"]
    assert "unfinished_call" in {one.code for one in message.diagnostics}


SCRAPS = [
    CALLS,
    *"[]{},: \n",
    '"name"',
    '"parameters"',
    '"weather"',
    '"city"',
    "null",
    "1",
    "text",
    "\\",
    '"',
]


@given(
    st.lists(st.sampled_from(SCRAPS), max_size=12).map("".join), st.sampled_from(sorted(CHOICES)), st.data()
)
def test_any_text_in_any_split(text: str, choice: str, data: st.DataObject) -> None:
    reader = parser(CHOICES[choice], "qwen3", prompt="", spans=True, make_id=lambda: "id")
    whole = reader.parse(text)
    at = 0
    for span in whole.spans or ():
        assert span.start == at
        at = span.end
    assert at == len(text)
    for pieces in splits(text, data.draw(st.integers(0, 1000))):
        assert read(reader, pieces)[0] == whole


@pytest.mark.parametrize("choice", CHOICES)
def test_what_the_schema_allows_is_read_as_calls(choice: str) -> None:
    reader = parser(CHOICES[choice])
    constraint = reader.constraint(max_string=6)
    assert constraint is not None
    assert (constraint.reads_as, constraint.handles_thinking) == ("json", False)
    lark, words = constraint.lark(), vocabulary()
    done = seed = 0
    while done < 20:
        seed += 1
        assert seed < 240, f"{done} of {seed} walks ended"
        ids = walk(lark, words, seed, fragments=['{"name": "', "weather", '"city"', '"}'], bias=0.3)
        if ids is None:
            continue
        done += 1
        text = words.decode(ids)
        jsonschema.validate(json.loads(text), constraint.json_schema())
        message = reader.parse(text)
        assert message.content is None, text
        assert 1 <= len(message.tool_calls) <= (1 if choice == "named" else 16)
        for call in message.tool_calls:
            assert call.complete
            jsonschema.validate(json.loads(call.arguments), SCHEMAS[call.name])
            assert choice == "required" or call.name == {"named": "weather", "allowed": "ping"}[choice]


def test_one_call_only() -> None:
    schema = parser(parallel_tool_calls=False).constraint().json_schema()  # type: ignore[union-attr]
    assert (schema["minItems"], schema["maxItems"]) == (1, 1)


def test_definitions_of_two_tools_stay_apart() -> None:
    def tool(name: str, kind: str) -> dict[str, Any]:
        parameters = {
            "type": "object",
            "properties": {"x": {"$ref": "#/$defs/same"}},
            "required": ["x"],
            "$defs": {"same": {"type": kind}},
        }
        return function(name, parameters, True)

    made = constrain(
        None, None, tools=[tool("f", "string"), tool("g", "boolean")], tool_choice="required", reads_as="json"
    )
    assert made is not None
    schema = made.json_schema()
    jsonschema.validate(
        [{"name": "f", "parameters": {"x": "a"}}, {"name": "g", "parameters": {"x": True}}], schema
    )
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{"name": "f", "parameters": {"x": True}}], schema)


def test_a_request_that_demands_no_call_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="plain JSON"):
        parser("auto")
    with pytest.raises(Unsupported, match="only demand calls"):
        constrain(None, "hermes", tools=TOOLS, reads_as="json")


def test_a_native_constraint_has_no_schema() -> None:
    made = constrain(None, "hermes", tools=TOOLS, tool_choice="required")
    assert made is not None
    with pytest.raises(Unsupported, match="reads_as"):
        made.json_schema()


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(
    ("prompt", "starts", "said"),
    [
        ("<think>\n", "answer", "thinking open, not held: enforce it where the answer starts; "),
        (
            "<|im_start|>assistant\n",
            "answer",
            "thinking optional, not held: enforce it where the answer starts; ",
        ),
        ("<think>\n\n</think>\n\n", "output", "thinking closed; "),
    ],
)
def test_the_constraint_says_where_it_starts(choice: str, prompt: str, starts: str, said: str) -> None:
    made = parser(CHOICES[choice], "qwen3", prompt=prompt).constraint()
    assert made is not None
    assert (made.starts, made.handles_thinking) == (starts, False)
    assert made.enforced.startswith(said)
    assert "call" in made.enforced.removeprefix(said)


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
@pytest.mark.parametrize("thinking", ["open", "output", "optional", "off", "closed"])
def test_it_starts_at_once_only_where_no_thinking_comes(
    reasoning: str | None, tool: str, thinking: Any
) -> None:
    request: dict[str, Any] = {"tools": TOOLS, "tool_choice": "required", "thinking": thinking}
    tags = reasoning is not None and not isinstance(reasoning_format(reasoning), Joint)
    if thinking in ("off", "closed") or tags:
        made = constrain(reasoning, tool, reads_as="json", **request)
        assert made is not None
        assert made.starts == ("output" if thinking in ("off", "closed") else "answer")
    else:
        with pytest.raises(Unsupported, match="no thinking is read in front of plain JSON"):
            constrain(reasoning, tool, reads_as="json", **request)


@pytest.mark.parametrize("choice", ["required", "named"])
@pytest.mark.parametrize("prompt", ["<think>\n", "<|im_start|>assistant\n"])
def test_a_gate_finds_where_the_answer_starts(choice: str, prompt: str) -> None:
    """A driver that enforces the schema from the gate's boundary has the calls; nothing is thinking there."""
    thought = ("" if prompt.startswith("<think>") else "<think>\n") + "Is [] a call?\n</think>\n\n"
    answer = CALLS if choice == "required" else '{"city": "Oslo"}'
    reader = parser(CHOICES[choice], "qwen3", prompt=prompt, spans=True)
    table = TokenTable({n: bytes([n]) for n in range(256)})
    gate = Gate("qwen3", "hermes", tokenizer=table, constrained=True)
    end, _ = gate.find_end(list((thought + answer).encode()), gate.begin(prompt))
    assert end is not None
    assert (thought + answer)[end.token :].lstrip() == answer
    message = read_every_way(reader, thought + answer)
    assert (message.reasoning, message.content) == ("Is [] a call?", None)
    assert [call.complete for call in message.tool_calls] == (
        [True, True] if choice == "required" else [True]
    )


@pytest.mark.parametrize("choice", ["required", "named"])
def test_without_it_an_open_thought_takes_the_json(choice: str) -> None:
    """Why the constraint says so: what begins an output whose thinking is open is thinking."""
    answer = CALLS if choice == "required" else '{"city": "Oslo"}'
    message = read_every_way(parser(CHOICES[choice], "qwen3", prompt="<think>\n", spans=True), answer)
    assert (message.reasoning, message.tool_calls) == (answer, [])
