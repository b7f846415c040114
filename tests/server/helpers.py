"""A server over recorded outputs, and the official client on it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import httpx
import openai

from unbraid.engines.replay import Recording, ReplayEngine, byte_tokenizer
from unbraid.engines.template import TOOL_TEMPLATE
from unbraid.server.app import create_app
from unbraid.server.options import Options
from unbraid.server.startup import prepare

MARKERS = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
TIME = {"type": "function", "function": {"name": "get_time"}}
USER = [{"role": "user", "content": "Hello"}]
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>'
THINKING = {"chat_template_kwargs": {"enable_thinking": True}}
NOT_THINKING = {"chat_template_kwargs": {"enable_thinking": False}}


def replay(*recordings: Recording | str, special: Iterable[str] = MARKERS, **options: Any) -> ReplayEngine:
    """An engine that plays outputs, with ChatML's and Qwen's special tokens."""
    tokenizer = byte_tokenizer(*special)
    return ReplayEngine(*recordings, tokenizer=tokenizer, **{"chat_template": TOOL_TEMPLATE, **options})


def make_app(engine: Any, **options: Any) -> Any:
    """The app over an engine with Qwen3's formats."""
    given = {"reasoning_parser": "qwen3", "tool_call_parser": "hermes", **options}
    return create_app(prepare(engine, Options(**given)), engine)


def client(engine: Any, **options: Any) -> openai.AsyncOpenAI:
    """The official client on a server over ``engine``."""
    transport = httpx.ASGITransport(make_app(engine, **options), raise_app_exceptions=False)
    return openai.AsyncOpenAI(
        api_key="none",
        base_url="http://test/v1",
        http_client=httpx.AsyncClient(transport=transport),
        max_retries=0,
    )


def raw(engine: Any, **options: Any) -> httpx.AsyncClient:
    """A plain HTTP client on a server over ``engine``."""
    transport = httpx.ASGITransport(make_app(engine, **options), raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://test")


class Folded:
    """The chunks of one choice, put together the way a client does."""

    def __init__(self) -> None:
        self.role: str | None = None
        self.content: str | None = None
        self.reasoning: str | None = None
        self.calls: list[dict[str, Any]] = []
        self.finish: str | None = None
        self.kinds: list[str] = []

    def add(self, choice: Any) -> None:
        delta = choice["delta"]
        if delta.get("role"):
            assert not self.kinds, "the role comes first"
            self.role = delta["role"]
            self.kinds.append("role")
        else:
            assert delta or choice["finish_reason"], "a delta says nothing"
            if delta.get("content"):
                self.content = (self.content or "") + delta["content"]
                self.kinds.append("content")
            if delta.get("reasoning"):
                self.reasoning = (self.reasoning or "") + delta["reasoning"]
                self.kinds.append("reasoning")
        for part in delta.get("tool_calls", ()):
            self.kinds.append("call")
            if part.get("id"):
                assert part["index"] == len(self.calls)
                assert part["type"] == "function"
                name = part["function"]["name"]
                self.calls.append({"id": part["id"], "name": name, "arguments": ""})
            else:
                assert set(part) == {"index", "function"}
                assert part["function"]["arguments"]
            self.calls[part["index"]]["arguments"] += part["function"].get("arguments", "")
        if choice["finish_reason"]:
            assert self.finish is None
            self.finish = choice["finish_reason"]

    @property
    def message(self) -> tuple[str | None, str | None, list[tuple[str, str]], str | None]:
        calls = [(call["name"], call["arguments"]) for call in self.calls]
        return self.reasoning, self.content, calls, self.finish


def parse_events(text: str) -> list[Any]:
    """The events of a stream; the last one must be [DONE]."""
    import json

    events = [line.removeprefix("data: ") for line in text.split("\n\n") if line]
    assert events[-1] == "[DONE]"
    return [json.loads(event) for event in events[:-1]]


def fold(text: str) -> dict[int, Folded]:
    """The choices of a stream, put together."""
    choices: dict[int, Folded] = {}
    for event in parse_events(text):
        for choice in event.get("choices", ()):
            choices.setdefault(choice["index"], Folded()).add(choice)
    return choices


def whole(choice: Any) -> tuple[str | None, str | None, list[tuple[str, str]], str | None]:
    """A choice of a whole answer in the shape of ``Folded.message``."""
    message = choice["message"]
    calls = [
        (call["function"]["name"], call["function"]["arguments"]) for call in message.get("tool_calls", ())
    ]
    return message.get("reasoning"), message["content"], calls, choice["finish_reason"]


async def both(engine_of: Any, body: dict[str, Any], **options: Any) -> tuple[Any, Any, str]:
    """The same request whole and as a stream: the whole body, the folded choices, the stream's text."""
    body = {"messages": USER, **body}
    async with raw(engine_of(), **options) as http:
        full = await http.post("/v1/chat/completions", json=body)
    async with raw(engine_of(), **options) as http:
        streamed = await http.post("/v1/chat/completions", json={**body, "stream": True})
    assert full.status_code == 200, full.text
    assert streamed.status_code == 200, streamed.text
    return full.json(), fold(streamed.text), streamed.text
