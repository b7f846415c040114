"""Formats against the model's vocabulary, and the texts by which formats are recognised."""

from __future__ import annotations

from functools import cache

from unbraid.check import check_tokenizer
from unbraid.errors import TokenizerMismatch, UnbraidError
from unbraid.formats.registry import TOOL_PARSERS, tool_format
from unbraid.machine.setup import call_openers, literals
from unbraid.parser import halves
from unbraid.syntax import Channels, Lit
from unbraid.tokens import Tokenizer

__all__ = ["check_markers", "markers", "openers"]

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
) -> list[str]:
    """What is odd about a pair on this vocabulary; raises TokenizerMismatch when outputs would be misread."""
    findings = check_tokenizer(reasoning_parser, tool_parser, tokenizer)
    errors = [one for one in findings if one.severity == "error"]
    if not errors:
        return [f"{one.message} ({one.hint})" for one in findings if one.severity == "warning"]
    flags = []
    if reasoning_parser is not None:
        flags.append(f"--reasoning-parser {reasoning_parser}")
    if tool_parser is not None:
        flags.append(f"--tool-call-parser {tool_parser}")
    others = [one.message for one in findings if one.code == "other_family"]
    raise TokenizerMismatch(
        f"{' and '.join(flags)} cannot be used with the vocabulary of {model}: {errors[0].message}; "
        f"{'; '.join(others) or errors[0].hint}; --markers text reads markers as text",
        param="tokenizer",
    )


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
