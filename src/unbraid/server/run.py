"""One choice of a job: the engine's pieces through a parser, step by step."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from unbraid.engines.base import Chunk, Engine
from unbraid.engines.budget import with_thinking_budget
from unbraid.errors import EngineError, UnbraidError
from unbraid.events import Event
from unbraid.message import Message
from unbraid.server.ending import without_end
from unbraid.server.meter import TokenMeter
from unbraid.server.plan import Job, seeded
from unbraid.stream import Stream
from unbraid.wire.chat import Extras, finish_reason, token_logprobs

__all__ = ["Beside", "Result", "Step", "run"]

logger = logging.getLogger("unbraid.server")


@dataclass
class Result:
    """How a choice ended."""

    message: Message
    reason: str
    stop_reason: str | None
    prompt_tokens: int
    completion_tokens: int
    reasoning_tokens: int


@dataclass
class Step:
    """What one piece of the engine proved; ``result`` comes with the last one."""

    events: list[Event]
    chunk: Chunk
    result: Result | None = None


@asynccontextmanager
async def _closing(chunks: AsyncIterator[Chunk]) -> AsyncGenerator[AsyncIterator[Chunk], None]:
    try:
        yield chunks
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


def _generate(job: Job, engine: Engine, parsed: Stream, index: int) -> AsyncIterator[Chunk]:
    generation = seeded(job.generation, index)
    if job.budget is None:
        return engine.generate(generation)
    return with_thinking_budget(
        engine,
        generation,
        job.budget.tokens,
        lambda: parsed.thinking,
        job.budget.end_text,
        job.budget.constraint,
    )


async def run(
    job: Job, engine: Engine, index: int, watch: Callable[[Message], None]
) -> AsyncGenerator[Step, None]:
    """One choice, step by step; ``watch`` is shown the finished message.

    The engine is stopped when the generator is closed.
    """
    parsed = job.parser.stream()
    meter = TokenMeter(engine.tokenizer)
    seen: list[str] = []
    try:
        async with (
            _closing(_generate(job, engine, parsed, index)) as chunks,
            aclosing(without_end(chunks, job.foreign_ends)) as ending,
        ):
            async for chunk in ending:
                ids = chunk.token_ids or await _ids(engine, chunk.text)
                meter.feed(chunk.text, ids)
                seen.append(chunk.text)
                events = parsed.feed(chunk.text, ids) if chunk.text or ids else []
                if chunk.finish_reason is None:
                    yield Step(events, chunk)
                    continue
                events += parsed.finish(chunk.finish_reason)
                result = _result(job, parsed, meter, chunk)
                watch(result.message)
                yield Step(events, chunk, result)
                return
    except UnbraidError:
        raise
    except Exception:
        logger.exception("choice %d of %s failed; the output so far: %r", index, job.id, "".join(seen))
        raise
    raise EngineError("the engine ended without saying why")


async def _ids(engine: Engine, text: str) -> Sequence[int]:
    """The ids of text that came without any, so that those that follow keep their places."""
    if not text or not engine.capabilities.token_ids:
        return ()
    return await asyncio.to_thread(engine.tokenizer.encode, text)


def _result(job: Job, parsed: Stream, meter: TokenMeter, last: Chunk) -> Result:
    message = parsed.message
    completion = meter.tokens if last.completion_tokens is None else last.completion_tokens
    return Result(
        message=message,
        reason=finish_reason(message.finish_reason, job.ask.tools.named),
        stop_reason=last.stop_reason,
        prompt_tokens=last.prompt_tokens or 0,
        completion_tokens=completion,
        reasoning_tokens=meter.reasoning(message.spans or ()),
    )


# -- extras: log probabilities and token ids ------------------------------------


class Beside:
    """Collects log probabilities and ids until there is a chunk to carry them."""

    def __init__(self, job: Job) -> None:
        shown = not job.hides_tokens
        self._top = job.ask.logprobs if shown else None
        self._ids = job.ask.return_token_ids and shown
        self._held = self._empty()

    def _empty(self) -> Extras:
        return Extras(None if self._top is None else [], [] if self._ids else None)

    def add(self, chunk: Chunk) -> None:
        """Note a piece of the engine."""
        if self._held.token_ids is not None:
            self._held.token_ids.extend(chunk.token_ids)
        if self._held.logprobs is not None:
            for one in chunk.logprobs:
                others = [(piece, value) for _, piece, value in one.top[: self._top]]
                self._held.logprobs.append(token_logprobs(one.token, one.logprob, others))

    def take(self) -> Extras:
        """What was collected, for one chunk."""
        taken, self._held = self._held, self._empty()
        return taken
