"""Who is told what became of requests: warnings, metrics, logs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Protocol

from unbraid.errors import NotEnforced, UnbraidError
from unbraid.server.record import Record

__all__ = ["Failures", "Observer", "Observers"]

logger = logging.getLogger("unbraid.server")


class Observer(Protocol):
    """Is told of each request once, when it is over."""

    def finished(self, record: Record) -> None:
        """A request is over, in whatever way."""
        ...


class Observers:
    """Several as one; what one of them raises is logged, and the others are still told."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._all = tuple(observers)

    def finished(self, record: Record) -> None:
        """Tell all."""
        for one in self._all:
            try:
                one.finished(record)
            except Exception:
                logger.exception("request %s could not be noted by all", record.request_id)


class Failures:
    """Logs the failures that are the server's or the engine's; a request that was shed is none.

    What a breach of a demand quotes of the answer is told to the client alone.
    """

    def finished(self, record: Record) -> None:
        """Log it; an error that is none of unbraid's own tree with its traceback."""
        error = record.error
        if error is None or record.shed or (record.outcome == "refused" and record.status < 500):
            return
        trace = None if isinstance(error, UnbraidError) else error
        told = error.code if isinstance(error, NotEnforced) else error
        logger.error("request %s failed: %s", record.request_id, told, exc_info=trace)
