"""``make forced``: 240 forced calls, 60 with strict tools and 24 without any constraint.

``python -m tests.forced.run --only TEXT`` runs only the cases whose names hold TEXT; ``--gbnf`` asks
through the driver of a llama.cpp server without llguidance (``make forced-gbnf``).
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import httpx

from .cases import Case, forced, free
from .drive import Answer, ask, invalid, problems, server, stock_server, warm


def main(argv: Sequence[str] | None = None) -> int:
    """Run all, or a part; 0 when nothing is wrong."""
    options = argparse.ArgumentParser(prog="python -m tests.forced.run", description=__doc__)
    options.add_argument("--only", default="", help="cases whose names hold this text")
    options.add_argument("--gbnf", action="store_true", help="grammars in GBNF, as without llguidance")
    args = options.parse_args(argv)
    only = args.only
    if not any(only in case.name for case in (*forced(), *free(60, strict=True), *free(24, strict=False))):
        options.error(f"no case's name holds {only!r}")
    start = time.monotonic()
    with stock_server() if args.gbnf else server() as http:
        wrong = _forced(http, only) + _strict(http, only)
        _unconstrained(http, only)
    print(f"{wrong} failures in {time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


def _forced(http: httpx.Client, only: str) -> int:
    wrong = 0
    answers: dict[Case, Answer] = {}
    cases = [case for case in forced() if only in case.name]
    for case in _shown("forced", cases):
        if case.stream:
            warm(http, case)
        try:
            answers[case] = ask(http, case)
        except AssertionError as error:
            wrong += _failures([str(error)])
            continue
        found = [*problems(case, answers[case]), *_compare(case, answers)]
        wrong += _failures(f"{case.name}: {one}" for one in found)
    print(f"{len(cases)} forced calls: {wrong} failures", flush=True)
    return wrong


def _compare(case: Case, answers: dict[Case, Answer]) -> Iterable[str]:
    """At temperature 0 the stream, which came before, must be the whole answer."""
    streamed = answers.get(replace(case, stream=True))
    if not case.temperature and streamed is not None and streamed != answers[case]:
        yield f"the stream differs: {streamed} and {answers[case]}"


def _strict(http: httpx.Client, only: str) -> int:
    wrong = calls = 0
    cases = [case for case in free(60, strict=True) if only in case.name]
    for case in _shown("strict", cases):
        try:
            answer = ask(http, case)
        except AssertionError as error:
            wrong += _failures([str(error)])
            continue
        calls += len(answer[2])
        if answer[3] != "length":
            wrong += _failures(f"{case.name}: {one}" for one in invalid(case, answer))
    print(f"{len(cases)} requests with strict tools: {calls} calls, {wrong} failures", flush=True)
    return wrong


def _unconstrained(http: httpx.Client, only: str) -> None:
    called = valid = 0
    cases = [case for case in free(24, strict=False) if only in case.name]
    for case in _shown("free", cases):
        answer = ask(http, case)
        called += bool(answer[2])
        valid += bool(answer[2]) and not invalid(case, answer)
    print(
        f"{len(cases)} requests without a constraint: {called} with calls, {valid} of them valid", flush=True
    )


def _failures(texts: Iterable[str]) -> int:
    """Print what went wrong; how much it is."""
    found = list(texts)
    for text in found:
        print(f"FAILED {text}", flush=True)
    return len(found)


def _shown(what: str, cases: Sequence[Case]) -> Iterator[Case]:
    """The cases, with a counter where someone watches."""
    for n, case in enumerate(cases, 1):
        if sys.stderr.isatty():
            print(f"\r{what} {n}/{len(cases)} ", end="\r", file=sys.stderr, flush=True)
        yield case


if __name__ == "__main__":
    sys.exit(main())
