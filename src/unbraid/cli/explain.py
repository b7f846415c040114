"""``unbraid explain``: a format's wire format as a page."""

from __future__ import annotations

import argparse
from typing import Any

from unbraid.cli.pairs import add_pair_flags, add_template_flag, pair_of
from unbraid.explain import explain

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "explain",
        help="show a format: grammar, markers, switches, examples, states",
        description="Print the wire format behind a name, or of a pair, as a Markdown page.",
    )
    parser.add_argument("name", nargs="?", help="a reasoning or tool parser's name, or a model family's")
    add_pair_flags(parser)
    add_template_flag(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    print(explain(args.name, **pair_of(args)))
    return 0
