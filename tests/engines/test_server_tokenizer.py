"""Tokenizers that are asked over HTTP: what they tell, and outputs that are read with them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httpx
import pytest

from unbraid import Parser
from unbraid.engines.base import Chunk
from unbraid.engines.server_tokenizer import (
    RemoteTokenizer,
    ServerTokenizer,
    SGLangTokenizer,
    VllmTokenizer,
    learned,
)
from unbraid.errors import EngineError
from unbraid.tokens import TokenTable

EMOJI = "😀".encode()
MARKERS = {400: "<think>", 401: "</think>", 402: "<tool_call>", 403: "</tool_call>", 404: "<｜end▁here｜>"}
REAL = TokenTable(
    {**{byte: bytes([byte]) for byte in range(128)}, 300: EMOJI[:2], 301: EMOJI[2:], 302: " hi", **MARKERS},
    special=MARKERS,
)
BYTE_LEVEL = {0xF0: "ð", 0x9F: "Ł", 0x98: "ĺ", 0x80: "Ģ", 0x20: "Ġ", 0x0A: "Ċ"}


def _string(token_id: int) -> str:
    """The token's string in a byte-level vocabulary."""
    piece = REAL.token_bytes(token_id)
    if REAL.is_special(token_id):
        return piece.decode()
    return "".join(BYTE_LEVEL.get(byte, chr(byte)) for byte in piece)


def _piece(token_id: int) -> Any:
    piece = REAL.token_bytes(token_id)
    try:
        return piece.decode()
    except UnicodeDecodeError:
        return list(piece)


class Asked:
    """The endpoints of each engine; ``count`` is how often they were asked."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.count += 1
        body = json.loads(request.content)
        if request.url.path == "/detokenize":
            text = b"".join(map(REAL.token_bytes, body["tokens"])).decode("utf-8", "replace")
            return httpx.Response(200, json={"content": text, "prompt": text, "text": text})
        ids = REAL.encode(body.get("prompt") or body["content"])
        if body.get("with_pieces"):
            return httpx.Response(200, json={"tokens": [{"id": one, "piece": _piece(one)} for one in ids]})
        answer: dict[str, Any] = {"tokens": ids, "count": len(ids)}
        if body.get("return_token_strs"):
            answer["token_strs"] = list(map(_string, ids))
        return httpx.Response(200, json=answer)


ALL = pytest.mark.parametrize("kind", [ServerTokenizer, VllmTokenizer, SGLangTokenizer])


@ALL
def test_ids_and_bytes(kind: type[RemoteTokenizer]) -> None:
    tokenizer = kind("http://engine", transport=httpx.MockTransport(Asked()))
    assert tokenizer.encode("") == []
    assert tokenizer.token_id("</think>") == 401
    assert tokenizer.token_id("<｜end▁here｜>") == 404
    assert tokenizer.token_id("a") is None
    assert tokenizer.token_bytes(302) == b" hi"
    assert tokenizer.is_special(401)
    assert not tokenizer.is_special(302)
    assert tokenizer.encode("a 😀</think>") == [97, 32, 300, 301, 401]
    tokenizer.close()


@pytest.mark.parametrize("kind", [ServerTokenizer, VllmTokenizer])
def test_parts_of_characters_are_learned_from_a_text(kind: type[RemoteTokenizer]) -> None:
    tokenizer = kind("http://engine", transport=httpx.MockTransport(Asked()))
    assert tokenizer.token_bytes(300) == b""
    tokenizer.encode(" hi\n😀<｜end▁here｜>")
    assert [tokenizer.token_bytes(one) for one in (302, 10, 300, 301)] == [
        b" hi",
        b"\n",
        EMOJI[:2],
        EMOJI[2:],
    ]


@ALL
def test_what_was_learned_is_not_asked_again(kind: type[RemoteTokenizer]) -> None:
    asked = Asked()
    tokenizer = kind("http://engine", transport=httpx.MockTransport(asked))
    chunk = Chunk(text="a😀", token_ids=(97, 300, 301))
    assert asyncio.run(learned(tokenizer, chunk)) is chunk
    before = asked.count
    assert asyncio.run(learned(tokenizer, chunk)) is chunk
    assert b"".join(map(tokenizer.token_bytes, chunk.token_ids)) == chunk.text.encode()
    asyncio.run(learned(tokenizer, Chunk(text="b", token_ids=(98,))))
    assert tokenizer.token_bytes(98) == b"b"
    assert asked.count == before


@ALL
def test_markers_behind_a_split_character_are_found(kind: type[RemoteTokenizer]) -> None:
    tokenizer = kind("http://engine", transport=httpx.MockTransport(Asked()))
    parser = Parser("qwen3", "hermes", tokenizer=tokenizer, tools=[{"name": "f"}])
    stream = parser.stream()
    output = '<think> hi 😀😀 there</think>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    held: list[int] = []
    for token_id in REAL.encode(output):
        held.append(token_id)
        if token_id != 300:
            text = b"".join(map(REAL.token_bytes, held)).decode()
            chunk = asyncio.run(learned(tokenizer, Chunk(text=text, token_ids=tuple(held))))
            stream.feed(chunk.text, chunk.token_ids)
            held.clear()
    stream.finish("stop")
    assert stream.message.reasoning == " hi 😀😀 there"
    assert [call.name for call in stream.message.tool_calls] == ["f"]


@pytest.mark.parametrize("answer", [{}, {"tokens": "ab"}, {"tokens": [{"piece": "a"}]}, {"tokens": ["a"]}])
def test_answers_of_another_shape(answer: dict[str, Any]) -> None:
    transport = httpx.MockTransport(lambda request: httpx.Response(200, json=answer))
    with pytest.raises(EngineError, match="/tokenize"):
        ServerTokenizer("http://engine", transport=transport).encode("a")
