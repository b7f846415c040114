"""Which requests are let in: so many at once, none while the event loop lags or the server drains."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from unbraid.wire.errors import ApiError

__all__ = ["Admission", "Stopped"]

_LATER = {"retry-after": "1"}
_CLOSE = {**_LATER, "connection": "close"}


class Stopped(ApiError):
    """The server ends and waits no longer for a request that runs."""

    def __init__(self) -> None:
        super().__init__(
            503, "the server was stopped before the answer was complete", code="shutting_down", headers=_CLOSE
        )


class Admission:
    """Counts the requests that run and refuses one more where it would only slow down the others.

    A refusal is an ApiError of code ``overloaded`` or ``shutting_down`` that says when to try
    again: 429 when ``limit`` requests run, 503 while ``lagging`` is set or the server drains.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._running: set[asyncio.Future[None]] = set()
        self.lagging = False
        self.draining = False

    @property
    def running(self) -> int:
        """The requests that run now."""
        return len(self._running)

    @contextmanager
    def entered(self) -> Iterator[asyncio.Future[None]]:
        """Count a request while the block runs; the future that it gets is done when it must stop."""
        self._check()
        stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running.add(stopped)
        try:
            yield stopped
        finally:
            self._running.discard(stopped)

    def _check(self) -> None:
        if self.draining:
            raise ApiError(503, "the server is shutting down", code="shutting_down", headers=_CLOSE)
        if self.lagging:
            raise ApiError(
                503, "the server is overloaded: try again later", code="overloaded", headers=_LATER
            )
        if len(self._running) >= self._limit:
            raise ApiError(
                429,
                f"{self._limit} requests are running already: try again later",
                code="overloaded",
                headers=_LATER,
            )

    def drain(self) -> None:
        """Let no more requests in."""
        self.draining = True

    def stop(self) -> None:
        """Let no more requests in, and have those that run stop now."""
        self.drain()
        for stopped in self._running:
            if not stopped.done():
                stopped.set_result(None)
