"""From an address to the driver of what answers there."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import httpx

from unbraid.engines.base import Engine
from unbraid.engines.completions import CompletionsEngine
from unbraid.engines.gguf import GGUF, GGUFTokenizer
from unbraid.engines.http import get_json
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.model_files import ModelFiles, find_model, read_model
from unbraid.engines.recordings import SCHEME, load_recordings
from unbraid.engines.server_tokenizer import ServerTokenizer
from unbraid.engines.sglang import SGLangEngine
from unbraid.engines.sse import Refused
from unbraid.engines.vllm import VllmEngine
from unbraid.errors import EngineError, EngineUnavailable
from unbraid.tokens import Tokenizer

__all__ = ["KINDS", "EngineKind", "open_engine"]

EngineKind = Literal["auto", "llamacpp", "vllm", "sglang", "openai"]

KINDS: tuple[EngineKind, ...] = ("auto", "llamacpp", "vllm", "sglang", "openai")

Transport = httpx.AsyncBaseTransport | None


async def open_engine(
    url: str,
    kind: EngineKind = "auto",
    model: str | None = None,
    tokenizer: str | Path | Tokenizer | None = None,
    api_key: str | None = None,
    transport: Transport = None,
) -> Engine:
    """The driver of the engine at ``url``, connected.

    Args:
        url: its address, with or without ``/v1``; ``replay:FILE`` plays recorded outputs
            (``unbraid.engines.recordings``).
        kind: what answers there; ``auto`` finds it out, ``openai`` is any server with
            ``/v1/completions``.
        model: the name to ask for, or the path of the model's files (a Hugging Face folder or a
            GGUF file), whose vocabulary and chat template are taken.
        tokenizer: the path of files whose vocabulary alone is taken, or a tokenizer.
        api_key: the engine's key.
        transport: what sends the requests, in tests.

    Raises:
        EngineUnavailable: nothing answers.
        EngineError: what answers is no engine that is known, or can't be used; files can't be read.
    """
    if url.startswith(SCHEME):
        return load_recordings(Path(url.removeprefix(SCHEME)))
    address = url.rstrip("/").removesuffix("/v1")
    given = await asyncio.to_thread(_given, model, tokenizer)
    if kind == "auto":
        kind = await _kind(address, api_key, transport)
    if kind == "llamacpp":
        return await _llamacpp(address, given, api_key, transport)
    driver = _DRIVERS[kind]
    engine = driver(
        address,
        api_key,
        model=given.name,
        tokenizer=given.tokenizer,
        chat_template=given.chat_template,
        template_variables=dict(given.variables),
        transport=transport,
    )
    await engine.connect()
    return engine


_DRIVERS: Mapping[str, type[CompletionsEngine] | type[SGLangEngine]] = {
    "vllm": VllmEngine,
    "sglang": SGLangEngine,
    "openai": CompletionsEngine,
}


# -- what is given ----------------------------------------------------------------


@dataclass(frozen=True)
class _Given:
    name: str = ""
    tokenizer: Tokenizer | None = None
    chat_template: str | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)


def _given(model: str | None, tokenizer: str | Path | Tokenizer | None) -> _Given:
    """The name, vocabulary and template that were asked for. Raises EngineError for files."""
    if isinstance(tokenizer, (str, Path)):
        found = read_model(tokenizer).tokenizer
        if found is None:
            raise EngineError(f"{tokenizer} holds no tokenizer.json")
        tokenizer = found
    if model is None or not _is_path(model):
        return _Given(model or "", tokenizer)
    files: ModelFiles = read_model(model)
    return _Given("", tokenizer or files.tokenizer, files.chat_template, files.template_variables)


def _is_path(model: str) -> bool:
    """Whether a model is named by a path: a repository's name may look like a relative one."""
    if model.startswith(("/", "./", "../", "~")):
        return True
    return ("/" in model or model.endswith(".gguf")) and Path(model).exists()


# -- llama.cpp --------------------------------------------------------------------


async def _llamacpp(address: str, given: _Given, api_key: str | None, transport: Transport) -> LlamaCppEngine:
    """A llama.cpp server's driver; the model's own file is read where it lies on this machine."""
    tokenizer = given.tokenizer
    if tokenizer is None:
        props = await get_json(address, "/props", api_key, transport)
        path = find_model(str(props.get("model_path") or ""))
        tokenizer = None if path is None else await asyncio.to_thread(lambda: GGUFTokenizer(GGUF(path)))
    if isinstance(tokenizer, GGUFTokenizer) and tokenizer.encoder is None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        tokenizer.encoder = ServerTokenizer(address, headers).encode
    engine = LlamaCppEngine(
        address,
        api_key,
        tokenizer=tokenizer,
        chat_template=given.chat_template,
        template_variables=dict(given.variables),
        model=given.name,
        transport=transport,
    )
    await engine.connect()
    return engine


# -- what answers -----------------------------------------------------------------

_OWNERS: Mapping[str, EngineKind] = {"llamacpp": "llamacpp", "vllm": "vllm", "sglang": "sglang"}
"""Who owns the models, by the engine's own list of them."""

_SIGNS: tuple[tuple[EngineKind, str, str], ...] = (
    ("llamacpp", "/props", "default_generation_settings"),
    ("sglang", "/model_info", "model_path"),
    ("sglang", "/get_model_info", "model_path"),
)
"""What an engine whose list names no owner answers, and no other does."""


async def _kind(address: str, api_key: str | None, transport: Transport) -> EngineKind:
    """What answers at an address."""
    tried: list[str] = []

    async def ask(path: str) -> dict[str, Any]:
        try:
            answer = await get_json(address, path, api_key, transport)
        except EngineUnavailable as error:
            raise EngineUnavailable(f"no engine answers at {address}: {error}") from error
        except EngineError as error:
            if isinstance(error, Refused) and error.status in (401, 403):
                raise EngineError(f"the engine at {address} wants another key: {error}") from error
            tried.append(f"{path}: {error}")
            return {}
        tried.append(f"{path}: an answer that tells no engine")
        return answer

    cards = [one for one in (await ask("/v1/models")).get("data") or () if isinstance(one, dict)]
    for card in cards:
        if card.get("owned_by") in _OWNERS:
            return _OWNERS[card["owned_by"]]
    for kind, path, sign in _SIGNS:
        if sign in await ask(path):
            return kind
    if cards:
        return "openai"
    raise EngineError(
        f"no engine that unbraid knows answers at {address}: {'; '.join(tried)}; "
        f"say which one it is: {', '.join(KINDS[1:])}"
    )
