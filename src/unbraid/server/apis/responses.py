"""OpenAI's Responses API, stateless: each request brings the whole conversation."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response as HttpResponse

from unbraid.engines.base import TokenLogprob
from unbraid.errors import EngineError, UnbraidError
from unbraid.events import Event
from unbraid.server.api import Incoming
from unbraid.server.apis.responses_chat import Detail, ask_of
from unbraid.server.apis.responses_request import decode
from unbraid.server.choice import Ended, Result, Step
from unbraid.server.normal import Ask
from unbraid.server.paths import renamed
from unbraid.server.plan import Job
from unbraid.wire.chat import TokenLogprobs, token_logprobs
from unbraid.wire.errors import INTERNAL, error_body, error_status
from unbraid.wire.response_items import ItemWriter
from unbraid.wire.responses import (
    Completed,
    Created,
    Failed,
    Incomplete,
    IncompleteDetails,
    InProgress,
    Item,
    OutputTokensDetails,
    Response,
    ResponseError,
    ResponseUsage,
    StreamEvent,
    sse,
)

__all__ = ["ResponsesApi", "nothing_kept"]

_REASONS: dict[str, Literal["max_output_tokens", "content_filter"]] = {
    "length": "max_output_tokens",
    "content_filter": "content_filter",
}
_UNSET: dict[str, dict[str, Any]] = {"function": {"parameters": None, "strict": None}}
"""What clients look for in a tool that a response repeats, by its type."""


class ResponsesApi:
    """``POST /v1/responses``."""

    path = "/v1/responses"

    def read(self, incoming: Incoming) -> Ask:
        """What the request means."""
        return ask_of(*decode(incoming.body))

    def whole(self, job: Job, ended: Sequence[Ended]) -> Response:
        """The whole answer: what its stream would have built."""
        [one] = ended
        items = _items(job)
        _told(items, job, one.events, one.logprobs)
        items.close("incomplete" if _cut(one.result) else "completed")
        return _ended(job, one.result, items.items)

    def writer(self, job: Job) -> ResponsesWriter:
        """Writes events."""
        return ResponsesWriter(job)

    def failure(self, error: BaseException, request_id: str | None = None) -> tuple[int, Any]:
        """OpenAI's error body."""
        return error_status(error), error_body(error)


class ResponsesWriter:
    """Writes one answer as events that build a response."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._items = _items(job)
        self._number = 0

    def step(self, index: int, step: Step) -> bytes:
        """The events of what the choice proved; its first come behind those that begin the response."""
        events = self._begin() if self._number == 0 else []
        events += _told(self._items, self._job, step.events, step.logprobs)
        if step.result is not None:
            events += self._items.close("incomplete" if _cut(step.result) else "completed")
        return self._sent(events)

    def finish(self, results: Sequence[Result]) -> bytes:
        """The response as its events built it."""
        response = _ended(self._job, results[0], self._items.items)
        kind = Completed if response.status == "completed" else Incomplete
        return self._sent([kind(response)])

    def fail(self, error: Exception) -> bytes:
        """The end of what is open, and why the response failed."""
        events = self._begin() if self._number == 0 else []
        events += self._items.close("incomplete")
        response = _response(self._job, "failed", self._items.items)
        response.error = _error(renamed(error, self._job.ask.paths))
        return self._sent([*events, Failed(response)])

    def _begin(self) -> list[StreamEvent]:
        return [
            Created(_response(self._job, "in_progress", [])),
            InProgress(_response(self._job, "in_progress", [])),
        ]

    def _sent(self, events: Sequence[StreamEvent]) -> bytes:
        for number, event in enumerate(events, self._number):
            event.sequence_number = number
        self._number += len(events)
        return b"".join(map(sse, events))


async def nothing_kept(request: Request) -> HttpResponse:
    """The answer to whoever asks for a response that was given: a 404 that says why."""
    raise HTTPException(
        404,
        f"{request.path_params['response_id']!r} is not here: this server keeps no responses; "
        "send the whole conversation as input of a new request",
    )


# -- the response ----------------------------------------------------------------


def _items(job: Job) -> ItemWriter:
    return ItemWriter(job.id, _detail(job).names)


def _told(
    items: ItemWriter, job: Job, events: Sequence[Event], logprobs: Sequence[Sequence[TokenLogprob]]
) -> list[StreamEvent]:
    """The parser's events told to the items, each with the log probabilities that belong to it, if any."""
    if len(events) == 1 and not logprobs:
        return items.event(events[0])
    made: list[StreamEvent] = []
    for n, event in enumerate(events):
        tokens = logprobs[n] if logprobs else ()
        made += items.event(event, [_logprobs(one, job.ask.logprobs or 0) for one in tokens])
    return made


def _logprobs(one: TokenLogprob, top: int) -> TokenLogprobs:
    return token_logprobs(one.token, one.logprob, [(piece, value) for _, piece, value in one.top[:top]])


def _detail(job: Job) -> Detail:
    detail = job.ask.detail
    assert isinstance(detail, Detail)
    return detail


def _cut(result: Result) -> bool:
    """Whether something else than the model ended the output."""
    return result.finish_reason not in ("stop", "tool_calls")


def _response(job: Job, status: Literal["in_progress", "failed"], output: list[Item]) -> Response:
    """A response that repeats the request, without what is known at its end only."""
    ask, detail = job.ask, _detail(job)
    request, plain = detail.request, detail.plain
    reasoning, text = plain.get("reasoning") or {}, plain.get("text") or {}
    return Response(
        id=f"resp_{job.id}",
        created_at=job.created,
        model=job.model,
        status=status,
        output=output,
        tools=[{**_UNSET.get(tool["type"], {}), **tool} for tool in plain.get("tools") or ()],
        tool_choice=plain.get("tool_choice") or "auto",
        parallel_tool_calls=ask.parallel_tool_calls,
        temperature=ask.sampling.temperature,
        top_p=ask.sampling.top_p,
        top_logprobs=request.top_logprobs or 0,
        text={**text, "format": text.get("format") or {"type": "text"}},
        reasoning={"effort": reasoning.get("effort"), "summary": reasoning.get("summary")},
        metadata=request.metadata or {},
        instructions=request.instructions,
        max_output_tokens=request.max_output_tokens,
        max_tool_calls=request.max_tool_calls,
        user=request.user,
        prompt_cache_key=request.prompt_cache_key,
        safety_identifier=request.safety_identifier,
    )


def _ended(job: Job, result: Result, output: list[Item]) -> Response:
    """A response at its end. It is incomplete when it was cut, or when its last item is."""
    response = _response(job, "in_progress", output)
    cut = _cut(result) or bool(output and output[-1].status == "incomplete")
    response.status = "incomplete" if cut else "completed"
    if cut:
        response.incomplete_details = IncompleteDetails(_REASONS.get(result.finish_reason))
    else:
        response.completed_at = int(time.time())
    response.usage = ResponseUsage(
        input_tokens=result.prompt_tokens,
        output_tokens=result.completion_tokens,
        total_tokens=result.prompt_tokens + result.completion_tokens,
        output_tokens_details=OutputTokensDetails(result.reasoning_tokens),
    )
    return response


def _error(error: BaseException) -> ResponseError:
    message = error.message if isinstance(error, UnbraidError) else INTERNAL
    blamed = isinstance(error, UnbraidError) and not isinstance(error, EngineError)
    return ResponseError("invalid_prompt" if blamed else "server_error", message)
