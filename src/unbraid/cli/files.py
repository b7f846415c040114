"""Files that a command line names; ``-`` is standard input."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from unbraid.errors import InvalidRequest

__all__ = ["json_of", "opened"]


def opened(name: str | None, param: str = "") -> Any:
    """A text file as a context; standard input, which it leaves open, for ``-`` or None.

    ``param`` is the flag that names it, if one does. Raises InvalidRequest for a file that can't be read.
    """
    if name is None or name == "-":
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="")  # type: ignore[union-attr]
        return nullcontext(sys.stdin)
    try:
        return Path(name).open(encoding="utf-8", errors="surrogateescape", newline="")
    except OSError as error:
        said = f"--{param} {name}" if param else name
        raise InvalidRequest(f"{said} can't be read: {error.strerror}", param=param or "file") from error


def json_of(name: str, param: str) -> Any:
    """The JSON value of the file that the flag ``param`` names.

    Raises InvalidRequest for one that can't be read or is no JSON.
    """
    with opened(name, param) as file:
        try:
            return json.load(file)
        except (ValueError, RecursionError) as error:
            raise InvalidRequest(f"--{param} {name} is no JSON: {error}", param=param) from error
