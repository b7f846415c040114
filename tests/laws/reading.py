"""Reading an output in pieces, and folding its events with every promise of the stream checked."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from tests.support.hostile import Piece, splits
from unbraid import (
    ContentDelta,
    Event,
    Message,
    Parser,
    ReasoningDelta,
    ToolCall,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallStart,
)

KINDS = {
    "reasoning",
    "content",
    "name",
    "id",
    "arguments",
    "framing",
    "markup",
    "noise",
    "unfinished",
    "broken",
    "dropped",
}


@dataclass
class Fold:
    """What a client builds from events; wrong or contradicting events fail at once."""

    reasoning: str = ""
    content: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    ended: list[bool] = field(default_factory=list)

    def add(self, events: Iterable[Event]) -> None:
        """Take the next events."""
        for event in events:
            if isinstance(event, ReasoningDelta):
                assert event.text, "an empty delta of reasoning"
                self.reasoning += event.text
            elif isinstance(event, ContentDelta):
                assert event.text, "an empty delta of content"
                self.content += event.text
            elif isinstance(event, ToolCallStart):
                assert event.index == len(self.calls), "indexes are 0, 1, 2, …"
                assert event.name
                assert event.id
                assert len(self.ended) == len(self.calls), "a call begins before the last one ended"
                self.calls.append(ToolCall(event.id, event.name, "", False))
            elif isinstance(event, ToolCallArguments):
                assert event.text, "an empty delta of arguments"
                assert event.index == len(self.calls) - 1 == len(self.ended), "arguments outside their call"
                call = self.calls[-1]
                self.calls[-1] = ToolCall(call.id, call.name, call.arguments + event.text, False)
            else:
                assert isinstance(event, ToolCallEnd)
                assert event.index == len(self.calls) - 1 == len(self.ended), "an end without its call"
                self.ended.append(event.complete)
                call = self.calls[-1]
                self.calls[-1] = ToolCall(call.id, call.name, call.arguments, event.complete)

    def matches(self, message: Message) -> None:
        """The events said what the message says."""
        assert (self.reasoning or None) == message.reasoning
        assert (self.content or None) == message.content
        assert self.calls == message.tool_calls


def read(parser: Parser, pieces: Iterable[Piece | str], finish: str | None = "stop") -> tuple[Message, Fold]:
    """Feed pieces to a fresh stream; the message, and what its events folded to."""
    stream = parser.stream()
    fold = Fold()
    for piece in pieces:
        text, ids = (piece, None) if isinstance(piece, str) else piece
        fold.add(stream.feed(text, ids))
    fold.add(stream.finish(finish))
    assert len(fold.ended) == len(fold.calls), "a call never ended"
    message = stream.message
    fold.matches(message)
    return message, fold


def read_every_way(
    parser: Parser, text: str, finish: str | None = "stop", *, ids: list[Piece] | None = None
) -> Message:
    """Read an output whole and in splits (with ``ids``: in these pieces); all must agree."""
    if ids is None:
        whole = parser.parse(text, finish_reason=finish)
        for pieces in ([text], *splits(text, 7)):
            assert _comparable(read(parser, pieces, finish)[0]) == _comparable(whole), pieces
        return whole
    assert text == "".join(piece for piece, _ in ids)
    every = [one for _, some in ids for one in some or ()]
    whole = parser.parse(text, token_ids=every, finish_reason=finish)
    assert _comparable(read(parser, ids, finish)[0]) == _comparable(whole)
    ahead: list[Piece] = [("", every), *((char, None) for char in text)]
    assert _comparable(read(parser, ahead, finish)[0]) == _comparable(whole)
    return whole


def _comparable(message: Message) -> Message:
    """The message without ids that are made at random."""
    return replace(message, tool_calls=[replace(call, id="") for call in message.tool_calls])


Calls = list[tuple[str, str]]


def strands(message: Message) -> tuple[str | None, str | None, Calls]:
    """Reasoning, content, and name and arguments of each call that is complete."""
    calls = [(call.name, call.arguments) for call in message.tool_calls if call.complete]
    return message.reasoning, message.content, calls
