"""The laws over response templates that each use one feature: formats are tested by being registered."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("paths", "chosen"),
    [
        (("tests/laws",), "sample"),
        (("tests/core/test_writer.py", "tests/core/test_pitfalls_b.py"), "sample"),
        (("tests/constrain/test_written.py",), "sample and not lines"),
    ],
)
def test_the_laws_hold(paths: tuple[str, ...], chosen: str) -> None:
    """The last: no grammar says lines of keys and values, which is refused by name."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *paths, "-k", chosen],
        env={**os.environ, "UNBRAID_FORMATS": "tests.response.samples", "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout or "100%" in done.stdout
