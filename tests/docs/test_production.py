"""The page of promises names files and commands that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "production.md").read_text(encoding="utf-8")


def test_every_file_is_there() -> None:
    named = set(re.findall(r"`((?:tests|benchmarks)/[\w/]+\.py)`", PAGE))
    assert len(named) > 30
    assert [one for one in sorted(named) if not (ROOT / one).is_file()] == []


def test_every_command_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"`make ([\w-]+)`", PAGE))
    assert named
    assert [one for one in sorted(named) if f"\n{one}:" not in makefile] == []


def test_every_page_is_there() -> None:
    named = set(re.findall(r"\]\(([\w-]+\.md)\)", PAGE))
    assert [one for one in sorted(named) if not (ROOT / "docs" / one).is_file()] == []
