"""OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from unbraid.engines.base import Chunk
from unbraid.events import Event
from unbraid.server.api import Incoming
from unbraid.server.apis.chat_custom import as_functions
from unbraid.server.choice import Ended, Result, Step
from unbraid.server.normal import Ask, normalise
from unbraid.server.paths import named_as
from unbraid.server.plan import Job
from unbraid.server.requests import read, read_object
from unbraid.wire.chat import (
    DONE,
    ChatCompletion,
    ChatCompletionChunk,
    ChunkWriter,
    Extras,
    Usage,
    choice,
    finish_reason,
    sse,
    token_logprobs,
    usage,
)
from unbraid.wire.errors import error_body, error_status
from unbraid.wire.frames import Frames
from unbraid.wire.safe import SafeChunkWriter, safe_message

__all__ = ["ChatApi"]


class ChatApi:
    """``POST /v1/chat/completions``."""

    path = "/v1/chat/completions"

    def read(self, incoming: Incoming) -> Ask:
        """What the request means."""
        plain, custom, paths = as_functions(read_object(incoming.body))
        with named_as(paths):
            ask = normalise(*read(plain))
        return replace(ask, paths=paths, detail=custom) if custom else ask

    def whole(self, job: Job, ended: Sequence[Ended]) -> ChatCompletion:
        """The whole answer."""
        choices = [
            choice(
                index,
                safe_message(one.result.message) if job.wire_safe else one.result.message,
                _reason(job, one.result),
                reasoning=job.shows_reasoning,
                alias=job.alias,
                custom=_custom(job),
                stop_reason=one.result.stop_reason,
                extras=_beside(job, one.chunks).take(),
            )
            for index, one in enumerate(ended)
        ]
        counts = _usage(job, [one.result for one in ended])
        made = ChatCompletion(_id(job), job.created, job.model, choices, counts)
        prompt_ids = _shown_prompt(job)
        if prompt_ids is not None:
            made.prompt_token_ids = prompt_ids
        return made

    def writer(self, job: Job) -> ChatWriter:
        """Writes chunks."""
        return ChatWriter(job)

    def failure(self, error: BaseException, request_id: str | None = None) -> tuple[int, Any]:
        """OpenAI's error body, which has no field for the request."""
        return error_status(error), error_body(error)


class ChatWriter:
    """Writes one answer as chunks, a list of them for each piece that says something."""

    def __init__(self, job: Job) -> None:
        self._job = job
        writer = SafeChunkWriter if job.wire_safe else ChunkWriter
        self._chunks = writer(_id(job), job.created, job.model, job.alias, _custom(job))
        self._beside: dict[int, Beside] = {}
        self._tokens: dict[int, int] = {}
        ask = job.ask
        plain = not (ask.running_usage or ask.return_token_ids or ask.logprobs is not None)
        bare = plain and not job.wire_safe and not ask.detail
        self._frames = Frames(self._event) if bare else None

    def step(self, index: int, step: Step) -> bytes:
        """The chunks of what a choice proved; its first begins with the role."""
        if self._frames is not None and step.result is None and index in self._beside:
            return self._framed(self._frames, index, step.events)
        beside = self._beside.get(index)
        chunks = []
        if beside is None:
            beside = self._beside[index] = Beside(self._job)
            chunks.append(self._chunks.role(index, _shown_prompt(self._job)))
        beside.add(step.chunk)
        for event in step.events:
            for made in self._chunks.event(index, event):
                chunks.append(made.beside(beside.take()))
        result = step.result
        if result is not None:
            last = self._chunks.finish(index, _reason(self._job, result), result.stop_reason)
            chunks.append(last.beside(beside.take()))
        if self._job.ask.running_usage:
            self._count(index, step.tokens, chunks)
        return sse(chunks)

    @staticmethod
    def _framed(frames: Frames, index: int, events: Sequence[Event]) -> bytes:
        """Chunks beside which nothing stands."""
        if len(events) == 1:
            return frames.encode(index, events[0])
        return b"".join([frames.encode(index, event) for event in events])

    def _event(self, index: int, event: Event) -> bytes:
        return sse(self._chunks.event(index, event))

    def _count(self, index: int, tokens: int, chunks: list[ChatCompletionChunk]) -> None:
        self._tokens[index] = tokens
        prompt = len(self._job.prompt_token_ids or ())
        for chunk in chunks:
            chunk.usage = usage(prompt, sum(self._tokens.values()), None)

    def finish(self, results: Sequence[Result]) -> bytes:
        """The token counts, if asked for, and the end."""
        if not self._job.ask.include_usage:
            return DONE
        return sse([self._chunks.usage(_usage(self._job, results))]) + DONE

    def fail(self, error: Exception) -> bytes:
        """An error event, and the end."""
        return sse([error_body(error)]) + DONE


def _custom(job: Job) -> frozenset[str]:
    """The names of the tools that take a text."""
    return job.ask.detail or frozenset()


def _id(job: Job) -> str:
    return f"chatcmpl-{job.id}"


def _shown_prompt(job: Job) -> list[int] | None:
    return job.prompt_token_ids if job.ask.return_token_ids else None


def _reason(job: Job, result: Result) -> str:
    return finish_reason(result.finish_reason, job.ask.tools.named)


def _usage(job: Job, results: Sequence[Result]) -> Usage:
    counted = job.parser.reasoning_parser is not None
    return usage(
        max((one.prompt_tokens for one in results), default=0),
        sum(one.completion_tokens for one in results),
        sum(one.reasoning_tokens for one in results) if counted else None,
    )


# -- log probabilities and token ids --------------------------------------------


def _beside(job: Job, chunks: Iterable[Chunk]) -> Beside:
    beside = Beside(job)
    for chunk in chunks:
        beside.add(chunk)
    return beside


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
