"""The formats: one file per family, loaded only when a name asks for it."""

from unbraid.formats.registry import (
    REASONING_PARSERS,
    TOOL_PARSERS,
    load_own,
    names_of,
    preset,
    preset_names,
    reasoning_format,
    reasoning_names,
    register,
    sglang_names_of,
    tool_format,
    tool_names,
)

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
