"""Says so when the shared cases are not there to be run."""

from __future__ import annotations

import pytest

from .cases import CASES


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line at the end of the run."""
    if not CASES.is_dir():
        terminalreporter.write_line(f"there is no {CASES}: its cases are not run")
