"""A model's vocabulary and chat template from files: a Hugging Face folder, the hub's cache, a GGUF file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from unbraid.engines.gguf import GGUF, GGUFTokenizer
from unbraid.errors import EngineError
from unbraid.tokens import HFTokenizer, Tokenizer

__all__ = ["ModelFiles", "find_model", "read_model"]

_REPOSITORY = re.compile(r"[A-Za-z0-9_][\w.-]*(/[\w.-]+)?")
_TOOL_USE = "tool_use"


@dataclass(frozen=True)
class ModelFiles:
    """What files tell of a model: where they lie, its tokenizer, template and the template's variables."""

    path: Path
    tokenizer: Tokenizer | None = None
    chat_template: str | None = None
    template_variables: Mapping[str, Any] = field(default_factory=dict)


def read_model(path: str | Path) -> ModelFiles:
    """Read a Hugging Face folder, one by its ``tokenizer.json``, or a GGUF file.

    A folder without ``tokenizer.json`` has no tokenizer. A vocabulary that did not change is read
    once. Raises EngineError for what can't be read, and when the ``tokenizers`` package is missing
    for a folder that has one.
    """
    path = Path(path).expanduser()
    if path.name == "tokenizer.json" and path.is_file():
        path = path.parent
    if path.is_dir():
        return _read_folder(path)
    if not path.exists():
        raise EngineError(f"there is no model at {path}: give a Hugging Face folder or a GGUF file")
    gguf = GGUF(path)
    template = _with_tools(gguf.chat_template, gguf.metadata.get(f"tokenizer.chat_template.{_TOOL_USE}"))
    return ModelFiles(path, GGUFTokenizer(gguf), template, gguf.template_variables)


def find_model(name: str) -> Path | None:
    """Where a model lies on this machine: an absolute path, or a repository in the hub's cache.

    Nothing is downloaded; None when it is not there.
    """
    path = Path(name)
    if path.is_absolute():
        return path if path.is_dir() or (path.suffix == ".gguf" and path.is_file()) else None
    if not _REPOSITORY.fullmatch(name) or ".." in name:
        return None
    return _cached(_hub_cache() / f"models--{name.replace('/', '--')}")


def _hub_cache() -> Path:
    """The folder in which the hub's client keeps repositories."""
    for variable in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if os.environ.get(variable):
            return Path(os.environ[variable]).expanduser()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    home = os.environ.get("HF_HOME")
    return (Path(home).expanduser() if home else cache / "huggingface") / "hub"


def _cached(repository: Path) -> Path | None:
    """The snapshot of a repository in the cache: the one that main names, else the newest."""
    try:
        revision = (repository / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:
        revision = ""
    named = repository / "snapshots" / revision
    if revision and named.is_dir():
        return named
    found = [one for one in (repository / "snapshots").glob("*") if one.is_dir()]
    return max(found, key=lambda one: one.stat().st_mtime, default=None)


# -- a folder -------------------------------------------------------------------


def _read_folder(folder: Path) -> ModelFiles:
    config = _json(folder / "tokenizer_config.json")
    vocabulary = folder / "tokenizer.json"
    tokenizer = _tokenizer(vocabulary, vocabulary.stat().st_mtime_ns) if vocabulary.is_file() else None
    variables = {**_tokens(_json(folder / "special_tokens_map.json")), **_tokens(config)}
    return ModelFiles(folder, tokenizer, _template(folder, config), variables)


@lru_cache(maxsize=4)
def _tokenizer(path: Path, modified: int) -> HFTokenizer:
    try:
        return HFTokenizer.from_file(str(path))
    except ImportError as error:
        raise EngineError(f"{path} needs the tokenizers package: pip install 'unbraid[hf]'") from error
    except Exception as error:
        raise EngineError(f"the vocabulary {path} can't be read: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    """The object in a file, empty when there is no such file."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise EngineError(f"{path} can't be read: {error}") from error
    if not isinstance(found, dict):
        raise EngineError(f"{path} holds no JSON object")
    return found


def _tokens(config: Mapping[str, Any]) -> dict[str, str]:
    """The special tokens by their names (``bos_token``), whether written as text or as an object."""
    found = {}
    for name, value in config.items():
        text = value.get("content") if isinstance(value, dict) else value
        if name.endswith("_token") and isinstance(text, str):
            found[name] = text
    return found


def _template(folder: Path, config: Mapping[str, Any]) -> str | None:
    """The chat template: from its own file, else from ``chat_template.json``, else the configuration."""
    own, more = folder / "chat_template.jinja", folder / "additional_chat_templates"
    try:
        if own.is_file():
            extra = more / f"{_TOOL_USE}.jinja"
            tools = extra.read_text(encoding="utf-8") if extra.is_file() else None
            return _with_tools(own.read_text(encoding="utf-8"), tools)
    except (OSError, ValueError) as error:
        raise EngineError(f"the chat template in {folder} can't be read: {error}") from error
    found = _json(folder / "chat_template.json").get("chat_template", config.get("chat_template"))
    if isinstance(found, list):
        found = {one.get("name"): one.get("template") for one in found if isinstance(one, dict)}
    if isinstance(found, dict):
        return _with_tools(found.get("default"), found.get(_TOOL_USE))
    return found if isinstance(found, str) else None


def _with_tools(default: Any, tools: Any) -> str | None:
    """One template of two: that for requests with tools where there is one of its own."""
    found = [one for one in (default, tools) if isinstance(one, str) and one]
    if len(found) < 2:
        return found[0] if found else None
    parts = (one.removesuffix("\n") + '{{ "" }}' for one in reversed(found))
    return '{% if tools %}{{ "" }}' + '{% else %}{{ "" }}'.join(parts) + "{% endif %}"
