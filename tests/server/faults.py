"""Engines that go wrong, requests of every API, and what a client understood of the answer."""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn

from unbraid.engines.base import Chunk, Generation
from unbraid.server.apis import apis

from .helpers import MARKERS, USER, WEATHER, replay

FUNCTION = WEATHER["function"]
CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
BODIES: dict[str, dict[str, Any]] = {
    CHAT: {"messages": USER, "tools": [WEATHER]},
    RESPONSES: {"input": "Hello", "tools": [{"type": "function", "strict": False, **FUNCTION}]},
    MESSAGES: {
        "messages": USER,
        "max_tokens": 1_000_000,
        "tools": [{"name": FUNCTION["name"], "input_schema": FUNCTION["parameters"]}],
    },
}
PATHS = [api.path for api in apis() if api.path in BODIES]
"""The routes that generate."""


def body(path: str, stream: bool = True) -> dict[str, Any]:
    """A request of an API with a tool."""
    return {"model": "replay", **BODIES[path], "stream": stream}


# -- engines ------------------------------------------------------------------------


class Hang:
    """A step of a script: the engine says no more."""


LONG = "x" * 4096
"""A text that is one token."""


class Scripted:
    """An engine that does what its scripts say, one a generation, the last one again and again.

    A step is a text (which comes with its ids), a chunk, an exception to raise, an event to wait
    for, or Hang. ``running`` and ``aborted`` count as those of a replay engine do, ``pieces``
    what was given out.
    """

    def __init__(self, *scripts: Iterable[Any]) -> None:
        self._replay = replay("x", special=(*MARKERS, LONG))
        self._scripts = scripts
        self.started = self.running = self.aborted = self.pieces = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._replay, name)

    async def generate(self, generation: Generation) -> AsyncIterator[Chunk]:
        script = self._scripts[min(self.started, len(self._scripts) - 1)]
        self.started += 1
        self.running += 1
        over = False
        try:
            for step in script:
                over = isinstance(step, Exception)
                if isinstance(step, Exception):
                    raise step
                if isinstance(step, Hang):
                    await asyncio.Event().wait()
                elif isinstance(step, asyncio.Event):
                    await step.wait()
                else:
                    self.pieces += 1
                    yield step if isinstance(step, Chunk) else self._chunk(step)
            over = True
            yield Chunk(finish_reason="stop", prompt_tokens=1, completion_tokens=1)
        finally:
            self.running -= 1
            self.aborted += not over

    def _chunk(self, text: str) -> Chunk:
        return Chunk(text=text, token_ids=tuple(self._replay.tokenizer.encode(text)))


# -- what a client reads --------------------------------------------------------------


@dataclass
class Read:
    """A stream as a client of its API understands it; ``ended`` when it said that it is over."""

    reasoning: str = ""
    content: str = ""
    arguments: str = ""
    error: str | None = None
    ended: bool = False
    order: list[str] = field(default_factory=list)


def read_stream(path: str, text: str) -> Read:
    """The strands and the error of a stream of any API."""
    read = Read()
    for block in text.split("\n\n"):
        data = [line[6:] for line in block.split("\n") if line.startswith("data: ")]
        if not data:
            continue
        if data == ["[DONE]"]:
            read.ended = True
        else:
            _READERS[path](read, json.loads("".join(data)))
    return read


def _read_chat(read: Read, event: Any) -> None:
    if "error" in event:
        read.error = event["error"]["message"]
    for choice in event.get("choices", ()):
        delta = choice["delta"]
        read.reasoning += delta.get("reasoning") or ""
        read.content += delta.get("content") or ""
        for call in delta.get("tool_calls", ()):
            read.arguments += call["function"].get("arguments", "")


def _read_responses(read: Read, event: Any) -> None:
    kind = event["type"]
    if kind == "response.reasoning_text.delta":
        read.reasoning += event["delta"]
    elif kind == "response.output_text.delta":
        read.content += event["delta"]
    elif kind == "response.function_call_arguments.delta":
        read.arguments += event["delta"]
    elif kind == "response.failed":
        read.error, read.ended = event["response"]["error"]["message"], True
    elif kind in ("response.completed", "response.incomplete"):
        read.ended = True


def _read_messages(read: Read, event: Any) -> None:
    delta = event.get("delta", {})
    read.reasoning += delta.get("thinking", "")
    read.content += delta.get("text", "")
    read.arguments += delta.get("partial_json", "")
    if event["type"] == "error":
        read.error, read.ended = event["error"]["message"], True
    read.ended = read.ended or event["type"] == "message_stop"


_READERS: dict[str, Callable[[Read, Any], None]] = {
    CHAT: _read_chat,
    RESPONSES: _read_responses,
    MESSAGES: _read_messages,
}


# -- servers --------------------------------------------------------------------------


async def until(reached: Callable[[], bool]) -> None:
    """Let the loop run until something is so; for ten seconds at most."""
    deadline = time.monotonic() + 10
    while not reached():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


@asynccontextmanager
async def listening(app: Any) -> AsyncIterator[int]:
    """A real server in this loop, whose sockets have small buffers; gives its port."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", timeout_graceful_shutdown=5
    )
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve([listener]))
    await until(lambda: server.started or serving.done())
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await serving


def request_bytes(path: str, content: Any) -> bytes:
    """A request as it goes over the wire."""
    data = json.dumps(content).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: test\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(data) + data
