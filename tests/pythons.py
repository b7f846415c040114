"""Run the core's tests on each Python that this machine has, and print which.

Each interpreter gets a virtual environment of its own under ``.venv-pythons``.
"""

from __future__ import annotations

import glob
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
TESTS = ("tests/core", "tests/laws")
NEEDS = ("pytest", "pytest-xdist", "hypothesis", "jsonschema", "tokenizers")


def interpreter(version: str) -> str | None:
    """The path of a working ``pythonX.Y``, from PATH or from pyenv; None when there is none."""
    pyenv = os.environ.get("PYENV_ROOT") or str(Path.home() / ".pyenv")
    for candidate in (f"python{version}", *sorted(glob.glob(f"{pyenv}/versions/{version}.*/bin/python"))):
        try:
            subprocess.run([candidate, "-c", "import venv"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return candidate
    return None


def run(version: str, python: str) -> bool:
    """Run the core's tests on one interpreter; whether they passed."""
    home = ROOT / ".venv-pythons" / version
    if not (home / "bin" / "python").exists():
        subprocess.run([python, "-m", "venv", str(home)], check=True)
    own = str(home / "bin" / "python")
    subprocess.run([own, "-m", "pip", "install", "--quiet", *NEEDS, "--editable", str(ROOT)], check=True)
    return subprocess.run([own, "-m", "pytest", "-n", "2", *TESTS], cwd=ROOT, check=False).returncode == 0


def main() -> int:
    """Run them all; fails when one fails or none is found."""
    results: dict[str, str] = {}
    for version in VERSIONS:
        python = interpreter(version)
        if python is None:
            results[version] = "not on this machine"
        else:
            results[version] = "passed" if run(version, python) else "FAILED"
    for version, result in results.items():
        print(f"Python {version}: {result}")
    return 0 if "passed" in results.values() and "FAILED" not in results.values() else 1


if __name__ == "__main__":
    sys.exit(main())
