"""The official client against the server."""

from __future__ import annotations

import asyncio
from typing import Any

from .helpers import CALL, THINKING, USER, WEATHER, client, replay


def test_a_stream_with_thinking_and_a_call() -> None:
    engine = replay(f"Need data.\n</think>\n\nLet me look.\n{CALL}<|im_end|>")

    async def ask() -> tuple[list[Any], Any]:
        stream = await client(engine).chat.completions.create(
            model="replay",
            messages=USER,
            tools=[WEATHER],
            stream=True,
            stream_options={"include_usage": True},
            extra_body=THINKING,
        )
        chunks = [chunk async for chunk in stream]
        return chunks, engine.requests[0]

    chunks, generation = asyncio.run(ask())
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    assert deltas[0].role == "assistant"
    assert "".join(getattr(delta, "reasoning", None) or "" for delta in deltas) == "Need data."
    assert "".join(delta.content or "" for delta in deltas) == "Let me look."
    calls = [call for delta in deltas for call in delta.tool_calls or ()]
    assert calls[0].function.name == "get_weather"
    assert calls[0].id
    assert "".join(call.function.arguments for call in calls) == '{"city": "Oslo"}'
    assert chunks[-2].choices[0].finish_reason == "tool_calls"
    usage = chunks[-1].usage
    assert usage.completion_tokens_details.reasoning_tokens == len("Need data.")
    assert generation.prompt.endswith("<|im_start|>assistant\n<think>\n")
