"""One choice of a job: the engine's pieces through a parser, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from unbraid.engines.base import Chunk, TokenLogprob
from unbraid.events import Event
from unbraid.message import Message
from unbraid.server.content_tokens import ContentTokens
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

    ``tokens`` are those of the choice so far. Where log probabilities are asked for, ``logprobs`` are,
    event by event, those of the tokens of content.
    """

    events: Sequence[Event]
    chunk: Chunk
    result: Result | None = None
    tokens: int = 0
    logprobs: Sequence[Sequence[TokenLogprob]] = ()


@dataclass(slots=True)
class Ended:
    """A choice that ended: its events, and its pieces where ids or log probabilities are asked for.

    ``logprobs`` are those of its steps.
    """

    result: Result
    chunks: list[Chunk] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    logprobs: list[Sequence[TokenLogprob]] = field(default_factory=list)


class Choice:
    """Reads the pieces of one choice as they come."""

    def __init__(self, job: Job, tokenizer: Tokenizer | None) -> None:
        self._parsed = job.parser.stream()
        self._meter = TokenMeter(tokenizer)
        self._content = None if job.ask.logprobs is None else ContentTokens(job.ask.include_reasoning)
        self._read, self._count = self._parsed.feed, self._meter.feed

    @property
    def thinking(self) -> bool:
        """Whether the thinking is open."""
        return self._parsed.thinking

    def feed(self, chunk: Chunk, token_ids: Sequence[int]) -> Step:
        """Read a piece; ``token_ids`` are those of its text as far as they are known."""
        text = chunk.text
        tokens = self._count(text, token_ids)
        events = self._read(text, token_ids) if text or token_ids else []
        result = None
        if chunk.finish_reason is not None:
            events = [*events, *self._parsed.finish(chunk.finish_reason)]
            result = self._result(chunk)
        step = Step(events, chunk, result, tokens)
        if self._content is not None:
            step.logprobs = self._content.feed(chunk, events, lambda: self._parsed.message.spans or ())
        return step

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
