"""The driver of any ``/v1/completions``: what is sent, and what only such servers do."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from unbraid.engines.base import Chunk, Constraint, Generation, Sampling
from unbraid.engines.completions import CompletionsEngine
from unbraid.errors import EngineError, Unsupported

from .helpers import collect, sse, text_of


def event(text: str, reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "text": text, "finish_reason": reason, **more}
    return {"id": "cmpl-1", "object": "text_completion", "choices": [choice]}


class Server:
    """Answers ``/v1/completions`` with what it was given."""

    def __init__(self, *events: dict[str, Any], **options: Any) -> None:
        self.events = events or (event("a"), event("b", "stop"))
        self.cards: list[Any] = [{"id": "one"}, {"id": "two", "max_model_len": 32}]
        self.bodies: list[dict[str, Any]] = []
        self.engine = CompletionsEngine(
            "http://engine", transport=httpx.MockTransport(self.answer), **options
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert "authorization" not in request.headers
        if request.url.path == "/v1/models":
            return httpx.Response(200, json={"data": self.cards})
        self.bodies.append(json.loads(request.content))
        return httpx.Response(200, content=sse(*self.events) + b"data: [DONE]\n\n")

    def run(self, **options: Any) -> list[Chunk]:
        return asyncio.run(collect(self.engine.generate(Generation("ab", **options))))


def test_only_fields_that_every_server_knows_are_sent() -> None:
    server = Server(model="one", extra={"skip_special_tokens": False, "temperature": 0.25})
    sampling = Sampling(top_k=3, seed=7, max_tokens=5, logit_bias={1: 2.0}, stop=("x",))
    server.run(sampling=sampling, logprobs=1)
    server.run()
    first, second = server.bodies
    assert first == {
        "model": "one",
        "prompt": "ab",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.25,
        "top_p": 1.0,
        "presence_penalty": 0.0,
        "frequency_penalty": 0.0,
        "max_tokens": 5,
        "seed": 7,
        "logit_bias": {"1": 2.0},
        "logprobs": 1,
        "skip_special_tokens": False,
    }
    assert {"max_tokens", "seed", "logprobs", "logit_bias"}.isdisjoint(second)


def test_a_server_that_counts_nothing() -> None:
    chunks = Server().run()
    assert text_of(chunks) == "ab"
    assert chunks[-1] == Chunk(finish_reason="stop")


def test_a_constraint_is_refused_before_anything_is_sent() -> None:
    server = Server()
    with pytest.raises(Unsupported, match="no structural_tag constraint"):
        server.run(constraint=Constraint("structural_tag", "{}"))
    assert server.bodies == []


def test_logprobs_by_text() -> None:
    found = {"tokens": ["é"], "token_logprobs": [-1.0], "top_logprobs": [{"é": -1.0, "a": -0.5}]}
    (logprob,) = Server(event("é", "stop", logprobs=found)).run(logprobs=1)[0].logprobs
    assert (logprob.token_id, logprob.token, logprob.logprob) == (-1, "é".encode(), -1.0)
    assert logprob.top == ((-1, b"a", -0.5),)
    found = {"tokens": ["é"], "token_logprobs": [None], "top_logprobs": None}
    (logprob,) = Server(event("é", "stop", logprobs=found)).run(logprobs=0)[0].logprobs
    assert (logprob.logprob, logprob.top) == (-9999.0, ())


def test_connect() -> None:
    server = Server(model="two")
    asyncio.run(server.engine.connect())
    capabilities = server.engine.capabilities
    assert (capabilities.context_length, capabilities.dialects, capabilities.token_ids) == (32, (), False)
    assert server.engine.tokenizer is None
    assert asyncio.run(server.engine.health())
    server.run()
    assert server.bodies[0]["max_tokens"] == 32
    server.cards = []
    with pytest.raises(EngineError, match="serves no model"):
        asyncio.run(server.engine.connect())
