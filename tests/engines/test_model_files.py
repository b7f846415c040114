"""Vocabularies and templates from files, in the shapes that models come in."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from unbraid.engines.model_files import find_model, read_model
from unbraid.engines.template import ChatTemplate
from unbraid.errors import EngineError

from .helpers import write_gguf

USER = [{"role": "user", "content": "Hi"}]


def folder(path: Path, config: dict[str, Any] | None = None, **files: str) -> Path:
    """A Hugging Face folder with a byte-level vocabulary and some files beside it."""
    letters = {char: n for n, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    made = Tokenizer(models.BPE(vocab=letters, merges=[]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<|end|>", special=True), AddedToken("<think>", special=False)])
    path.mkdir(parents=True, exist_ok=True)
    made.save(str(path / "tokenizer.json"))
    if config is not None:
        (path / "tokenizer_config.json").write_text(json.dumps(config))
    for name, text in files.items():
        target = path / name.replace("__", "/")
        target.parent.mkdir(exist_ok=True)
        target.write_text(text)
    return path


def test_a_folder(tmp_path: Path) -> None:
    config = {
        "bos_token": {"content": "<s>", "special": True},
        "eos_token": "<|end|>",
        "pad_token": None,
        "chat_template": "own",
        "response_template": {"defaults": {}},
    }
    files = read_model(folder(tmp_path, config))
    tokenizer: Any = files.tokenizer
    assert read_model(tmp_path / "tokenizer.json").tokenizer is tokenizer
    assert (files.path, files.chat_template) == (tmp_path, "own")
    assert files.template_variables == {"bos_token": "<s>", "eos_token": "<|end|>"}
    assert tokenizer.response_template == {"defaults": {}}
    ids = tokenizer.encode("é<think>")
    assert len(ids) == 3
    assert b"".join(map(tokenizer.token_bytes, ids)) == "é<think>".encode()
    assert tokenizer.token_id("<think>") == ids[-1]


def test_where_the_template_stands(tmp_path: Path) -> None:
    config = {"chat_template": "configuration"}
    in_json = {"chat_template.json": json.dumps({"chat_template": "json"})}
    in_file = {"chat_template.jinja": "jinja"}
    assert read_model(folder(tmp_path / "a", config)).chat_template == "configuration"
    assert read_model(folder(tmp_path / "b", config, **in_json)).chat_template == "json"
    assert read_model(folder(tmp_path / "c", config, **in_json, **in_file)).chat_template == "jinja"
    assert read_model(folder(tmp_path / "d")).chat_template is None


LISTED = [{"name": "default", "template": "\nplain\n"}, {"name": "tool_use", "template": "  tools\n"}]


@pytest.mark.parametrize(
    "files",
    [
        {"config": {"chat_template": LISTED}},
        {"config": {"chat_template": {one["name"]: one["template"] for one in LISTED}}},
        {"chat_template.jinja": "\nplain\n", "additional_chat_templates__tool_use.jinja": "  tools\n"},
    ],
)
def test_a_template_for_requests_with_tools(tmp_path: Path, files: dict[str, Any]) -> None:
    source = read_model(folder(tmp_path, **files)).chat_template
    assert source is not None
    template = ChatTemplate(source)
    assert template.render(USER) == "\nplain"
    assert template.render(USER, [{"type": "function", "function": {"name": "f"}}]) == "  tools"


def test_one_of_two_templates(tmp_path: Path) -> None:
    config = {"chat_template": LISTED[1:]}
    assert read_model(folder(tmp_path, config)).chat_template == "  tools\n"


def test_a_gguf(tmp_path: Path) -> None:
    path = write_gguf(tmp_path / "tiny.gguf", {"tokenizer.chat_template.tool_use": "tools"})
    files = read_model(path)
    assert files.tokenizer is not None
    assert files.tokenizer.token_id("<|im_end|>") == 0
    assert files.chat_template is not None
    assert ChatTemplate(files.chat_template).render(USER, [{"name": "f"}]) == "tools"
    assert files.template_variables["eos_token"] == "<|im_end|>"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("tokenizer_config.json", "[]", "holds no JSON object"),
        ("tokenizer_config.json", "{", "can't be read"),
        ("tokenizer.json", "{}", "vocabulary .* can't be read"),
        ("chat_template.json", "nope", "can't be read"),
    ],
)
def test_files_that_are_broken(tmp_path: Path, name: str, text: str, said: str) -> None:
    with pytest.raises(EngineError, match=said):
        read_model(folder(tmp_path, {}, **{name: text}))


def test_a_template_that_is_no_text(tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "chat_template.jinja").write_bytes(b"\xff")
    with pytest.raises(EngineError, match=r"chat template in .* can't be read"):
        read_model(path)


def test_a_folder_without_a_vocabulary_and_a_path_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "chat_template.jinja").write_text("x")
    files = read_model(tmp_path)
    assert (files.tokenizer, files.chat_template) == (None, "x")
    with pytest.raises(EngineError, match="give a Hugging Face folder or a GGUF file"):
        read_model(tmp_path / "nowhere")


def test_the_package_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder(tmp_path)
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(EngineError, match=r"pip install 'unbraid\[hf\]'"):
        read_model(path)


@pytest.mark.parametrize("variable", ["HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"])
def test_the_cache_of_the_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    for one in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(one, raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    below = {"HF_HOME": "hub", "XDG_CACHE_HOME": "huggingface/hub"}.get(variable, "")
    repository = tmp_path / below / "models--org--tiny"
    old, new = repository / "snapshots" / "old", repository / "snapshots" / "new"
    for age, snapshot in enumerate((new, old)):
        snapshot.mkdir(parents=True)
        os.utime(snapshot, (1000 - age, 1000 - age))
    assert find_model("org/tiny") == new
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("old\n")
    assert find_model("org/tiny") == old
    assert find_model("org/other") is None


def test_names_that_are_no_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    (tmp_path / "models--x" / "snapshots" / "y").mkdir(parents=True)
    assert find_model("x") is not None
    for name in (
        "",
        "../x",
        "a/../../x",
        "x\n",
        "a/b/c",
        str(tmp_path / "nowhere"),
        str(tmp_path / "x.gguf"),
    ):
        assert find_model(name) is None
    assert find_model(str(tmp_path)) == tmp_path
    path = write_gguf(tmp_path / "x.gguf")
    assert find_model(str(path)) == path
