"""Formats against the model's vocabulary, and the texts by which formats are recognised."""

from __future__ import annotations

from functools import cache

from unbraid.check import check_tokenizer
from unbraid.engines.base import Engine
from unbraid.errors import TokenizerMismatch, UnbraidError
from unbraid.formats.registry import REASONING_PARSERS, TOOL_PARSERS, reasoning_format, tool_format
from unbraid.machine.frames import frame_of
from unbraid.machine.setup import markers_of, unit_openers
from unbraid.pair import halves
from unbraid.parser import Parser
from unbraid.syntax import Channels, Lit, Reasoning, ResponseTemplate
from unbraid.tokens import Tokenizer

__all__ = ["check_markers", "foreign_ends", "markers", "openers"]

SHORTEST_OPENER = 5
TURN_ENDS = ("<|endoftext|>", "<|end_of_text|>", "<|im_end|>", "<end_of_turn>", "<eos>", "</s>")


def markers(reasoning_parser: str | None, tool_parser: str | None) -> list[Lit]:
    """The markers of a pair, in the order in which they are declared."""
    found = (one for half in halves(reasoning_parser, tool_parser) if half for one in markers_of(half))
    return list(dict.fromkeys(found))


def closing(reasoning: Reasoning | None) -> str | None:
    """The text that ends thinking of a half, None without one."""
    if reasoning is None:
        return None
    return reasoning.trail.text + reasoning.close.text + reasoning.after.text


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


def foreign_ends(reasoning_parser: str | None, tool_parser: str | None, engine: Engine) -> frozenset[int]:
    """The tokens of a model that end a turn in its template or in any family, but not in this pair's."""
    own = {text for one in markers(reasoning_parser, tool_parser) for text in one.spellings}
    own.update(Parser(reasoning_parser, tool_parser).plan.stop)
    texts = {*_turn_ends(), str(engine.template_variables.get("eos_token", ""))} - own - {""}
    tokenizer = engine.tokenizer
    if tokenizer is None:
        return frozenset()
    ids = map(tokenizer.token_id, texts)
    return frozenset(token_id for token_id in ids if token_id is not None)


@cache
def _turn_ends() -> frozenset[str]:
    found = set(TURN_ENDS)
    for kind, name in (
        *(("reasoning", one) for one in REASONING_PARSERS),
        *(("tool", one) for one in TOOL_PARSERS),
    ):
        try:
            half = reasoning_format(name) if kind == "reasoning" else tool_format(name)
        except UnbraidError:
            continue
        found.update(half.dropped)
    return frozenset(found)


@cache
def openers() -> dict[str, tuple[str, ...]]:
    """The texts that begin calls, each with the names of the tools halves that begin so."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(TOOL_PARSERS):
        try:
            half = tool_format(name)
        except UnbraidError:
            continue
        texts: tuple[str, ...]
        if isinstance(half, Channels):
            texts = frame_of(half).openers or half.frames[1].spellings
        elif isinstance(half, ResponseTemplate):
            opener = half.field("call")
            texts = opener.open.spellings if opener is not None and isinstance(opener.open, Lit) else ()
        else:
            texts = unit_openers(half)
        for text in texts:
            if len(text) >= SHORTEST_OPENER:
                found[text] = (*found.get(text, ()), name)
    return found
