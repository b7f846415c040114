"""Signals that end the server: the first lets what runs come to its end, the same again ends it at once."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from unbraid.server.admission import Admission

__all__ = ["draining"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def draining(admission: Admission, seconds: float) -> Iterator[None]:
    """Within the block a signal closes the admission before the HTTP server hears of it.

    Requests that still run after ``seconds``, or when the same signal comes once more, are
    stopped. (A terminal sends SIGINT to all processes of a server with workers, and their parent
    sends them SIGTERM then: these are one wish.) Only the main thread hears signals; elsewhere
    the block changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    heard: set[int] = set()

    def hear(number: int) -> None:
        if number in heard:
            admission.stop()
        elif not heard:
            admission.drain()
            loop.call_later(seconds, admission.stop)
        heard.add(number)

    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        signal.signal(number, _chained(loop, hear, handler))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _chained(
    loop: asyncio.AbstractEventLoop, hear: Callable[[int], None], before: Any
) -> Callable[[int, FrameType | None], None]:
    """A handler that has ``hear`` called in the loop, and calls the handler that was there before."""

    def handle(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(hear, number)
        if callable(before):
            before(number, frame)

    return handle
