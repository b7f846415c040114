"""The tags that were checked with xgrammar's matcher are the tags that are built now."""

from __future__ import annotations

import json
from pathlib import Path

from tests.conformance_tags.tags import tags

REPORT = Path(__file__).parents[2] / "docs" / "tags-report.json"


def test_every_tag_is_the_one_that_was_checked() -> None:
    """A changed digest means: run run.py again, and commit its report."""
    report = json.loads(REPORT.read_text())
    now = {tag.key: tag.constraint.digest for tag in tags()}
    changed = sorted(
        key for key in now.keys() | report["digests"].keys() if now.get(key) != report["digests"].get(key)
    )
    assert changed == []


def test_nothing_was_wrong_with_them() -> None:
    report = json.loads(REPORT.read_text())
    assert report["failed"] == {}
    assert report["checked"] == len(report["digests"])
