"""The token that ended an output, when it is none of the format's: it is no part of the answer."""

from __future__ import annotations

from dataclasses import replace

from unbraid.engines.base import Chunk

__all__ = ["EndFilter"]


class EndFilter:
    """Takes the text from one of the tokens ``ends`` that ended an output.

    Such a token is held until the next chunk says whether the output went on.
    """

    def __init__(self, ends: frozenset[int]) -> None:
        self._ends = ends
        self._held: Chunk | None = None

    def feed(self, chunk: Chunk) -> tuple[Chunk, ...]:
        """The chunks that are certain, in order."""
        held, self._held = self._held, None
        before: tuple[Chunk, ...] = ()
        if held is not None:
            ended = chunk.finish_reason == "stop" and chunk.stop_reason is None and not chunk.text
            before = (replace(held, text="") if ended else held,)
        if chunk.finish_reason is None and len(chunk.token_ids) == 1 and chunk.token_ids[0] in self._ends:
            self._held = chunk
            return before
        return (*before, chunk)
