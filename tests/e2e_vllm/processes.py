"""vLLM and the gateway as processes of their own."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

SERVED = "smol"
CONTEXT, AT_ONCE = 2048, 4
START_SECONDS, STOP_SECONDS, POLL_SECONDS = 600.0, 30.0, 0.5
MAX_STRING = 64
DRAFTS = '{"method": "ngram", "num_speculative_tokens": 5, "prompt_lookup_max": 4}'
OWN_PARSERS = (
    "--enable-auto-tool-choice",
    "--tool-call-parser",
    "hermes",
    "--reasoning-parser",
    "qwen3",
)
CALM = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": str(max(os.sched_getaffinity(0))),
    "VLLM_NO_USAGE_STATS": "1",
}
"""One core, one thread: two threads on shared cores spin and get in each other's way, and unbound
ones take every core, whatever OMP_NUM_THREADS says."""


@contextmanager
def vllm(python: Path, model: Path, log: Path, *flags: str, drafts: bool = False) -> Iterator[str]:
    """A vLLM with the model; gives its base URL."""
    command = [str(python), "-m", "vllm.entrypoints.openai.api_server"]
    command += ["--model", str(model), "--served-model-name", SERVED, "--dtype", "bfloat16"]
    command += ["--max-model-len", str(CONTEXT), "--max-num-seqs", str(AT_ONCE), "--enforce-eager"]
    if drafts:
        command += ["--speculative-config", DRAFTS]
    with _running([*command, *flags], log, CALM) as url:
        yield url


@contextmanager
def gateway(engine: str, model: Path, log: Path, *flags: str) -> Iterator[str]:
    """``unbraid serve`` in front of an engine; gives its base URL."""
    command = [sys.executable, "-m", "unbraid", "serve", "--engine", engine, "--model", str(model)]
    command += ["--reasoning-parser", "qwen3", "--tool-call-parser", "hermes"]
    command += ["--max-string-length", str(MAX_STRING)]
    with _running([*command, *flags], log, {}) as url:
        yield url


@contextmanager
def _running(command: Sequence[str], log: Path, variables: dict[str, str]) -> Iterator[str]:
    port = _free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
        )
        try:
            url = f"http://127.0.0.1:{port}"
            _wait(process, url, log)
            yield url
        finally:
            _stop(process)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Until the server answers; raises RuntimeError with the end of its log when it does not come up."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx.get(url + "/health").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(POLL_SECONDS)
    end = log.read_text(errors="replace").strip()[-2000:]
    raise RuntimeError(f"{' '.join(map(str, process.args))} did not come up:\n{end}")  # type: ignore[arg-type]


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the process and its children, which are a session of their own."""
    for kind in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, kind)
        except ProcessLookupError:
            break
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
