"""One table of names: which module holds the format that a user's flag names.

The names are those of vLLM's ``--reasoning-parser`` and ``--tool-call-parser``. A
module is imported when its name is first asked for, so a broken one breaks only
itself.
"""

from __future__ import annotations

from difflib import get_close_matches
from functools import cache
from importlib import import_module

from unbraid.errors import BrokenFormat, UnknownParser
from unbraid.syntax import Channels, Reasoning, Tools

__all__ = [
    "REASONING_PARSERS",
    "TOOL_PARSERS",
    "reasoning_format",
    "reasoning_names",
    "tool_format",
    "tool_names",
]

TOOL_PARSERS: dict[str, tuple[str, str]] = {
    "deepseek_v3": ("unbraid.formats.deepseek", "TOOLS_V3"),
    "deepseek_v31": ("unbraid.formats.deepseek", "TOOLS_V31"),
    "gemma4": ("unbraid.formats.gemma4", "TOOLS"),
    "glm45": ("unbraid.formats.glm", "TOOLS_45"),
    "glm47": ("unbraid.formats.glm", "TOOLS_47"),
    "hermes": ("unbraid.formats.hermes", "TOOLS"),
    "kimi_k2": ("unbraid.formats.kimi_k2", "TOOLS"),
    "llama3_json": ("unbraid.formats.llama", "LLAMA3_JSON"),
    "llama4_pythonic": ("unbraid.formats.llama", "LLAMA4_PYTHONIC"),
    "mistral": ("unbraid.formats.mistral", "TOOLS"),
    "openai": ("unbraid.formats.harmony", "HARMONY"),
    "pythonic": ("unbraid.formats.llama", "PYTHONIC"),
    "qwen3_coder": ("unbraid.formats.qwen3", "CODER"),
}

REASONING_PARSERS: dict[str, tuple[str, str]] = {
    "deepseek_r1": ("unbraid.formats.deepseek", "REASONING_R1"),
    "deepseek_v3": ("unbraid.formats.deepseek", "REASONING_V3"),
    "gemma4": ("unbraid.formats.gemma4", "REASONING"),
    "glm45": ("unbraid.formats.glm", "REASONING_45"),
    "glm47": ("unbraid.formats.glm", "REASONING_47"),
    "granite": ("unbraid.formats.granite", "REASONING"),
    "kimi_k2": ("unbraid.formats.kimi_k2", "REASONING"),
    "mistral": ("unbraid.formats.mistral", "REASONING"),
    "openai_gptoss": ("unbraid.formats.harmony", "HARMONY"),
    "qwen3": ("unbraid.formats.qwen3", "REASONING"),
}

TOOL_ALIASES = {"qwen3_json": "hermes", "qwen3_xml": "qwen3_coder"}
REASONING_ALIASES: dict[str, str] = {}


def tool_names() -> list[str]:
    """Every name that ``tool_parser`` takes, aliases included."""
    return sorted([*TOOL_PARSERS, *TOOL_ALIASES])


def reasoning_names() -> list[str]:
    """Every name that ``reasoning_parser`` takes, aliases included."""
    return sorted([*REASONING_PARSERS, *REASONING_ALIASES])


def _unknown(kind: str, name: str, names: list[str]) -> UnknownParser:
    near = get_close_matches(name, names, 3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known names: {', '.join(names)}"
    return UnknownParser(f"unknown {kind} parser {name!r}: {hint}", param=f"{kind}_parser")


def _load(kind: str, name: str, where: tuple[str, str]) -> object:
    module, attribute = where
    try:
        return getattr(import_module(module), attribute)
    except Exception as cause:
        raise BrokenFormat(
            f"the {kind} parser {name!r} could not be loaded from {module}.{attribute}: {cause}",
            param=f"{kind}_parser",
        ) from cause


@cache
def tool_format(name: str) -> Tools | Channels:
    """The tools half called ``name``; raises UnknownParser or BrokenFormat."""
    where = TOOL_PARSERS.get(TOOL_ALIASES.get(name, name))
    if where is None:
        raise _unknown("tool", name, tool_names())
    found = _load("tool", name, where)
    assert isinstance(found, (Tools, Channels))
    return found


@cache
def reasoning_format(name: str) -> Reasoning | Channels:
    """The reasoning half called ``name``; raises UnknownParser or BrokenFormat."""
    where = REASONING_PARSERS.get(REASONING_ALIASES.get(name, name))
    if where is None:
        raise _unknown("reasoning", name, reasoning_names())
    found = _load("reasoning", name, where)
    assert isinstance(found, (Reasoning, Channels))
    return found
