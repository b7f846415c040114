"""What a streamed token costs the front ends: vLLM's own with its parsers, and unbraid before a vLLM without.

``python -m tests.e2e_vllm.front`` after ``make e2e-vllm`` has made its environment. The times are the
processor's, of the process that answers clients alone; the model runs in another one.
"""

from __future__ import annotations

import argparse
import asyncio
import os
from pathlib import Path
from urllib.parse import urlsplit

import openai

from tests.e2e_vllm.install import home
from tests.e2e_vllm.processes import OWN_PARSERS, SERVED, gateway, vllm

TOKENS, STREAMS, ROUNDS = 400, 4, 4
TICKS = os.sysconf("SC_CLK_TCK")


def spent(url: str) -> float:
    """Processor seconds so far of the process that serves ``url``."""
    port = f"--port {urlsplit(url).port}"
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if port in line:
            return (int(fields[11]) + int(fields[12])) / TICKS
    raise RuntimeError(f"nothing serves {url}")


async def streamed(url: str) -> int:
    """The tokens of a round of streams."""
    client = openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)

    async def one(seed: int) -> int:
        stream = await client.chat.completions.create(
            model=SERVED,
            messages=[{"role": "user", "content": "Tell me a long story of the sea."}],
            max_tokens=TOKENS,
            seed=seed,
            stream=True,
            stream_options={"include_usage": True},
            extra_body={"ignore_eos": True, "chat_template_kwargs": {"enable_thinking": False}},
        )
        count = 0
        async for chunk in stream:
            count = chunk.usage.completion_tokens if chunk.usage else count
        return count

    async with client:
        return sum(await asyncio.gather(*map(one, range(STREAMS))))


def cost(url: str, *processes: str) -> list[float]:
    """Microseconds a token of each of the processes."""
    asyncio.run(streamed(url))
    before = [spent(process) for process in processes]
    tokens = sum(asyncio.run(streamed(url)) for _ in range(ROUNDS))
    return [(spent(process) - start) / tokens * 1e6 for process, start in zip(processes, before, strict=True)]


def main() -> None:
    """Measure both and print."""
    options = argparse.ArgumentParser(prog="python -m tests.e2e_vllm.front", description=__doc__)
    options.add_argument("--venv", type=Path, default=home() / "venv", help="vLLM's environment")
    options.add_argument("--model", type=Path, default=home() / "model", help="the model's folder")
    given = options.parse_args()
    python, model, logs = given.venv / "bin" / "python", given.model, home() / "logs"
    with vllm(python, model, logs / "front-own.log", *OWN_PARSERS) as own:
        (alone,) = cost(own, own)
    with (
        vllm(python, model, logs / "front-vllm.log") as engine,
        gateway(engine, model, logs / "front.log") as url,
    ):
        ours, behind = cost(url, url, engine)
    print(f"vLLM's own front end with parsers: {alone:.0f} us a token")
    print(f"unbraid: {ours:.0f} us a token, {ours / alone:.2f} of that")
    print(f"vLLM's completions behind unbraid: {behind:.0f} us a token")


if __name__ == "__main__":
    main()
