"""The folder in which workers keep their metrics, so that any of them can add them up."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["forget_the_dead", "metrics_folder", "shared_metrics"]

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_LIVE = re.compile(r"gauge_live\w*_([0-9]+)\.db")


@contextmanager
def shared_metrics() -> Iterator[None]:
    """Processes that are started within the block keep their metrics in one new folder.

    It must begin before they import ``prometheus_client``, which looks for it once.
    """
    before = os.environ.get(VARIABLE)
    with tempfile.TemporaryDirectory(prefix="unbraid-metrics-") as folder:
        os.environ[VARIABLE] = folder
        try:
            yield
        finally:
            os.environ.pop(VARIABLE)
            if before is not None:
                os.environ[VARIABLE] = before


def metrics_folder() -> Path | None:
    """The folder, or None when this process keeps its metrics to itself."""
    found = os.environ.get(VARIABLE)
    return Path(found) if found else None


def forget_the_dead(folder: Path) -> None:
    """Remove what says how workers are that are no more; what they counted stays."""
    for file in folder.glob("gauge_live*.db"):
        found = _LIVE.fullmatch(file.name)
        if found and not _alive(int(found[1])):
            with suppress(FileNotFoundError):
                file.unlink()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
