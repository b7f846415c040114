"""Engines that send garbage, half a character, or the same text late: over HTTP, to each API's client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.replay import byte_tokenizer
from unbraid.engines.sglang import SGLangEngine
from unbraid.engines.template import TOOL_TEMPLATE
from unbraid.engines.vllm import VllmEngine

from .faults import CHAT, PATHS, body, read_stream
from .helpers import MARKERS, raw

TOKENS = byte_tokenizer(*MARKERS)
PLAIN: Any = {"default_chat_template_kwargs": {"enable_thinking": False}}
Piece = tuple[str, Sequence[int]]


class Slices(httpx.AsyncByteStream):
    """A body that comes in slices."""

    def __init__(self, data: bytes, size: int) -> None:
        self._slices = [data[at : at + size] for at in range(0, len(data), size)]

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for one in self._slices:
            yield one


def sse(event: Any) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


def llamacpp_events(pieces: Sequence[Piece], end: str | None) -> bytes:
    """The stream of ``/completion``; ``end`` is why it ended, None when it just stops."""
    sent, count = b"", 0
    for text, ids in pieces:
        count += len(ids)
        counts = {"tokens_predicted": count, "tokens_evaluated": 4}
        sent += sse({"content": text, "tokens": list(ids), "stop": False, **counts})
    if end is not None:
        kind = {"stop": "eos", "length": "limit"}[end]
        counts = {"tokens_predicted": count, "tokens_evaluated": 4}
        sent += sse({"content": "", "tokens": [], "stop": True, "stop_type": kind, **counts})
    return sent


def vllm_events(pieces: Sequence[Piece], end: str | None) -> bytes:
    """The stream of vLLM's ``/v1/completions``."""

    def event(text: str, ids: Sequence[int], reason: str | None, **more: Any) -> bytes:
        choice = {"index": 0, "text": text, "finish_reason": reason, "token_ids": list(ids), **more}
        return sse({"id": "cmpl-x", "object": "text_completion", "model": "tiny", "choices": [choice]})

    sent = b""
    for n, (text, ids) in enumerate(pieces):
        sent += event(text, ids, None, **({} if n else {"prompt_token_ids": [1, 2]}))
    if end is not None:
        count = sum(len(ids) for _, ids in pieces)
        usage = {"prompt_tokens": 2, "completion_tokens": count, "total_tokens": count + 2}
        sent += (
            event("", [], end) + sse({"id": "cmpl-x", "choices": [], "usage": usage}) + b"data: [DONE]\n\n"
        )
    return sent


def sglang_events(pieces: Sequence[Piece], end: str | None) -> bytes:
    """The stream of SGLang's ``/generate``, whose texts and ids are all that there is so far."""
    text, ids, sent = "", [], b""

    def event(reason: Any) -> bytes:
        info = {"id": "r", "finish_reason": reason, "prompt_tokens": 2, "completion_tokens": len(ids)}
        return sse({"text": text, "output_ids": list(ids), "meta_info": info})

    for more, their in pieces:
        text += more
        ids += their
        sent += event(None)
    if end is not None:
        sent += event({"type": end}) + b"data: [DONE]\n\n"
    return sent


@dataclass(frozen=True)
class Driver:
    """A driver, and the events of the engine that it drives."""

    make: Callable[..., Any]
    path: str
    events: Callable[[Sequence[Piece], str | None], bytes]

    def engine(self, data: bytes, size: int = 1 << 20, status: int = 200) -> Any:
        """The engine that sends some bytes in slices as its stream."""

        def answer(request: httpx.Request) -> httpx.Response:
            if request.url.path == self.path:
                return httpx.Response(status, stream=Slices(data, size))
            if request.url.path == "/tokenize":
                return httpx.Response(200, json={"tokens": [1, 2, 3]})
            return httpx.Response(200, json={})

        return self.make(
            "http://engine",
            model="tiny",
            tokenizer=TOKENS,
            chat_template=TOOL_TEMPLATE,
            transport=httpx.MockTransport(answer),
        )


DRIVERS = {
    "llamacpp": Driver(LlamaCppEngine, "/completion", llamacpp_events),
    "vllm": Driver(VllmEngine, "/v1/completions", vllm_events),
    "sglang": Driver(SGLangEngine, "/generate", sglang_events),
}
GARBAGE = {
    "no-json": b"data: {nonsense\n\n",
    "a-list": b"data: [1, 2]\n\n",
    "a-number": b"data: 7\n\n",
    "other-fields": b'data: {"foo": 1}\n\n',
    "no-number": b'data: {"content": "x", "tokens": [1e999], "tokens_predicted": 1e999, "choices": [{"text": '
    b'"x", "token_ids": [1e999]}], "text": "x", "output_ids": [1e999], '
    b'"meta_info": {"completion_tokens": 1e999}}\n\n',
    "wrong-types": b'data: {"content": [], "tokens": "x", "tokens_predicted": {}, "choices": 3, "text": 4,'
    b' "output_ids": 5, "meta_info": []}\n\n',
    "invalid-utf8": b'data: {"content": "\xff\xfe\xc3", "text": "\xff"}\n\n',
    "deep-json": b"data: " + b"[" * 100_000 + b"\n\n",
    "an-error": b'data: {"error": {"message": "out of memory", "code": 500}}\n\n',
    "an-html-page": b"<html><body>502 Bad Gateway</body></html>\n",
    "binary": bytes(range(256)) * 4,
    "nothing": b"",
}
drivers = pytest.mark.parametrize("driver", DRIVERS)
api = pytest.mark.parametrize("path", PATHS)


def pieces(*texts: str) -> list[Piece]:
    """Texts with their ids."""
    return [(text, TOKENS.encode(text)) for text in texts]


async def ask(engine: Any, path: str, stream: bool) -> httpx.Response:
    async with raw(engine, **PLAIN) as http:
        return await http.post(path, json={**body(path, stream), "model": "tiny"})


@drivers
@pytest.mark.parametrize("garbage", GARBAGE)
@api
def test_garbage(driver: str, garbage: str, path: str, caplog: pytest.LogCaptureFixture) -> None:
    """In place of the first event and behind some text, streamed and whole: the error is the engine's."""
    kind = DRIVERS[driver]
    for stream in (False, True):
        answer = asyncio.run(ask(kind.engine(GARBAGE[garbage]), path, stream))
        assert answer.status_code == 500, answer.text
        assert "engine" in answer.json()["error"]["message"]
        begun = kind.events(pieces("Once ", "upon"), None)
        answer = asyncio.run(ask(kind.engine(begun + GARBAGE[garbage]), path, stream))
        if not stream:
            assert answer.status_code == 500
            continue
        read = read_stream(path, answer.text)
        assert (read.content, read.ended) == ("Once upon", True)
        assert read.error is not None
        assert "engine" in read.error
    assert "Traceback" not in caplog.text


@drivers
@pytest.mark.parametrize("status", [401, 404, 429, 500, 502, 503])
def test_an_answer_that_is_no_stream(driver: str, status: int) -> None:
    answer = asyncio.run(ask(DRIVERS[driver].engine(b"<html>no</html>", status=status), CHAT, True))
    assert answer.status_code in (500, 503)
    assert "engine" in answer.json()["error"]["message"]


@drivers
def test_a_line_without_end(driver: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unbraid.engines.sse._LONGEST_LINE", 5000)
    engine = DRIVERS[driver].engine(b"data: " + b"x" * 10_000, 100)
    answer = asyncio.run(ask(engine, CHAT, True))
    assert answer.status_code == 500
    assert "more than 5000 bytes" in answer.json()["error"]["message"]


@drivers
@api
def test_characters_that_are_cut_on_the_way(driver: str, path: str) -> None:
    """Wherever the network cuts the bytes, the client gets whole characters."""
    kind = DRIVERS[driver]
    data = kind.events(pieces("né", "😀", " 你好"), "stop")
    for size in (1, 2, 3, 7):
        answer = asyncio.run(ask(kind.engine(data, size), path, True))
        read = read_stream(path, answer.text)
        assert (read.content, read.error, read.ended) == ("né😀 你好", None, True)


@drivers
@api
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_half_a_character_at_the_end(driver: str, path: str, stream: bool) -> None:
    """The limit of tokens came within a character: it is left out or marked, and nothing fails."""
    kind = DRIVERS[driver]
    data = kind.events([*pieces("fine"), ("", [0xF0]), ("", [0x9F])], "length")
    answer = asyncio.run(ask(kind.engine(data), path, stream))
    assert answer.status_code == 200
    if stream:
        read = read_stream(path, answer.text)
        assert read.content.rstrip("\N{REPLACEMENT CHARACTER}") == "fine"
        assert (read.error, read.ended) == (None, True)
    else:
        assert "fine" in answer.text


@pytest.mark.parametrize("driver", ["llamacpp", "vllm"])
@api
def test_text_that_comes_later_than_its_ids(driver: str, path: str) -> None:
    kind = DRIVERS[driver]
    smile = list("😀".encode())
    late = [*pieces("a"), ("", smile[:2]), ("", smile[2:3]), ("😀", smile[3:]), *pieces("b")]
    answer = asyncio.run(ask(kind.engine(kind.events(late, "stop")), path, True))
    read = read_stream(path, answer.text)
    assert (read.content, read.error, read.ended) == ("a😀b", None, True)


@api
def test_the_same_text_again(path: str) -> None:
    """SGLang tells all of the text in each event: one that says nothing new adds nothing."""
    again = [("Once ", TOKENS.encode("Once ")), ("", []), ("upon", TOKENS.encode("upon")), ("", []), ("", [])]
    kind = DRIVERS["sglang"]
    answer = asyncio.run(ask(kind.engine(kind.events(again, "stop")), path, True))
    read = read_stream(path, answer.text)
    assert (read.content, read.error, read.ended) == ("Once upon", None, True)
