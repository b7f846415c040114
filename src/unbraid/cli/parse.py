"""``unbraid parse``: a raw output to a message, once or line by line."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from unbraid.cli.cases import result_of
from unbraid.cli.files import json_of, opened
from unbraid.cli.pairs import add_pair_flags, add_template_flag, choice_of, pair_of
from unbraid.errors import InvalidRequest, UnbraidError
from unbraid.parser import Parser
from unbraid.stream import Stream

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "parse",
        help="separate a raw output into its three strands",
        description="Read one raw model output (a file or standard input) and print the message as JSON; "
        "with --jsonl, one case a line and one result a line.",
    )
    parser.add_argument("file", nargs="?", help="the raw output; standard input if left out")
    add_pair_flags(parser)
    add_template_flag(parser)
    parser.add_argument("--tools", metavar="FILE", help="tools in OpenAI's shape, as JSON")
    parser.add_argument(
        "--tool-choice", metavar="CHOICE", default="auto", help="none, auto, required or a name"
    )
    parser.add_argument("--chat-template-kwargs", metavar="JSON", type=_json)
    parser.add_argument("--prompt", metavar="FILE", help="the rendered prompt: it decides the start state")
    parser.add_argument("--arguments", choices=("incremental", "complete"), default="incremental")
    parser.add_argument("--unknown-tools", choices=("forward", "text"), default="forward")
    parser.add_argument("--finish-reason", default="stop", help="the engine's: stop or length")
    parser.add_argument(
        "--chunks", default="0", metavar="token|char|N", help="feed pieces instead of the whole (0)"
    )
    parser.add_argument(
        "--trace", action="store_true", help="print every event as it comes, on standard error"
    )
    parser.add_argument("--spans", action="store_true", help="print how each stretch of the output was read")
    parser.add_argument("--jsonl", action="store_true", help="read one case a line, print one result a line")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.jsonl:
        with opened(args.file) as lines:
            for n, line in enumerate(lines):
                case = line.removeprefix("\ufeff") if n == 0 else line
                if case.strip():
                    print(_result(case), flush=True)
        return 0
    with opened(args.file) as source:
        text = source.read()
    parser = _parser(args)
    if parser.reasoning_parser is None and parser.tool_parser is None:
        print("no parser is named, so all is content: see --format", file=sys.stderr)
    stream = parser.stream()
    for piece in split(text, args.chunks):
        _trace(args, stream, stream.feed(piece), piece)
    _trace(args, stream, stream.finish(args.finish_reason), "")
    message = stream.message.as_dict()
    if not args.spans:
        del message["spans"]
    print(json.dumps(message, ensure_ascii=False, indent=2))
    return 0


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"no JSON: {error}") from error


def _result(line: str) -> str:
    """The result of one line as JSON, or its error: no line ends the process."""
    try:
        case = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _error("invalid_json", f"the line is no JSON: {error}")
    try:
        return json.dumps(result_of(case))
    except UnbraidError as error:
        return _error(error.code, str(error))
    except Exception as error:
        return _error("internal_error", f"{type(error).__name__}: {error}")


def _error(code: str, message: str) -> str:
    return json.dumps({"error": {"code": code, "message": message}})


def _parser(args: argparse.Namespace) -> Parser:
    prompt = None
    if args.prompt is not None:
        with opened(args.prompt, "prompt") as file:
            prompt = file.read()
    return Parser(
        **pair_of(args),
        tools=None if args.tools is None else json_of(args.tools, "tools"),
        tool_choice=choice_of(args.tool_choice),
        chat_template_kwargs=args.chat_template_kwargs,
        prompt=prompt,
        arguments=args.arguments,
        unknown_tools=args.unknown_tools,
        spans=True,
    )


def split(text: str, chunks: str) -> Iterator[str]:
    """Cut a text: ``char``, ``token`` (word-like pieces), a number of characters, or 0 for the whole."""
    if chunks == "token":
        yield from re.findall(r"\s?\w+|\s+|[^\w\s]", text)
        return
    size = 1 if chunks == "char" else int(chunks) if chunks.isdecimal() and len(chunks) < 10 else -1
    if size < 0:
        raise InvalidRequest(f"--chunks must be token, char or a number, not {chunks!r}", param="chunks")
    if size == 0:
        yield text
        return
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _trace(args: argparse.Namespace, stream: Stream, events: Iterable[Any], piece: str) -> None:
    if args.trace:
        for event in events:
            print(f"{piece!r:>16} -> {event!r}", file=sys.stderr)
