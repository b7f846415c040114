"""Who looks on while requests are answered: warnings, metrics, logs."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from unbraid.errors import UnbraidError
from unbraid.server.choice import Step
from unbraid.server.plan import Job

__all__ = ["Failures", "Observer", "Observers"]

logger = logging.getLogger("unbraid.server")


class Observer:
    """Is told what happens; does nothing unless a method is overridden. Must not raise."""

    def began(self, job: Job) -> None:
        """A request was found good and goes to the engine."""

    def step(self, job: Job, step: Step) -> None:
        """A piece of one choice was read; ``step.result`` comes with the choice's last."""

    def ended(self, job: Job) -> None:
        """The whole answer went out."""

    def failed(self, job: Job, error: BaseException) -> None:
        """The engine or the server failed while it answered."""

    def left(self, job: Job) -> None:
        """The client closed the connection before the end."""

    def refused(self, path: str, request_id: str, status: int, error: BaseException) -> None:
        """A request was refused before anything was generated."""


class Observers(Observer):
    """Several as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._all = tuple(observers)

    def began(self, job: Job) -> None:
        """Tell all."""
        for one in self._all:
            one.began(job)

    def step(self, job: Job, step: Step) -> None:
        """Tell all."""
        for one in self._all:
            one.step(job, step)

    def ended(self, job: Job) -> None:
        """Tell all."""
        for one in self._all:
            one.ended(job)

    def failed(self, job: Job, error: BaseException) -> None:
        """Tell all."""
        for one in self._all:
            one.failed(job, error)

    def left(self, job: Job) -> None:
        """Tell all."""
        for one in self._all:
            one.left(job)

    def refused(self, path: str, request_id: str, status: int, error: BaseException) -> None:
        """Tell all."""
        for one in self._all:
            one.refused(path, request_id, status, error)


class Failures(Observer):
    """Logs the failures that are the server's or the engine's."""

    def failed(self, job: Job, error: BaseException) -> None:
        """Log it; an error that is none of unbraid's own tree with its traceback."""
        trace = None if isinstance(error, UnbraidError) else error
        logger.error("request %s failed: %s", job.request_id, error, exc_info=trace)

    def refused(self, path: str, request_id: str, status: int, error: BaseException) -> None:
        """Log it when the server was at fault."""
        if status >= 500:
            logger.error("request %s failed: %s", request_id, error, exc_info=error)
