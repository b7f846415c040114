"""The official Anthropic client against the server."""

from __future__ import annotations

import asyncio
from typing import Any

import anthropic
import pytest
from anthropic import beta_async_tool
from pydantic import BaseModel

from .anthropic_helpers import BODY, THINKING, WEATHER_TOOL, alike, client, plain
from .helpers import CALL, USER, replay

TEXT = f"Need data.\n</think>\n\nLet me look.\n{CALL}<|im_end|>"


def test_whole_and_streamed() -> None:
    engine = replay(TEXT)
    asked = {**BODY, **THINKING, "tools": [WEATHER_TOOL]}

    async def run() -> tuple[Any, Any]:
        whole = await client(engine).messages.create(**asked)
        async with client(engine).messages.stream(**asked) as stream:
            async for _ in stream:
                pass
            return whole, await stream.get_final_message()

    whole, streamed = asyncio.run(run())
    assert alike(plain(streamed)) == alike(plain(whole))
    assert [block.type for block in whole.content] == ["thinking", "text", "tool_use"]
    assert whole.content[0].thinking == "Need data."
    assert whole.content[1].text == "Let me look."
    assert (whole.content[2].name, whole.content[2].input) == ("get_weather", {"city": "Oslo"})
    assert whole.stop_reason == "tool_use"
    assert whole.usage.output_tokens_details.thinking_tokens == len("Need data.")
    assert engine.requests[0].prompt.endswith("<|im_start|>assistant\n<think>\n")


def test_a_loop_of_tools() -> None:
    """A tool is called, its result sent back with all that the model said, and the answer comes."""
    engine = replay(TEXT, "I know it.\n</think>\n\nIt rains in Oslo.<|im_end|>")
    messages: list[Any] = [*USER]

    async def run(streams: bool) -> Any:
        while True:
            asked = {**BODY, **THINKING, "tools": [WEATHER_TOOL], "messages": messages}
            if streams:
                async with client(engine).messages.stream(**asked) as stream:
                    answer = await stream.get_final_message()
            else:
                answer = await client(engine).messages.create(**asked)
            if answer.stop_reason != "tool_use":
                return answer
            messages.append({"role": "assistant", "content": answer.content})
            results = [
                {"type": "tool_result", "tool_use_id": one.id, "content": f"Rain in {one.input['city']}"}
                for one in answer.content
                if one.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results})

    for streams in (False, True):
        engine, messages = replay(TEXT, "I know it.\n</think>\n\nIt rains in Oslo.<|im_end|>"), [*USER]
        answer = asyncio.run(run(streams))
        assert [block.type for block in answer.content] == ["thinking", "text"]
        assert answer.content[1].text == "It rains in Oslo."
        prompt = engine.requests[1].prompt
        assert "<think>\nNeed data.\n</think>\n\nLet me look." in prompt
        assert CALL in prompt
        assert "<tool_response>\nRain in Oslo\n</tool_response>" in prompt


@beta_async_tool
async def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}"


@pytest.mark.parametrize("streams", [False, True])
def test_the_client_s_own_loop_of_tools(streams: bool) -> None:
    engine = replay(TEXT, "I know it.\n</think>\n\nIt rains in Oslo.<|im_end|>")

    async def run() -> Any:
        asked = {**BODY, **THINKING, "tools": [get_weather]}
        if not streams:
            return await client(engine).beta.messages.tool_runner(**asked).until_done()
        async for stream in client(engine).beta.messages.tool_runner(**asked, stream=True):
            last = await stream.get_final_message()
        return last

    answer = asyncio.run(run())
    assert answer.content[-1].text == "It rains in Oslo."
    assert len(engine.requests) == 2
    assert "<tool_response>\nRain in Oslo\n</tool_response>" in engine.requests[1].prompt


class City(BaseModel):
    name: str


def test_an_answer_in_a_shape() -> None:
    engine = replay('{"name": "Oslo"}', dialects=("llguidance",))

    async def run() -> Any:
        return await client(engine).messages.parse(**BODY, output_format=City)

    assert asyncio.run(run()).parsed_output == City(name="Oslo")
    assert engine.requests[0].constraint is not None


def test_tokens_are_counted() -> None:
    engine = replay("x")

    async def run() -> None:
        asked = {"model": "replay", "messages": USER, "tools": [WEATHER_TOOL], "system": "Be brief."}
        count = await client(engine).messages.count_tokens(**asked)
        answer = await client(engine).messages.create(max_tokens=10, **asked)
        assert (
            count.input_tokens
            == answer.usage.input_tokens
            == len(engine.tokenizer.encode(engine.requests[0].prompt))
        )
        assert len(engine.requests) == 1

    asyncio.run(run())


def test_errors() -> None:
    async def run() -> None:
        server = client(replay("x"))
        with pytest.raises(anthropic.NotFoundError) as unknown:
            await server.messages.create(**{**BODY, "model": "other"})
        assert unknown.value.type == "not_found_error"
        assert unknown.value.request_id == unknown.value.body["request_id"]
        with pytest.raises(anthropic.BadRequestError) as refused:
            await server.messages.count_tokens(model="replay", messages=[])
        assert refused.value.type == "invalid_request_error"
        assert "messages" in refused.value.api_message

    asyncio.run(run())
