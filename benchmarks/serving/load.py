"""Many paced streams at once: errors, the gaps between pieces, the server's memory and time, and shedding.

``python -m benchmarks.serving.load --streams 500 --seconds 300`` keeps so many streams open, each of 20
tokens a second; ``--limit`` is how many the server takes at once (default: twice as many, as a stream that
ends and the one that follows it overlap).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field

import uvloop

from benchmarks.serving.client import Seen, get, post
from benchmarks.serving.overhead import served

__all__ = ["main"]

INTERVAL = 0.05
SAMPLES = 12
MEBIBYTE = 1 << 20


@dataclass
class Totals:
    """What came of all requests; gaps are counted by whole milliseconds."""

    statuses: Counter[int] = field(default_factory=Counter)
    broken: int = 0
    cut: int = 0
    events: int = 0
    gaps: Counter[int] = field(default_factory=Counter)
    firsts: list[float] = field(default_factory=list)
    refusals: list[float] = field(default_factory=list)

    def add(self, seen: Seen, seconds: float, over: bool) -> None:
        """Count an answer that took ``seconds``; ``over``: the time was up, so it may be cut."""
        self.statuses[seen.status] += 1
        self.events += seen.events
        if seen.status == 200:
            self.cut += over and not seen.done
            self.broken += not over and not seen.done
            self.gaps.update(round(gap * 1000) for gap in seen.gaps)
            if seen.first is not None:
                self.firsts.append(seen.first)
        else:
            self.refusals.append(seconds)

    def gap(self, share: float) -> int:
        """The gap in milliseconds that ``share`` of all are not above."""
        left = share * sum(self.gaps.values())
        for gap, count in sorted(self.gaps.items()):
            left -= count
            if left <= 0:
                return gap
        return 0


async def _keep_open(port: int, end: float, totals: Totals) -> None:
    clock = asyncio.get_running_loop().time
    await asyncio.sleep(random.random() * 5)
    while clock() < end:
        began = clock()
        seen = await post(port, until=end)
        totals.add(seen, clock() - began, clock() >= end)
        if seen.status != 200:
            await asyncio.sleep(1)


async def _watch(port: int, seconds: float, memory: list[float]) -> None:
    for _ in range(SAMPLES):
        await asyncio.sleep(seconds / SAMPLES)
        memory.append(int(await get(port, "/memory")) / MEBIBYTE)


async def _load(port: int, streams: int, seconds: float) -> dict[str, object]:
    totals, memory = Totals(), list[float]()
    clock = asyncio.get_running_loop().time
    end = clock() + seconds
    before = float(await get(port, "/cpu"))
    watch = asyncio.ensure_future(_watch(port, seconds * 0.95, memory))
    await asyncio.gather(*(_keep_open(port, end, totals) for _ in range(streams)))
    await watch
    spent = float(await get(port, "/cpu")) - before
    return {
        "streams": streams,
        "seconds": seconds,
        "answers": dict(totals.statuses),
        "broken": totals.broken,
        "cut by the end": totals.cut,
        "events": totals.events,
        "gap ms p50": totals.gap(0.5),
        "gap ms p99": totals.gap(0.99),
        "gap ms max": totals.gap(1),
        "first ms max": round(max(totals.firsts, default=0) * 1000),
        "refused after ms max": round(max(totals.refusals, default=0) * 1000),
        "server cpu": round(spent / seconds, 2),
        "memory MiB": [round(one, 1) for one in memory],
    }


def main() -> None:
    """Run and print one line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--streams", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--limit", type=int, help="requests that the server takes at once")
    args = parser.parse_args()
    with served("unbraid", INTERVAL, args.limit or 2 * args.streams) as port:
        print(json.dumps(uvloop.run(_load(port, args.streams, args.seconds))), flush=True)


if __name__ == "__main__":
    main()
