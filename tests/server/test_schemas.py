"""Schemas that can't be held, or that are none: refused with their path before anything is generated."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from .helpers import NOT_THINKING, TIME, USER, raw, replay

ANSWER = "response_format.json_schema.schema"
PARAMETERS = "tools[1].function.parameters"


def deep(levels: int) -> Any:
    found: Any = {}
    for _ in range(levels):
        found = {"type": "object", "properties": {"a": found}}
    return found


def lists(levels: int) -> Any:
    found: Any = 1
    for _ in range(levels):
        found = [found]
    return {"a": found}


WRONG: dict[str, tuple[Any, str]] = {
    "properties": ({"properties": 5}, ".properties"),
    "required": ({"type": "object", "required": 5}, ".required"),
    "nested anyOf": ({"type": "object", "properties": {"a": {"anyOf": 5}}}, ".properties.a.anyOf"),
    "no schema": ({"type": "object", "properties": {"a": 5}}, ".properties.a"),
    "enum": ({"type": "object", "properties": {"a": {"enum": []}}}, ".properties.a.enum"),
    "pattern": ({"type": "object", "properties": {"a": {"pattern": "("}}}, ".properties.a.pattern"),
    "circle": ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}, ".$defs.a"),
    "300 objects": (deep(300), ""),
    "900 lists": (lists(900), ""),
}


def refused(body: dict[str, Any], text: str = "x", **options: Any) -> tuple[int, str | None]:
    """The status and the parameter of an answer to an engine that writes ``text``."""
    engine = replay(text, dialects=("llguidance",))

    async def post() -> Any:
        async with raw(engine, **options) as http:
            return await http.post("/v1/chat/completions", json={"messages": USER, **NOT_THINKING, **body})

    answer = asyncio.run(post())
    return answer.status_code, (answer.json().get("error") or {}).get("param")


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("parser", ["hermes", "qwen3_coder"])
@pytest.mark.parametrize("name", sorted(WRONG))
def test_strict_tools(name: str, parser: str, stream: bool) -> None:
    schema, path = WRONG[name]
    tools = [TIME, {"type": "function", "function": {"name": "f", "strict": True, "parameters": schema}}]
    choices = ("auto", "required", {"type": "function", "function": {"name": "f"}})
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "f"}]}
    for choice in (*choices, allowed):
        found = refused({"tools": tools, "tool_choice": choice, "stream": stream}, tool_call_parser=parser)
        assert found == (400, PARAMETERS + path), choice


@pytest.mark.parametrize("name", sorted(WRONG))
def test_the_answer(name: str) -> None:
    schema, path = WRONG[name]
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    status = refused({"response_format": wanted})
    assert status == (400, ANSWER + path) or (name == "900 lists" and status == (400, ANSWER))


@pytest.mark.parametrize("name", sorted(WRONG))
@pytest.mark.parametrize("choice", ["auto", "none", "required"])
def test_tools_that_nothing_enforces_fail_only_for_depth(name: str, choice: str) -> None:
    schema, path = WRONG[name]
    tools = [TIME, {"type": "function", "function": {"name": "f", "parameters": schema}}]
    called = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    status, param = refused({"tools": tools, "tool_choice": choice}, called)
    assert (status, param) == ((400, PARAMETERS) if not path else (200, None))
