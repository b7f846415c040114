"""An agent's loop with LangChain's ChatOpenAI: a tool called, its result sent back, an answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from unbraid.server.background import serving

from .helpers import make_app
from .scripted import ScriptedEngine, written

PAIR = ("qwen3", "hermes")
ANSWER = "In Oslo it rains: take the café's umbrella ☂."


@tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Rain in {city}"


def script(prompt: str) -> str:
    """A call first; an answer once the tool's result is there."""
    if "Rain in Oslo" in prompt:
        return written(PAIR, [], ANSWER)
    return written(PAIR, [("get_weather", json.dumps({"city": "Oslo"}))])


def answered(model: Any, messages: list[Any], streamed: bool) -> Any:
    """The model's next message."""
    if not streamed:
        return model.invoke(messages)
    whole: AIMessageChunk | None = None
    for chunk in model.stream(messages):
        whole = chunk if whole is None else whole + chunk
    return whole


@pytest.mark.parametrize("streamed", [True, False])
@pytest.mark.parametrize("responses", [True, False])
def test_the_loop_ends_with_an_answer(streamed: bool, responses: bool) -> None:
    app = make_app(
        ScriptedEngine(script), markers="text", default_chat_template_kwargs={"enable_thinking": False}
    )
    with serving(app) as url:
        model = ChatOpenAI(
            model="replay",
            base_url=f"{url}/v1",
            api_key="none",
            use_responses_api=responses,
            max_retries=0,
        ).bind_tools([get_weather])
        messages: list[Any] = [HumanMessage("Do I need an umbrella in Oslo?")]
        for _ in range(4):
            message = answered(model, messages, streamed)
            messages.append(message)
            if not message.tool_calls:
                break
            for call in message.tool_calls:
                assert call["args"] == {"city": "Oslo"}
                messages.append(ToolMessage(get_weather.invoke(call["args"]), tool_call_id=call["id"]))
    assert len(messages) == 4
    assert messages[-1].text == ANSWER
