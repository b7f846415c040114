"""``unbraid formats``: every format, and what is known of it."""

from __future__ import annotations

import argparse
import json
from typing import Any

from unbraid.explain import describe
from unbraid.formats import reasoning_names, tool_names

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "formats",
        help="list the formats",
        description="List every format: names, models, markers, who opens thinking, its switch.",
    )
    parser.add_argument("--json", action="store_true", help="everything, as JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    names = sorted({*tool_names(), *reasoning_names()})
    formats = {name: describe(name) for name in names}
    if args.json:
        print(json.dumps(formats, ensure_ascii=False, indent=2))
        return 0
    for name, half in formats.items():
        flags = [
            flag
            for flag, known in (
                ("--reasoning-parser", reasoning_names()),
                ("--tool-call-parser", tool_names()),
            )
            if name in known
        ]
        print(f"{name:<16} {' '.join(flags)}")
        models = sorted(
            {model for part in half.values() if isinstance(part, dict) for model in part["models"]}
        )
        print(f"{'':<16} {', '.join(models)}")
    return 0
