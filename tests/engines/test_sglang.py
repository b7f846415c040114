"""The SGLang driver against a scripted server that answers as SGLang's ``/generate`` does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import httpx
import pytest

from unbraid.engines.base import Chunk, Constraint, Generation, Sampling
from unbraid.engines.sglang import SGLangEngine
from unbraid.errors import EngineError, EngineUnavailable, InvalidRequest, Unsupported
from unbraid.tokens import TokenTable

from .helpers import collect, ids_of, sse, text_of

EMOJI = "😀".encode()
ASCII = {code: chr(code) for code in range(32, 127)}
TABLE = TokenTable({**ASCII, 1: "a", 2: "b", 3: EMOJI[:2], 4: EMOJI[2:], 9: "<end>"}, special=[9])
TAG = Constraint("structural_tag", '{"type": "structural_tag", "format": {"type": "any_text"}}')
STOP = {"type": "stop", "matched": 9}
LENGTH = {"type": "length", "length": 3}


def event(text: str, ids: Sequence[int], count: int, reason: Any = None, **meta: Any) -> dict[str, Any]:
    info = {"id": "r", "finish_reason": reason, "prompt_tokens": 2, "completion_tokens": count, **meta}
    return {"text": text, "output_ids": list(ids), "meta_info": info}


def stream(*events: dict[str, Any]) -> bytes:
    return sse(*events) + b"data: [DONE]\n\n"


HELLO = stream(event("a", [1], 1), event("ab", [1, 2], 2), event("ab<end>", [1, 2, 9], 3, STOP))


class Server:
    """Answers as SGLang; ``written`` is what it writes under a constraint of each kind."""

    def __init__(self, content: bytes = HELLO, status: int = 200, **options: Any) -> None:
        self.content, self.status = content, status
        self.written: dict[str, str | None] = {"structural_tag": "~unbraid~", "json_schema": '"~unbraid~"'}
        self.older = False
        self.bodies: list[dict[str, Any]] = []
        self.aborted: list[str] = []
        options.setdefault("tokenizer", TABLE)
        self.engine = SGLangEngine(
            "http://engine", "key", transport=httpx.MockTransport(self.answer), **options
        )

    def answer(self, request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer key"
        path = request.url.path
        if path == ("/get_model_info" if self.older else "/model_info"):
            return httpx.Response(200, json={"model_path": "org/tiny", "tokenizer_path": "org/tiny"})
        if path == "/v1/models" and not self.older:
            return httpx.Response(200, json={"data": [{"id": "tiny", "max_model_len": 64}]})
        if path == "/tokenize":
            text = json.loads(request.content)["prompt"]
            return httpx.Response(200, json={"tokens": TABLE.encode(text), "count": 0})
        if path == "/abort_request":
            self.aborted.append(json.loads(request.content)["rid"])
            return httpx.Response(200)
        if path != "/generate":
            return httpx.Response(404)
        body = json.loads(request.content)
        if not body["stream"]:
            return self.probe(body["sampling_params"])
        self.bodies.append(body)
        return httpx.Response(self.status, content=self.content)

    def probe(self, sampling: dict[str, Any]) -> httpx.Response:
        kind = "structural_tag" if "structural_tag" in sampling else "json_schema"
        text = self.written[kind]
        if text is None:
            return httpx.Response(400, json={"error": {"message": "unsupported grammar"}})
        return httpx.Response(200, json={"text": text, "output_ids": TABLE.encode(text), "meta_info": {}})

    def run(self, **options: Any) -> list[Chunk]:
        options.setdefault("prompt", "ab")

        async def drive() -> list[Chunk]:
            chunks = await collect(self.engine.generate(Generation(**options)))
            await self.engine.close()
            return chunks

        return asyncio.run(drive())


def test_a_generation() -> None:
    server = Server()
    chunks = server.run()
    assert [(chunk.text, chunk.token_ids) for chunk in chunks[:-1]] == [
        ("a", (1,)), ("b", (2,)), ("<end>", (9,))
    ]  # fmt: skip
    assert chunks[-1] == Chunk(finish_reason="stop", prompt_tokens=2, completion_tokens=3)
    assert server.aborted == []


def test_a_stream_of_what_is_new() -> None:
    events = [
        event("a", [1], 1),
        event("b", [2], 2),
        event("b", [2], 3),
        event("<end>", [9], 4),
        event("", [], 4, STOP),
    ]
    chunks = Server(stream(*events)).run()
    assert text_of(chunks) == "abb<end>"
    assert ids_of(chunks) == [1, 2, 2, 9]
    assert chunks[-1].completion_tokens == 4


@pytest.mark.parametrize("local", [True, False])
def test_half_a_character_waits_for_the_rest(local: bool) -> None:
    options = {} if local else {"tokenizer": None}
    whole = [event("", [3], 1), event("😀", [3, 4], 2), event("😀", [3, 4, 3], 3, LENGTH)]
    new = [event("", [3], 1), event("😀", [4], 2), event("", [3], 3, LENGTH)]
    for events in (whole, new):
        chunks = Server(stream(*events), **options).run(prompt=[1])
        assert [(chunk.text, chunk.token_ids) for chunk in chunks[:-1]] == [("😀", (3, 4))]
        assert (chunks[-1].finish_reason, chunks[-1].completion_tokens) == ("length", 3)


def test_text_alone() -> None:
    events = [event("a", [], 1), event("ab", [], 2), event("ab", [], 2, LENGTH)]
    assert text_of(Server(stream(*events)).run()) == "ab"
    events = [event("a", [], 1), event("b", [], 2, LENGTH)]
    assert text_of(Server(stream(*events)).run()) == "ab"


def test_what_is_sent() -> None:
    sampling = Sampling(
        temperature=0.5,
        top_p=0.9,
        top_k=0,
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
    server = Server(context_length=64)
    server.run(sampling=sampling, logprobs=2, request_id="r-1", constraint=TAG)
    Server.run(server, prompt=[7, 8], sampling=Sampling(top_k=3))
    one, two = server.bodies
    assert one.pop("rid").startswith("r-1-")
    assert one == {
        "input_ids": [97, 98],
        "stream": True,
        "return_logprob": True,
        "logprob_start_len": -1,
        "top_logprobs_num": 2,
        "return_text_in_logprobs": False,
        "sampling_params": {
            "max_new_tokens": 61,
            "temperature": 0.5,
            "top_p": 0.9,
            "top_k": -1,
            "min_p": 0.1,
            "presence_penalty": 0.1,
            "frequency_penalty": 0.2,
            "repetition_penalty": 1.1,
            "ignore_eos": True,
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
            "no_stop_trim": True,
            "sampling_seed": 0x7FFF_FFFF_FFFF_FFFF,
            "logit_bias": {"5": -100.0},
            "structural_tag": TAG.grammar,
        },
    }
    assert (two["input_ids"], two["sampling_params"]["top_k"]) == ([7, 8], 3)
    assert one["sampling_params"]["max_new_tokens"] == two["sampling_params"]["max_new_tokens"]


def test_stop_strings_abort_the_generation() -> None:
    server = Server()
    chunks = server.run(sampling=Sampling(stop=("b<",)), request_id="r")
    assert text_of(chunks) == "a"
    assert chunks[-1] == Chunk(finish_reason="stop", stop_reason="b<", prompt_tokens=2, completion_tokens=3)
    assert server.aborted == [server.bodies[0]["rid"]]


def test_closing_the_iterator_aborts_the_generation() -> None:
    server = Server()

    async def drive() -> None:
        chunks = server.engine.generate(Generation("ab"))
        await anext(chunks)
        await chunks.aclose()
        await server.engine.close()

    asyncio.run(drive())
    assert server.aborted == [server.bodies[0]["rid"]]


@pytest.mark.parametrize("local", [True, False])
@pytest.mark.parametrize("whole", [True, False])
def test_logprobs(whole: bool, local: bool) -> None:
    one, two = [-1.5, 1, "a"], [None, 2, "b"]
    top = [[[-0.5, 2, "b"], [-1.5, 1, "a"]], None]
    events = [
        event("a", [1], 1, output_token_logprobs=[one], output_top_logprobs=top[:1]),
        event(
            "ab" if whole else "b",
            [1, 2] if whole else [2],
            2,
            LENGTH,
            output_token_logprobs=[one, two] if whole else [two],
            output_top_logprobs=top if whole else top[1:],
        ),
    ]
    options = {} if local else {"tokenizer": None}
    chunks = Server(stream(*events), **options).run(prompt=[1], logprobs=1)
    first, second = (logprob for chunk in chunks for logprob in chunk.logprobs)
    assert (first.token_id, first.token, first.logprob, first.top) == (1, b"a", -1.5, ((2, b"b", -0.5),))
    assert (second.token_id, second.token, second.logprob, second.top) == (2, b"b", -9999.0, ())


def abort(message: str, status: int | None) -> dict[str, Any]:
    return event("", [], 0, {"type": "abort", "message": message, "status_code": status})


@pytest.mark.parametrize(
    ("content", "status", "said"),
    [
        (sse(event("a", [1], 1)), 200, "ended before"),
        (sse({"text": "a"}), 200, "unknown shape"),
        (sse(event("a", ["x"], 1)), 200, "unknown shape"),  # type: ignore[list-item]
        (stream(abort("Unknown error", 500)), 200, "Unknown error"),
        (stream(event("a", [1], 1, LENGTH), event("ab", [1, 2], 2)), 200, "went on"),
        (stream(event("a", [1], 1, {"type": "other"})), 200, "finish_reason 'other'"),
        (b'{"detail": "oops"}', 500, r"HTTP 500.*oops"),
    ],
)
def test_failures_are_engine_errors(content: bytes, status: int, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        Server(content, status).run()


def test_refusals() -> None:
    long = "The input (70 tokens) is longer than the model's context length (64 tokens)."
    for content, status in (
        (json.dumps({"error": {"message": long}}).encode(), 400),
        (stream({"error": {"message": long}}), 200),
        (stream(abort(long, 400)), 200),
    ):
        with pytest.raises(InvalidRequest, match="64 tokens") as caught:
            Server(content, status).run()
        assert caught.value.code == "context_length_exceeded"
    with pytest.raises(InvalidRequest, match="top_p must be"):
        Server(stream({"error": {"message": "top_p must be in (0, 1], got 2."}})).run()
    with pytest.raises(Unsupported, match="refused the constraint"):
        Server(stream(abort("Failed to compile grammar", 400))).run(constraint=TAG)
    with pytest.raises(EngineUnavailable, match="queue is full"):
        Server(stream(abort("The request queue is full.", 503))).run()


@pytest.mark.parametrize("older", [False, True])
def test_connect(older: bool) -> None:
    server = Server()
    server.older = older
    asyncio.run(server.engine.connect())
    engine = server.engine
    assert engine.model == ("org/tiny" if older else "tiny")
    assert engine.capabilities.context_length == (0 if older else 64)
    assert engine.capabilities.dialects == ("structural_tag", "json_schema")
    assert engine.capabilities.drafts
    assert asyncio.run(engine.health()) is False


def test_the_server_tokenizes_where_no_files_are_at_hand() -> None:
    server = Server(tokenizer=None)
    asyncio.run(server.engine.connect())
    server.run(prompt="ba")
    assert server.bodies[0]["input_ids"] == [98, 97]
    with pytest.raises(EngineError, match="without a tokenizer"):
        Server(tokenizer=None).run(prompt="ba")


def test_constraints_are_tried() -> None:
    server = Server()
    server.written["structural_tag"] = " Paris"
    with pytest.raises(EngineError, match="ignores constraints"):
        asyncio.run(server.engine.connect())
    server.written["structural_tag"] = None
    asyncio.run(server.engine.connect())
    assert server.engine.capabilities.dialects == ("json_schema",)
    server.run(constraint=Constraint("json_schema", "{}"))
    assert server.bodies[0]["sampling_params"]["json_schema"] == "{}"
    for one in (TAG, Constraint("gbnf", "x"), Constraint("json_schema", "{")):
        with pytest.raises(Unsupported):
            server.run(constraint=one)
