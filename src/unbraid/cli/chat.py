"""``unbraid chat``: talk to a model in the terminal, its three strands in colours."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TextIO

from unbraid.cli.engine_flags import add_engine_flags
from unbraid.cli.files import json_of
from unbraid.cli.serve import prepared, require_extra
from unbraid.errors import InvalidRequest, UnbraidError

if TYPE_CHECKING:
    from unbraid.server.client import Answer, ChatClient, Strand

__all__ = ["Printer", "add_parser", "run"]

COLOURS = {
    "reasoning": "\033[2;36m",
    "content": "",
    "name": "\033[1;33m",
    "arguments": "\033[33m",
    "note": "\033[2m",
}
RESET = "\033[0m"


class Printer:
    """Prints strands as they arrive, each in its colour; without a terminal each with its name."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = sys.stdout if out is None else out
        self._coloured = self._out.isatty() and "NO_COLOR" not in os.environ
        self._last: str | None = None

    def show(self, strand: Strand, text: str) -> None:
        """Print a piece of a strand."""
        if strand != self._last:
            self._begin(strand)
        colour = COLOURS[strand] if self._coloured else ""
        self._out.write(f"{colour}{text}{RESET}" if colour else text)
        self._out.flush()

    def _begin(self, strand: Strand) -> None:
        """Separate a strand from the one before; arguments go behind their name."""
        if strand == "arguments":
            self._out.write(" ")
        else:
            if self._last is not None:
                self._out.write("\n")
            if not self._coloured:
                self._out.write(
                    {"reasoning": "reasoning: ", "content": "content: ", "name": "call: "}[strand]
                )
        self._last = strand

    def end(self) -> None:
        """End the answer."""
        if self._last is not None:
            self._out.write("\n")
        self._last = None
        self._out.flush()

    def note(self, text: str) -> None:
        """Print a line that is no answer."""
        self._out.write(f"{COLOURS['note']}{text}{RESET}\n" if self._coloured else f"{text}\n")
        self._out.flush()


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its flags."""
    from unbraid.cli.server_flags import add_flags

    parser = commands.add_parser(
        "chat",
        help="talk to a local model, or to a server, in the terminal",
        description="Talk to a model: thinking, content and tool calls are shown in colours as they arrive. "
        "An empty line or Ctrl-D ends it.",
    )
    parser.add_argument("--url", help="a server to talk to instead of a local model")
    parser.add_argument("--system", metavar="TEXT", help="a system message")
    parser.add_argument("--tools", metavar="FILE", help="a JSON file with tools; you answer their calls")
    parser.add_argument(
        "--max-tokens", type=int, default=512, metavar="N", help="of an answer (default: 512)"
    )
    parser.add_argument("--temperature", type=float, default=0.7, metavar="T", help="(default: 0.7)")
    parser.add_argument(
        "--think",
        action=argparse.BooleanOptionalAction,
        help="turn thinking on or off; else the template decides",
    )
    add_engine_flags(parser)
    add_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Talk until the input ends."""
    require_extra()
    body: dict[str, Any] = {"max_tokens": args.max_tokens, "temperature": args.temperature}
    if args.tools is not None:
        body["tools"] = _tools(args.tools)
    if args.think is not None:
        body["chat_template_kwargs"] = {"enable_thinking": args.think}
    messages: list[dict[str, Any]] = []
    if args.system:
        messages.append({"role": "system", "content": args.system})
    with _client(args) as client, suppress(KeyboardInterrupt, EOFError):
        printer = Printer()
        while True:
            question = input("> " if sys.stdin.isatty() else "")
            if not question.strip():
                return 0
            messages.append({"role": "user", "content": question})
            _turn(client, body, messages, printer)
    return 0


def _turn(client: ChatClient, body: dict[str, Any], messages: list[dict[str, Any]], printer: Printer) -> None:
    """One question to its answer, the results of calls in between."""
    before = len(messages) - 1
    while True:
        try:
            answer = client.stream({**body, "messages": messages}, printer.show)
        except UnbraidError as error:
            printer.end()
            printer.note(f"error: {error}")
            del messages[before:]
            return
        printer.end()
        if answer.finish_reason == "length":
            printer.note("(cut: --max-tokens is reached)")
        messages.append(answer.message)
        if not answer.calls:
            return
        messages += _results(answer)


def _results(answer: Answer) -> Iterator[dict[str, Any]]:
    """What the user says that the calls gave."""
    for call in answer.calls:
        result = input(f"result of {call['function']['name']}: " if sys.stdin.isatty() else "")
        yield {"role": "tool", "tool_call_id": call["id"], "content": result}


def _tools(name: str) -> list[Any]:
    tools = json_of(name, "tools")
    if not isinstance(tools, list):
        raise InvalidRequest(f"--tools {name} must hold a list of tools", param="tools")
    return tools


@contextmanager
def _client(args: argparse.Namespace) -> Iterator[ChatClient]:
    """A client of the server at --url, or of one in this process."""
    from unbraid.server.client import ChatClient

    if args.url is not None:
        client = ChatClient(args.url, next(iter(args.api_key), None))
        try:
            yield client
        finally:
            client.close()
        return
    from unbraid.server.app import create_app
    from unbraid.server.background import serving

    setup, engine = prepared(args)
    with serving(create_app(replace(setup, keys=None), engine)) as url:
        client = ChatClient(url)
        try:
            yield client
        finally:
            client.close()
