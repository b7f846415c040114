"""How late the event loop is: what every request that runs on it has to wait."""

from __future__ import annotations

import asyncio

from unbraid.server.admission import Admission

__all__ = ["Lag", "watch_lag"]

LIMIT = 0.5
INTERVAL = 0.05
_WEIGHT = 0.1


class Lag:
    """A running mean of how late the loop woke up, in seconds.

    It is ``high`` from when the mean passes ``limit`` until it has fallen to half of that; one
    late wake-up among many that were in time does not make it so.
    """

    def __init__(self, limit: float = LIMIT) -> None:
        self._limit = limit
        self.mean = 0.0
        self.high = False

    def add(self, late: float) -> None:
        """Note how late the loop was, in seconds."""
        self.mean += _WEIGHT * (max(0.0, late) - self.mean)
        self.high = self.mean > (self._limit / 2 if self.high else self._limit)


async def watch_lag(lag: Lag, admission: Admission, interval: float = INTERVAL) -> None:
    """Measure the lag for ever, and close the admission while it is high."""
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + interval
        await asyncio.sleep(interval)
        lag.add(clock() - due)
        admission.lagging = lag.high
