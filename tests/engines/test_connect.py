"""Finding out what answers at an address, and what is taken from files."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from unbraid.engines.completions import CompletionsEngine
from unbraid.engines.connect import open_engine
from unbraid.engines.gguf import GGUFTokenizer
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.engines.sglang import SGLangEngine
from unbraid.engines.vllm import VllmEngine
from unbraid.errors import EngineError, EngineUnavailable

from .helpers import write_gguf
from .test_vllm import Server

PROPS = {"default_generation_settings": {"n_ctx": 8}, "model_path": "tiny.gguf", "chat_template": "props"}
LLAMA = {"/props": PROPS}
OTHER = {"/v1/models": {"data": [{"id": "x", "owned_by": "me"}]}}
SGLANG = {
    "/get_model_info": {"model_path": "org/tiny", "tokenizer_path": "org/tiny", "is_generation": True},
    "/generate": {"text": "~unbraid~", "output_ids": [1], "meta_info": {}},
    "/tokenize": {"tokens": [1]},
}


def transport(answers: Mapping[str, Any]) -> httpx.MockTransport:
    def answer(request: httpx.Request) -> httpx.Response:
        found = answers.get(request.url.path)
        if found is not None and b"json_schema" in request.content:
            found = {**found, "text": '"~unbraid~"'}
        return httpx.Response(404) if found is None else httpx.Response(200, json=found)

    return httpx.MockTransport(answer)


def opened(answers: Mapping[str, Any], **options: Any) -> Any:
    return asyncio.run(open_engine("http://engine/", transport=transport(answers), **options))


def test_engines_are_recognised() -> None:
    llama = opened(LLAMA)
    assert isinstance(llama, LlamaCppEngine)
    assert llama.model == "tiny.gguf"
    vllm = asyncio.run(
        open_engine(
            "http://engine/v1", api_key="key", model="lora", transport=httpx.MockTransport(Server().answer)
        )
    )
    assert isinstance(vllm, VllmEngine)
    assert (vllm.base_url, vllm.model) == ("http://engine", "lora")
    sglang = opened(SGLANG)
    assert isinstance(sglang, SGLangEngine)
    assert sglang.model == "org/tiny"
    other = opened(OTHER)
    assert isinstance(other, CompletionsEngine)
    assert (other.model, other.tokenizer) == ("x", None)


def test_a_kind_that_is_named_is_not_guessed() -> None:
    assert isinstance(opened({**LLAMA, **OTHER}, kind="openai"), CompletionsEngine)
    with pytest.raises(EngineError, match="/version"):
        opened(OTHER, kind="vllm")
    with pytest.raises(EngineError, match="no SGLang server"):
        opened(OTHER, kind="sglang")


def test_what_was_tried_is_said() -> None:
    said = r"at http://engine: /v1/models: .*HTTP 404.*/props: an answer that.*vllm, sglang, openai"
    with pytest.raises(EngineError, match=said):
        opened({"/props": {"other": 1}})


def test_nothing_answers_or_the_key_is_wrong() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async def run(answer: Any) -> None:
        await open_engine("http://engine", transport=httpx.MockTransport(answer))

    with pytest.raises(EngineUnavailable, match="no engine answers at http://engine"):
        asyncio.run(run(refuse))
    with pytest.raises(EngineError, match="wants another key"):
        asyncio.run(run(lambda request: httpx.Response(401, json={"error": "Unauthorized"})))


def test_the_files_of_a_model_that_is_named_by_a_path(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf")
    engine = opened({**LLAMA, **OTHER}, kind="llamacpp", model=str(path))
    assert isinstance(engine.tokenizer, GGUFTokenizer)
    assert engine.tokenizer.encoder is not None
    assert (engine.chat_template, engine.model) == ("{{ messages }}", "tiny.gguf")
    engine = opened(LLAMA, tokenizer=path)
    assert isinstance(engine.tokenizer, GGUFTokenizer)
    assert engine.chat_template == "props"
    with pytest.raises(EngineError, match="there is no model at"):
        opened(LLAMA, model="./nowhere.gguf")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(EngineError, match=r"holds no tokenizer\.json"):
        opened(LLAMA, tokenizer=tmp_path)
    with pytest.raises(EngineError, match=r"give a tokenizer\.json"):
        opened(OTHER, tokenizer=path)


def test_a_file_on_the_same_machine_is_read(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf")
    engine = opened({"/props": {**PROPS, "model_path": str(path)}})
    assert isinstance(engine.tokenizer, GGUFTokenizer)
    assert engine.tokenizer.token_id("<|im_end|>") == 0


def test_a_name_is_asked_for() -> None:
    with pytest.raises(EngineError, match="no model 'y', only x"):
        opened(OTHER, model="y")
    assert json.dumps(opened(OTHER, model="x").model) == '"x"'
