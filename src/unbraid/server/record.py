"""What became of one request: for metrics and logs, noted while it runs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Literal

from unbraid.server.choice import Result, Step
from unbraid.server.plan import Job
from unbraid.wire.errors import ApiError

__all__ = ["GAP_BOUNDS", "Outcome", "Record"]

Outcome = Literal["done", "failed", "refused", "left"]

GAP_BOUNDS = (0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 10.0)
"""Seconds between two pieces of a choice, as the buckets that they are counted in."""

SHED = ("overloaded", "shutting_down")
CLIENT_LEFT = 499
"""The status of a request whose client left before it had one; nginx made it usual."""


@dataclass
class Record:
    """One request from its first byte to its end. Times are in seconds since it came.

    ``status`` is that of the HTTP response, ``outcome`` what became of the answer: ``failed`` may come
    with a status of 200, when a stream had begun. ``gaps`` counts the times between the pieces of
    each choice by GAP_BOUNDS, and one more for longer ones; ``gap_seconds`` is their sum.
    """

    api: str
    request_id: str
    clock: Callable[[], float] = perf_counter
    began: float = 0.0
    job: Job | None = None
    status: int = CLIENT_LEFT
    outcome: Outcome = "left"
    error: BaseException | None = None
    engine: str | None = None
    first: float | None = None
    seconds: float = 0.0
    results: list[Result] = field(default_factory=list)
    gaps: list[int] = field(default_factory=lambda: [0] * (len(GAP_BOUNDS) + 1))
    gap_seconds: float = 0.0
    _last: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.began = self.clock()

    def step(self, index: int, step: Step) -> None:
        """Note a piece of a choice."""
        now = self.clock()
        last = self._last.get(index)
        if last is None:
            if self.first is None:
                self.first = now - self.began
        else:
            gap = now - last
            self.gaps[bisect_left(GAP_BOUNDS, gap)] += 1
            self.gap_seconds += gap
        self._last[index] = now
        if step.result is not None:
            self.results.append(step.result)
            self.engine = step.chunk.engine or self.engine

    @property
    def shed(self) -> bool:
        """Whether it was refused because of others: there are too many, or the server ends."""
        return isinstance(self.error, ApiError) and self.error.code in SHED

    def refused(self, error: BaseException) -> None:
        """Note that it was refused before anything was generated."""
        self.outcome, self.error = "refused", error

    def failed(self, error: BaseException) -> None:
        """Note that the engine or the server failed while it answered."""
        self.outcome, self.error = "failed", error

    def done(self) -> None:
        """Note that the whole answer went out."""
        self.outcome = "done"

    def end(self) -> None:
        """Nothing more will happen."""
        self.seconds = self.clock() - self.began
