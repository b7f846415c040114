"""Answering requests of one API: read, plan, generate, write."""

from __future__ import annotations

import asyncio
import re
import secrets
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from unbraid.engines.base import Engine
from unbraid.server.api import Api, Incoming
from unbraid.server.connection import Gone, read_body, send_events, while_connected
from unbraid.server.generate import stream, whole
from unbraid.server.observe import Observer
from unbraid.server.paths import named_as, renamed
from unbraid.server.plan import Job, plan
from unbraid.server.setup import Setup

__all__ = ["MAX_BODY", "Responder", "json_response"]

MAX_BODY = 32 << 20
_REQUEST_ID = re.compile(r"[!-~]{1,128}")


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """``value`` as a response of JSON."""
    return Response(msgspec.json.encode(value), status, headers, media_type="application/json")


class Responder:
    """An API's route as an ASGI app of its own, so that it sees a client leave."""

    def __init__(self, api: Api, setup: Setup, engine: Engine, observer: Observer) -> None:
        self._api = api
        self._setup = setup
        self._engine = engine
        self._observer = observer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        request_id = _request_id(headers)
        try:
            body = await read_body(receive, MAX_BODY)
            job = await asyncio.to_thread(self._plan, Incoming(body, headers, request_id))
        except Gone:
            return
        except Exception as error:
            status, refusal = self._api.failure(error)
            self._observer.refused(self._api.path, request_id, status, error)
            await json_response(refusal, status, {"x-request-id": request_id})(scope, receive, send)
            return
        self._observer.began(job)
        try:
            await self._answer(job, scope, receive, send)
        except (Gone, asyncio.CancelledError) as error:
            self._observer.left(job)
            if isinstance(error, asyncio.CancelledError):
                raise

    def _plan(self, incoming: Incoming) -> Job:
        ask = self._api.read(incoming)
        with named_as(ask.paths):
            return plan(ask, self._setup, self._engine, incoming.request_id)

    async def _answer(self, job: Job, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {"x-request-id": job.request_id, "x-unbraid-enforced": job.enforced}
        if not job.ask.stream:
            answer = await while_connected(receive, self._whole(job, headers))
            await answer(scope, receive, send)
            return
        writer = self._api.writer(job)
        async with aclosing(stream(job, self._engine, writer, self._observer)) as events:
            first = await while_connected(receive, self._first(job, events, headers))
            if isinstance(first, Response):
                await first(scope, receive, send)
                return
            await while_connected(receive, send_events(send, headers, first, events))

    async def _whole(self, job: Job, headers: dict[str, str]) -> Response:
        try:
            ended = await whole(job, self._engine, self._observer)
            return json_response(self._api.whole(job, ended), headers=headers)
        except Exception as error:
            return self._failure(job, error, headers)

    async def _first(
        self, job: Job, events: AsyncGenerator[bytes, None], headers: dict[str, str]
    ) -> bytes | Response:
        """The first bytes of a stream, or the response when it fails before."""
        try:
            return await anext(events)
        except Exception as error:
            return self._failure(job, error, headers)

    def _failure(self, job: Job, error: Exception, headers: dict[str, str]) -> Response:
        status, body = self._api.failure(renamed(error, job.ask.paths))
        return json_response(body, status, headers)


def _request_id(headers: dict[str, str]) -> str:
    """The client's own id of a request where it gave a printable one, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else secrets.token_hex(16)
