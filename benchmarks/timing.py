"""Measuring on a machine that others use: the least of nine runs, each beside the floor.

Times are the thread's own processor time, which leaves out the turns of other
processes; single steps, too short for that clock, are wall time. A long run is
measured in slices, and each slice has its own least, so that 1 MB has no more bad
luck than 10 kB.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns, thread_time

from benchmarks.shapes import PROSE, body
from unbraid import Parser
from unbraid.events import ContentDelta, Event
from unbraid.stream import Stream

RUNS = 9
DELTA = 4
SLICE = 2500


class Floor:
    """The least that any streaming parser in Python can do: look for a marker, return one new event."""

    def feed(self, text: str) -> list[Event]:
        """One event for a piece of text."""
        if text.find("<") < 0:
            return [ContentDelta(text)]
        return []


@dataclass
class Cost:
    """Seconds per delta of a stream and of the floor, measured in turns."""

    stream: float
    floor: float

    @property
    def floors(self) -> float:
        """How many floors a delta costs."""
        return self.stream / self.floor


def pieces(text: str) -> list[str]:
    """The deltas of a text."""
    return [text[at : at + DELTA] for at in range(0, len(text), DELTA)]


@contextmanager
def no_collector() -> Iterator[None]:
    """Without the garbage collector, as ``timeit`` does."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def seconds(feed: Callable[[str], object], deltas: list[str]) -> float:
    """The time that all deltas take."""
    start = thread_time()
    for delta in deltas:
        feed(delta)
    return thread_time() - start


_FLOOR_DELTAS = pieces(body(PROSE, SLICE * DELTA))


def floor() -> float:
    """Seconds per delta of the floor."""
    return seconds(Floor().feed, _FLOOR_DELTAS) / len(_FLOOR_DELTAS)


def per_delta(start: Callable[[], Stream], text: str, runs: int = RUNS) -> Cost:
    """The cost of a delta of ``text`` in the streams that ``start`` makes."""
    deltas = pieces(text)
    slices = [deltas[at : at + SLICE] for at in range(0, len(deltas), SLICE)]
    best = [float("inf")] * len(slices)
    least_floor = float("inf")
    with no_collector():
        for _ in range(runs):
            feed = start().feed
            for n, part in enumerate(slices):
                least_floor = min(least_floor, floor())
                best[n] = min(best[n], seconds(feed, part))
    return Cost(sum(best) / len(deltas), least_floor)


def least(work: Callable[[], object], runs: int = RUNS) -> float:
    """The seconds that a piece of work takes."""
    best = float("inf")
    with no_collector():
        for _ in range(runs):
            start = thread_time()
            work()
            best = min(best, thread_time() - start)
    return best


def steps(parser: Parser, text: str, runs: int = 5) -> list[float]:
    """The seconds of every step of a stream, at each position the least of five runs."""
    deltas = pieces(text)
    best = [1 << 62] * len(deltas)
    with no_collector():
        for _ in range(runs):
            feed = parser.stream().feed
            for n, delta in enumerate(deltas):
                start = perf_counter_ns()
                feed(delta)
                taken = perf_counter_ns() - start
                if taken < best[n]:
                    best[n] = taken
    return [one / 1e9 for one in best]
