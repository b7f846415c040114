"""The command line: ``unbraid``, the same as ``python -m unbraid``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from typing import NoReturn

from unbraid import __version__
from unbraid.errors import UnbraidError
from unbraid.formats import load_own

__all__ = ["main"]

COMMANDS = ("parse", "formats", "explain", "grammar", "serve", "chat", "demo")


def build_parser() -> argparse.ArgumentParser:
    """The argument parser with every command."""
    parser = argparse.ArgumentParser(
        prog="unbraid",
        description="Separate what a language model writes into reasoning, content and tool_calls.",
    )
    parser.add_argument("--version", action="version", version=f"unbraid {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in COMMANDS:
        import_module(f"unbraid.cli.{name}").add_parser(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the process's exit code. What it prints is UTF-8, as what it reads is."""
    for out in (sys.stdout, sys.stderr):
        if isinstance(out, TextIOWrapper):
            out.reconfigure(encoding="utf-8", errors="backslashreplace")
    argv = sys.argv[1:] if argv is None else list(argv)
    args, unknown = build_parser().parse_known_args(argv)
    if unknown:
        _refuse(args.command, unknown)
    args.argv = argv[1:]
    try:
        load_own()
        return int(import_module(f"unbraid.cli.{args.command}").run(args))
    except UnbraidError as error:
        print(f"unbraid {args.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 1


def _refuse(command: str, unknown: Sequence[str]) -> NoReturn:
    """End with what a command doesn't know, and the nearest flag that it does."""
    bare = argparse.ArgumentParser()
    commands = bare.add_subparsers()
    import_module(f"unbraid.cli.{command}").add_parser(commands)
    parser = commands.choices[command]
    flag = unknown[0].partition("=")[0]
    known = [one for one, what in parser._option_string_actions.items() if what.help != argparse.SUPPRESS]
    near = get_close_matches(flag, known, n=1)
    hint = f": did you mean {near[0]}?" if near else f"; unbraid {command} --help shows all flags"
    print(f"unbraid {command}: there is no {flag}{hint}", file=sys.stderr)
    raise SystemExit(2)
