"""The official client on the Responses API: whole, event by event, and with its own putting together."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from unbraid.engines.replay import Recording
from unbraid.errors import EngineError

from .helpers import CALL, THINKING, client, replay
from .responses_helpers import FLAT_TIME, FLAT_WEATHER, GRAMMAR, Stream, neutral, post, seen

NOTED = '<tool_call>\n{"name": "note", "arguments": {"input": "né"}}\n</tool_call>'
TEXT = f"I think.\n</think>\n\nText.{CALL}\n{NOTED}"
NOTE = {"type": "custom", "name": "note"}
ASKED: dict[str, Any] = {
    "model": "replay",
    "input": "Hello",
    "tools": [FLAT_WEATHER, FLAT_TIME, NOTE],
    "extra_body": THINKING,
}
ITEMS = [
    ("reasoning", "I think."),
    ("message", "Text."),
    ("call", "get_weather", '{"city": "Oslo"}'),
    ("custom", "note", "né"),
]


class Place(BaseModel):
    """An answer of a type."""

    city: str


def plain(response: Any) -> dict[str, Any]:
    """A response of the client as plain data, as it was sent."""
    found: dict[str, Any] = response.to_dict(mode="json", exclude_unset=True)
    return found


def test_whole() -> None:
    response = asyncio.run(client(replay(TEXT)).responses.create(**ASKED))
    assert isinstance(response, Response)
    assert seen(plain(response)) == ITEMS
    assert response.output_text == "Text."
    assert [item.type for item in response.output] == [
        *("reasoning", "message", "function_call", "custom_tool_call"),
    ]
    assert response.usage is not None
    assert response.usage.output_tokens_details.reasoning_tokens == len("I think.")
    assert response.incomplete_details is None


def test_each_event_is_one_that_the_client_knows() -> None:
    """Every event and the response in it are valid for the client's own types, strictly checked."""
    stream = Stream(post({"stream": True, "tools": ASKED["tools"], **THINKING}, replay(TEXT)).text)
    adapter: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
    for event in stream.events:
        assert adapter.validate_python(event).type == event["type"]
    whole = post({"tools": ASKED["tools"], **THINKING}, replay(TEXT)).json()
    assert Response.model_validate(whole).to_dict(mode="json")["output"] == whole["output"]


def test_event_by_event() -> None:
    async def run() -> list[Any]:
        events = await client(replay(TEXT)).responses.create(**ASKED, stream=True)
        return [event async for event in events]

    events = asyncio.run(run())
    assert [event.sequence_number for event in events] == list(range(len(events)))
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert text == events[-1].response.output_text == "Text."


@pytest.mark.parametrize("pieces", [list(TEXT), [TEXT], [TEXT[:40], TEXT[40:90], TEXT[90:]]])
def test_put_together_by_the_client(pieces: list[str]) -> None:
    whole = asyncio.run(client(replay(TEXT)).responses.create(**ASKED))

    async def run() -> tuple[Any, list[Any]]:
        async with client(replay(Recording(pieces))).responses.stream(**ASKED) as stream:
            events = [event async for event in stream]
            return await stream.get_final_response(), events

    final, events = asyncio.run(run())
    snapshots = [event.snapshot for event in events if hasattr(event, "snapshot")]
    assert snapshots[-1] == '{"city": "Oslo"}'
    assert neutral(without_parsed(final)) == neutral(plain(whole))


def without_parsed(response: Any) -> dict[str, Any]:
    """What the client parsed for its own comfort taken out again."""
    found = json.loads(response.to_json(exclude_unset=True))
    for item in found["output"]:
        item.pop("parsed_arguments", None)
        for part in item.get("content", ()):
            part.pop("parsed", None)
    return found  # type: ignore[no-any-return]


def test_an_answer_of_a_type() -> None:
    engine = replay('Hm.\n</think>\n\n{"city": "Oslo"}', **GRAMMAR)
    response = asyncio.run(
        client(engine).responses.parse(model="replay", input="x", text_format=Place, extra_body=THINKING)
    )
    assert response.output_parsed == Place(city="Oslo")
    assert engine.requests[0].constraint is not None


def test_a_tool_is_called_its_result_sent_back_and_the_answer_read() -> None:
    engine = replay(f"Hm.\n</think>\n\n{CALL}", "Good.\n</think>\n\nSunny.")

    async def run() -> Any:
        server = client(engine)
        asked: list[Any] = [{"role": "user", "content": "Weather?"}]
        options: dict[str, Any] = {"model": "replay", "tools": [FLAT_WEATHER], "extra_body": THINKING}
        first = await server.responses.create(input=asked, **options)
        asked += [item.to_dict() for item in first.output]
        call = next(item for item in first.output if item.type == "function_call")
        asked.append({"type": "function_call_output", "call_id": call.call_id, "output": "sunny"})
        return await server.responses.create(input=asked, **options)

    assert asyncio.run(run()).output_text == "Sunny."
    prompt = engine.requests[1].prompt
    assert f"<think>\nHm.\n</think>\n\n{CALL}<|im_end|>" in prompt
    assert "<tool_response>\nsunny\n</tool_response>" in prompt


def test_errors() -> None:
    async def run() -> None:
        server = client(replay("x"))
        with pytest.raises(openai.BadRequestError) as refused:
            await server.responses.create(model="replay", input="x", previous_response_id="resp_1")
        assert refused.value.param == "previous_response_id"
        with pytest.raises(openai.NotFoundError) as unknown:
            await server.responses.create(model="other", input="x")
        assert unknown.value.code == "model_not_found"
        with pytest.raises(openai.NotFoundError):
            await server.responses.retrieve("resp_1")
        with pytest.raises(openai.NotFoundError):
            await server.responses.cancel("resp_1")

    asyncio.run(run())


def test_a_failure_within_the_stream() -> None:
    engine = replay(Recording(["some te"], fault=EngineError("the engine died")))

    async def run() -> list[Any]:
        async with client(engine).responses.stream(model="replay", input="x") as stream:
            return [event async for event in stream]

    last = asyncio.run(run())[-1]
    assert last.type == "response.failed"
    assert last.response.error.message == "the engine died"
    assert seen(plain(last.response)) == [("message", "some te", "!")]
