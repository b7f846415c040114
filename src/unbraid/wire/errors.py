"""Errors as OpenAI sends them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbraid.errors import EngineError, EngineUnavailable, UnbraidError

__all__ = ["ApiError", "error_body", "error_headers", "error_status"]

INTERNAL = "the server failed while it read the model's output; its log says more"


_ENGINE_STATUS = {"not_enforced": 502, "engine_unavailable": 503, "engine_timeout": 504}
"""HTTP statuses for the codes of an engine's errors that are more than a failure."""


class ApiError(UnbraidError):
    """A refusal with an HTTP status of its own, and perhaps with headers, their names in lower case."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        code: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, param=param)
        self.status = status
        self.code = code
        self.headers = dict(headers or {})


def error_status(error: BaseException) -> int:
    """The HTTP status for an error: 400 when the request caused it, 500 or above when the server did."""
    if isinstance(error, ApiError):
        return error.status
    if isinstance(error, UnbraidError) and not isinstance(error, EngineError):
        return 400
    return _ENGINE_STATUS.get(getattr(error, "code", ""), 500)


def error_headers(error: BaseException) -> dict[str, str]:
    """The headers that go with an error."""
    if isinstance(error, EngineUnavailable):
        return {"retry-after": "1"}
    return error.headers if isinstance(error, ApiError) else {}


def error_body(error: BaseException) -> dict[str, Any]:
    """The body for an error. What is no error of unbraid's own tree says nothing of its inside."""
    if not isinstance(error, UnbraidError):
        return _body(INTERNAL, "server_error", None, "internal_error")
    return _body(error.message, _kind(error_status(error)), error.param, error.code)


def _kind(status: int) -> str:
    if status == 429:
        return "rate_limit_error"
    return "invalid_request_error" if status < 500 else "server_error"


def _body(message: str, kind: str, param: str | None, code: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}
