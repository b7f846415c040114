"""A model in this process: llama.cpp's server on a private port, driven like any other."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from unbraid.engines.gguf import GGUF, GGUFTokenizer
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.models import fetch_model
from unbraid.engines.server_tokenizer import ServerTokenizer
from unbraid.errors import EngineError, InvalidRequest

__all__ = ["EmbeddedEngine"]

_QUIET, _TALKATIVE = -1, 3
_DEFAULT_CONTEXT = 4096
_PROMPT_CACHE_MIB = 512
_BATCH_TOKENS = 128
"""Prompts are read in steps of this size; between steps others get their turn and aborts are heard."""


class EmbeddedEngine(LlamaCppEngine):
    """Runs a GGUF file with the ``xllamacpp`` package inside this process.

    More than one thread on shared cores makes llama.cpp many times slower, so
    one is the default.
    """

    kind = "llama.cpp in this process"

    def __init__(
        self,
        model_path: Path | str | None = None,
        n_ctx: int | None = None,
        slots: int = 4,
        threads: int = 1,
        *,
        verbose: bool = False,
    ) -> None:
        """Load a model: ``model_path`` or, when None, the default one, fetched on first use.

        ``n_ctx`` is the context of each of ``slots`` parallel requests in tokens
        (default: 4096, or less if the model was trained for less). Raises EngineError, and
        InvalidRequest for a number below 1.
        """
        for name, number in (("context", n_ctx), ("slots", slots), ("threads", threads)):
            if number is not None and number < 1:
                raise InvalidRequest(f"{name} must be 1 or more, not {number}", param=name)
        path = fetch_model() if model_path is None else Path(model_path)
        gguf = GGUF(path)
        context = n_ctx or min(_DEFAULT_CONTEXT, gguf.context_length or _DEFAULT_CONTEXT)
        key = secrets.token_hex(24)
        self._server: Any = _start(path, key, context * slots, slots, threads, verbose)
        tokenizer = GGUFTokenizer(gguf)
        super().__init__(
            self._server.listening_address,
            key,
            tokenizer=tokenizer,
            chat_template=gguf.chat_template,
            template_variables=gguf.template_variables,
            model=gguf.name,
            context_length=context,
            llguidance=True,
        )
        self._asking = ServerTokenizer(self.base_url, self.headers)
        tokenizer.encoder = self._asking.encode

    async def close(self) -> None:
        """Stop the server and free the model; may be called twice."""
        await super().close()
        self._asking.close()
        self._server = None


def _start(path: Path, key: str, context: int, slots: int, threads: int, verbose: bool) -> Any:
    try:
        import xllamacpp
    except ImportError as error:
        raise EngineError("the embedded engine needs the xllamacpp package") from error
    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx = context
    params.n_parallel = slots
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cpuparams.n_threads = threads
    params.cpuparams_batch.n_threads = threads
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.special = True
    params.ui = False
    params.endpoint_slots = True
    params.cache_ram_mib = _PROMPT_CACHE_MIB
    params.verbosity = _TALKATIVE if verbose else _QUIET
    try:
        return xllamacpp.Server(params)
    except Exception as error:
        raise EngineError(f"llama.cpp could not load {path}: {error}") from error
