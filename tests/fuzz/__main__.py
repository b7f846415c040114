"""``python -m tests.fuzz``: look for outputs that a pair of formats reads wrongly.

Tasks take turns until the time is over: outputs that hypothesis makes up, mutated and cut
cases of the corpus, and endless texts at full length. ``--guided`` lets atheris, where it
is installed, look for new paths through the code instead. Each finding is printed, and the
command exits with 1 if there is one; the same ``--seed`` and the finding's ``--pair`` run
that pair's tasks again. A finding becomes a case of the corpus.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec

from tests.corpus.files import cases as corpus_cases
from tests.support.hostile import Pair

from .tasks import every_pair, long, made_up, mutated, prefixes
from .texts import endless

Task = tuple[str, str, Callable[[], None]]
LONG = 200_000
"""Characters of an endless text, in all but one of ``RARE`` tasks."""
LONGEST = 10_000_000
RARE = 40


def tasks(found: Sequence[Pair], start: int) -> Iterator[Task]:
    """Tasks without end, each with its kind and what it is about; a pair's depend on nothing else."""
    chances = {pair: random.Random(f"{start} {pair}") for pair in found}
    own = [(one.reasoning, one.tools) for one in found]
    cut = [case for case in corpus_cases() if (case.get("reasoning_parser"), case.get("tool_parser")) in own]
    random.Random(start).shuffle(cut)
    while True:
        for pair in found:
            chance = chances[pair]
            number = chance.randrange(2**31)
            yield "made up", f"{pair}, seed {number}", lambda p=pair, n=number: made_up(p, 150, n)
            yield "mutated", f"{pair}, seed {number}", lambda p=pair, n=number: mutated(p, n, 100)
            name = chance.choice(list(endless(pair)))
            size = LONG if chance.randrange(RARE) else LONGEST
            yield "endless", f"{pair}, {name}, {size}", lambda p=pair, n=name, s=size: long(p, n, s)
            if cut:
                case = cut.pop()
                yield "prefixes", case["id"], lambda c=case, n=number: prefixes(c, n)


def run(found: Sequence[Pair], start: int, seconds: float) -> int:
    """Run tasks until the time is over; the number of findings."""
    end = time.monotonic() + seconds
    done: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for kind, what, task in tasks(found, start):
        if time.monotonic() >= end:
            break
        done[kind] += 1
        try:
            task()
        except Exception:
            failed[kind] += 1
            print(f"FOUND by {kind}: {what}\n{traceback.format_exc(limit=-4)}", flush=True)
    for kind, count in done.items():
        print(f"{kind}: {count} tasks, {failed[kind]} findings")
    return sum(failed.values())


def guided(found: Sequence[Pair], seconds: float) -> int:
    """Run atheris over the pairs in turn; the number of findings."""
    if find_spec("atheris") is None:
        print("atheris is not installed: pip install 'unbraid[fuzz]'")
        return 1
    share = max(30, int(seconds / len(found)))
    end = time.monotonic() + seconds
    count = 0
    for pair in found:
        left = end - time.monotonic()
        if left < 5:
            break
        command = [sys.executable, "-m", "tests.fuzz.guided", str(pair), str(int(min(share, left)))]
        ended = subprocess.run(command, check=False, capture_output=True, text=True)
        if ended.returncode:
            count += 1
            print(f"FOUND by atheris: {pair}\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}", flush=True)
    print(f"guided: {count} findings")
    return count


def main(argv: Sequence[str] | None = None) -> int:
    """Fuzz for a time; 1 when something was found."""
    options = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    options.add_argument("--seconds", type=float, default=float(os.environ.get("FUZZ_SECONDS", "300")))
    options.add_argument("--pair", default="", help="pairs whose name (reasoning+tools) holds this text")
    options.add_argument("--seed", type=int, default=None, help="where chance begins; told at the start")
    options.add_argument("--guided", action="store_true", help="let atheris look for new paths")
    chosen = options.parse_args(argv)
    found = [pair for pair in every_pair() if chosen.pair in str(pair)]
    if not found:
        options.error(f"no pair holds {chosen.pair!r}")
    start = random.randrange(2**31) if chosen.seed is None else chosen.seed
    random.Random(start).shuffle(found)
    print(f"{len(found)} pairs, {chosen.seconds:g} seconds, seed {start}", flush=True)
    return int((guided(found, chosen.seconds) if chosen.guided else run(found, start, chosen.seconds)) > 0)


if __name__ == "__main__":
    raise SystemExit(main())
