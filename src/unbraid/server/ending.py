"""The token that ended an output, when it is none of the format's: it is no part of the answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

from unbraid.engines.base import Chunk

__all__ = ["without_end"]


async def without_end(chunks: AsyncIterator[Chunk], ends: frozenset[int]) -> AsyncGenerator[Chunk, None]:
    """The chunks of an output; one of the tokens ``ends`` that ended it comes without its text.

    Such a token is held until the next chunk says whether the output went on.
    """
    held: Chunk | None = None
    async for chunk in chunks:
        if held is not None:
            ended = chunk.finish_reason == "stop" and chunk.stop_reason is None and not chunk.text
            yield replace(held, text="") if ended else held
            held = None
        if chunk.finish_reason is None and len(chunk.token_ids) == 1 and chunk.token_ids[0] in ends:
            held = chunk
        else:
            yield chunk
    if held is not None:
        yield held
