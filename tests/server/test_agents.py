"""An agent's loop with the openai-agents package: a tool is called, its result sent back, an answer given."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from agents.exceptions import AgentsException
from openai import APIError
from pydantic import BaseModel

from unbraid.engines.replay import Recording, ReplayEngine
from unbraid.errors import EngineError

from .helpers import CALL, client, replay

set_tracing_disabled(True)

MODELS = pytest.mark.parametrize("model", [OpenAIResponsesModel, OpenAIChatCompletionsModel])
STREAMED = pytest.mark.parametrize("streamed", [False, True])
QUESTION = "How is the weather in Oslo?"
TURNS = (f"I look it up.\n</think>\n\nOne moment.{CALL}", "Nice.\n</think>\n\nIt is sunny in Oslo.")


class Place(BaseModel):
    """Where it is sunny."""

    city: str


@function_tool
def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"Sunny in {city}, 21°."


def make_agent(engine: ReplayEngine, model: Any, **options: Any) -> Agent[Any]:
    server = client(engine, default_chat_template_kwargs={"enable_thinking": True})
    made = model(model="replay", openai_client=server)
    return Agent(name="weather", instructions="Be brief.", tools=[get_weather], model=made, **options)


def run(agent: Agent[Any], streamed: bool, question: Any = QUESTION) -> Any:
    async def go() -> Any:
        if not streamed:
            return await Runner.run(agent, question, max_turns=4)
        result = Runner.run_streamed(agent, question, max_turns=4)
        async for _ in result.stream_events():
            pass
        return result

    return asyncio.run(go())


@MODELS
@STREAMED
def test_a_tool_is_called_and_the_answer_given(model: Any, streamed: bool) -> None:
    engine = replay(*TURNS, dialects=("llguidance",))
    result = run(make_agent(engine, model), streamed)
    assert result.final_output == "It is sunny in Oslo."
    history = result.to_input_list()
    assert [item.get("type", item.get("role")) for item in history] == [
        *("user", "reasoning", "message", "function_call", "function_call_output"),
        *("reasoning", "message"),
    ]
    assert json.loads(history[3]["arguments"]) == {"city": "Oslo"}
    assert history[3]["call_id"] == history[4]["call_id"]
    prompt = engine.requests[1].prompt
    assert isinstance(prompt, str)
    assert prompt.startswith("<|im_start|>system\nBe brief.")
    assert f"One moment.\n{CALL}<|im_end|>" in prompt
    assert "<tool_response>\nSunny in Oslo, 21°.\n</tool_response>" in prompt


@STREAMED
def test_both_apis_show_the_model_the_same(streamed: bool) -> None:
    prompts = []
    for model in (OpenAIResponsesModel, OpenAIChatCompletionsModel):
        engine = replay(*TURNS, dialects=("llguidance",))
        run(make_agent(engine, model), streamed)
        prompts.append([request.prompt for request in engine.requests])
    assert prompts[0] == prompts[1]
    assert len(prompts[0]) == 2


@MODELS
@STREAMED
def test_the_conversation_goes_on(model: Any, streamed: bool) -> None:
    engine = replay(*TURNS, "Hm.\n</think>\n\nYes.", dialects=("llguidance",))
    agent = make_agent(engine, model)
    first = run(agent, streamed)
    again = [*first.to_input_list(), {"role": "user", "content": "Are you sure?"}]
    assert run(agent, streamed, again).final_output == "Yes."
    assert "It is sunny in Oslo.<|im_end|>\n<|im_start|>user\nAre you sure?" in engine.requests[2].prompt


@MODELS
@STREAMED
def test_a_demanded_tool_and_an_answer_of_a_type(model: Any, streamed: bool) -> None:
    engine = replay(
        f"So.\n</think>\n\n{CALL}", 'Good.\n</think>\n\n{"city": "Oslo"}', dialects=("llguidance",)
    )
    settings = ModelSettings(tool_choice="required", parallel_tool_calls=False, temperature=0)
    agent = make_agent(engine, model, output_type=Place, model_settings=settings)
    assert run(agent, streamed).final_output == Place(city="Oslo")
    first, second = engine.requests
    assert first.constraint is not None
    assert second.constraint is not None
    assert first.constraint != second.constraint
    assert first.sampling.temperature == 0


@MODELS
def test_a_failure_within_a_stream_is_no_answer(model: Any) -> None:
    fault = EngineError("the engine died")
    engine = replay(Recording(["Half an ans"], fault=fault), dialects=("llguidance",))
    with pytest.raises((APIError, AgentsException), match="the engine died"):
        run(make_agent(engine, model), streamed=True)
