"""What chat completions send beside the plain answer: safe chunks, running counts, several choices."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from unbraid.engines.replay import Recording

from .helpers import (
    CALL,
    NOT_THINKING,
    THINKING,
    TIME,
    USER,
    WEATHER,
    both,
    fold,
    parse_events,
    raw,
    replay,
    whole,
)

TEXT = f"Need it.\n</think>\n\n \n{CALL}\n{CALL.replace('Oslo', 'Rome')}"
GRAMMAR = {"dialects": ("llguidance",)}


def answers(text: Any, body: dict[str, Any], **options: Any) -> tuple[Any, dict[int, Any], list[Any]]:
    """The whole answer, the folded choices and the events of the same request."""
    engine = options.pop("engine", {})
    full, choices, streamed = asyncio.run(both(lambda: replay(text, **engine), body, **options))
    return full, choices, parse_events(streamed)


@pytest.mark.parametrize("pieces", [1, 2, 3, 7, 1000])
def test_safe_chunks(pieces: int) -> None:
    text = [TEXT[at : at + pieces] for at in range(0, len(TEXT), pieces)]
    body = {"tools": [WEATHER], **THINKING}

    async def run(stream: bool) -> Any:
        async with raw(replay(Recording(text)), wire_safe=True) as http:
            sent = {"messages": USER, "stream": stream, **body}
            return await http.post("/v1/chat/completions", json=sent)

    message = asyncio.run(run(False)).json()["choices"][0]["message"]
    assert message["content"] is None
    deltas = [event["choices"][0]["delta"] for event in parse_events(asyncio.run(run(True)).text)]
    ids: dict[int, str] = {}
    calls: dict[int, str] = {}
    for delta in deltas[1:]:
        assert len(delta) <= 1
        assert delta.get("content", "x").strip()
        for part in delta.get("tool_calls", ()):
            assert part["type"] == "function"
            assert part["id"] == ids.setdefault(part["index"], part["id"])
            assert part["function"]["name"] == "get_weather"
            calls[part["index"]] = calls.get(part["index"], "") + part["function"].get("arguments", "")
    assert list(calls.values()) == [call["function"]["arguments"] for call in message["tool_calls"]]


def test_safe_chunks_lose_no_white_space_of_an_answer() -> None:
    text = Recording(["One", "\n", "\n", " ", "two", "\n"])
    for safe in (True, False):
        full, choices, _ = answers(text, NOT_THINKING, wire_safe=safe)
        assert full["choices"][0]["message"]["content"] == choices[0].content == "One\n\n two\n"


def test_running_counts() -> None:
    options = {"include_usage": True, "continuous_usage_stats": True}

    async def run() -> str:
        async with raw(replay(Recording(["a"] * 5))) as http:
            sent = {"messages": USER, "stream": True, "stream_options": options, **NOT_THINKING}
            return (await http.post("/v1/chat/completions", json=sent)).text

    events = parse_events(asyncio.run(run()))
    counts = [event["usage"]["completion_tokens"] for event in events]
    assert counts == sorted(counts)
    assert counts[-1] == 5
    assert counts[0] <= 1
    prompts = {event["usage"]["prompt_tokens"] for event in events}
    assert len(prompts) == 1
    assert prompts.pop() > 0


FIELDS = {
    "echo": True,
    "min_tokens": 3,
    "stop_token_ids": [1],
    "bad_words": ["x"],
    "allowed_token_ids": [1],
    "prompt_logprobs": 1,
    "logprob_token_ids": [3],
    "include_stop_str_in_output": True,
    "web_search_options": {"search_context_size": "low"},
    "audio": {"voice": "a", "format": "wav"},
}


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_fields_that_would_change_the_answer_are_refused(name: str) -> None:
    async def run(value: Any) -> Any:
        async with raw(replay("x")) as http:
            sent = {"messages": USER, name: value, **NOT_THINKING}
            return await http.post("/v1/chat/completions", json=sent)

    refused = asyncio.run(run(FIELDS[name]))
    assert (refused.status_code, refused.json()["error"]["param"]) == (400, name)
    for nothing in (None, False):
        assert asyncio.run(run(nothing)).status_code == 200


def test_a_schema_and_tools_together() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}
    body = {"tools": [WEATHER], "response_format": wanted, **NOT_THINKING}
    full, choices, _ = answers(CALL, body, engine=GRAMMAR)
    assert whole(full["choices"][0]) == choices[0].message
    assert choices[0].message == (None, None, [("get_weather", '{"city": "Oslo"}')], "tool_calls")
    full, choices, _ = answers('{"a": 1}', body, engine=GRAMMAR)
    assert whole(full["choices"][0]) == choices[0].message == (None, '{"a": 1}', [], "stop")


def test_three_choices_with_calls_ids_and_ends_of_their_own() -> None:
    recordings = (CALL, Recording("No", "length"), f"{CALL}\n{CALL}")

    async def run() -> tuple[Any, Any]:
        found = []
        for stream in (False, True):
            async with raw(replay(*recordings)) as http:
                sent = {"messages": USER, "tools": [WEATHER], "n": 3, "stream": stream, **NOT_THINKING}
                found.append(await http.post("/v1/chat/completions", json=sent))
        return found[0], found[1]

    full, streamed = asyncio.run(run())
    choices = fold(streamed.text)
    for one in full.json()["choices"]:
        assert whole(one) == choices[one["index"]].message
    ids = [call["id"] for one in full.json()["choices"] for call in one["message"].get("tool_calls", ())]
    assert len(set(ids)) == len(ids) == 3
    assert [choices[n].finish for n in range(3)] == ["tool_calls", "length", "tool_calls"]


def test_a_history_of_every_shape() -> None:
    made = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "O"}'}}
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {"role": "assistant", "content": None, "reasoning_content": "old name", "tool_calls": [made]},
        {"role": "tool", "tool_call_id": "c1", "content": "Rain."},
        {
            "role": "assistant",
            "reasoning": "new name",
            "reasoning_content": "old",
            "content": None,
            "tool_calls": [{**made, "id": "c2", "function": {"name": "get_time", "arguments": ""}}],
        },
        {"role": "tool", "tool_call_id": "c2", "content": [{"type": "text", "text": "Noon."}]},
    ]
    engine = replay("Fine.")

    async def run() -> Any:
        async with raw(engine) as http:
            sent = {"messages": messages, "tools": [WEATHER, TIME], **NOT_THINKING}
            return await http.post("/v1/chat/completions", json=sent)

    assert asyncio.run(run()).json()["choices"][0]["message"]["content"] == "Fine."
    prompt = engine.requests[0].prompt
    for text in ("Be brief.", "Weather?", "old name", "Rain.", "new name", "get_time", "Noon."):
        assert text in prompt
    assert "<think>\nold\n" not in prompt


def test_going_on_with_the_last_message() -> None:
    engine = replay("lo there")
    messages = [*USER, {"role": "assistant", "content": "Hel"}]

    async def run() -> Any:
        async with raw(engine) as http:
            sent = {"messages": messages, "continue_final_message": True, "add_generation_prompt": False}
            return await http.post("/v1/chat/completions", content=json.dumps(sent))

    assert asyncio.run(run()).json()["choices"][0]["message"]["content"] == "lo there"
    assert engine.requests[0].prompt.endswith("assistant\nHel")
