"""The HTTP app: routes, keys, errors, and what happens when a client goes away."""

from __future__ import annotations

import asyncio
import hmac
import logging
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from unbraid.engines.base import Engine
from unbraid.server import chat
from unbraid.server.docs import openapi, page
from unbraid.server.foreign import ForeignCalls
from unbraid.server.normal import normalise
from unbraid.server.plan import Job, check_model, plan
from unbraid.server.requests import decode
from unbraid.server.setup import Setup
from unbraid.wire.errors import ApiError, error_body, error_status

__all__ = ["create_app"]

logger = logging.getLogger("unbraid.server")

MAX_BODY = 32 << 20
SSE_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),
]
T = TypeVar("T")


def create_app(setup: Setup, engine: Engine) -> ASGIApp:
    """The app for one engine; it closes the engine when it shuts down."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        yield
        await engine.close()

    document = msgspec.json.encode(openapi())

    async def health(_: Request) -> Response:
        well = await engine.health()
        return _json({"status": "ok" if well else "engine not ready"}, 200 if well else 503)

    async def models(_: Request) -> Response:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "unbraid"} for name in setup.models]
        return _json({"object": "list", "data": data})

    async def document_json(_: Request) -> Response:
        return Response(document, media_type="application/json")

    async def docs(_: Request) -> Response:
        return Response(page(), media_type="text/html")

    routes = [
        Route("/health", health),
        Route("/v1/models", models),
        Route("/v1/chat/completions", _Completions(setup, engine), methods=["POST"]),
        Route("/openapi.json", document_json),
        Route("/docs", docs),
    ]
    app = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error, Exception: _failure}
    )
    return app if setup.api_key is None else _Guard(app, setup.api_key)


def _json(value: Any, status: int = 200) -> Response:
    return Response(msgspec.json.encode(value), status, media_type="application/json")


async def _http_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
    return _json(error_body(ApiError(error.status_code, str(error.detail), code=code)), error.status_code)


async def _failure(_: Request, error: Exception) -> Response:
    return _json(error_body(error), 500)


class _Guard:
    """Lets nothing below ``/v1/`` through without the key."""

    def __init__(self, app: ASGIApp, key: str) -> None:
        self._app = app
        self._expected = b"Bearer " + key.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith("/v1/"):
            given = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(given, self._expected):
                refusal = ApiError(401, "the API key is missing or wrong", code="invalid_api_key")
                await _json(error_body(refusal), 401)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class _Gone(Exception):
    """The client closed the connection."""


class _Completions:
    """``POST /v1/chat/completions`` as an ASGI app of its own, so that it sees a client leave."""

    def __init__(self, setup: Setup, engine: Engine) -> None:
        self._setup = setup
        self._engine = engine
        self._watch = ForeignCalls(setup.tool_parser).watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with suppress(_Gone):
            await self._respond(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await _body(receive)
            job = await asyncio.to_thread(self._plan, body)
            if not job.ask.stream:
                whole = await _while_connected(receive, chat.answer(job, self._engine, self._watch))
                await _json(whole)(scope, receive, send)
                return
        except _Gone:
            raise
        except Exception as error:
            await self._refuse(error)(scope, receive, send)
            return
        async with aclosing(chat.stream(job, self._engine, self._watch)) as events:
            try:
                first = await _while_connected(receive, anext(events))
            except _Gone:
                raise
            except Exception as error:
                await self._refuse(error)(scope, receive, send)
                return
            await _while_connected(receive, _send_events(send, first, events))

    def _plan(self, body: bytes) -> Job:
        request, plain = decode(body)
        model = check_model(request.model, self._setup)
        return plan(normalise(request, plain), model, self._setup, self._engine)

    @staticmethod
    def _refuse(error: Exception) -> Response:
        status = error_status(error)
        if status >= 500:
            logger.error("a request failed: %s", error, exc_info=error)
        return _json(error_body(error), status)


async def _body(receive: Receive) -> bytes:
    parts = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Gone
        parts += message.get("body", b"")
        if len(parts) > MAX_BODY:
            raise ApiError(413, f"the body is larger than {MAX_BODY} bytes", code="request_too_large")
        if not message.get("more_body", False):
            return bytes(parts)


async def _while_connected(receive: Receive, work: Awaitable[T]) -> T:
    """The result of ``work``; it is cancelled, and _Gone raised, when the client leaves first."""
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((task, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise _Gone
        return task.result()
    finally:
        for one in (task, leaving):
            one.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_events(send: Send, first: bytes, events: AsyncGenerator[bytes, None]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": SSE_HEADERS})
    await send({"type": "http.response.body", "body": first, "more_body": True})
    async for event in events:
        await send({"type": "http.response.body", "body": event, "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})
