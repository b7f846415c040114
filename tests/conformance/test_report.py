"""The report's page is of this version, and its numbers are told honestly."""

from __future__ import annotations

import re

import pytest

import unbraid

from .report import PAGE, SUITES, Suite, markdown, page, percent, shown

SUITE = Suite("A suite", "About it.", "1 of 2 right", "all should be", ("file", "right"), [("a", "1")])


def test_the_page_is_of_this_version() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"unbraid {unbraid.__version__} on suites" in text
    assert re.search(r"run on \d{4}-\d\d-\d\d with", text)
    assert text.count("\n## ") == len(SUITES)


def test_a_page() -> None:
    text = page([SUITE], "2001-02-03")
    assert "run on 2001-02-03 with" in text
    assert "| A suite | 1 of 2 right |" in text
    assert markdown(SUITE.columns, SUITE.rows) in text
    assert "a     1" in shown(SUITE)


@pytest.mark.parametrize(
    ("part", "whole", "said"),
    [(0, 0, "100 %"), (2, 2, "100 %"), (1999, 2000, "99.9 %"), (1, 3, "33.3 %"), (0, 5, "0 %")],
)
def test_a_share_is_never_rounded_up(part: int, whole: int, said: str) -> None:
    assert percent(part, whole) == said
