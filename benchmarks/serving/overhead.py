"""What a streamed token costs the server, as a multiple of an app that only forwards: one run, in turns."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.serving.client import get, post
from benchmarks.serving.source import TOKENS

__all__ = ["main", "served"]

STREAMS = 8
ROUNDS = 5


@contextmanager
def served(name: str, seconds: float, limit: int = STREAMS) -> Iterator[int]:
    """A server process that takes ``limit`` requests at once; gives its port."""
    command = [sys.executable, "-m", "benchmarks.serving.apps", name, str(seconds), str(limit)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait(10)


async def _round(port: int) -> float:
    """Processor seconds per token of one round."""
    before = float(await get(port, "/cpu"))
    seen = await asyncio.gather(*(post(port) for _ in range(STREAMS)))
    if not all(one.done for one in seen):
        raise RuntimeError("a stream did not end")
    return (float(await get(port, "/cpu")) - before) / (STREAMS * TOKENS)


async def _measure(bare: int, own: int) -> tuple[float, float]:
    best = [float("inf")] * 2
    for number in range(ROUNDS + 1):
        for place, port in enumerate((bare, own)):
            cost = await _round(port)
            if number:
                best[place] = min(best[place], cost)
    return best[0], best[1]


def main() -> None:
    """Measure and print."""
    with served("bare", 0) as bare, served("unbraid", 0) as own:
        floor, cost = asyncio.run(_measure(bare, own))
    print(f"bare: {floor * 1e6:.1f} us a token; unbraid: {cost * 1e6:.1f} us; ratio {cost / floor:.2f}")


if __name__ == "__main__":
    main()
