"""``unbraid grammar NAME``: the grammar that makes a model call a tool."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from unbraid.constrain import constrain
from unbraid.errors import InvalidRequest

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "grammar",
        help="print the grammar for tools and a tool_choice",
        description="Print what constrains a generation: thinking and calls in one grammar, enforced from "
        "the first token.",
    )
    parser.add_argument("name", help="the tool parser's name")
    parser.add_argument("--reasoning-parser", metavar="NAME")
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
    parser.add_argument("--dialect", choices=("lark", "structural_tag"), default="lark")
    parser.add_argument("--tool-strict-level", choices=("auto", "function", "parameter"), default="auto")
    parser.add_argument("--single", action="store_true", help="at most one call (parallel_tool_calls=false)")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    choice: Any = args.tool_choice
    if choice not in ("none", "auto", "required"):
        choice = {"type": "function", "function": {"name": choice}}
    constraint = constrain(
        args.reasoning_parser,
        args.name,
        tools=_tools(args.tools),
        tool_choice=choice,
        parallel_tool_calls=not args.single,
        thinking=args.thinking,
        strict_level=args.tool_strict_level,
    )
    if constraint is None:
        print("nothing to enforce: no tool is strict and no call is demanded", file=sys.stderr)
        return 1
    if args.dialect == "lark":
        print(constraint.lark())
    else:
        print(json.dumps(constraint.structural_tag(), ensure_ascii=False, indent=2))
    return 0


def _tools(name: str) -> Any:
    try:
        return json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidRequest(f"{name} can't be read: {error.strerror}", param="tools") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"{name} is no JSON: {error}", param="tools") from error
