"""One table of names: which module holds the format that a user's flag names.

The names are those of vLLM's ``--reasoning-parser`` and ``--tool-call-parser``, then
SGLang's; ``sglang:NAME`` is always SGLang's meaning of a name. A module is imported
when its name is first asked for, so a broken one breaks only itself.
"""

from __future__ import annotations

import os
import re
from collections import ChainMap
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from unbraid import validate
from unbraid.errors import BrokenFormat, InvalidRequest, UnknownParser
from unbraid.formats import sglang
from unbraid.suffixes import SUFFIX, spelled
from unbraid.syntax import Joint, Preset, Reasoning, Tools

__all__ = [
    "REASONING_PARSERS",
    "TOOL_PARSERS",
    "load_own",
    "names_of",
    "preset",
    "preset_names",
    "reasoning_format",
    "reasoning_names",
    "register",
    "sglang_names_of",
    "tool_format",
    "tool_names",
]

TOOL_PARSERS: dict[str, tuple[str, str]] = {
    "apertus": ("unbraid.formats.apertus", "TOOLS"),
    "apriel": ("unbraid.formats.apriel", "TOOLS"),
    "beam": ("unbraid.formats.beam", "BEAM"),
    "bielik": ("unbraid.formats.layouts", "BIELIK"),
    "cohere_command3": ("unbraid.formats.cohere", "TOOLS_3"),
    "cohere_command4": ("unbraid.formats.cohere", "TOOLS_4"),
    "command_r": ("unbraid.formats.command_r", "TOOLS"),
    "deepseek_v3": ("unbraid.formats.deepseek", "TOOLS_V3"),
    "deepseek_v31": ("unbraid.formats.deepseek", "TOOLS_V31"),
    "deepseek_v32": ("unbraid.formats.dsml", "TOOLS_V32"),
    "deepseek_v4": ("unbraid.formats.dsml", "TOOLS_V4"),
    "deepseek_v41": ("unbraid.formats.dsml", "TOOLS_V41"),
    "dots": ("unbraid.formats.dots", "TOOLS"),
    "ernie45": ("unbraid.formats.ernie45", "TOOLS"),
    "exaone4": ("unbraid.formats.layouts", "EXAONE4"),
    "firefunction_v2": ("unbraid.formats.functools", "FIREFUNCTION"),
    "functionary_v31": ("unbraid.formats.functionary", "TOOLS_31"),
    "functionary_v32": ("unbraid.formats.functionary", "FUNCTIONARY_V32"),
    "functiongemma": ("unbraid.formats.functiongemma", "TOOLS"),
    "gemma4": ("unbraid.formats.gemma4", "TOOLS"),
    "gigachat3": ("unbraid.formats.gigachat3", "TOOLS"),
    "gigachat35": ("unbraid.formats.dsml", "TOOLS_GIGACHAT"),
    "glm45": ("unbraid.formats.glm", "TOOLS_45"),
    "glm47": ("unbraid.formats.glm", "TOOLS_47"),
    "granite": ("unbraid.formats.granite", "TOOLS"),
    "granite-20b-fc": ("unbraid.formats.granite", "TOOLS_20B"),
    "granite4": ("unbraid.formats.granite", "TOOLS_4"),
    "hermes": ("unbraid.formats.hermes", "TOOLS"),
    "hf": ("unbraid.formats.hf", "HF"),
    "hunyuan_a13b": ("unbraid.formats.hunyuan_a13b", "TOOLS"),
    "hy_v3": ("unbraid.formats.hy", "TOOLS_V3"),
    "hy_v4": ("unbraid.formats.hy", "TOOLS_V4"),
    "inkling": ("unbraid.formats.inkling", "INKLING"),
    "internlm": ("unbraid.formats.internlm", "TOOLS"),
    "iquest_q1": ("unbraid.formats.iquest_q1", "TOOLS"),
    "jamba": ("unbraid.formats.jamba", "TOOLS"),
    "k2_horizon": ("unbraid.formats.k2_horizon", "TOOLS_XML"),
    "k2_horizon_json": ("unbraid.formats.k2_horizon", "TOOLS_JSON"),
    "k2_horizon_xml_typed": ("unbraid.formats.k2_horizon", "TOOLS_XML_TYPED"),
    "kimi_k2": ("unbraid.formats.kimi_k2", "TOOLS"),
    "kimi_k3": ("unbraid.formats.kimi_k3", "TOOLS"),
    "lfm2": ("unbraid.formats.lfm2", "TOOLS"),
    "ling3": ("unbraid.formats.ling3", "TOOLS"),
    "llama3_json": ("unbraid.formats.llama", "LLAMA3_JSON"),
    "llama4_json": ("unbraid.formats.llama", "LLAMA4_JSON"),
    "llama4_pythonic": ("unbraid.formats.llama", "LLAMA4_PYTHONIC"),
    "longcat": ("unbraid.formats.hermes", "LONGCAT"),
    "mimo": ("unbraid.formats.mimo", "TOOLS"),
    "minicpm5": ("unbraid.formats.minicpm5", "TOOLS"),
    "minimax_m1": ("unbraid.formats.minimax_m1", "TOOLS"),
    "minimax_m2": ("unbraid.formats.minimax_m2", "TOOLS"),
    "minimax_m3": ("unbraid.formats.minimax_m3", "TOOLS"),
    "mistral": ("unbraid.formats.mistral", "TOOLS"),
    "mistral_nemo": ("unbraid.formats.mistral", "NEMO"),
    "mistral_small32": ("unbraid.formats.mistral", "SMALL_32"),
    "mistral_v3": ("unbraid.formats.mistral", "V3"),
    "muse": ("unbraid.formats.muse", "SPARK"),
    "muse_glimmer": ("unbraid.formats.muse", "GLIMMER"),
    "nemotron_v2": ("unbraid.formats.nemotron_v2", "TOOLS"),
    "nemotron_v3": ("unbraid.formats.nemotron_v3", "TOOLS"),
    "olmo3": ("unbraid.formats.olmo3", "TOOLS"),
    "openai": ("unbraid.formats.harmony", "HARMONY"),
    "phi4_mini_json": ("unbraid.formats.functools", "PHI4_MINI"),
    "plamo3": ("unbraid.formats.plamo3", "TOOLS"),
    "poolside_laguna_s": ("unbraid.formats.poolside", "TOOLS_S"),
    "poolside_v1": ("unbraid.formats.poolside", "TOOLS_XS"),
    "pythonic": ("unbraid.formats.llama", "PYTHONIC"),
    "qwen3_6": ("unbraid.formats.qwen3", "CODER_36"),
    "qwen3_coder": ("unbraid.formats.qwen3", "CODER"),
    "reka": ("unbraid.formats.reka", "TOOLS"),
    "seed_oss": ("unbraid.formats.seed_oss", "TOOLS"),
    "solar_open": ("unbraid.formats.solar_open", "SOLAR_OPEN"),
    "spark25": ("unbraid.formats.spark25", "TOOLS"),
    "step3": ("unbraid.formats.step3", "TOOLS"),
    "step3p5": ("unbraid.formats.step3p5", "TOOLS"),
    "xlam": ("unbraid.formats.xlam", "TOOLS"),
}

REASONING_PARSERS: dict[str, tuple[str, str]] = {
    "apertus": ("unbraid.formats.apertus", "REASONING"),
    "apriel": ("unbraid.formats.apriel", "REASONING"),
    "beam": ("unbraid.formats.beam", "BEAM"),
    "bielik": ("unbraid.formats.layouts", "BIELIK_REASONING"),
    "cohere_command3": ("unbraid.formats.cohere", "REASONING_3"),
    "cohere_command4": ("unbraid.formats.cohere", "REASONING_4"),
    "deepseek_r1": ("unbraid.formats.deepseek", "REASONING_R1"),
    "deepseek_v3": ("unbraid.formats.deepseek", "REASONING_V3"),
    "deepseek_v4": ("unbraid.formats.dsml", "REASONING_V4"),
    "deepseek_v41": ("unbraid.formats.dsml", "REASONING_V41"),
    "ernie45": ("unbraid.formats.ernie45", "REASONING"),
    "exaone4": ("unbraid.formats.layouts", "EXAONE4_REASONING"),
    "gemma4": ("unbraid.formats.gemma4", "REASONING"),
    "gigachat35": ("unbraid.formats.dsml", "REASONING_GIGACHAT"),
    "glm45": ("unbraid.formats.glm", "REASONING_45"),
    "glm47": ("unbraid.formats.glm", "REASONING_47"),
    "granite": ("unbraid.formats.granite", "REASONING"),
    "granite_thinking_parser": ("unbraid.formats.granite", "THINKING_42"),
    "hf": ("unbraid.formats.hf", "HF"),
    "holo2": ("unbraid.formats.holo2", "REASONING"),
    "hunyuan_a13b": ("unbraid.formats.hunyuan_a13b", "REASONING"),
    "hy_v3": ("unbraid.formats.hy", "REASONING_V3"),
    "hy_v4": ("unbraid.formats.hy", "REASONING_V4"),
    "inkling": ("unbraid.formats.inkling", "INKLING"),
    "iquest_q1": ("unbraid.formats.iquest_q1", "REASONING"),
    "k2_horizon": ("unbraid.formats.k2_horizon", "REASONING"),
    "k2_horizon_low": ("unbraid.formats.k2_horizon", "REASONING_LOW"),
    "k2_horizon_medium": ("unbraid.formats.k2_horizon", "REASONING_MEDIUM"),
    "kimi": ("unbraid.formats.kimi", "REASONING"),
    "kimi_k2": ("unbraid.formats.kimi_k2", "REASONING"),
    "kimi_k3": ("unbraid.formats.kimi_k3", "REASONING"),
    "lfm2_thinking": ("unbraid.formats.lfm2", "REASONING"),
    "ling3": ("unbraid.formats.ling3", "REASONING"),
    "mimo": ("unbraid.formats.mimo", "REASONING"),
    "minicpmv": ("unbraid.formats.minicpmv", "REASONING"),
    "minimax_m1": ("unbraid.formats.minimax_m1", "REASONING"),
    "minimax_m2": ("unbraid.formats.minimax_m2", "REASONING"),
    "minimax_m3": ("unbraid.formats.minimax_m3", "REASONING"),
    "mistral": ("unbraid.formats.mistral", "REASONING"),
    "muse": ("unbraid.formats.muse", "SPARK"),
    "muse_glimmer": ("unbraid.formats.muse", "GLIMMER"),
    "nemotron_v2": ("unbraid.formats.nemotron_v2", "REASONING"),
    "nemotron_v3": ("unbraid.formats.nemotron_v3", "REASONING"),
    "nemotron_v3_ultra": ("unbraid.formats.nemotron_v3", "REASONING_ULTRA"),
    "olmo3": ("unbraid.formats.olmo3", "REASONING"),
    "openai_gptoss": ("unbraid.formats.harmony", "HARMONY"),
    "plamo3": ("unbraid.formats.plamo3", "REASONING"),
    "poolside_laguna_s": ("unbraid.formats.poolside", "REASONING_S"),
    "poolside_v1": ("unbraid.formats.poolside", "REASONING_XS"),
    "qwen3": ("unbraid.formats.qwen3", "REASONING"),
    "qwen3_thinking": ("unbraid.formats.qwen3", "ALWAYS"),
    "reka": ("unbraid.formats.reka", "REASONING"),
    "rwkv": ("unbraid.formats.rwkv", "REASONING"),
    "seed_oss": ("unbraid.formats.seed_oss", "REASONING"),
    "smollm3": ("unbraid.formats.layouts", "SMOLLM3_REASONING"),
    "solar_open": ("unbraid.formats.solar_open", "SOLAR_OPEN"),
    "spark25": ("unbraid.formats.spark25", "REASONING"),
    "step3": ("unbraid.formats.step3", "REASONING"),
    "step3p5": ("unbraid.formats.step3p5", "REASONING"),
    "trinity": ("unbraid.formats.trinity", "REASONING"),
}

# Halves that give thinking out as content.
INLINE_PARSERS: dict[str, tuple[str, str]] = {
    "minimax_m2_append_think": ("unbraid.formats.minimax_m2", "INLINE"),
}

TOOL_ALIASES: dict[str, str] = {
    "lfm2_thinking": "lfm2",
    "musespark1x": "muse",
    "qwen3_json": "hermes",
    "qwen3_xml": "qwen3_coder",
    "spark": "spark25",
    "step5": "step3p5",
    "trinity": "hermes",
}
REASONING_ALIASES: dict[str, str] = {
    "musespark1x": "muse",
    "spark": "spark25",
    "step5": "step3p5",
}


def tool_names() -> list[str]:
    """Every name that ``tool_parser`` takes, aliases included, SGLang's left out."""
    return sorted([*TOOL_PARSERS, *TOOL_ALIASES])


def reasoning_names() -> list[str]:
    """Every name that ``reasoning_parser`` takes, aliases included, SGLang's left out."""
    return sorted([*REASONING_PARSERS, *INLINE_PARSERS, *REASONING_ALIASES])


SGLANG = "sglang:"


def _meant(name: str, parsers: Container[str], aliases: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """The name in the table that ``name`` stands for: ``theirs`` are SGLang's."""
    if name.startswith(SGLANG):
        name = theirs.get(name.removeprefix(SGLANG), name)
    elif name not in parsers and name not in aliases:
        name = theirs.get(name, name)
    return aliases.get(name, name)


def _ending(name: str) -> tuple[str, str]:
    """A name without a checkpoint's ending of markers (``hy_v3:opensource``), and the ending."""
    bare = name.removeprefix(SGLANG)
    base = name[: len(name) - len(bare)] + bare.partition(":")[0]
    suffix = name[len(base) :]
    return (base, suffix) if SUFFIX.fullmatch(suffix) else (name, "")


def hint(name: str, names: Iterable[str], lister: str = "unbraid formats") -> str:
    """The names that ``name`` begins with or is near, and the command that lists all.

    Names that hold it count too. Case and a model's owner (``Owner/Name``) don't.
    """
    from difflib import get_close_matches

    known = list(dict.fromkeys(names))
    wanted = name.rpartition("/")[2].lower()
    begun = sorted((one for one in known if wanted.startswith(one)), key=len, reverse=True)
    longer = sorted(
        (one for one in known if len(wanted) > 1 and wanted in one), key=lambda one: one.find(wanted)
    )
    near = list(dict.fromkeys([*begun, *longer, *get_close_matches(wanted, known, 3, cutoff=0.65)]))[:3]
    all_names = f"`{lister}` lists all names"
    return f"did you mean {' or '.join(near)}? {all_names}" if near else all_names


def _unknown(kind: str, name: str, names: list[str]) -> UnknownParser:
    """Says what the name is known as, where it is a model family's or the other half's."""
    from unbraid.formats.presets import PRESETS

    other, others = ("reasoning", reasoning_names()) if kind == "tool" else ("tool", tool_names())
    family = PRESETS.get(_family(name))
    half = family and (family.tools if kind == "tool" else family.reasoning)
    if half:
        known = f"a model family, whose {kind} parser is {half}"
    else:
        known = f"a {other} parser; {hint(name, names)}" if name in others else hint(name, names)
    return UnknownParser(f"unknown {kind} parser {name!r}: {known}", param=f"{kind}_parser")


def _family(name: str) -> str:
    """A family's name as the table has it: small letters, ``-`` for ``_`` and blanks."""
    return re.sub(r"[\s_]+", "-", name.strip().lower())


def _load(kind: str, name: str, where: tuple[str, str]) -> object:
    module, attribute = where
    try:
        return getattr(import_module(module), attribute)
    except Exception as cause:
        raise BrokenFormat(
            f"the {kind} parser {name!r} could not be loaded from {module}.{attribute}: {cause}",
            param=f"{kind}_parser",
        ) from cause


_tools: dict[str, Tools | Joint] = {}
_reasoning: dict[str, Reasoning | Joint] = {}


def register(name: str, half: Tools | Reasoning | Joint, *, override: bool = False) -> None:
    """Add a format under a name of your own; channels and response templates are both halves at once.

    Raises InvalidRequest for a name that is empty or no string, for a half that is none or
    whose field is wrong, and when the name is taken and ``override`` is not set.
    """
    if not isinstance(name, str) or not name:
        raise validate.wrong("name", "a string that is not empty", name)
    reasoning = isinstance(half, Reasoning | Joint)
    tools = isinstance(half, Tools | Joint)
    if not (reasoning or tools):
        raise InvalidRequest(
            f"{name!r} must be Tools, Reasoning, Channels or ResponseTemplate, not {type(half).__name__}",
            param="half",
        )
    taken = (reasoning and name in reasoning_names()) or (tools and name in tool_names())
    if _plugin is not None and name in _BUILT_IN:
        override = _plugin.may_replace
        if taken and not override:
            raise InvalidRequest(
                f"the name {name!r} is that of a built-in format: choose another, or allow it with "
                "--allow-format-override",
                param="name",
            )
    if taken and not override:
        raise InvalidRequest(
            f"the name {name!r} is taken: choose another, or pass override=True", param="name"
        )
    from unbraid.declared import check_declaration

    check_declaration(half)
    if isinstance(half, Tools | Joint):
        TOOL_PARSERS[name] = ("", name)
        TOOL_ALIASES.pop(name, None)
        _tools[name] = half
    if isinstance(half, Reasoning | Joint):
        REASONING_PARSERS[name] = ("", name)
        REASONING_ALIASES.pop(name, None)
        _reasoning[name] = half
    if _plugin is not None:
        _plugin.names.append(name)


@dataclass
class _Plugin:
    """What registers formats now, when a command line named it; ``names`` are those that it took."""

    may_replace: bool
    names: list[str] = field(default_factory=list)


_plugin: _Plugin | None = None
_BUILT_IN = frozenset([*tool_names(), *reasoning_names()])


@contextmanager
def plugin_names(replace: bool) -> Iterator[list[str]]:
    """Collect the names that are registered within the block; built-in ones only if ``replace`` says so."""
    global _plugin
    before, _plugin = _plugin, _Plugin(replace)
    try:
        yield _plugin.names
    finally:
        _plugin = before


def load_own() -> None:
    """Import the modules that the environment's ``UNBRAID_FORMATS`` names, which register formats.

    Raises InvalidRequest where one can't be imported.
    """
    for module in filter(None, os.environ.get("UNBRAID_FORMATS", "").split(",")):
        try:
            import_module(module)
        except ImportError as cause:
            absent = isinstance(cause, ModuleNotFoundError) and f"{module}.".startswith(f"{cause.name}.")
            place = " (is its folder on PYTHONPATH?)" if absent else ""
            raise InvalidRequest(f"UNBRAID_FORMATS: {module} can't be imported: {cause}{place}") from cause


def _found(
    kind: str,
    name: str,
    known: dict[str, Any],
    parsers: Mapping[str, tuple[str, str]],
    aliases: Mapping[str, str],
    theirs: Mapping[str, str],
    names: Callable[[], list[str]],
) -> Any:
    """The half that ``name`` means, loaded when it is not ``known``, a checkpoint's ending in its markers."""
    validate.text(f"{kind}_parser", name)
    half = known.get(name)
    if half is not None and (isinstance(half, Joint) or not half.suffixes):
        return half
    base, suffix = _ending(name)
    base = _meant(base, parsers, aliases, theirs)
    if base not in parsers:
        raise _unknown(kind, name, [*names(), *theirs])
    if base not in known:
        known[base] = _load(kind, base, parsers[base])
    half = known[base]
    if not isinstance(half, Joint) and half.suffixes:
        return spelled(half, suffix)
    if suffix:
        raise _unknown(kind, name, names())
    return half


def tool_format(name: str) -> Tools | Joint:
    """The tools half called ``name``; raises UnknownParser or BrokenFormat."""
    found = _found("tool", name, _tools, TOOL_PARSERS, TOOL_ALIASES, sglang.TOOLS, tool_names)
    assert isinstance(found, Tools | Joint)
    return found


def reasoning_format(name: str) -> Reasoning | Joint:
    """The reasoning half called ``name``; raises UnknownParser or BrokenFormat."""
    parsers = ChainMap(REASONING_PARSERS, INLINE_PARSERS)
    found = _found(
        "reasoning", name, _reasoning, parsers, REASONING_ALIASES, sglang.REASONING, reasoning_names
    )
    assert isinstance(found, Reasoning | Joint)
    return found


def preset_names() -> list[str]:
    """Every model family that ``format`` takes."""
    from unbraid.formats.presets import PRESETS

    return sorted(PRESETS)


def preset(name: str) -> Preset:
    """The model family called ``name``, in capitals or with ``_`` and blanks for ``-`` too.

    Raises UnknownParser.
    """
    from unbraid.formats.presets import PRESETS

    validate.text("format", name)
    found = PRESETS.get(_family(name))
    if found is None:
        near = hint(name, preset_names(), "unbraid formats --presets")
        raise UnknownParser(f"unknown format {name!r}: {near}", param="format")
    return found


def names_of(kind: str, half: object) -> list[str]:
    """Every name of a half; ``kind`` is ``reasoning`` or ``tools``. Broken formats are passed over."""
    names, find = (tool_names(), tool_format) if kind == "tools" else (reasoning_names(), reasoning_format)
    return _that_mean(half, names, find)


def sglang_names_of(kind: str, half: object) -> list[str]:
    """SGLang's names of a half."""
    names, find = (sglang.TOOLS, tool_format) if kind == "tools" else (sglang.REASONING, reasoning_format)
    return [one.removeprefix(SGLANG) for one in _that_mean(half, [SGLANG + name for name in names], find)]


def _that_mean(half: object, names: Iterable[str], find: Callable[[str], object]) -> list[str]:
    found = []
    for name in names:
        with suppress(BrokenFormat):
            if find(name) is half:
                found.append(name)
    return found
