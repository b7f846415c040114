"""Running a job on an engine: its choices whole, or as one stream of an API's bytes."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from unbraid.engines.base import Chunk, Engine, TokenLogprob
from unbraid.engines.budget import with_thinking_budget
from unbraid.errors import EngineError, EngineTimeout, NotEnforced, UnbraidError
from unbraid.events import Event
from unbraid.server.api import Writer
from unbraid.server.choice import Choice, Ended, Result, Step
from unbraid.server.ending import EndFilter
from unbraid.server.held import breach
from unbraid.server.merge import merged
from unbraid.server.plan import Job, seeded
from unbraid.server.record import Record
from unbraid.server.silence import Patience

__all__ = ["run", "stream", "whole"]

logger = logging.getLogger("unbraid.server")

_IN_A_ROW = 64
"""Pieces of an engine that always has one ready, after which others get their turn."""


async def whole(job: Job, engine: Engine, record: Record) -> list[Ended]:
    """The job's choices, all run to their end. Raises what the engine or the parser raises."""
    tasks = [asyncio.ensure_future(_whole(job, engine, index, record)) for index in range(job.ask.n)]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _whole(job: Job, engine: Engine, index: int, record: Record) -> Ended:
    kept: list[Chunk] = []
    events: list[Event] = []
    logprobs: list[Sequence[TokenLogprob]] = []
    keeps = job.ask.return_token_ids or job.ask.logprobs is not None
    async with aclosing(run(job, engine, index, record)) as steps:
        async for step in steps:
            if keeps:
                kept.append(step.chunk)
            events += step.events
            logprobs += step.logprobs
            if step.result is not None:
                return Ended(step.result, kept, events, logprobs)
    raise EngineError("the engine ended without saying why")


def stream(job: Job, engine: Engine, writer: Writer, record: Record) -> AsyncGenerator[bytes, None]:
    """The answer as ``writer`` writes it; it must be read by one task.

    What fails before the first piece is raised, so that it can still be an HTTP error.
    Later the choice that failed stops, the others go on, and the writer ends the stream with the error.
    """
    answer = _Answer(writer, record)
    sources = [run(job, engine, index, record) for index in range(job.ask.n)]
    return _alone(sources[0], answer) if len(sources) == 1 else _together(sources, answer)


class _Answer:
    """The bytes of an answer, step by step, and what became of its choices."""

    def __init__(self, writer: Writer, record: Record) -> None:
        self._writer = writer
        self._record = record
        self._results: list[Result] = []
        self._failure: Exception | None = None
        self._sent = False

    def step(self, index: int, step: Step) -> bytes:
        """The bytes of a step, perhaps none."""
        if step.result is not None:
            self._results.append(step.result)
        data = self._writer.step(index, step)
        self._sent = self._sent or bool(data)
        return data

    def failed(self, error: Exception) -> None:
        """A choice failed: raises the error when nothing was sent yet."""
        if self._failure is None:
            self._failure = error
            self._record.failed(error)
        if not self._sent:
            raise error

    def end(self) -> bytes:
        """The bytes behind the last step."""
        if self._failure is not None:
            return self._writer.fail(self._failure)
        self._record.done()
        return self._writer.finish(self._results)


async def _alone(source: AsyncGenerator[Step, None], answer: _Answer) -> AsyncGenerator[bytes, None]:
    try:
        async with aclosing(source) as steps:
            async for step in steps:
                data = answer.step(0, step)
                if data:
                    yield data
    except Exception as error:
        answer.failed(error)
    yield answer.end()


async def _together(
    sources: Sequence[AsyncGenerator[Step, None]], answer: _Answer
) -> AsyncGenerator[bytes, None]:
    async with aclosing(merged(sources)) as steps:
        async for index, step in steps:
            if isinstance(step, Exception):
                answer.failed(step)
                continue
            data = answer.step(index, step)
            if data:
                yield data
    yield answer.end()


async def run(job: Job, engine: Engine, index: int, record: Record) -> AsyncGenerator[Step, None]:
    """One choice, step by step; the engine is stopped when the generator is closed."""
    choice = Choice(job, engine.tokenizer)
    ending = EndFilter(job.foreign_ends)
    seen: list[str] = []
    generation = _generate(job, engine, choice, index)
    late = EngineTimeout(f"the engine was silent for {job.patience:g} seconds")
    try:
        async with aclosing(generation) as chunks:
            with Patience(job.patience, late) as patience:
                async for received in chunks:
                    patience.heard()
                    for chunk in ending.feed(received):
                        ids = chunk.token_ids or await _ids(engine, chunk.text)
                        seen.append(chunk.text)
                        if not len(seen) % _IN_A_ROW:
                            await asyncio.sleep(0)
                        step = choice.feed(chunk, ids)
                        problem = None if step.result is None else await _breach(job, step)
                        if problem is not None:
                            step = Step(step.events, replace(chunk, finish_reason=None))
                        record.step(index, step)
                        yield step
                        if problem is not None:
                            raise NotEnforced(f"the output broke what was demanded: {problem}")
                        if step.result is not None:
                            return
                    patience.waits()
    except UnbraidError:
        raise
    except Exception:
        text = "".join(seen)
        logger.exception("choice %d of %s failed after %d characters", index, job.request_id, len(text))
        logger.debug("the output of choice %d of %s until then: %r", index, job.request_id, text)
        raise
    raise EngineError("the engine ended without saying why")


async def _breach(job: Job, step: Step) -> str | None:
    """What a choice that ended by itself breaks of the request's demands, or None."""
    result, chunk = step.result, step.chunk
    if result is None or job.enforced not in ("grammar", "check"):
        return None
    if chunk.finish_reason != "stop" or chunk.stop_reason is not None:
        return None
    return await asyncio.to_thread(breach, job.ask, result.message, job.level)


def _generate(job: Job, engine: Engine, choice: Choice, index: int) -> AsyncGenerator[Chunk, None]:
    generation = seeded(job.generation, index)
    if job.budget is None:
        return engine.generate(generation)
    return with_thinking_budget(
        engine,
        generation,
        job.budget.tokens,
        lambda: choice.thinking,
        job.budget.end_text,
        job.budget.constraint,
    )


async def _ids(engine: Engine, text: str) -> Sequence[int]:
    """The ids of text that came without any, so that those that follow keep their places."""
    if not text or engine.tokenizer is None or not engine.capabilities.token_ids:
        return ()
    return await asyncio.to_thread(engine.tokenizer.encode, text)
