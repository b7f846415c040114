"""Finding out what answers at an address."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from unbraid.engines.connect import open_engine
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.vllm import VllmEngine
from unbraid.errors import EngineError

from .test_vllm import Server

LLAMA = {"/props": {"default_generation_settings": {"n_ctx": 8}, "model_path": "tiny.gguf"}}


def transport(answers: Mapping[str, Any]) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        found = answers.get(request.url.path)
        return httpx.Response(404) if found is None else httpx.Response(200, json=found)

    return httpx.MockTransport(answer)


def test_engines_are_recognised() -> None:
    llama = asyncio.run(open_engine("http://engine/", transport=transport(LLAMA)))
    assert isinstance(llama, LlamaCppEngine)
    assert llama.model == "tiny.gguf"
    vllm = asyncio.run(
        open_engine(
            "http://engine/v1", api_key="key", model="lora", transport=httpx.MockTransport(Server().answer)
        )
    )
    assert isinstance(vllm, VllmEngine)
    assert (vllm.base_url, vllm.model) == ("http://engine", "lora")


def test_what_was_tried_is_said() -> None:
    with pytest.raises(EngineError, match=r"at http://engine: /props: .*HTTP 404.*/version: an answer of"):
        asyncio.run(open_engine("http://engine", transport=transport({"/version": {"other": 1}})))
