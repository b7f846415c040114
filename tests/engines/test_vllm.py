"""The vLLM driver against a scripted server that answers as vLLM 0.32 does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from unbraid.engines.base import Chunk, Constraint, Generation, Sampling
from unbraid.engines.vllm import VllmEngine
from unbraid.errors import EngineError, InvalidRequest, Unsupported
from unbraid.tokens import TokenTable

from .helpers import collect, ids_of, sse, text_of

EMOJI = "😀".encode()
ASCII = {code: chr(code) for code in range(32, 127)}
TABLE = TokenTable({**ASCII, 1: "a", 2: "b", 3: EMOJI[:2], 4: EMOJI[2:], 9: "<end>"}, special=[9])
TAG = Constraint("structural_tag", '{"type": "structural_tag", "format": {"type": "any_text"}}')
CARD = {"id": "tiny", "object": "model", "owned_by": "vllm", "root": "org/tiny", "max_model_len": 64}


def event(text: str, ids: Sequence[int], reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": reason, "stop_reason": None}
    choice.update(token_ids=list(ids), **more)
    return {"id": "cmpl-x-0", "object": "text_completion", "created": 1, "model": "tiny", "choices": [choice]}


def first(text: str, ids: Sequence[int], **more: Any) -> dict[str, Any]:
    return event(text, ids, prompt_token_ids=[1, 2, 1], **more)


def usage(completion: int, prompt: int = 3) -> dict[str, Any]:
    counts = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return {"id": "cmpl-x-0", "object": "text_completion", "model": "tiny", "choices": [], "usage": counts}


def stream(*events: dict[str, Any]) -> bytes:
    return sse(*events) + b"data: [DONE]\n\n"


HELLO = stream(first("a", [1]), event("b", [2]), event("<end>", [9], "stop"), usage(3))


class Server:
    """Answers as vLLM; ``constrained`` is what it writes under a constraint."""

    def __init__(self, content: bytes = HELLO, status: int = 200, **options: Any) -> None:
        self.content, self.status = content, status
        self.constrained: dict[str, str | None] = {"structural_tag": "~unbraid~", "json": '"~unbraid~"'}
        self.silent = False
        self.first_id: int | None = None
        self.mixes_ids = False
        self.fails = False
        self.info: dict[str, Any] | None = None
        self.requests: list[httpx.Request] = []
        options.setdefault("tokenizer", TABLE)
        self.engine = VllmEngine(
            "http://engine/", "key", transport=httpx.MockTransport(self.answer), **options
        )

    @property
    def bodies(self) -> list[dict[str, Any]]:
        return [json.loads(one.content) for one in self.requests]

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer key"
        path = request.url.path
        if path == "/version":
            return httpx.Response(200, json={"version": "0.32.0"})
        if path == "/v1/models":
            return httpx.Response(200, json={"object": "list", "data": [CARD, {**CARD, "id": "lora"}]})
        if path == "/tokenizer_info":
            return httpx.Response(404) if self.info is None else httpx.Response(200, json=self.info)
        if path == "/health":
            return httpx.Response(self.status)
        if path != "/v1/completions":
            return httpx.Response(404, json={"detail": "Not Found"})
        body = json.loads(request.content)
        if body["prompt"] == "The capital of France is":
            ((kind, grammar),) = body["structured_outputs"].items()
            found = json.loads(grammar)["format"] if kind == "structural_tag" else {}
            return self.token(found["token"]) if "token" in found else self.probe(kind)
        self.requests.append(request)
        return httpx.Response(self.status, content=self.content)

    def probe(self, kind: str) -> httpx.Response:
        text = self.constrained[kind]
        if self.fails:
            return httpx.Response(500, json={"error": {"message": "Internal server error", "code": 500}})
        if text is None:
            error = {"message": "unsupported", "type": "BadRequestError", "param": None, "code": 400}
            return httpx.Response(400, json={"error": error})
        ids = [] if self.silent else [ord(char) for char in text]
        choice = {"index": 0, "text": text, "finish_reason": "stop", "token_ids": ids}
        return httpx.Response(200, json={"id": "cmpl-x", "choices": [choice]})

    def token(self, token_id: int) -> httpx.Response:
        self.first_id = self.first_id or token_id
        if self.mixes_ids and token_id != self.first_id:
            return httpx.Response(500, json={"error": {"message": "Internal server error", "code": 500}})
        choice = {"index": 0, "text": "x", "finish_reason": "length", "token_ids": [token_id]}
        return httpx.Response(200, json={"id": "cmpl-x", "choices": [choice]})

    def run(self, **options: Any) -> list[Chunk]:
        options.setdefault("prompt", "ab")
        return asyncio.run(collect(self.engine.generate(Generation(**options))))


def test_a_generation() -> None:
    chunks = Server().run()
    assert text_of(chunks) == "ab<end>"
    assert ids_of(chunks) == [1, 2, 9]
    assert chunks[-1] == Chunk(finish_reason="stop", prompt_tokens=3, completion_tokens=3)
    assert [chunk.finish_reason for chunk in chunks[:-1]] == [None] * 3


def test_what_is_sent() -> None:
    sampling = Sampling(
        temperature=0.5,
        top_p=0.9,
        top_k=-1,
        min_p=0.1,
        seed=-1,
        max_tokens=700,
        stop=("x",),
        presence_penalty=0.1,
        frequency_penalty=0.2,
        repetition_penalty=1.1,
        logit_bias={5: -100.0},
        ignore_eos=True,
    )
    server = Server(context_length=64, model="tiny")
    server.run(sampling=sampling, logprobs=0, request_id="r-1", constraint=TAG)
    server.run(prompt=[7, 8])
    one, two = server.bodies
    assert one == {
        "model": "tiny",
        "prompt": "ab",
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 0,
        "min_p": 0.1,
        "seed": 0x7FFF_FFFF_FFFF_FFFF,
        "max_tokens": 64,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "repetition_penalty": 1.1,
        "logit_bias": {"5": -100.0},
        "ignore_eos": True,
        "logprobs": 0,
        "return_tokens_as_token_ids": True,
        "add_special_tokens": False,
        "skip_special_tokens": False,
        "spaces_between_special_tokens": False,
        "include_stop_str_in_output": True,
        "return_token_ids": True,
        "structured_outputs": {"structural_tag": TAG.grammar},
    }
    assert server.requests[0].headers["x-request-id"].startswith("r-1-")
    assert (two["prompt"], two["max_tokens"]) == ([7, 8], 62)
    assert {"seed", "logprobs", "logit_bias", "structured_outputs"}.isdisjoint(two)
    assert "x-request-id" not in server.requests[1].headers


def test_generations_of_one_request_have_ids_of_their_own() -> None:
    server = Server()
    for _ in range(3):
        server.run(request_id="r-1")
    assert len({one.headers["x-request-id"] for one in server.requests}) == 3


def test_half_a_character_waits_for_the_rest() -> None:
    events = [first("", [3]), event("😀", [4]), event("", [3]), event("", [], "length"), usage(3)]
    for options in ({}, {"tokenizer": None}):
        chunks = Server(stream(*events), **options).run()
        assert [(chunk.text, chunk.token_ids) for chunk in chunks[:-1]] == [("😀", (3, 4))]
        assert (chunks[-1].finish_reason, chunks[-1].completion_tokens) == ("length", 3)


def test_several_tokens_at_once_and_stop_strings() -> None:
    events = [first("ab", [1, 2]), event("ba<end>", [2, 1, 9], "stop"), usage(5)]
    assert ids_of(Server(stream(*events)).run()) == [1, 2, 2, 1, 9]
    chunks = Server(stream(*events)).run(sampling=Sampling(stop=("bba", "zz")))
    assert text_of(chunks) == "a"
    assert chunks[-1] == Chunk(finish_reason="stop", stop_reason="bba", prompt_tokens=3, completion_tokens=5)


def test_no_tokens_wanted() -> None:
    server = Server()
    assert server.run(sampling=Sampling(max_tokens=0)) == [
        Chunk(finish_reason="length", prompt_tokens=2, completion_tokens=0)
    ]
    assert server.requests == []


def test_logprobs() -> None:
    found = {
        "text_offset": [0],
        "tokens": ["token_id:3"],
        "token_logprobs": [-1.5],
        "top_logprobs": [{"token_id:3": -1.5, "token_id:2": -0.5, "token_id:1": -9999.0}],
    }
    events = [first("", [3], logprobs=found), event("😀", [4], "length"), usage(2)]
    chunks = Server(stream(*events)).run(logprobs=2)
    (logprob,) = chunks[0].logprobs
    assert (logprob.token_id, logprob.token, logprob.logprob) == (3, EMOJI[:2], -1.5)
    assert logprob.top == ((2, b"b", -0.5), (3, EMOJI[:2], -1.5))


def error(message: str, code: int, kind: str = "BadRequestError", param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (sse(first("a", [1])), 200, "ended before"),
        (b"", 200, "ended before"),
        (b"data: {nope}\n\n", 200, "no JSON"),
        (sse({"object": "text_completion"}), 200, "unknown shape"),
        (sse(first("a", ["x"])), 200, "unknown shape"),
        (stream(first("a", [1]), error("Internal server error", 500)), 200, "Internal server error"),
        (stream(event("", [], "abort")), 200, "'abort'"),
        (stream(event("a", [1], "stop"), event("b", [2])), 200, "went on"),
        (b"<html>bad gateway</html>", 502, r"HTTP 502.*bad gateway"),
        (json.dumps(error("The model `x` does not exist.", 404)).encode(), 404, "does not exist"),
        (b'{"error": "Unauthorized"}', 401, "refused the API key: Unauthorized"),
    ],
)
def test_failures_are_engine_errors(content: bytes, status: int, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        Server(content, status).run()


@pytest.mark.parametrize("streamed", [False, True])
def test_refusals_are_the_request(streamed: bool) -> None:
    def run(refusal: dict[str, Any], **options: Any) -> None:
        content = stream(refusal) if streamed else json.dumps(refusal).encode()
        Server(content, 200 if streamed else 400).run(**options)

    long = "This model's maximum context length is 64 tokens. However, your prompt contains 70 input tokens"
    with pytest.raises(InvalidRequest, match="64 tokens") as caught:
        run(error(long, 400, param="input_tokens"))
    assert caught.value.code == "context_length_exceeded"
    with pytest.raises(InvalidRequest, match="logit_bias"):
        run(error("token_id 99 in logit_bias contains out-of-vocab token ids", 400))
    with pytest.raises(Unsupported, match="refused the constraint"):
        run(error("Invalid structured outputs: no such rule", 400), constraint=TAG)


def test_connect() -> None:
    server = Server()
    server.info = {"tokenizer_class": "X", "chat_template": "{{ messages }}", "eos_token": "<end>"}
    asyncio.run(server.engine.connect())
    engine = server.engine
    assert (engine.model, engine.root, engine.version) == ("tiny", "org/tiny", "0.32.0")
    assert (engine.chat_template, engine.template_variables) == ("{{ messages }}", {"eos_token": "<end>"})
    assert engine.capabilities.context_length == 64
    assert engine.capabilities.dialects == ("structural_tag", "json_schema")
    assert engine.capabilities.drafts
    assert engine.capabilities.marker_ids
    assert asyncio.run(engine.health())
    other = Server(model="lora").engine
    asyncio.run(other.connect())
    assert (other.model, other.chat_template) == ("lora", None)
    with pytest.raises(EngineError, match="no model 'none', only tiny, lora"):
        asyncio.run(Server(model="none").engine.connect())


def test_a_server_that_ignores_constraints_is_refused() -> None:
    server = Server()
    server.constrained["structural_tag"] = " Paris, the city"
    with pytest.raises(EngineError, match="without --reasoning-parser"):
        asyncio.run(server.engine.connect())


def test_a_server_that_fails_under_a_constraint_is_refused() -> None:
    server = Server()
    server.fails = True
    with pytest.raises(EngineError, match=r"Internal server error.*start it without --reasoning-parser"):
        asyncio.run(server.engine.connect())


def test_a_dialect_that_the_server_refuses_is_none() -> None:
    server = Server()
    server.constrained["structural_tag"] = None
    asyncio.run(server.engine.connect())
    assert server.engine.capabilities.dialects == ("json_schema",)
    server.run(constraint=Constraint("json_schema", '{"type": "object"}'))
    assert server.bodies[0]["structured_outputs"] == {"json": {"type": "object"}}
    for dialect, grammar in (("structural_tag", "{}"), ("gbnf", 'root ::= "a"'), ("json_schema", "{")):
        with pytest.raises(Unsupported):
            server.run(constraint=Constraint(dialect, grammar))


def test_a_server_that_mixes_token_ids_up_is_sent_none() -> None:
    server = Server()
    server.mixes_ids = True
    asyncio.run(server.engine.connect())
    assert server.engine.capabilities.dialects == ("structural_tag", "json_schema")
    assert not server.engine.capabilities.marker_ids


def test_what_the_probe_tells_about_ids() -> None:
    server = Server()
    server.silent = True
    asyncio.run(server.engine.connect())
    assert not server.engine.capabilities.token_ids
    wrong = TokenTable(dict.fromkeys(range(32, 127), "x"))
    with pytest.raises(EngineError, match="'~unbraid~' by its own and 'xxxxxxxxx' by this one"):
        asyncio.run(Server(tokenizer=wrong).engine.connect())
