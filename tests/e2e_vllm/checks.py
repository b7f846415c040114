"""What the matrix doesn't show: token ids, clients that leave, a spent budget, an agent's loop."""

from __future__ import annotations

import asyncio
import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import openai
from agents import (
    Agent,
    AgentHooks,
    ModelSettings,
    OpenAIChatCompletionsModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)

from unbraid.engines.model_files import read_model

from .cases import Case
from .drive import ask_all, astray, invalid, without_a_call
from .processes import SERVED, gateway

PATIENCE_SECONDS, POLL_SECONDS = 10.0, 0.1
QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
RUNNING = "num_requests_running"
SHORT_BUDGET = 3
LONG = 500


def metric(engine: str, name: str, **labels: str) -> float:
    """The sum of a vLLM's counter or gauge over the labels that are not named."""
    wanted = [f'{key}="{value}"' for key, value in labels.items()]
    total = 0.0
    for line in httpx.get(engine + "/metrics").text.splitlines():
        found = re.fullmatch(rf"vllm:{name}(\{{.*\}})? (\S+)", line)
        if found and all(one in (found[1] or "") for one in wanted):
            total += float(found[2])
    return total


def token_ids(url: str, model: Path) -> str:
    """The ids of a stream are those of the whole answer and spell its text; raises AssertionError."""
    body: dict[str, Any] = {
        "model": SERVED,
        "messages": QUESTION,
        "temperature": 0,
        "max_tokens": 48,
        "return_token_ids": True,
        "chat_template_kwargs": {"enable_thinking": True},
    }
    path = url + "/v1/chat/completions"
    (whole,) = httpx.post(path, json=body, timeout=60).json()["choices"]
    ids: list[int] = []
    text = ""
    for line in httpx.post(path, json={**body, "stream": True}, timeout=60).text.splitlines():
        if not line.startswith("data: {"):
            continue
        for choice in json.loads(line[6:])["choices"]:
            ids += choice.get("token_ids") or []
            text += choice["delta"].get("reasoning") or choice["delta"].get("content") or ""
    tokenizer = read_model(model).tokenizer
    assert tokenizer is not None
    spelled = b"".join(map(tokenizer.token_bytes, ids)).decode()
    bare = re.sub(r"\s|</think>|<\|im_end\|>", "", spelled)
    message = whole["message"]
    assert ids == whole["token_ids"], f"{ids} in the stream, {whole['token_ids']} whole"
    assert bare == re.sub(r"\s|</think>", "", text), f"{spelled!r} by the ids, {text!r} in the stream"
    assert text == (message["reasoning"] or "") + (message["content"] or "")
    return f"{len(ids)} ids, the same as a stream and whole, and they spell the text"


def leaving(url: str, engine: str) -> str:
    """A client that leaves frees the engine; raises AssertionError."""
    numbers = {"type": "array", "items": {"type": "integer"}, "minItems": LONG}
    wanted = {
        "name": "numbers",
        "schema": {"type": "object", "properties": {"n": numbers}, "required": ["n"]},
    }
    body = {
        "model": SERVED,
        "messages": QUESTION,
        "stream": True,
        "response_format": {"type": "json_schema", "json_schema": wanted},
        "chat_template_kwargs": {"enable_thinking": False},
    }
    with httpx.stream("POST", url + "/v1/chat/completions", json=body, timeout=60) as response:
        lines = response.iter_lines()
        read = next((n for n, _ in enumerate(lines) if n > 8 and metric(engine, RUNNING)), None)
    assert read is not None, "the engine never said that it was at work"
    start = time.monotonic()
    while metric(engine, RUNNING):
        assert time.monotonic() - start < PATIENCE_SECONDS, "the engine went on after the client had left"
        time.sleep(POLL_SECONDS)
    written = metric(engine, "generation_tokens_total")
    time.sleep(1.0)
    assert metric(engine, "generation_tokens_total") == written, "the engine still writes"
    return f"the client left in an array of {LONG} numbers, {read} lines read: running requests go to 0"


def budgets(url: str) -> str:
    """Forced calls whose thinking is cut short are as whole as any; raises AssertionError."""
    wrong: list[str] = []

    def seen(case: Case, answer: Any) -> None:
        found = [*invalid(case, answer), *astray(case, answer)]
        if answer.broken is not None or without_a_call(case, answer):
            found.append(answer.broken or "no call")
        wrong.extend(f"{case.name}: {one}" for one in found)

    tools = ("get_weather", "find_user", "draw_line", "add_tags")
    every = [
        replace(Case(tool, "required", True, stream, temperature, 11), budget=SHORT_BUDGET)
        for tool in tools
        for stream in (True, False)
        for temperature in (0.0, 1.0)
    ]
    asyncio.run(ask_all(url, every, seen))
    assert not wrong, "; ".join(wrong)
    return f"{len(every)} forced calls with a thinking budget of {SHORT_BUDGET} tokens: all whole"


def agent_loop(url: str) -> str:
    """A tool is called, its result sent back, an answer given; raises AssertionError."""
    set_tracing_disabled(True)
    asked: list[str] = []

    @function_tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        asked.append(city)
        return "sunny, 21 degrees"

    class Once(AgentHooks[Any]):
        async def on_tool_end(self, context: Any, agent: Any, tool: Any, result: Any) -> None:
            agent.model_settings = replace(agent.model_settings, tool_choice="none")

    async def run() -> Any:
        client = openai.AsyncOpenAI(base_url=url + "/v1", api_key="none", max_retries=0)
        agent = Agent(
            name="weather",
            instructions="Answer in one sentence.",
            tools=[get_weather],
            hooks=Once(),
            reset_tool_choice=False,
            model=OpenAIChatCompletionsModel(model=SERVED, openai_client=client),
            model_settings=ModelSettings(
                tool_choice="required", parallel_tool_calls=False, temperature=0.0, max_tokens=256
            ),
        )
        async with client:
            return await Runner.run(agent, "What is the weather in Oslo?", max_turns=3)

    result = asyncio.run(run())
    kinds = [item["type"] for item in result.to_input_list() if item.get("type", "").startswith("function")]
    assert len(asked) == 1, f"the tool was called {len(asked)} times"
    assert kinds == ["function_call", "function_call_output"], kinds
    assert result.final_output
    return f"openai-agents: the tool was called for {asked[0]!r}, its result sent back, an answer given"


def refusal(engine: str, model: Path, log: Path) -> str:
    """A vLLM that ignores constraints is refused at the start; raises AssertionError."""
    try:
        with gateway(engine, model, log):
            pass
    except RuntimeError as error:
        said = str(error)
    else:
        raise AssertionError("unbraid serve started in front of a vLLM with --reasoning-parser")
    assert "start it without --reasoning-parser" in said, said
    return "unbraid serve refuses to start, and names --reasoning-parser"
