"""Anthropic's messages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from unbraid.errors import Unsupported
from unbraid.server.api import Incoming
from unbraid.server.apis import messages_chat
from unbraid.server.apis.messages_request import CountRequest, MessagesRequest, decode
from unbraid.server.choice import Ended, Result, Step
from unbraid.server.normal import Ask
from unbraid.server.paths import renamed
from unbraid.server.plan import Job
from unbraid.wire.errors import error_status
from unbraid.wire.messages import (
    Blocks,
    MessageAnswer,
    MessageDelta,
    MessageEvent,
    MessageStart,
    MessageStop,
    MessageUsage,
    StopDelta,
    TokenCount,
    content,
    events_sse,
    failure_body,
    stop_reason,
    usage,
)

__all__ = ["CountApi", "MessagesApi"]


class MessagesApi:
    """``POST /v1/messages``."""

    path = "/v1/messages"

    def read(self, incoming: Incoming) -> Ask:
        """What the request means."""
        return messages_chat.ask(decode(incoming.body, MessagesRequest))

    def whole(self, job: Job, ended: Sequence[Ended]) -> MessageAnswer | TokenCount:
        """The whole answer."""
        one = ended[0]
        stop = _stop(one.result)
        return MessageAnswer(
            _id(job),
            job.model,
            content(one.events),
            stop.stop_reason,
            stop.stop_sequence,
            _usage(job, one.result),
        )

    def writer(self, job: Job) -> MessagesWriter:
        """Writes events."""
        return MessagesWriter(job)

    def failure(self, error: BaseException, request_id: str | None = None) -> tuple[int, Any]:
        """Anthropic's error body."""
        return error_status(error), failure_body(error, request_id)


class CountApi(MessagesApi):
    """``POST /v1/messages/count_tokens``: the prompt of a request, and no answer to it."""

    path = "/v1/messages/count_tokens"

    def read(self, incoming: Incoming) -> Ask:
        """What the request means."""
        return replace(messages_chat.ask(decode(incoming.body, CountRequest)), n=0)

    def whole(self, job: Job, ended: Sequence[Ended]) -> TokenCount:
        """The tokens of the prompt. Raises Unsupported where they can't be known."""
        if job.prompt_token_ids is None:
            raise Unsupported("tokens can't be counted here: the model's vocabulary is not known")
        return TokenCount(len(job.prompt_token_ids))


class MessagesWriter:
    """Writes one answer as events."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._blocks = Blocks()
        self._begun = False

    def step(self, index: int, step: Step) -> bytes:
        """The events of what the choice proved; the first one begins the message."""
        events: list[MessageEvent] = []
        if not self._begun:
            self._begun = True
            counts = MessageUsage(len(self._job.prompt_token_ids or ()), 0)
            begun = MessageAnswer(_id(self._job), self._job.model, [], None, None, counts)
            events.append(MessageStart(begun))
        for event in step.events:
            events += self._blocks.event(event)
        if step.result is not None:
            events += self._blocks.end()
        return events_sse(events)

    def finish(self, results: Sequence[Result]) -> bytes:
        """Why it ended, the token counts, and the end."""
        result = results[0]
        return events_sse([MessageDelta(_stop(result), _usage(self._job, result)), MessageStop()])

    def fail(self, error: Exception) -> bytes:
        """An error event, which is the end."""
        return events_sse([failure_body(renamed(error, self._job.ask.paths), self._job.request_id)])


def _id(job: Job) -> str:
    return f"msg_{job.id}"


def _stop(result: Result) -> StopDelta:
    broken = not all(call.complete for call in result.message.tool_calls)
    return StopDelta(stop_reason(result.finish_reason, result.stop_reason, broken), result.stop_reason)


def _usage(job: Job, result: Result) -> MessageUsage:
    counted = job.parser.reasoning_parser is not None
    prompt = result.prompt_tokens or len(job.prompt_token_ids or ())
    return usage(prompt, result.completion_tokens, result.reasoning_tokens if counted else None)
