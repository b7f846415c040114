"""From an address to the driver of what answers there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import httpx

from unbraid.engines.base import Engine
from unbraid.engines.http import get_json
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.recordings import SCHEME, load_recordings
from unbraid.engines.vllm import VllmEngine
from unbraid.errors import EngineError
from unbraid.tokens import Tokenizer

__all__ = ["KINDS", "EngineKind", "open_engine"]

EngineKind = Literal["auto", "llamacpp", "vllm"]

KINDS: tuple[EngineKind, ...] = ("auto", "llamacpp", "vllm")


async def open_engine(
    url: str,
    kind: EngineKind = "auto",
    model: str | None = None,
    tokenizer: Tokenizer | None = None,
    api_key: str | None = None,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Engine:
    """The driver of the engine at ``url``, connected.

    ``kind`` says what answers there, ``auto`` finds it out. ``model`` is the name to ask
    for. ``replay:FILE`` plays recorded outputs (``unbraid.engines.recordings``). Raises EngineError
    when nothing answers or it is none of the known engines.
    """
    if url.startswith(SCHEME):
        return load_recordings(Path(url.removeprefix(SCHEME)))
    address = url.rstrip("/").removesuffix("/v1")
    if kind == "auto":
        kind = await _kind(address, api_key, transport)
    if kind == "llamacpp":
        llama = LlamaCppEngine(address, api_key, tokenizer=tokenizer, model=model or "", transport=transport)
        await llama.connect()
        return llama
    vllm = VllmEngine(address, api_key, tokenizer=tokenizer, model=model or "", transport=transport)
    await vllm.connect()
    return vllm


_SIGNS: tuple[tuple[EngineKind, str, Callable[[dict[str, Any]], bool]], ...] = (
    ("llamacpp", "/props", lambda answer: "default_generation_settings" in answer),
    ("vllm", "/version", lambda answer: "version" in answer),
)
"""What each engine answers that no other does."""


async def _kind(address: str, api_key: str | None, transport: httpx.AsyncBaseTransport | None) -> EngineKind:
    tried = []
    for kind, path, known in _SIGNS:
        try:
            if known(await get_json(address, path, api_key, transport)):
                return kind
            tried.append(f"{path}: an answer of another shape")
        except EngineError as error:
            tried.append(f"{path}: {error}")
    raise EngineError(
        f"no engine that unbraid knows answers at {address}: {'; '.join(tried)}; "
        f"say which one it is with one of {', '.join(KINDS[1:])}"
    )
