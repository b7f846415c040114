"""A client's connection: its body, its leaving, and bytes sent as they come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping
from typing import TypeVar

from starlette.types import Receive, Send

from unbraid.server.admission import Stopped
from unbraid.server.silence import Patience
from unbraid.wire.errors import ApiError

__all__ = ["Gone", "begin_events", "end_events", "read_body", "send_events", "while_connected"]

T = TypeVar("T")

BODY_SECONDS = 60.0
READING_SECONDS = 300.0
"""How long a client may take to send its body, and how long it may read nothing of a stream."""

SSE_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


class Gone(Exception):
    """The client closed the connection."""


async def read_body(receive: Receive, limit: int) -> bytes:
    """The request's body.

    Raises ApiError 413 beyond ``limit`` bytes and 408 when it is slow, Gone when the client leaves.
    """
    parts = bytearray()
    with Patience(BODY_SECONDS, _slow(BODY_SECONDS)):
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            parts += message.get("body", b"")
            if len(parts) > limit:
                raise ApiError(413, f"the body is larger than {limit} bytes", code="request_too_large")
            if not message.get("more_body", False):
                return bytes(parts)


def _slow(seconds: float) -> ApiError:
    return ApiError(
        408,
        f"the body did not come within {seconds:g} seconds",
        code="request_timeout",
        headers={"connection": "close"},
    )


async def while_connected(receive: Receive, work: Awaitable[T], stopped: asyncio.Future[None]) -> T:
    """The result of ``work``.

    It is cancelled when the client leaves first, and Gone raised, or when ``stopped`` is done
    first, and Stopped raised.
    """
    task = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_left(receive))
    try:
        await asyncio.wait((task, leaving, stopped), return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise Gone if leaving.done() else Stopped
        return task.result()
    finally:
        for one in (task, leaving):
            one.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def begin_events(send: Send, headers: Mapping[str, str]) -> None:
    """Begin the response that is a stream of events."""
    lines = [(name.encode(), value.encode()) for name, value in {**SSE_HEADERS, **headers}.items()]
    await send({"type": "http.response.start", "status": 200, "headers": lines})


async def send_events(send: Send, first: bytes, events: AsyncIterator[bytes]) -> None:
    """Send events to their end. A client that reads slowly holds up the reading of ``events``.

    Raises Gone for one that reads nothing for READING_SECONDS.
    """
    with Patience(READING_SECONDS, Gone()) as patience:
        await send({"type": "http.response.body", "body": first, "more_body": True})
        patience.heard()
        async for event in events:
            patience.waits()
            await send({"type": "http.response.body", "body": event, "more_body": True})
            patience.heard()
        await end_events(send)


async def end_events(send: Send, last: bytes = b"") -> None:
    """Send the last event and end the response."""
    await send({"type": "http.response.body", "body": last, "more_body": False})
