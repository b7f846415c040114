"""Requests without a key go no further."""

from __future__ import annotations

from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from unbraid.server.apis import api_of
from unbraid.server.keys import Keys
from unbraid.server.respond import json_response
from unbraid.wire.errors import ApiError

__all__ = ["KeyGuard"]

GUARDED = "/v1/"
BEARER = b"bearer "


class KeyGuard:
    """Lets nothing below ``/v1/`` through without a key, as a bearer token or in ``x-api-key``."""

    def __init__(self, app: ASGIApp, keys: Keys) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on or refuse one request."""
        if scope["type"] == "http" and scope["path"].startswith(GUARDED):
            key = _shown(scope["headers"])
            if key is None or not self._keys.allows(key):
                status, body = api_of(scope["path"]).failure(
                    ApiError(401, "the API key is missing or wrong", code="invalid_api_key")
                )
                await json_response(body, status)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _shown(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The key in a request's headers."""
    found = dict(headers)
    given = found.get(b"authorization", b"")
    if given[: len(BEARER)].lower() == BEARER:
        return given[len(BEARER) :].strip()
    return found.get(b"x-api-key")
