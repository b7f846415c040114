"""HTTP as engines speak it: server-sent JSON events, and errors in one shape."""

from __future__ import annotations

import codecs
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import msgspec

from unbraid.errors import EngineError, EngineTimeout, EngineUnavailable, InvalidRequest

__all__ = [
    "NO_REUSE",
    "Refused",
    "json_events",
    "raise_for",
    "read_json",
    "refusal",
    "text_of",
    "translated",
]

NO_REUSE = httpx.Limits(max_keepalive_connections=0)
"""A llama.cpp server may close a connection just after a stream, so none is used twice."""

_DETAIL_LIMIT = 500
_LONGEST_LINE = 64 << 20
_TOO_LONG = ("exceed_context_size_error", "context_length_exceeded")
_TOO_LONG_WORDS = ("context length", "context window", "context size")


class Refused(EngineError):
    """The engine answered with an error; ``status`` is the HTTP status that it gave or meant, if any."""

    def __init__(self, message: str, status: int | None, detail: str) -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail


@contextmanager
def translated(what: str) -> Iterator[None]:
    """Turn httpx's errors within the block into EngineError; ``what`` was being asked.

    An engine that can't be reached is EngineUnavailable.
    """
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise EngineUnavailable(f"the engine can't be reached for {what}: {error}") from error
    except httpx.TimeoutException as error:
        raise EngineTimeout(f"the engine did not answer {what} in time") from error
    except httpx.HTTPError as error:
        raise EngineError(f"the connection to the engine broke during {what}: {error}") from error
    except httpx.InvalidURL as error:
        raise EngineError(f"the engine's address is wrong: {error}") from error


async def json_events(chunks: AsyncIterator[bytes]) -> AsyncGenerator[dict[str, Any], None]:
    """The JSON objects of an event stream, cut at line feeds only (text may hold other line ends).

    Raises EngineError for what is no JSON object, for a line without end, and for an error that
    the engine reports.
    """
    parts: list[bytes] = []
    held = 0
    first = True
    async for chunk in chunks:
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            parts.append(line)
            whole = b"".join(parts)
            event = _event(whole.removeprefix(codecs.BOM_UTF8) if first else whole)
            first = False
            parts.clear()
            held = 0
            if event is not None:
                yield event
        parts.append(rest)
        held += len(rest)
        if held > _LONGEST_LINE:
            raise EngineError(f"the engine sent a line of more than {_LONGEST_LINE} bytes")
    event = _event(b"".join(parts))
    if event is not None:
        yield event


def _event(line: bytes) -> dict[str, Any] | None:
    name, _, data = line.strip().partition(b":")
    data = data.strip()
    if name not in (b"data", b"error") or not data or data == b"[DONE]":
        return None
    value = _object(data)
    if name == b"error" or value.get("error") is not None:
        raise refusal(value, None)
    return value


def read_json(response: httpx.Response) -> dict[str, Any]:
    """The JSON object of a whole response. Raises what ``raise_for`` raises, and EngineError."""
    raise_for(response.status_code, response.content)
    return _object(response.content)


def raise_for(status: int, body: bytes) -> None:
    """Raise for an HTTP status that is no success.

    InvalidRequest (code ``context_length_exceeded``) for a prompt that is too long,
    EngineError for the rest, with the engine's own message.
    """
    if 200 <= status < 300:
        return
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        value = None
    shown = {"error": body.decode("utf-8", "replace").strip()}
    raise refusal(value if isinstance(value, dict) else shown, status)


def _object(data: bytes) -> dict[str, Any]:
    try:
        value = _loads(data)
    except (ValueError, RecursionError) as error:
        shown = data[:80].decode("utf-8", "replace")
        raise EngineError(f"the engine sent something that is no JSON: {shown!r}") from error
    if not isinstance(value, dict):
        raise EngineError("the engine sent JSON that is no object")
    return value


def _loads(data: bytes) -> Any:
    """A JSON value; json also reads what some engines write beside the standard, such as NaN.

    Half a character, which it reads too, becomes the replacement character.
    """
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        text = json.dumps(json.loads(data), ensure_ascii=False)
        return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def text_of(value: Any) -> str:
    """A text of an event, where null is none. Raises TypeError for what is no text."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value or ""


def refusal(value: dict[str, Any], status: int | None) -> InvalidRequest | EngineError:
    """What an error that an engine reports means: a prompt that is too long, or ``Refused``.

    ``status`` is the HTTP status, None for an error within a stream, whose code tells what is meant.
    """
    detail = value.get("error", value)
    if not isinstance(detail, dict):
        detail = {"message": detail}
    message = str(detail.get("message", detail))[:_DETAIL_LIMIT]
    code = detail.get("code")
    meant = status if status is not None else code if isinstance(code, int) else None
    if _too_long(detail, message, meant):
        error = InvalidRequest(f"the prompt is too long: {message}", param="messages")
        error.code = "context_length_exceeded"
        return error
    if meant in (429, 503):
        return EngineUnavailable(f"the engine has no room now (HTTP {meant}): {message or 'no message'}")
    if status in (401, 403):
        return Refused(f"the engine refused the API key: {message}", status, message)
    place = f" (HTTP {status})" if status is not None else ""
    return Refused(f"the engine reported an error{place}: {message or 'no message'}", meant, message)


def _too_long(detail: dict[str, Any], message: str, status: int | None) -> bool:
    """Whether an error says that a prompt does not fit: by name, else by the words of a refusal."""
    if detail.get("type") in _TOO_LONG or detail.get("code") in _TOO_LONG:
        return True
    return status in (None, 400, 413, 422) and any(words in message.lower() for words in _TOO_LONG_WORDS)
