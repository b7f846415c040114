"""The shared cases hold in both modes and every split; nothing is collected where the folder is absent."""

from __future__ import annotations

from typing import Any

import pytest

from .cases import FILES, KNOWN, check, declared_rows

ROWS: list[dict[str, Any]] = [row for name in FILES for row in declared_rows(name)]

if ROWS:

    @pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
    def test_case(row: dict[str, Any]) -> None:
        misses = [str(miss) for miss in check(row, seeds=3)]
        if row["id"] in KNOWN:
            assert misses, f"holds now: {KNOWN[row['id']]}"
        else:
            assert not misses, "\n".join(misses)
