"""One output as each engine sends it, and a server on a socket that sends it."""

from __future__ import annotations

import asyncio
import codecs
import json
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from unbraid.engines.base import Engine
from unbraid.engines.completions import CompletionsEngine
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.sglang import SGLangEngine
from unbraid.engines.vllm import VllmEngine

from .helpers import Vocabulary

END = 9
PROMPT = [1, 2, 1]
SMILE = "😀".encode()
PIECES: dict[int, bytes | str] = {
    1: "a",
    2: "b",
    3: SMILE[:1],
    4: SMILE[1:3],
    5: SMILE[3:],
    6: " é",
    9: "<end>",
}
TABLE = Vocabulary(PIECES, special=[END])

Step = tuple[int, ...]


def pieces(steps: Sequence[Step]) -> Iterator[tuple[str, Step]]:
    """What a detokenizer says at each step: whole characters, as soon as they are."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for step in steps:
        yield decoder.decode(b"".join(map(TABLE.token_bytes, step))), step


def line(event: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"


DONE = b"data: [DONE]\n\n"


def llamacpp(steps: Sequence[Step], reason: str) -> Iterator[bytes]:
    """A token an event; nothing for one that ends within a character."""
    single = [(token,) for step in steps for token in step]
    for count, (text, step) in enumerate(pieces(single), 1):
        if text:
            counts = {"tokens_predicted": count, "tokens_evaluated": len(PROMPT)}
            yield line({"content": text, "tokens": list(step), "stop": False, **counts})
    counts = {"tokens_predicted": len(single), "tokens_evaluated": len(PROMPT)}
    kind = {"stop": "eos", "length": "limit"}[reason]
    yield line({"content": "", "tokens": [], "stop": True, "stop_type": kind, **counts})


def _choice(text: str, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": None, "stop_reason": None, **more}
    return {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m", "choices": [choice]}


def _usage(steps: Sequence[Step]) -> dict[str, Any]:
    usage = {"prompt_tokens": len(PROMPT), "completion_tokens": sum(map(len, steps))}
    return {
        "id": "cmpl-1",
        "object": "text_completion",
        "created": 1,
        "model": "m",
        "choices": [],
        "usage": usage,
    }


def vllm(steps: Sequence[Step], reason: str) -> Iterator[bytes]:
    """All ids at once, the text when it is whole; the reason with the last of them."""
    for at, (text, step) in enumerate(pieces(steps)):
        more: dict[str, Any] = {"token_ids": list(step)}
        if at == 0:
            more["prompt_token_ids"] = PROMPT
        if at == len(steps) - 1:
            more["finish_reason"] = reason
        yield b": keep-alive\n\n" + line(_choice(text, **more))
    yield line(_usage(steps)) + DONE


def completions(steps: Sequence[Step], reason: str) -> Iterator[bytes]:
    """Text alone, and a reason of its own."""
    for text, _ in pieces(steps):
        if text:
            yield line(_choice(text))
    yield line(_choice("", finish_reason=reason))
    yield line(_usage(steps)) + DONE


def _meta(count: int, reason: Any = None) -> dict[str, Any]:
    return {"id": "r", "finish_reason": reason, "prompt_tokens": len(PROMPT), "completion_tokens": count}


def sglang_whole(steps: Sequence[Step], reason: str) -> Iterator[bytes]:
    """All of the output with every event."""
    said, ids = "", list[int]()
    for at, (text, step) in enumerate(pieces(steps)):
        said, ids = said + text, [*ids, *step]
        last = {"type": reason} if at == len(steps) - 1 else None
        yield line({"text": said, "output_ids": ids, "meta_info": _meta(len(ids), last)})
    yield DONE


def sglang_new(steps: Sequence[Step], reason: str) -> Iterator[bytes]:
    """What is new with every event."""
    count = 0
    for at, (text, step) in enumerate(pieces(steps)):
        count += len(step)
        last = {"type": reason} if at == len(steps) - 1 else None
        yield line({"text": text, "output_ids": list(step), "meta_info": _meta(count, last)})
    yield DONE


@dataclass(frozen=True)
class Wire:
    """An engine as its driver meets it."""

    name: str
    driver: Callable[..., Any]
    play: Callable[[Sequence[Step], str], Iterator[bytes]]
    ids: bool = True
    local: bool = True

    def engine(self, url: str, **options: Any) -> Engine:
        """The driver at ``url``, with the vocabulary unless the engine has to be asked for it."""
        if self.local:
            options.setdefault("tokenizer", TABLE)
        made: Engine = self.driver(url, "key", model="m", context_length=64, **options)
        return made


WIRES = (
    Wire("llamacpp", LlamaCppEngine, llamacpp),
    Wire("llamacpp-asked", LlamaCppEngine, llamacpp, local=False),
    Wire("vllm", VllmEngine, vllm),
    Wire("vllm-asked", VllmEngine, vllm, local=False),
    Wire("sglang", SGLangEngine, sglang_whole),
    Wire("sglang-new", SGLangEngine, sglang_new),
    Wire("sglang-asked", SGLangEngine, sglang_new, local=False),
    Wire("completions", CompletionsEngine, completions, ids=False),
)


@dataclass
class SocketServer:
    """A server on 127.0.0.1 that answers every generation with the same bytes.

    ``hold`` keeps the connection open behind them, else it is closed or, with ``cut``, torn.
    ``requests`` are the paths and bodies, ``closed`` counts connections that clients closed
    while they were held.
    """

    answer: list[bytes]
    status: str = "200 OK"
    hold: bool = False
    cut: bool = False
    url: str = ""
    connections: int = 0
    closed: int = 0
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def generations(self) -> list[tuple[str, dict[str, str], Any]]:
        """The requests that ask for an output."""
        paths = ("/completion", "/v1/completions", "/generate")
        return [one for one in self.requests if one[0] in paths]

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: requests in turn until the client or an answer ends it."""
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *rest = head.splitlines()
        headers = dict(one.lower().split(": ", 1) for one in rest if one)
        data = await reader.readexactly(int(headers.get("content-length", 0)))
        path, body = first.split()[1], json.loads(data or b"{}")
        self.requests.append((path, headers, body))
        if path in ("/tokenize", "/detokenize"):
            return self._tokens(writer, path, body)
        if path == "/abort_request":
            self._send(writer, b"{}")
            return True
        kind = "text/event-stream" if self.status.startswith("200") else "application/json"
        writer.write(f"HTTP/1.1 {self.status}\r\ncontent-type: {kind}\r\n".encode())
        writer.write(b"transfer-encoding: chunked\r\n\r\n")
        if self.hold:
            with suppress(ConnectionError):
                await self._write(writer)
                await reader.read()
            self.closed += 1
            self.gone.set()
            return False
        await self._write(writer)
        if self.cut:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    async def _write(self, writer: asyncio.StreamWriter) -> None:
        for piece in self.answer:
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()

    def _tokens(self, writer: asyncio.StreamWriter, path: str, body: Any) -> bool:
        if path == "/detokenize":
            text = b"".join(map(TABLE.token_bytes, body["tokens"])).decode("utf-8", "replace")
            self._send(writer, json.dumps({"content": text, "prompt": text, "text": text}).encode())
        else:
            ids = TABLE.encode(body.get("content") or body.get("prompt") or "")
            self._send(writer, json.dumps({"tokens": ids}).encode())
        return True

    def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)


@asynccontextmanager
async def served(answer: Sequence[bytes], **options: Any) -> AsyncGenerator[SocketServer, None]:
    """A server for the time of the block."""
    server = SocketServer(list(answer), **options)
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listening.close()
