"""The server over the embedded model."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from unbraid.cli import serve
from unbraid.engines.embedded import EmbeddedEngine
from unbraid.engines.gguf import make_thinking_model
from unbraid.engines.models import fetch_model
from unbraid.server.app import create_app
from unbraid.server.background import serving
from unbraid.server.options import Options
from unbraid.server.startup import prepare

from .helpers import NOT_THINKING, THINKING, WEATHER, fold, parse_events, whole

OPTIONS = Options(
    reasoning_parser="qwen3", tool_call_parser="hermes", chat_template="unbraid", max_string_length=40
)
QUESTION = [{"role": "user", "content": "What is 2 + 2?"}]
SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "integer", "minimum": 0, "maximum": 99}},
    "required": ["answer"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def engine() -> EmbeddedEngine:
    """The embedded engine with the model that thinks."""
    return EmbeddedEngine(make_thinking_model(fetch_model()), n_ctx=1024, slots=1)


@pytest.fixture(scope="module")
def http(engine: EmbeddedEngine) -> Iterator[httpx.Client]:
    """A client on a server over the engine."""
    with (
        serving(create_app(prepare(engine, OPTIONS), engine)) as url,
        httpx.Client(base_url=url, timeout=120) as one,
    ):
        yield one


def ask(http: httpx.Client, **body: Any) -> httpx.Response:
    sent = {"messages": QUESTION, "temperature": 0.0, "max_tokens": 64, **body}
    return http.post("/v1/chat/completions", json=sent)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("thinking", [THINKING, NOT_THINKING], ids=["thinks", "direct"])
def test_a_schema_holds_behind_thinking(http: httpx.Client, stream: bool, thinking: dict[str, Any]) -> None:
    shape = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}
    answer = ask(http, response_format=shape, thinking_token_budget=16, stream=stream, **thinking)
    reasoning, content, calls, finish = (
        fold(answer.text)[0].message if stream else whole(answer.json()["choices"][0])
    )
    assert set(json.loads(content or "")) == {"answer"}
    assert (calls, finish) == ([], "stop")
    assert bool(reasoning) == (thinking is THINKING)


def test_log_probabilities_and_ids(http: httpx.Client) -> None:
    answer = ask(
        http, logprobs=True, top_logprobs=2, return_token_ids=True, max_tokens=8, **NOT_THINKING
    ).json()
    one = answer["choices"][0]
    assert len(one["logprobs"]["content"]) == len(one["token_ids"]) == answer["usage"]["completion_tokens"]
    assert all(len(token["top_logprobs"]) == 2 for token in one["logprobs"]["content"])
    assert len(answer["prompt_token_ids"]) == answer["usage"]["prompt_tokens"]


def test_a_budget_counts_tokens_of_thinking(http: httpx.Client) -> None:
    body: dict[str, Any] = {
        "thinking_token_budget": 6,
        "logit_bias": {"12": -100, "2": -100, "0": -100},
        **THINKING,
    }
    usage = ask(http, max_tokens=24, **body).json()["usage"]
    assert usage["completion_tokens_details"]["reasoning_tokens"] in (5, 6)
    streamed = ask(http, max_tokens=24, stream=True, stream_options={"include_usage": True}, **body)
    assert parse_events(streamed.text)[-1]["usage"] == usage


def test_a_prompt_that_is_too_long(http: httpx.Client) -> None:
    for stream in (True, False):
        answer = ask(http, messages=[{"role": "user", "content": "word " * 2000}], stream=stream)
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "context_length_exceeded"


def test_a_client_that_leaves_frees_the_model(http: httpx.Client, engine: EmbeddedEngine) -> None:
    body = {"messages": QUESTION, "max_tokens": 900, "stream": True, "ignore_eos": True, **NOT_THINKING}
    with http.stream("POST", "/v1/chat/completions", json=body) as answer:
        next(answer.iter_lines())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        slots = httpx.get(engine.base_url + "/slots", headers=engine.headers).json()
        if not any(slot["is_processing"] for slot in slots):
            return
        time.sleep(0.05)
    raise AssertionError("the model goes on")


def test_another_server_as_the_engine(http: httpx.Client, engine: EmbeddedEngine) -> None:
    parser = argparse.ArgumentParser()
    serve.add_parser(parser.add_subparsers())
    key = engine.headers["Authorization"].removeprefix("Bearer ")
    flags = ["--engine-url", engine.base_url, f"--engine-api-key={key}", "--reasoning-parser", "qwen3"]
    args = parser.parse_args(["serve", *flags, "--tool-call-parser", "hermes", "--served-model-name", "far"])
    setup, remote = serve.prepared(args)
    assert "by a grammar (GBNF)" in "\n".join(setup.report)
    with serving(create_app(setup, remote)) as url, httpx.Client(base_url=url, timeout=120) as far:
        answer = ask(far, model="far", **NOT_THINKING)
        assert answer.json()["choices"][0]["message"]["content"]
        called = ask(far, tools=[WEATHER], tool_choice="required", **NOT_THINKING)
        assert called.json()["choices"][0]["message"]["tool_calls"]
