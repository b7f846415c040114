"""The flags that name a pair, the same for every command that takes one."""

from __future__ import annotations

import argparse
from typing import Any, TypedDict

__all__ = ["Names", "add_pair_flags", "choice_of", "pair_of"]


class Names(TypedDict):
    """A pair as everything that reads one takes it."""

    reasoning_parser: str | None
    tool_parser: str | None
    format: str | None


def add_pair_flags(parser: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add ``--reasoning-parser``, ``--tool-parser`` and ``--format``."""
    parser.add_argument("--reasoning-parser", metavar="NAME", help="the format of the model's thinking")
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


def pair_of(args: argparse.Namespace) -> Names:
    """The names of a command line."""
    return Names(reasoning_parser=args.reasoning_parser, tool_parser=args.tool_parser, format=args.format)


def choice_of(word: str) -> Any:
    """A tool_choice as a word: ``none``, ``auto``, ``required`` or a function's name."""
    if word in ("none", "auto", "required"):
        return word
    return {"type": "function", "function": {"name": word}}
