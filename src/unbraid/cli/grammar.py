"""``unbraid grammar``: the grammar that makes a model call a tool."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

from unbraid.cli.files import json_of
from unbraid.cli.pairs import add_pair_flags, add_template_flag, choice_of, pair_of
from unbraid.constrain import Constraint, constrain
from unbraid.errors import InvalidRequest

__all__ = ["add_parser", "run"]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


DIALECTS: dict[str, Callable[[Constraint], str]] = {
    "lark": Constraint.lark,
    "gbnf": Constraint.gbnf,
    "structural_tag": lambda constraint: _json(constraint.structural_tag()),
    "json_schema": lambda constraint: _json(constraint.json_schema()),
}


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "grammar",
        help="print the grammar for tools and a tool_choice",
        description="Print what constrains a generation: thinking and calls in one grammar, enforced from "
        "the first token.",
    )
    parser.add_argument("name", nargs="?", help="the tool parser's name, as --tool-parser")
    add_pair_flags(parser)
    add_template_flag(parser)
    parser.add_argument("--tools", metavar="FILE", required=True, help="tools in OpenAI's shape, as JSON")
    parser.add_argument(
        "--tool-choice", metavar="CHOICE", default="required", help="auto, required (default) or a name"
    )
    parser.add_argument(
        "--thinking",
        choices=("open", "output", "optional", "off", "closed"),
        default="off",
        help="opened by the prompt (open), by the model (output), perhaps (optional); off (default), closed",
    )
    parser.add_argument(
        "--dialect",
        choices=tuple(DIALECTS),
        default="lark",
        help="json_schema: calls as a plain JSON array, without thinking",
    )
    parser.add_argument("--tool-strict-level", choices=("auto", "function", "parameter"), default="auto")
    parser.add_argument("--single", action="store_true", help="at most one call (parallel_tool_calls=false)")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    pair = pair_of(args)
    if args.name is not None:
        if args.tool_parser is not None:
            raise InvalidRequest("NAME and --tool-parser both name the tool parser", param="name")
        pair["tool_parser"] = args.name
    constraint = constrain(
        **pair,
        tools=json_of(args.tools, "tools"),
        tool_choice=choice_of(args.tool_choice),
        parallel_tool_calls=not args.single,
        thinking=args.thinking,
        strict_level=args.tool_strict_level,
        reads_as="json" if args.dialect == "json_schema" else "native",
    )
    if constraint is None:
        print("nothing to enforce: no tool is strict and no call is demanded", file=sys.stderr)
        return 1
    if constraint.starts == "answer":
        print("enforce it behind thinking only: it holds none", file=sys.stderr)
    print(DIALECTS[args.dialect](constraint))
    return 0
