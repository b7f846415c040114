"""An engine that says nothing for too long, or a client."""

from __future__ import annotations

import asyncio
from types import TracebackType

__all__ = ["Patience"]


class Patience:
    """Within its block a wait that takes longer than ``seconds`` raises the error ``late``.

    The block, which runs in one task, says when it ``waits`` and when it ``heard`` something; time that
    passes in between doesn't count. One timer serves all waits: it looks when the
    current one began, and comes back if that was not long ago.
    """

    def __init__(self, seconds: float, late: Exception) -> None:
        self._seconds = seconds
        self._late = late
        self._loop = asyncio.get_running_loop()
        self._clock = self._loop.time
        self._task = asyncio.current_task()
        self._waiting = False
        self._since = 0.0
        self._fired = False

    def waits(self) -> None:
        """A wait begins."""
        self._since = self._clock()
        self._waiting = True

    def heard(self) -> None:
        """The wait is over."""
        self._waiting = False

    def __enter__(self) -> Patience:
        """Begin to wait."""
        self._timer = self._loop.call_later(self._seconds, self._look)
        self.waits()
        return self

    def __exit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None
    ) -> None:
        """Raise the error in place of the cancelling that the silence brought about."""
        self._timer.cancel()
        if isinstance(error, asyncio.CancelledError) and self._fired and _uncancelled():
            raise self._late from None

    def _look(self) -> None:
        waited = self._clock() - self._since if self._waiting else 0.0
        if self._task is not None and waited >= self._seconds:
            self._fired = True
            self._task.cancel()
            return
        self._timer = self._loop.call_later(self._seconds - waited, self._look)


def _uncancelled() -> bool:
    """Whether nobody else cancelled the current task; the silence's own cancelling is taken back."""
    uncancel = getattr(asyncio.current_task(), "uncancel", None)
    return uncancel is None or uncancel() == 0
