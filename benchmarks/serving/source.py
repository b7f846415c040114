"""What is streamed: an answer of thinking, content and a call, a token a piece, as an engine and as text."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from unbraid.engines.base import Capabilities, Chunk, Generation
from unbraid.engines.template import TOOL_TEMPLATE
from unbraid.tokens import TokenTable

__all__ = ["TOKENS", "PacedEngine", "paced"]

MARKERS = ("<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>")
PROSE = "The tide turns at six and the harbour is quiet, so the boats go out early in the morning. "
PIECE = 4
STRANDS = 900


def _cut(text: str) -> list[str]:
    return [text[at : at + PIECE] for at in range(0, len(text), PIECE)]


def _pieces() -> list[str]:
    prose = (PROSE * 50)[: STRANDS * PIECE]
    call = '\n{"name": "write", "arguments": {"text": "' + prose + '"}}\n'
    return [
        "<think>",
        *_cut("\n" + prose),
        "</think>",
        *_cut("\n\n" + prose),
        "<tool_call>",
        *_cut(call),
        "</tool_call>",
    ]


_TEXTS = _pieces()
_NUMBERS = {text: 256 + number for number, text in enumerate(dict.fromkeys((*MARKERS, *_TEXTS)))}
TABLE = TokenTable(
    {**{byte: bytes([byte]) for byte in range(256)}, **{number: text for text, number in _NUMBERS.items()}},
    [_NUMBERS[text] for text in MARKERS],
)
CHUNKS = [Chunk(text=text, token_ids=(_NUMBERS[text],)) for text in _TEXTS]
TOKENS = len(CHUNKS)
_LAST = Chunk(finish_reason="stop", prompt_tokens=10, completion_tokens=TOKENS)


async def paced(seconds: float) -> AsyncGenerator[Chunk, None]:
    """The chunks, one every ``seconds`` by the clock; 0 as fast as the loop turns."""
    clock = asyncio.get_running_loop().time
    due = clock()
    for chunk in CHUNKS:
        due += seconds
        await asyncio.sleep(max(0.0, due - clock()) if seconds else 0)
        yield chunk
    yield _LAST


class PacedEngine:
    """An engine that always answers the same."""

    model = "paced"
    capabilities = Capabilities((), True, False, 1 << 20)
    tokenizer = TABLE
    chat_template: str | None = TOOL_TEMPLATE

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self.template_variables: dict[str, Any] = {}

    def generate(self, _: Generation) -> AsyncGenerator[Chunk, None]:
        """The answer."""
        return paced(self._seconds)

    async def health(self) -> bool:
        """Always well."""
        return True

    async def close(self) -> None:
        """Nothing to free."""
