"""Hostile templates, schemas and names over HTTP: refused with their path, and the next request is well."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from unbraid.engines.sandbox import OWN

from .helpers import NOT_THINKING, USER, fold, raw, replay, whole


def bomb(levels: int) -> dict[str, Any]:
    """Definitions each of which refers twice to the next."""
    named: dict[str, Any] = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(levels)}
    return {"$ref": "#/$defs/d0", "$defs": {**named, f"d{levels}": {"type": "string"}}}


def tools(name: str = "f", **parameters: Any) -> dict[str, Any]:
    return {"tools": [{"type": "function", "function": {"name": name, "parameters": parameters}}]}


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    function = {"name": "f", "strict": True, "parameters": {"properties": {"a": schema}}}
    return {"tools": [{"type": "function", "function": function}]}


PARAMETERS = "tools[0].function.parameters"
REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "a template without measure": (
        {"chat_template": "{{ [1] | batch(10 ** 9, 1) | list }}"},
        "chat_template",
    ),
    "a template that nests": ({"chat_template": "{{ " + "[" * 9999}, "chat_template"),
    "a template for Python": ({"chat_template": "{{ ''.__class__.__mro__ }}"}, "messages"),
    "a bomb": (tools(**bomb(20)), PARAMETERS),
    "a deep schema": (tools(enum=[[[[[[]]]]]] * 2, items={"enum": [0] * 9000}), PARAMETERS),
    "a large step": (
        strict({"type": "integer", "multipleOf": 9_999_999}),
        f"{PARAMETERS}.properties.a.multipleOf",
    ),
    "a product of unions": (
        strict({"allOf": [{"anyOf": [{"properties": {f"{n}{m}": {}}} for m in "abc"]} for n in range(9)]}),
        PARAMETERS,
    ),
    "a name with a line break": (tools("a\nb"), "tools[0].function.name"),
    "a blank name": (tools("  "), "tools[0].function.name"),
    "a name that can't be carried": (tools("a "), "tools[0].function.name"),
    "a seed of a hundred digits": ({"seed": 10**100}, "seed"),
}


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", sorted(REFUSED))
def test_it_is_refused_and_the_next_request_is_well(name: str, stream: bool) -> None:
    body, param = REFUSED[name]
    engine = replay("Hi", dialects=("llguidance",))
    request = {"messages": USER, "stream": stream, **NOT_THINKING}

    async def both() -> tuple[Any, Any]:
        async with raw(engine, trust_request_chat_template=True) as http:
            refused = await http.post("/v1/chat/completions", json={**request, **body})
            return refused, await http.post("/v1/chat/completions", json=request)

    refused, after = asyncio.run(both())
    assert refused.status_code == 400, refused.text
    assert refused.json()["error"]["param"] == param
    assert after.status_code == 200
    message = fold(after.text)[0].message if stream else whole(after.json()["choices"][0])
    assert message == (None, "Hi", [], "stop")


def test_a_template_of_a_request_has_not_the_process_of_the_servers_own() -> None:
    async def run() -> None:
        async with raw(replay("Hi"), trust_request_chat_template=True) as http:
            before = OWN.pid
            refused = await http.post(
                "/v1/chat/completions", json={"messages": USER, "chat_template": "{{ 'a'.ljust(10 ** 10) }}"}
            )
            assert refused.status_code == 400
            assert before is not None
            assert before == OWN.pid

    asyncio.run(run())
