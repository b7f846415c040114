"""Formats against vocabularies: which markers are single tokens, and which formats would fit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from unbraid.errors import TokenizerMismatch, UnbraidError
from unbraid.formats import reasoning_names, tool_names
from unbraid.formats.registry import TOOL_PARSERS, tool_format
from unbraid.machine.setup import call_openers, literals
from unbraid.parser import halves
from unbraid.syntax import Channels, Lit
from unbraid.tokens import Tokenizer

__all__ = ["check_markers", "fitting", "markers", "openers"]

SHORTEST_OPENER = 5


def markers(reasoning_parser: str | None, tool_parser: str | None) -> list[Lit]:
    """The markers of a pair, in the order in which they are declared."""
    reasoning, tools, channels = halves(reasoning_parser, tool_parser)
    found: list[Lit] = []
    if channels is not None:
        found += [channels.start, channels.channel, channels.constrain, channels.body, *channels.ends]
    if reasoning is not None:
        found += [reasoning.open, reasoning.close]
    if tools is not None:
        if tools.section is not None:
            found += [tools.section.open, tools.section.close]
        found += literals(tools.call.parts)
    return list(dict.fromkeys(found))


def check_markers(
    reasoning_parser: str | None, tool_parser: str | None, tokenizer: Tokenizer, model: str
) -> None:
    """Raise TokenizerMismatch when a marker that must be one special token is none in this vocabulary."""
    for kind, name, pair in (
        ("reasoning", reasoning_parser, (reasoning_parser, None)),
        ("tool", tool_parser, (None, tool_parser)),
    ):
        if name is None:
            continue
        missing = _missing(markers(*pair), tokenizer)
        if missing:
            near = fitting(kind, tokenizer)
            hint = (
                f"of the others {', '.join(near)} would fit" if near else "no other format would fit either"
            )
            raise TokenizerMismatch(
                f"the {kind} parser {name} needs {missing[0]} as one special token, and the vocabulary of "
                f"{model} has none: {hint}; --markers text reads markers as text",
                param=f"{kind}_parser",
            )


def _missing(wanted: Iterable[Lit], tokenizer: Tokenizer) -> list[str]:
    return [
        one.text
        for one in wanted
        if one.special and all(tokenizer.token_id(spelling) is None for spelling in one.spellings)
    ]


def fitting(kind: str, tokenizer: Tokenizer) -> list[str]:
    """The names whose markers this vocabulary holds: all that must be special tokens, and at least one.

    When there is none: the names whose markers are ordinary text.
    """
    names = reasoning_names() if kind == "reasoning" else tool_names()
    held: list[str] = []
    plain: list[str] = []
    for name in names:
        pair = (name, None) if kind == "reasoning" else (None, name)
        try:
            wanted = markers(*pair)
        except UnbraidError:
            continue
        if _missing(wanted, tokenizer):
            continue
        known = any(tokenizer.token_id(spelling) is not None for one in wanted for spelling in one.spellings)
        (held if known else plain).append(name)
    return held or plain


@cache
def openers() -> dict[str, tuple[str, ...]]:
    """The texts that begin calls, each with the names of the tools halves that begin so."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(TOOL_PARSERS):
        try:
            half = tool_format(name)
        except UnbraidError:
            continue
        if isinstance(half, Channels):
            texts: tuple[str, ...] = half.channel.spellings
        elif half.section is not None:
            texts = half.section.open.spellings
        else:
            texts = call_openers(half.call)
        for text in texts:
            if len(text) >= SHORTEST_OPENER:
                found[text] = (*found.get(text, ()), name)
    return found
