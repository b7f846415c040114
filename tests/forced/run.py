"""``make forced``: 240 forced calls, 60 with strict tools and 24 without any constraint."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable

import httpx

from .cases import Case, forced, free
from .drive import Answer, ask, invalid, problems, server, warm


def main() -> int:
    """Run all; 0 when nothing is wrong."""
    start = time.monotonic()
    with server() as http:
        wrong = [*_forced(http), *_strict(http)]
        _unconstrained(http)
    for line in wrong:
        print(f"FAILED {line}")
    print(f"{len(wrong)} failures in {time.monotonic() - start:.0f} s")
    return 1 if wrong else 0


def _forced(http: httpx.Client) -> list[str]:
    wrong = []
    answers: dict[Case, Answer] = {}
    cases = list(forced())
    for n, case in enumerate(cases, 1):
        _progress("forced", n, len(cases))
        if case.stream:
            warm(http, case)
        try:
            answers[case] = ask(http, case)
        except AssertionError as error:
            wrong.append(str(error))
            continue
        wrong += [f"{case.name}: {one}" for one in problems(case, answers[case])]
        wrong += _compare(case, answers)
    print(f"\r{len(cases)} forced calls: {len(wrong)} failures")
    return wrong


def _compare(case: Case, answers: dict[Case, Answer]) -> Iterable[str]:
    """At temperature 0 the stream must be the whole answer."""
    if case.stream or case.temperature:
        return
    other = Case(case.tool, case.choice, case.thinking, True, case.temperature, case.strict)
    if other in answers and answers[other] != answers[case]:
        yield f"{case.name}: the stream differs: {answers[other]} and {answers[case]}"


def _strict(http: httpx.Client) -> list[str]:
    wrong = []
    calls = 0
    cases = list(free(60, strict=True))
    for n, case in enumerate(cases, 1):
        _progress("strict", n, len(cases))
        try:
            answer = ask(http, case)
        except AssertionError as error:
            wrong.append(str(error))
            continue
        calls += len(answer[2])
        if answer[3] != "length":
            wrong += [f"{case.name}: {one}" for one in invalid(case, answer)]
    print(f"\r{len(cases)} requests with strict tools: {calls} calls, {len(wrong)} failures")
    return wrong


def _unconstrained(http: httpx.Client) -> None:
    calls = valid = 0
    cases = list(free(24, strict=False))
    for n, case in enumerate(cases, 1):
        _progress("free", n, len(cases))
        answer = ask(http, case)
        calls += bool(answer[2])
        valid += bool(answer[2]) and not invalid(case, answer)
    print(f"\r{len(cases)} requests without a constraint: {calls} with calls, {valid} of them valid")


def _progress(what: str, n: int, count: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{what} {n}/{count}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
