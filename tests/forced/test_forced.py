"""A sample of ``make forced``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from .cases import Case, forced, sample
from .drive import ask, problems, server, warm


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    """A client on the server."""
    with server() as client:
        yield client


def test_the_sample_is_a_fair_one() -> None:
    cases = sample()
    assert len(list(forced())) == 240
    assert len(set(cases)) == 24
    for values in ({case.tool for case in cases}, {case.temperature for case in cases}):
        assert len(values) in (3, 10)


@pytest.mark.parametrize("case", [case for case in sample() if case.stream], ids=lambda case: case.name)
def test_a_forced_call(http: httpx.Client, case: Case) -> None:
    warm(http, case)
    streamed = ask(http, case)
    assert problems(case, streamed) == []
    full = ask(http, replace(case, stream=False))
    assert problems(case, full) == []
    if not case.temperature:
        assert streamed == full
