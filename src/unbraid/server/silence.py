"""An engine that says nothing for too long."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager

from unbraid.engines.base import Chunk
from unbraid.errors import EngineTimeout

__all__ = ["timely"]


@asynccontextmanager
async def timely(
    chunks: AsyncIterator[Chunk], seconds: float
) -> AsyncGenerator[AsyncGenerator[Chunk, None], None]:
    """The same chunks; the engine's generation is closed with the block.

    A wait for a chunk that takes longer than ``seconds`` raises EngineTimeout. Time that passes
    while nobody asks for a chunk doesn't count.
    """
    watch = _Watch(seconds)
    pieces = _pieces(chunks, watch)
    try:
        yield pieces
    finally:
        watch.close()
        await pieces.aclose()
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()


async def _pieces(chunks: AsyncIterator[Chunk], watch: _Watch) -> AsyncGenerator[Chunk, None]:
    while True:
        watch.begin()
        try:
            chunk = await anext(chunks)
        except StopAsyncIteration:
            return
        except asyncio.CancelledError:
            if watch.answers_for_cancel():
                raise EngineTimeout(f"the engine was silent for {watch.seconds:g} seconds") from None
            raise
        finally:
            watch.end()
        yield chunk


class _Watch:
    """Cancels the task that waits, when it waits for too long.

    One timer serves all waits: it looks when the current one began, and comes back if that was
    not long ago.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[object] | None = None
        self._since = 0.0
        self._fired = False
        self._timer = self._loop.call_later(seconds, self._look)

    def begin(self) -> None:
        """A wait begins in this task."""
        self._since = self._loop.time()
        self._task = asyncio.current_task()

    def end(self) -> None:
        """The wait is over."""
        self._task = None

    def close(self) -> None:
        """No more waits."""
        self._timer.cancel()

    def answers_for_cancel(self) -> bool:
        """Whether it was this that cancelled the wait, and nothing else did."""
        if not self._fired:
            return False
        self._fired = False
        uncancel = getattr(asyncio.current_task(), "uncancel", None)
        return uncancel is None or uncancel() == 0

    def _look(self) -> None:
        waited = 0.0 if self._task is None else self._loop.time() - self._since
        if self._task is not None and waited >= self.seconds:
            self._fired = True
            self._task.cancel()
            return
        self._timer = self._loop.call_later(self.seconds - waited, self._look)
