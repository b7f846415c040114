"""Helpers of the engine tests."""

from __future__ import annotations

import json
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from unbraid.engines.base import Chunk
from unbraid.tokens import TokenTable

EMBEDDING = 32
MARKERS = ("<jupyter_start>", "<jupyter_text>", "<jupyter_code>", "<jupyter_output>")
TINY_TOKENS = ("<|im_end|>", *MARKERS, "a", "Ċ", "Ġb", "ð", "ŁĺĢ")
TINY_TYPES = (3, 3, 3, 3, 3, 1, 1, 1, 1, 1)


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _value(value: object) -> bytes:
    if isinstance(value, bool):
        return struct.pack("<I?", 7, value)
    if isinstance(value, int):
        return struct.pack("<II", 4, value)
    if isinstance(value, float):
        return struct.pack("<If", 6, value)
    if isinstance(value, str):
        return struct.pack("<I", 8) + _text(value)
    assert isinstance(value, (list, tuple))
    if isinstance(value[0], str):
        return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    return struct.pack(f"<IIQ{len(value)}i", 9, 5, len(value), *value)


def write_gguf(path: Path, extra: Mapping[str, object] | None = None, alignment: int = 64) -> Path:
    """A tiny GGUF file: an odd tensor, a Q8_0 embedding and an F16 output matrix."""
    metadata: dict[str, object] = {
        "general.architecture": "llama",
        "general.alignment": alignment,
        "llama.context_length": 128,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": TINY_TOKENS,
        "tokenizer.ggml.token_type": TINY_TYPES,
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.chat_template": "{{ messages }}",
        "odd.number": 0.5,
        **(extra or {}),
    }
    rows = len(TINY_TOKENS)
    tensors = [
        ("norm", (3,), 0, bytes(range(12))),
        ("token_embd.weight", (EMBEDDING, rows), 8, bytes(n % 251 for n in range(34 * rows))),
        ("output.weight", (EMBEDDING, rows), 1, bytes(n % 241 for n in range(2 * EMBEDDING * rows))),
    ]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_text(key) + _value(value) for key, value in metadata.items())
    data = b""
    for name, shape, kind, content in tensors:
        data += bytes(-len(data) % alignment)
        head += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += content
    path.write_bytes(head + bytes(-len(head) % alignment) + data)
    return path


class Vocabulary(TokenTable):
    """A token table that also finds the ids of some bytes, as a GGUF vocabulary does."""

    def ids_of(self, data: bytes) -> Sequence[int]:
        found = (token_id for token_id, piece in self._bytes.items() if piece == data)
        return [token_id for token_id in found if not self.is_special(token_id)]


def event(content: str, tokens: Sequence[int], count: int, **more: Any) -> dict[str, Any]:
    """An event of ``/completion`` as llama.cpp sends it."""
    counts = {"tokens_predicted": count, "tokens_evaluated": 4}
    return {"content": content, "tokens": list(tokens), "stop": False, **counts, **more}


def last_event(count: int, stop_type: str = "eos") -> dict[str, Any]:
    return event("", [], count, stop=True, stop_type=stop_type)


def sse(*events: dict[str, Any]) -> bytes:
    return b"".join(b"data: " + json.dumps(item, ensure_ascii=False).encode() + b"\n\n" for item in events)


async def collect(chunks: AsyncIterator[Chunk]) -> list[Chunk]:
    return [chunk async for chunk in chunks]


def text_of(chunks: Sequence[Chunk]) -> str:
    return "".join(chunk.text for chunk in chunks)


def ids_of(chunks: Sequence[Chunk]) -> list[int]:
    return [token_id for chunk in chunks for token_id in chunk.token_ids]
