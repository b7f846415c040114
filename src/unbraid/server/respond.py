"""Answering requests of one API: read, plan, generate, write."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from unbraid.engines.base import Engine
from unbraid.server.admission import Admission
from unbraid.server.api import Api, Incoming, Writer
from unbraid.server.connection import Gone, begin_events, end_events, read_body, send_events, while_connected
from unbraid.server.engine_states import engine_name
from unbraid.server.generate import stream, whole
from unbraid.server.limits import check_body
from unbraid.server.observe import Observer
from unbraid.server.paths import named_as, renamed
from unbraid.server.plan import Job, plan
from unbraid.server.record import Record
from unbraid.server.setup import Setup
from unbraid.wire.errors import error_headers

__all__ = ["Responder", "json_response"]

T = TypeVar("T")

_PLANNERS = ThreadPoolExecutor(4, "plan")
"""Threads of their own, so that requests which are long to plan hold up no stream that runs."""

_REQUEST_ID = re.compile(r"[!-~]{1,128}")


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """``value`` as a response of JSON."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


class Responder:
    """An API's route as an ASGI app of its own, so that it sees a client leave."""

    def __init__(
        self, api: Api, setup: Setup, engine: Engine, admission: Admission, observer: Observer
    ) -> None:
        self._api = api
        self._setup = setup
        self._engine = engine
        self._admission = admission
        self._observer = observer
        self._engine_name = engine_name(engine)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        record = Record(self._api.path, _request_id(headers), engine=self._engine_name)
        exchange = _Exchange(record, scope, receive, send)
        try:
            with self._admission.entered() as exchange.stopped:
                job = record.job = await self._job(exchange, headers)
                answer = self._stream if job.ask.stream else self._whole
                await answer(job, exchange)
        except Gone:
            pass
        except Exception as error:
            await self._failure(exchange, error)
        finally:
            record.end()
            self._observer.finished(record)

    async def _job(self, exchange: _Exchange, headers: dict[str, str]) -> Job:
        body = await read_body(exchange.receive, self._setup.limits.body_bytes)
        incoming = Incoming(body, headers, exchange.record.request_id)
        return await exchange.connected(_planned(self._plan, incoming))

    def _plan(self, incoming: Incoming) -> Job:
        check_body(incoming.body, self._setup.limits)
        ask = self._api.read(incoming)
        with named_as(ask.paths):
            return plan(ask, self._setup, self._engine, incoming.request_id)

    async def _whole(self, job: Job, exchange: _Exchange) -> None:
        ended = await exchange.connected(whole(job, self._engine, exchange.record))
        answer = self._api.whole(job, ended)
        exchange.record.done()
        await exchange.respond(answer, 200, _answer_headers(job))

    async def _stream(self, job: Job, exchange: _Exchange) -> None:
        """What fails before the first bytes is raised; what fails later ends the stream."""
        writer = self._api.writer(job)
        try:
            await exchange.connected(self._send(job, exchange, writer))
        except Gone:
            raise
        except Exception as error:
            if not exchange.begun:
                raise
            exchange.record.failed(error)
            await end_events(exchange.send, writer.fail(error))

    async def _send(self, job: Job, exchange: _Exchange, writer: Writer) -> None:
        async with aclosing(stream(job, self._engine, writer, exchange.record)) as events:
            first = await anext(events)
            exchange.begun, exchange.record.status = True, 200
            await begin_events(exchange.send, {**exchange.headers, **_answer_headers(job)})
            await send_events(exchange.send, first, events)

    async def _failure(self, exchange: _Exchange, error: Exception) -> None:
        """Answer with an error."""
        job = exchange.record.job
        if job is None:
            exchange.record.refused(error)
            status, body = self._api.failure(error, exchange.record.request_id)
            await exchange.respond(body, status, error_headers(error))
            return
        exchange.record.failed(error)
        status, body = self._api.failure(renamed(error, job.ask.paths), job.request_id)
        await exchange.respond(body, status, {**_answer_headers(job), **error_headers(error)})


@dataclass
class _Exchange:
    """One request with its connection.

    ``stopped`` is done when the server waits no longer for it; ``begun``: a stream's first bytes are out.
    """

    record: Record
    scope: Scope
    receive: Receive
    send: Send
    stopped: asyncio.Future[None] | None = None
    begun: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The headers of every response: its id, as OpenAI's clients read it and as Anthropic's do."""
        return {"x-request-id": self.record.request_id, "request-id": self.record.request_id}

    async def connected(self, work: Awaitable[T]) -> T:
        """The result of ``work``, as long as the client and the server wait for it."""
        assert self.stopped is not None
        return await while_connected(self.receive, work, self.stopped)

    async def respond(self, value: Any, status: int, headers: dict[str, str]) -> None:
        """Send a response of JSON."""
        self.record.status = status
        response = json_response(value, status, {**self.headers, **headers})
        await response(self.scope, self.receive, self.send)


def _planned(plan_it: Callable[[Incoming], Job], incoming: Incoming) -> asyncio.Future[Job]:
    """A job in the making, in a thread that nothing else waits for."""
    return asyncio.get_running_loop().run_in_executor(_PLANNERS, plan_it, incoming)


def _answer_headers(job: Job) -> dict[str, str]:
    return {"x-unbraid-enforced": job.enforced}


def _request_id(headers: dict[str, str]) -> str:
    """The client's own id of a request where it gave a printable one, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(16)
