"""Requests without a key go no further."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from unbraid.server.apis import api_of
from unbraid.server.keys import Keys
from unbraid.server.respond import json_response
from unbraid.wire.errors import ApiError

__all__ = ["KeyGuard"]

OPEN = frozenset({"/health", "/health/ready", "/health/live", "/metrics", "/docs", "/openapi.json"})
"""What tells nothing of requests and costs no engine its time."""
BEARER = b"bearer "


class KeyGuard:
    """Lets nothing but ``OPEN`` through without a key, as a bearer token or in ``x-api-key``."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on or refuse one request."""
        if scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
            if path not in OPEN and not self._admits(scope["headers"]):
                refusal = ApiError(401, "the API key is missing or wrong", code="invalid_api_key")
                status, body = api_of(path).failure(refusal)
                await json_response(body, status)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _admits(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        key = _shown(headers)
        return key is not None and self._keys.allows(key)


def _shown(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The key in a request's headers."""
    found = dict(headers)
    given = found.get(b"authorization", b"")
    if given[: len(BEARER)].lower() == BEARER:
        return given[len(BEARER) :].strip()
    return found.get(b"x-api-key")
