"""The HTTP app: routes, keys and errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from unbraid.engines.base import Engine
from unbraid.server.admission import Admission
from unbraid.server.apis import api_of, apis
from unbraid.server.apis.responses import nothing_kept
from unbraid.server.docs import openapi_json, page
from unbraid.server.draining import draining
from unbraid.server.engine_states import engine_states
from unbraid.server.foreign import ForeignCalls, ForeignThinking
from unbraid.server.key_guard import KeyGuard
from unbraid.server.lag import Lag, watch_lag
from unbraid.server.logs import RequestLog
from unbraid.server.metrics import Metrics
from unbraid.server.observe import Failures, Observers
from unbraid.server.respond import Responder, json_response
from unbraid.server.setup import Setup
from unbraid.wire.errors import ApiError, error_headers

__all__ = ["create_app"]

NOT_FOUND = (
    "there is nothing at this path: the APIs are POST /v1/chat/completions, /v1/responses and /v1/messages, "
    "and /docs shows them"
)
NOTE_SECONDS = 5.0


def create_app(setup: Setup, engine: Engine) -> ASGIApp:
    """The app for one engine; it closes the engine when it shuts down."""

    admission, lag, metrics = Admission(setup.max_running), Lag(), Metrics()

    async def note() -> None:
        metrics.note(admission, lag, await engine_states(engine, admission))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None, None]:
        watches = [asyncio.ensure_future(one) for one in (watch_lag(lag, admission), _often(note))]
        try:
            with draining(admission, setup.drain_seconds):
                yield
        finally:
            for watch in watches:
                watch.cancel()
            await asyncio.gather(*watches, return_exceptions=True)
            await engine.close()

    observer = Observers(
        [ForeignCalls(setup), ForeignThinking(setup), Failures(), metrics, RequestLog(setup.log_prompts)]
    )

    async def health(_: Request) -> Response:
        if admission.draining:
            return json_response({"status": "draining"}, 503)
        well = await engine.health()
        return json_response({"status": "ok" if well else "engine not ready"}, 200 if well else 503)

    async def live(_: Request) -> Response:
        return json_response({"status": "ok"})

    async def prometheus(_: Request) -> Response:
        await note()
        return Response(await asyncio.to_thread(metrics.page), media_type=CONTENT_TYPE_LATEST)

    async def models(_: Request) -> Response:
        data = [{"id": name, "object": "model", "created": 0, "owned_by": "unbraid"} for name in setup.models]
        return json_response({"object": "list", "data": data})

    async def document_json(_: Request) -> Response:
        return Response(openapi_json(), media_type="application/json")

    async def docs(_: Request) -> Response:
        return Response(page(), media_type="text/html")

    responders = {api.path: Responder(api, setup, engine, admission, observer) for api in apis()}
    routes = [
        Route("/health", health),
        Route("/health/ready", health),
        Route("/health/live", live),
        Route("/metrics", prometheus),
        Route("/v1/models", models),
        *(Route(path, responder, methods=["POST"]) for path, responder in responders.items()),
        Route("/v1/responses/{response_id:path}", nothing_kept, methods=["GET", "POST", "DELETE"]),
        Route("/openapi.json", document_json),
        Route("/docs", docs),
    ]
    rest = Starlette(
        routes=routes, lifespan=lifespan, exception_handlers={HTTPException: _http_error, Exception: _failure}
    )
    app = _Direct(responders, rest)
    return app if setup.keys is None else KeyGuard(app, setup.keys)


async def _often(work: Callable[[], Awaitable[None]]) -> None:
    """Do something every few seconds, for ever."""
    while True:
        await work()
        await asyncio.sleep(NOTE_SECONDS)


class _Direct:
    """Hands the APIs' requests to their responders, past Starlette, whose layers each piece would cross."""

    def __init__(self, responders: Mapping[str, ASGIApp], rest: ASGIApp) -> None:
        self._responders = responders
        self._rest = rest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._rest
        if scope["type"] == "http" and scope["method"] == "POST":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            app = self._responders.get(path, app)
        await app(scope, receive, send)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "method_not_allowed"}.get(error.status_code, "http_error")
    headers = {name.lower(): value for name, value in (error.headers or {}).items()}
    message = NOT_FOUND if error.detail == "Not Found" else str(error.detail)
    refusal = ApiError(error.status_code, message, code=code, headers=headers)
    return _refusal(request.url.path, refusal)


async def _failure(request: Request, error: Exception) -> Response:
    return _refusal(request.url.path, error)


def _refusal(path: str, error: Exception) -> Response:
    """An error in the shape of the API that a path belongs to."""
    status, body = api_of(path).failure(error)
    return json_response(body, status, error_headers(error))
