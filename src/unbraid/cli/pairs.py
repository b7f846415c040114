"""The flags that name a pair, the same for every command that takes one."""

from __future__ import annotations

import argparse
from typing import Any, TypedDict

from unbraid.pair import with_family

__all__ = ["Names", "add_pair_flags", "add_template_flag", "choice_of", "pair_of"]


class Names(TypedDict):
    """A pair as everything that reads one takes it."""

    reasoning_parser: str | None
    tool_parser: str | None
    format: str | None
    response_template: str | None


def add_pair_flags(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add ``--reasoning-parser``, ``--tool-parser`` and ``--format``."""
    parser.add_argument(
        "--reasoning-parser", metavar="NAME", help="the format of the model's thinking; none for none"
    )
    parser.add_argument(
        "--tool-parser",
        "--tool-call-parser",
        dest="tool_parser",
        metavar="NAME",
        help="the format of the model's tool calls",
    )
    parser.add_argument(
        "--format", metavar="FAMILY", help="both by the model's family: see unbraid formats --presets"
    )


def add_template_flag(parser: argparse.ArgumentParser) -> None:
    """Add ``--response-template``."""
    parser.add_argument(
        "--response-template",
        metavar="PATH",
        help="for hf and beam: a tokenizer_config.json, or its folder, that carries one",
    )


def pair_of(args: argparse.Namespace) -> Names:
    """The names of a command line; ``none`` for thinking stands over the family's half."""
    reasoning, tools, family = args.reasoning_parser, args.tool_parser, args.format
    if reasoning == "none":
        _, tools, _ = with_family(family, None, tools)
        reasoning = family = None
    return Names(
        reasoning_parser=reasoning,
        tool_parser=tools,
        format=family,
        response_template=args.response_template,
    )


def choice_of(word: str) -> Any:
    """A tool_choice as a word: ``none``, ``auto``, ``required`` or a function's name."""
    if word in ("none", "auto", "required"):
        return word
    return {"type": "function", "function": {"name": word}}
