"""Which half a request means, where a template's variable or the checkpoint decides it.

The answer is a name: every interpreter takes the name of a variant, or a name with a
checkpoint's ending, as it takes any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbraid import validate
from unbraid.formats import reasoning_format, tool_format
from unbraid.prompts import prompt_state
from unbraid.suffixes import SUFFIX, suffix_in_prompt, suffix_in_vocabulary
from unbraid.syntax import Joint, Reasoning, Tools, Variants
from unbraid.tokens import Tokenizer

__all__ = ["variant_names"]

Names = tuple[str | None, str | None]
SUFFIX_VARIABLE = "token_suffix"


def variant_names(
    reasoning_parser: str | None,
    tool_parser: str | None,
    kwargs: Mapping[str, Any] | None = None,
    prompt: str | None = None,
    tokenizer: Tokenizer | None = None,
) -> Names:
    """The names of the halves that a request means; the same names for most families.

    Raises UnknownParser or BrokenFormat, and InvalidRequest for a word that chooses no variant.
    """
    if reasoning_parser is not None:
        half = reasoning_format(reasoning_parser)
        if isinstance(half, Reasoning) and half.variants is not None:
            reasoning_parser = _chosen(half.variants, kwargs) or _prompted(half.variants, prompt)
    if tool_parser is not None:
        tools = tool_format(tool_parser)
        if isinstance(tools, Tools) and tools.variants is not None:
            tool_parser = _chosen(tools.variants, kwargs) or tools.variants.default
    return _with_suffix(reasoning_parser, tool_parser, kwargs, prompt, tokenizer)


def _chosen(variants: Variants, kwargs: Mapping[str, Any] | None) -> str | None:
    """The name that the variable chooses; None when it is absent or null."""
    word = (kwargs or {}).get(variants.variable)
    if word is None:
        return None
    names = dict(variants.names)
    if not isinstance(word, str) or word not in names:
        raise validate.wrong(
            f"chat_template_kwargs.{variants.variable}", f"one of {', '.join(names)} or None", word
        )
    return names[word]


def _prompted(variants: Variants, prompt: str | None) -> str:
    """The variant whose markers the prompt's last turn holds, else the default."""
    for _, name in variants.names if prompt is not None else ():
        half = reasoning_format(name)
        if isinstance(half, Reasoning) and prompt_state(half, prompt or "").thinking != "absent":
            return name
    return variants.default


def _with_suffix(
    reasoning_parser: str | None,
    tool_parser: str | None,
    kwargs: Mapping[str, Any] | None,
    prompt: str | None,
    tokenizer: Tokenizer | None,
) -> Names:
    """The names with the checkpoint's ending, if the family has any and something tells it."""
    reasoning = _ending_open(reasoning_format(reasoning_parser) if reasoning_parser is not None else None)
    tools = _ending_open(tool_format(tool_parser) if tool_parser is not None else None)
    halves = [half for half in (reasoning, tools) if half is not None]
    suffix = _suffix(halves, kwargs or {}, prompt, tokenizer) if halves else ""
    return (
        f"{reasoning_parser}{suffix}" if reasoning is not None else reasoning_parser,
        f"{tool_parser}{suffix}" if tools is not None else tool_parser,
    )


def _ending_open(half: Reasoning | Tools | Joint | None) -> Reasoning | Tools | None:
    """The half, if its markers may have an ending that its name does not say."""
    if half is None or isinstance(half, Joint) or not half.suffixes:
        return None
    return half


def _suffix(
    halves: list[Reasoning | Tools],
    kwargs: Mapping[str, Any],
    prompt: str | None,
    tokenizer: Tokenizer | None,
) -> str:
    """The checkpoint's ending: what is a token, else what the prompt holds, else what the request says."""
    told = [suffix_in_prompt(half, prompt) for half in halves if prompt is not None]
    told += [_given(kwargs.get(SUFFIX_VARIABLE))]
    candidates = [one for one in told if one is not None]
    if tokenizer is not None:
        known = [one for half in halves for one in half.suffixes]
        held = (suffix_in_vocabulary(half, tokenizer, [*candidates, "", *known]) for half in halves)
        candidates = [*(one for one in held if one is not None), *candidates]
    return candidates[0] if candidates else ""


def _given(word: object) -> str | None:
    """The ending that a template variable names, its colon left out or not."""
    if word is None or word == "":
        return None if word is None else ""
    suffix = f":{word}" if isinstance(word, str) and not word.startswith(":") else word
    if not isinstance(suffix, str) or not SUFFIX.fullmatch(suffix):
        raise validate.wrong(
            f"chat_template_kwargs.{SUFFIX_VARIABLE}",
            "a colon and up to 32 letters, digits, dots, - or _",
            word,
        )
    return suffix
