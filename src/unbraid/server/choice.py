"""One choice of a job: the engine's pieces through a parser, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from unbraid.engines.base import Chunk
from unbraid.events import Event
from unbraid.message import Message
from unbraid.server.meter import TokenMeter
from unbraid.server.plan import Job
from unbraid.tokens import Tokenizer

__all__ = ["Choice", "Ended", "Result", "Step"]


@dataclass(slots=True)
class Result:
    """How a choice ended; ``finish_reason`` is the parser's, before an API words it."""

    message: Message
    finish_reason: str
    stop_reason: str | None
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int


@dataclass(slots=True)
class Step:
    """What one piece of the engine proved; ``result`` comes with the last one.

    ``tokens`` are those of the choice so far.
    """

    events: Sequence[Event]
    chunk: Chunk
    result: Result | None = None
    tokens: int = 0


@dataclass(slots=True)
class Ended:
    """A choice that ended: its events, and its pieces where ids or log probabilities are asked for."""

    result: Result
    chunks: list[Chunk] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)


class Choice:
    """Reads the pieces of one choice as they come."""

    def __init__(self, job: Job, tokenizer: Tokenizer | None) -> None:
        self._parsed = job.parser.stream()
        self._meter = TokenMeter(tokenizer)

    @property
    def thinking(self) -> bool:
        """Whether the thinking is open."""
        return self._parsed.thinking

    def feed(self, chunk: Chunk, token_ids: Sequence[int]) -> Step:
        """Read a piece; ``token_ids`` are those of its text as far as they are known."""
        text = chunk.text
        self._meter.feed(text, token_ids)
        events = self._parsed.feed(text, token_ids) if text or token_ids else []
        if chunk.finish_reason is None:
            return Step(events, chunk, None, self._meter.tokens)
        events = [*events, *self._parsed.finish(chunk.finish_reason)]
        return Step(events, chunk, self._result(chunk), self._meter.tokens)

    def _result(self, last: Chunk) -> Result:
        message = self._parsed.message
        counted = last.completion_tokens
        return Result(
            message=message,
            finish_reason=message.finish_reason or "stop",
            stop_reason=last.stop_reason,
            prompt_tokens=last.prompt_tokens or 0,
            completion_tokens=self._meter.tokens if counted is None else counted,
            reasoning_tokens=self._meter.reasoning(message.spans or ()),
        )
