"""Answering a job: whole, or as a stream of server-sent events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing

from unbraid.engines.base import Engine
from unbraid.errors import EngineError
from unbraid.message import Message
from unbraid.server.merge import merged
from unbraid.server.plan import Job
from unbraid.server.run import Beside, Result, run
from unbraid.wire.chat import (
    DONE,
    ChatCompletion,
    ChatCompletionChunk,
    ChunkWriter,
    Extras,
    Usage,
    choice,
    sse,
    usage,
)
from unbraid.wire.errors import error_body

__all__ = ["answer", "stream"]

Watch = Callable[[Message], None]
Piece = tuple[list[ChatCompletionChunk], Result | None]


async def answer(job: Job, engine: Engine, watch: Watch) -> ChatCompletion:
    """The whole answer; ``watch`` is shown each message. Raises what the engine or the parser raises."""
    tasks = [asyncio.ensure_future(_whole(job, engine, index, watch)) for index in range(job.ask.n)]
    try:
        ended = await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    choices = [
        choice(
            index,
            result.message,
            result.reason,
            reasoning=job.shows_reasoning,
            alias=job.alias,
            stop_reason=result.stop_reason,
            extras=extras,
        )
        for index, (result, extras) in enumerate(ended)
    ]
    counts = _usage(job, [result for result, _ in ended])
    made = ChatCompletion(job.id, job.created, job.model, choices, counts)
    prompt_ids = await _prompt_ids(job, engine)
    if prompt_ids is not None:
        made.prompt_token_ids = prompt_ids
    return made


async def stream(job: Job, engine: Engine, watch: Watch) -> AsyncGenerator[bytes, None]:
    """The answer as server-sent events.

    What fails before the first piece is raised, so that it can still be an HTTP error.
    Later the choice that failed stops, the others go on, and an error event ends the stream.
    """
    writer = ChunkWriter(job.id, job.created, job.model, job.alias)
    prompt_ids = await _prompt_ids(job, engine)
    results: list[Result] = []
    failure: Exception | None = None
    sent = False
    sources = [_pieces(job, engine, index, watch, writer, prompt_ids) for index in range(job.ask.n)]
    async with aclosing(merged(sources)) as pieces:
        async for piece in pieces:
            if isinstance(piece, Exception):
                if not sent:
                    raise piece
                failure = failure or piece
                continue
            chunks, result = piece
            sent = True
            yield sse(chunks)
            if result is not None:
                results.append(result)
    if failure is not None:
        yield sse([error_body(failure)]) + DONE
    elif job.ask.include_usage:
        yield sse([writer.usage(_usage(job, results))]) + DONE
    else:
        yield DONE


async def _whole(job: Job, engine: Engine, index: int, watch: Watch) -> tuple[Result, Extras]:
    beside = Beside(job)
    async with aclosing(run(job, engine, index, watch)) as steps:
        async for step in steps:
            beside.add(step.chunk)
            if step.result is not None:
                return step.result, beside.take()
    raise EngineError("the engine ended without saying why")


async def _pieces(
    job: Job, engine: Engine, index: int, watch: Watch, writer: ChunkWriter, prompt_ids: list[int] | None
) -> AsyncGenerator[Piece, None]:
    """The chunks of one choice, a list for each piece of the engine that says something."""
    beside = Beside(job)
    first = True
    async with aclosing(run(job, engine, index, watch)) as steps:
        async for step in steps:
            beside.add(step.chunk)
            chunks = [writer.role(index, prompt_ids)] if first else []
            first = False
            for event in step.events:
                made = writer.event(index, event)
                if made is not None:
                    chunks.append(made.beside(beside.take()))
            result = step.result
            if result is not None:
                last = writer.finish(index, result.reason, result.stop_reason)
                chunks.append(last.beside(beside.take()))
            if chunks:
                yield chunks, result


async def _prompt_ids(job: Job, engine: Engine) -> list[int] | None:
    prompt = job.generation.prompt
    if not job.ask.return_token_ids:
        return None
    return await asyncio.to_thread(engine.tokenizer.encode, prompt) if isinstance(prompt, str) else prompt


def _usage(job: Job, results: Sequence[Result]) -> Usage:
    counted = job.parser.reasoning_parser is not None
    return usage(
        max((one.prompt_tokens for one in results), default=0),
        sum(one.completion_tokens for one in results),
        sum(one.reasoning_tokens for one in results) if counted else None,
    )
