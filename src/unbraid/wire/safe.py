"""Chat chunks for clients that take less than they should.

Some refuse content of white space alone beside calls, or look for a call's id and name in each chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from unbraid.events import ContentDelta, Event, ToolCallArguments, ToolCallEnd, ToolCallStart
from unbraid.message import Message
from unbraid.wire.chat import ChatCompletionChunk, ChunkWriter

__all__ = ["SafeChunkWriter", "safe_message"]


@dataclass(frozen=True)
class SafeChunkWriter(ChunkWriter):
    """Holds white space that begins content until there is more, and repeats a call's id, type and name."""

    _white: dict[int, str | None] = field(default_factory=dict)
    _calls: dict[tuple[int, int], tuple[str, str]] = field(default_factory=dict)

    def event(self, index: int, event: Event) -> Sequence[ChatCompletionChunk]:
        """The chunks of an event; white space waits while the content is nothing else."""
        held = self._white.get(index, "")
        if isinstance(event, ContentDelta) and held is not None:
            text = held + event.text
            self._white[index] = None if text.strip() else text
            if not text.strip():
                return ()
            event = ContentDelta(text)
        if isinstance(event, ToolCallStart):
            self._calls[index, event.index] = event.id, event.name
        chunks = super().event(index, event)
        if isinstance(event, (ToolCallArguments, ToolCallEnd)):
            for chunk in chunks:
                self._name(index, event.index, chunk)
        return chunks

    def _name(self, index: int, call: int, chunk: ChatCompletionChunk) -> None:
        for part in chunk.choices[0].delta.tool_calls or ():
            part.id, name = self._calls[index, call]
            part.type = "function" if part.custom is None else "custom"
            named = part.function or part.custom
            if named is not None:
                named.name = name


def safe_message(message: Message) -> Message:
    """The message without content that is white space alone, as the chunks are."""
    white = message.content is not None and not message.content.strip()
    return replace(message, content=None) if white else message
