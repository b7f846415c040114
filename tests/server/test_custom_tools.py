"""Custom tools of chat completions: a text in place of arguments."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from unbraid.engines.replay import Recording

from .helpers import NOT_THINKING, USER, WEATHER, client, parse_events, raw, replay

SHELL = {"type": "custom", "custom": {"name": "shell", "description": "Runs a command"}}
TEXT = 'echo "é ☕\\n"\n'
CALL = '<tool_call>\n{"name": "shell", "arguments": ' + json.dumps({"input": TEXT}) + "}\n</tool_call>"
ODD = CALL.replace('"input"', '"command"')
BODY = {"messages": USER, "tools": [WEATHER, SHELL], **NOT_THINKING}


def post(text: Any, body: dict[str, Any], **options: Any) -> tuple[Any, list[Any], Any]:
    """The whole answer, the events of the streamed one, and the engine."""
    engine = replay(text, dialects=("llguidance",))

    async def run() -> tuple[Any, Any]:
        async with raw(engine, **options) as http:
            full = await http.post("/v1/chat/completions", json=body)
            return full, await http.post("/v1/chat/completions", json={**body, "stream": True})

    full, streamed = asyncio.run(run())
    assert full.status_code == 200, full.text
    return full.json(), parse_events(streamed.text), engine


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("wire_safe", [True, False])
def test_a_call_of_a_custom_tool(size: int, wire_safe: bool) -> None:
    pieces = [CALL[at : at + size] for at in range(0, len(CALL), size)]
    full, events, engine = post(Recording(pieces), BODY, wire_safe=wire_safe)
    (call,) = full["choices"][0]["message"]["tool_calls"]
    assert call["type"] == "custom"
    assert call["custom"] == {"name": "shell", "input": TEXT}
    assert full["choices"][0]["finish_reason"] == "tool_calls"
    deltas = [event["choices"][0]["delta"] for event in events]
    parts = [part for delta in deltas for part in delta.get("tool_calls", ())]
    assert parts[0]["type"] == "custom"
    assert parts[0]["custom"] == {"name": "shell", "input": ""}
    assert "".join(part["custom"].get("input", "") for part in parts) == TEXT
    assert all("function" not in part for part in parts)
    assert all(delta for delta in deltas[:-1])
    assert "shell" in str(engine.requests[0].prompt)


def test_arguments_that_hold_no_input_are_the_input() -> None:
    full, events, _ = post(ODD, BODY)
    (call,) = full["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["custom"]["input"]) == {"command": TEXT}
    deltas = [event["choices"][0]["delta"] for event in events]
    parts = [part for delta in deltas for part in delta.get("tool_calls", ())]
    assert "".join(part["custom"].get("input", "") for part in parts) == call["custom"]["input"]


@pytest.mark.parametrize(
    "choice",
    [
        {"type": "custom", "custom": {"name": "shell"}},
        {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [{"type": "custom", "custom": {"name": "shell"}}]},
        },
    ],
)
def test_choices_name_custom_tools(choice: Any) -> None:
    full, _, engine = post(CALL, {**BODY, "tool_choice": choice})
    assert full["choices"][0]["message"]["tool_calls"][0]["custom"]["name"] == "shell"
    assert engine.requests[0].constraint is not None


def test_the_history_holds_calls_of_custom_tools() -> None:
    made = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": TEXT}}
    messages = [
        *USER,
        {"role": "assistant", "content": None, "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "c1", "content": "done"},
    ]
    _, _, engine = post("Fine.", {**BODY, "messages": messages})
    assert '"arguments": {"input": "echo ' in str(engine.requests[0].prompt)


WRONG = [
    ({"type": "custom"}, "tools[1]"),
    ({"type": "custom", "custom": {"name": 5}}, "tools[1].custom.name"),
    ({"type": "custom", "custom": {"name": "get_weather"}}, "tools[1].custom.name"),
    (
        {"type": "custom", "custom": {"name": "x", "format": {"type": "grammar", "grammar": {}}}},
        "tools[1].custom.format",
    ),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_custom_tools(number: int) -> None:
    tool, param = WRONG[number]

    async def run() -> Any:
        async with raw(replay("x")) as http:
            return await http.post("/v1/chat/completions", json={**BODY, "tools": [WEATHER, tool]})

    answer = asyncio.run(run())
    assert answer.status_code == 400
    assert answer.json()["error"]["param"].startswith(param)


def test_the_official_client_reads_them() -> None:
    async def run() -> Any:
        async with client(replay(CALL)) as server:
            return await server.chat.completions.create(
                model="replay", messages=USER, tools=[WEATHER, SHELL], extra_body=NOT_THINKING
            )

    assert asyncio.run(run()).choices[0].message.tool_calls[0].custom.input == TEXT
