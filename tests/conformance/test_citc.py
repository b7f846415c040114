"""Every declared fixture of the CanIToolCall suite passes strictly, but for the known ones."""

from __future__ import annotations

import pytest
from canitoolcall.fixtures import Fixture
from canitoolcall.results import Status

from .citc import KNOWN, IdsAdapter, UnbraidAdapter, fixtures, reasons, run, supported

DECLARED = [fixture for fixture in fixtures() if supported(fixture)]


@pytest.mark.parametrize("adapter", [UnbraidAdapter(), IdsAdapter()], ids=["text", "ids"])
@pytest.mark.parametrize("fixture", DECLARED, ids=lambda fixture: fixture.id)
def test_fixture(fixture: Fixture, adapter: UnbraidAdapter) -> None:
    case = run(adapter, fixture)
    if fixture.id in KNOWN:
        assert case.status in (Status.SOFT_PASS, Status.FAIL), f"passes now: {KNOWN[fixture.id]}"
    else:
        assert case.status is Status.PASS, "\n".join(reasons(case))
