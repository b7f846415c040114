"""The llama.cpp driver against a scripted server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from unbraid.engines.base import Chunk, Constraint, Generation, Sampling
from unbraid.engines.gguf import GGUF, GGUFTokenizer
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.server_tokenizer import ServerTokenizer
from unbraid.engines.sse import json_events
from unbraid.errors import EngineError, InvalidRequest, Unsupported
from unbraid.tokens import TokenTable

from .helpers import collect, event, ids_of, last_event, sse, text_of

TABLE = TokenTable({1: "a", 2: "b", 3: "\n", 9: "<end>"}, special=[9])
Answer = Callable[[httpx.Request], httpx.Response]


class Server:
    """Answers ``/completion`` with what it was given; ``bodies`` are the requests."""

    def __init__(self, content: bytes | Answer, status: int = 200, **options: Any) -> None:
        self.content, self.status = content, status
        self.bodies: list[dict[str, Any]] = []
        options.setdefault("tokenizer", TABLE)
        transport = httpx.MockTransport(self.answer)
        self.engine = LlamaCppEngine("http://engine", "key", transport=transport, **options)

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer key"
        if callable(self.content):
            return self.content(request)
        if request.url.path == "/tokenize":
            return httpx.Response(200, json={"tokens": [1, 2]})
        self.bodies.append(json.loads(request.content))
        return httpx.Response(self.status, content=self.content)

    def run(self, **options: Any) -> list[Chunk]:
        options.setdefault("prompt", "ab")
        return asyncio.run(collect(self.engine.generate(Generation(**options))))


def test_a_generation() -> None:
    server = Server(sse(event("a", [1], 1), event("b", [2], 2), event("<end>", [9], 3), last_event(3)))
    chunks = server.run()
    assert text_of(chunks) == "ab<end>"
    assert ids_of(chunks) == [1, 2, 9]
    assert chunks[-1] == Chunk(finish_reason="stop", prompt_tokens=4, completion_tokens=3)
    assert [chunk.finish_reason for chunk in chunks[:-1]] == [None] * 3


def test_what_is_sent() -> None:
    sampling = Sampling(
        temperature=0.5,
        top_p=0.9,
        top_k=-1,
        min_p=0.1,
        seed=-1,
        max_tokens=7,
        stop=("x",),
        presence_penalty=0.1,
        frequency_penalty=0.2,
        repetition_penalty=1.1,
        logit_bias={5: -100.0},
        ignore_eos=True,
    )
    server = Server(sse(last_event(0)), context_length=64)
    server.run(sampling=sampling, logprobs=0)
    server.run(prompt=[7, 8])
    first, second = server.bodies
    assert first == {
        "prompt": [1, 2],
        "stream": True,
        "return_tokens": True,
        "cache_prompt": True,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 0,
        "min_p": 0.1,
        "seed": 0xFFFFFFFF,
        "n_predict": 7,
        "presence_penalty": 0.1,
        "frequency_penalty": 0.2,
        "repeat_penalty": 1.1,
        "repeat_last_n": 64,
        "logit_bias": [[5, -100.0]],
        "ignore_eos": True,
        "n_probs": 1,
    }
    assert (second["prompt"], second["n_predict"], second["seed"]) == ([7, 8], -1, -1)
    assert "n_probs" not in second


def test_length_and_stop_strings() -> None:
    events = [event("a", [1], 1), event("b", [2], 2), event("a", [1], 3)]
    assert Server(sse(*events, last_event(3, "limit"))).run()[-1].finish_reason == "length"
    chunks = Server(sse(*events)).run(sampling=Sampling(stop=("ba", "zz")))
    assert text_of(chunks) == "a"
    assert chunks[-1] == Chunk(finish_reason="stop", stop_reason="ba", prompt_tokens=4, completion_tokens=3)


def test_no_tokens_wanted() -> None:
    server = Server(b"")
    assert server.run(sampling=Sampling(max_tokens=0)) == [
        Chunk(finish_reason="length", prompt_tokens=2, completion_tokens=0)
    ]
    assert server.bodies == []


def test_logprobs() -> None:
    top = [{"id": 2, "bytes": [98], "logprob": -0.5}, {"id": 1, "bytes": [97], "logprob": None}]
    entry = {"id": 1, "bytes": [97], "logprob": -1.5, "top_logprobs": top}
    chunks = Server(sse(event("a", [1], 1, completion_probabilities=[entry]), last_event(1))).run(logprobs=2)
    (logprob,) = chunks[0].logprobs
    assert (logprob.token_id, logprob.token, logprob.logprob) == (1, b"a", -1.5)
    assert logprob.top == ((2, b"b", -0.5), (1, b"a", -9999.0))


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (sse(event("a", [1], 1)), 200, "ended before"),
        (b"", 200, "ended before"),
        (b"data: {nope}\n\n", 200, "no JSON"),
        (b"data: [1]\n\n", 200, "no object"),
        (sse({"content": "a"}), 200, "unknown shape"),
        (sse(event("a", [1], "x")), 200, "unknown shape"),
        (sse({"error": {"code": 500, "message": "out of memory"}}), 200, "out of memory"),
        (b'error: {"code": 500, "message": "slot lost"}\n\n', 200, "slot lost"),
        (b'{"error": {"message": "bad grammar", "type": "invalid_request_error"}}', 400, "bad grammar"),
        (b"<html>bad gateway</html>", 502, r"HTTP 502.*bad gateway"),
        (b"", 503, r"HTTP 503.*no message"),
        (b'{"error": {"message": "Invalid API Key"}}', 401, "refused the API key"),
    ],
)
def test_failures_are_engine_errors(content: bytes, status: int, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        Server(content, status).run(prompt=[1])


def test_a_prompt_that_is_too_long_is_the_request() -> None:
    body = {"error": {"code": 400, "type": "exceed_context_size_error", "message": "9 tokens exceed 8"}}
    with pytest.raises(InvalidRequest, match="9 tokens exceed 8") as caught:
        Server(json.dumps(body).encode(), 400).run(prompt=[1])
    assert caught.value.code == "context_length_exceeded"
    assert InvalidRequest.code == "invalid_request"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (httpx.ConnectError("refused"), "can't be reached"),
        (httpx.ReadTimeout("slow"), "in time"),
        (httpx.RemoteProtocolError("cut"), "broke"),
    ],
)
def test_connections_that_fail(error: Exception, said: str) -> None:
    def fail(request: httpx.Request) -> httpx.Response:
        raise error

    server = Server(fail)
    with pytest.raises(EngineError, match=said):
        server.run(prompt=[1])
    assert not asyncio.run(server.engine.health())


def test_connect_asks_for_what_was_not_given() -> None:
    props = {
        "default_generation_settings": {"n_ctx": 512},
        "model_path": "/models/Some-Model.gguf",
        "chat_template": "{{ messages }}",
        "bos_token": "<s>",
        "eos_token": "</s>",
    }
    engine = Server(lambda request: httpx.Response(200, json=props)).engine
    asyncio.run(engine.connect())
    assert (engine.model, engine.chat_template) == ("Some-Model.gguf", "{{ messages }}")
    assert engine.template_variables == {"bos_token": "<s>", "eos_token": "</s>"}
    assert engine.capabilities.context_length == 512
    with pytest.raises(EngineError, match=r"no llama\.cpp server"):
        asyncio.run(Server(lambda request: httpx.Response(200, json={})).engine.connect())


def test_constraints_that_a_stock_server_takes() -> None:
    server = Server(sse(last_event(0)))
    server.run(constraint=Constraint("gbnf", 'root ::= "a"'), sampling=Sampling(ignore_eos=True))
    server.run(constraint=Constraint("json_schema", '{"type": "object"}'))
    assert server.bodies[0]["grammar"] == 'root ::= "a"'
    assert server.bodies[0]["ignore_eos"] is False
    assert not server.engine.capabilities.marker_ids
    assert server.bodies[1]["json_schema"] == {"type": "object"}
    for dialect, grammar in (("structural_tag", "{}"), ("llguidance", 'start: "a"'), ("json_schema", "{")):
        with pytest.raises(Unsupported):
            server.run(constraint=Constraint(dialect, grammar))


@pytest.fixture
def real_vocabulary(model_path: Path) -> GGUFTokenizer:
    return GGUFTokenizer(GGUF(model_path))


def test_an_unenforced_constraint_is_noticed(real_vocabulary: GGUFTokenizer) -> None:
    constraint = Constraint("llguidance", 'start: "yes" "!"?')
    good = sse(event("yes", [10407], 1), event("<|im_end|>", [2], 2), last_event(2))
    server = Server(good, tokenizer=real_vocabulary, llguidance=True)
    assert text_of(server.run(prompt=[1], constraint=constraint)) == "yes<|im_end|>"
    assert server.bodies[0]["grammar"] == "%llguidance {}\n" + constraint.grammar
    for events in (
        [event("a", [81], 1)],
        [event("<|im_end|>", [2], 1), last_event(1)],
        [event("yes", [10407], 1), event("yes", [10407], 2)],
        [event("yes", [10407], 1), event("<|im_end|>", [2], 2), event("!", [17], 3)],
        [last_event(0)],
    ):
        server = Server(sse(*events), tokenizer=real_vocabulary, llguidance=True)
        with pytest.raises(EngineError, match="did not enforce"):
            server.run(prompt=[1], constraint=constraint)


def test_an_output_cut_by_length_is_no_offence(real_vocabulary: GGUFTokenizer) -> None:
    server = Server(
        sse(event("yes", [10407], 1), last_event(1, "limit")), tokenizer=real_vocabulary, llguidance=True
    )
    chunks = server.run(prompt=[1], constraint=Constraint("llguidance", 'start: "yes!!!"'))
    assert chunks[-1].finish_reason == "length"


@pytest.mark.parametrize(
    "grammar", ['start: "yes', "start: <[999999]>", "start: <nope>", "", "start: nothing"]
)
def test_broken_grammars_are_refused_before_they_are_sent(
    real_vocabulary: GGUFTokenizer, grammar: str
) -> None:
    server = Server(b"", tokenizer=real_vocabulary, llguidance=True)
    with pytest.raises(Unsupported, match="grammar is broken"):
        server.run(prompt=[1], constraint=Constraint("llguidance", grammar))
    assert server.bodies == []


def test_verify(real_vocabulary: GGUFTokenizer) -> None:
    engine = Server(b"", tokenizer=real_vocabulary, llguidance=True).engine
    grammar = "start: /[a-z]+/ <[9]>"
    assert engine.verify(grammar, [10407, 9, 2]) is None
    assert "too early" in str(engine.verify(grammar, [10407]))
    assert engine.verify(grammar, [10407], finished=False) is None
    assert "token 198 ('\\n') at place 1" in str(engine.verify(grammar, [10407, 198]))
    with pytest.raises(Unsupported):
        Server(b"").engine.verify(grammar, [1])


def test_closing_the_iterator_closes_the_response() -> None:
    closed = []

    class Endless(httpx.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            for count in range(1, 10_000):
                yield sse(event("a", [1], count))

        async def aclose(self) -> None:
            closed.append(True)

    async def run() -> None:
        server = Server(lambda request: httpx.Response(200, stream=Endless()))
        chunks = server.engine.generate(Generation([1]))
        await anext(chunks)
        await chunks.aclose()

    asyncio.run(run())
    assert closed == [True]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_at_any_split(size: int) -> None:
    wanted = [{"content": "é\u2028\x85\r"}, {"content": "data: x"}]
    data = b": ping\n\n" + sse(*wanted).replace(b"\n\n", b"\r\n\r\n") + b"data: [DONE]"

    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(data), size):
            yield data[at : at + size]

    async def run() -> list[dict[str, Any]]:
        return [item async for item in json_events(pieces())]

    assert asyncio.run(run()) == wanted


def test_the_tokenizer_of_a_server() -> None:
    pieces = {1: "a", 2: "<think>", 3: "<|end|>", 4: "\ufffd", 5: "<"}

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if request.url.path == "/detokenize":
            text = pieces.get(body["tokens"][0])
            return httpx.Response(500) if text is None else httpx.Response(200, json={"content": text})
        known = {"a": [1], "<think>": [2], "<": [5], "<|end|>": [3] if body["parse_special"] else [5, 1]}
        return httpx.Response(200, json={"tokens": known.get(body["content"], [1, 1])})

    tokenizer = ServerTokenizer("http://engine", transport=httpx.MockTransport(answer))
    assert [tokenizer.token_id(text) for text in ("a", "<think>", "<|end|>", "aa", "<")] == [
        None,
        2,
        3,
        None,
        None,
    ]
    assert [tokenizer.token_bytes(n) for n in (1, 2, 4, 99)] == [b"a", b"<think>", b"", b""]
    assert [n for n in (1, 2, 3, 4, 5, 99) if tokenizer.is_special(n)] == [2, 3]
    assert tokenizer.encode("aa") == [1, 1]
    tokenizer.close()
