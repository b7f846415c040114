"""Asking a server with the embedded thinking model, and judging what comes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import jsonschema

from unbraid.engines.embedded import EmbeddedEngine
from unbraid.engines.gguf import make_thinking_model
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.models import fetch_model
from unbraid.server.app import create_app
from unbraid.server.background import serving
from unbraid.server.options import Options
from unbraid.server.startup import prepare

from ..server.helpers import Folded, fold, whole
from .cases import TOOLS, Case

MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>")
MAX_STRING = 256
OPTIONS = Options(
    reasoning_parser="qwen3",
    tool_call_parser="hermes",
    chat_template="unbraid",
    thinking_token_budget=48,
    max_string_length=MAX_STRING,
)
Answer = tuple[str | None, str | None, list[tuple[str, str]], str | None]


def embedded() -> EmbeddedEngine:
    """An engine with the thinking model."""
    return EmbeddedEngine(make_thinking_model(fetch_model()), n_ctx=2048, slots=1)


@contextmanager
def server() -> Iterator[httpx.Client]:
    """A client on a server with the thinking model."""
    with served(embedded()) as http:
        yield http


@contextmanager
def stock_server() -> Iterator[httpx.Client]:
    """The same behind the driver of a llama.cpp server that knows no llguidance: grammars are GBNF."""
    engine = embedded()
    stock = LlamaCppEngine(engine.base_url, engine.headers["Authorization"].removeprefix("Bearer "))
    asyncio.run(stock.connect())
    assert stock.capabilities.dialects[0] == "gbnf"
    with served(stock) as http:
        yield http
    asyncio.run(engine.close())


@contextmanager
def served(engine: LlamaCppEngine) -> Iterator[httpx.Client]:
    """A client on a server over an engine."""
    with (
        serving(create_app(prepare(engine, OPTIONS), engine)) as url,
        httpx.Client(base_url=url, timeout=300) as http,
    ):
        yield http


def warm(http: httpx.Client, case: Case) -> None:
    """Let the engine read a case's prompt: it computes a prompt a little otherwise than one it remembers."""
    http.post("/v1/chat/completions", json={**case.body, "stream": False, "max_tokens": 1})


def ask(http: httpx.Client, case: Case) -> Answer:
    """The answer to a case: thinking, content, calls, finish reason."""
    response = http.post("/v1/chat/completions", json=case.body)
    if response.status_code != 200:
        raise AssertionError(f"{case.name}: HTTP {response.status_code}: {response.text}")
    if not case.stream:
        return whole(response.json()["choices"][0])
    _, broken, error = response.text.partition('data: {"error":')
    if broken:
        raise AssertionError(f"{case.name}: {error}")
    return fold(response.text).get(0, Folded()).message


def problems(case: Case, answer: Answer) -> list[str]:
    """What is wrong with an answer that had to be a call."""
    reasoning, content, calls, finish = answer
    found = []
    if len(calls) != 1:
        found.append(f"{len(calls)} calls instead of one")
    if finish != ("stop" if case.choice == "named" else "tool_calls"):
        found.append(f"finish reason {finish}")
    if bool(reasoning) != case.thinking:
        found.append(f"thinking is {reasoning!r}")
    if content is not None:
        found.append(f"content {content!r}")
    return [*found, *invalid(case, answer), *leaked(answer)]


def invalid(case: Case, answer: Answer) -> list[str]:
    """Calls of a case that are not what its tools allow."""
    found = []
    for name, arguments in answer[2]:
        if name != case.tool:
            found.append(f"a call of {name}")
            continue
        try:
            value = json.loads(arguments)
            jsonschema.validate(value, TOOLS[case.tool] or {"type": "object"})
        except (ValueError, jsonschema.ValidationError) as error:
            found.append(f"arguments {arguments!r}: {error}")
            continue
        if longest(value) > MAX_STRING:
            found.append(f"a string of {longest(value)} characters")
    return found


def leaked(answer: Answer) -> list[str]:
    """Markers in any field."""
    texts = [answer[0] or "", answer[1] or "", *(text for call in answer[2] for text in call)]
    return [f"{marker} in {text!r}" for text in texts for marker in MARKERS if marker in text]


def longest(value: Any) -> int:
    """The length of the longest string in a value."""
    if isinstance(value, str):
        return len(value)
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return max(map(longest, inside), default=0)
