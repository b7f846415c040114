"""``unbraid serve``: the HTTP server."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.cli.engine_flags import add_engine_flags, chosen_engine
from unbraid.cli.old_flags import add_old_flags
from unbraid.errors import EngineError, InvalidRequest

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from unbraid.engines.base import Engine
    from unbraid.server.logs import LogFormat
    from unbraid.server.options import Options
    from unbraid.server.setup import Setup
    from unbraid.server.workers import Listening

__all__ = ["add_parser", "prepared", "require_extra", "run"]

logger = logging.getLogger("unbraid.start")

KEY_VARIABLE = "UNBRAID_API_KEY"
EXTRA = ("starlette", "uvicorn", "msgspec", "httpx", "jinja2", "jiter", "jsonschema", "prometheus_client")
ABOUT: dict[str, Any] = {
    "usage": "unbraid serve [--engine URL ...] [--format FAMILY] [FLAG ...]",
    "description": "Serve chat completions, responses and messages in front of an engine: unbraid renders "
    "the prompts, holds the output to what a request demands, and separates reasoning, content and calls.",
    "epilog": "For example: unbraid serve --engine http://127.0.0.1:8000 --format qwen3 --port 9000",
}


def port(text: str) -> int:
    """A TCP port, 0 for any free one."""
    number = int(text) if text.isdecimal() else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 65535, not {text!r}")
    return number


def count(text: str) -> int:
    """A number from 1."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a number from 1, not {text!r}")
    return number


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its flags."""
    parser = commands.add_parser(
        "serve",
        help="serve chat completions, responses and messages in front of an engine or with a local model",
        **ABOUT,
    )
    add_arguments(parser)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add all the flags."""
    from unbraid.cli.server_flags import add_flags

    add_engine_flags(parser)
    add_flags(parser)
    _add_operation(parser)
    add_old_flags(parser)


def _add_operation(parser: argparse.ArgumentParser) -> None:
    operation = parser.add_argument_group("operation", "How the server runs.")
    operation.add_argument(
        "--config",
        metavar="FILE",
        help="a TOML file with the names of these flags; the command line wins over it",
    )
    operation.add_argument(
        "--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine only)"
    )
    operation.add_argument("--port", type=port, default=8000, help="port to listen on (default: 8000)")
    operation.add_argument("--uds", metavar="PATH", help="listen on a Unix socket instead")
    operation.add_argument("--ssl-keyfile", metavar="FILE", help="serve HTTPS with this key")
    operation.add_argument("--ssl-certfile", metavar="FILE", help="and this certificate")
    operation.add_argument(
        "--root-path",
        default="",
        metavar="PATH",
        help="the path under which a reverse proxy shows the server",
    )
    operation.add_argument(
        "--workers",
        type=count,
        default=1,
        metavar="N",
        help="processes that share the port; each connects to the engines by itself (default: 1)",
    )
    operation.add_argument(
        "--log-format",
        choices=("text", "json"),
        default="text",
        help="log lines for people or one JSON object a line (default: text)",
    )


def require_extra() -> None:
    """Raise EngineError when the packages that a server needs are not there."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise EngineError(f"{', '.join(missing)} is not installed: pip install 'unbraid[serve]'")


def _with_defaults(options: Options, args: argparse.Namespace) -> Options:
    """The options with what depends on the engine: an embedded model thinks only so much."""
    from unbraid.server.options import EMBEDDED_BUDGET

    if options.thinking_token_budget is None and not args.engine:
        options = replace(options, thinking_token_budget=EMBEDDED_BUDGET)
    if not options.api_keys and options.api_key_file is None and os.environ.get(KEY_VARIABLE):
        options = replace(options, api_keys=(os.environ[KEY_VARIABLE],))
    return options


def prepared(args: argparse.Namespace) -> tuple[Setup, Engine]:
    """The engine that the flags choose, and the settled options for it, plugins loaded."""
    from unbraid.cli.server_flags import options_from
    from unbraid.plugins import load_plugins
    from unbraid.server.startup import prepare

    plugins = [("--tool-parser-plugin", one) for one in args.tool_parser_plugin]
    plugins += [("--reasoning-parser-plugin", one) for one in args.reasoning_parser_plugin]
    load_plugins(plugins, override=args.allow_format_override)
    is_default = args.model is None and not args.engine
    options = _with_defaults(options_from(args, default_model=is_default), args)
    engine = chosen_engine(args)
    return prepare(engine, options), engine


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    require_extra()
    args = _configured(args)
    _log(args)
    from unbraid.server.workers import serve_here, serve_workers

    listening = _listening(args)
    if args.workers == 1:
        return serve_here(partial(_made, args, listening), listening)
    if not args.engine:
        raise InvalidRequest(
            "--workers needs --engine: a model in this process can't be shared; --slots is how many requests "
            "it answers at once",
            param="workers",
        )
    _check(args, listening)
    return serve_workers(partial(_made, args, None), args.workers, listening)


def _configured(args: argparse.Namespace) -> argparse.Namespace:
    """The arguments together with those of the file that they name."""
    if args.config is None:
        return args
    from unbraid.cli.config import with_config

    parser = argparse.ArgumentParser(prog="unbraid serve", **ABOUT)
    add_arguments(parser)
    return with_config(parser, add_arguments, Path(args.config), args.argv)


def _listening(args: argparse.Namespace) -> Listening:
    from unbraid.server.workers import Listening

    if (args.ssl_keyfile is None) != (args.ssl_certfile is None):
        raise InvalidRequest("--ssl-keyfile and --ssl-certfile go together", param="ssl_keyfile")
    for flag, name in (("--ssl-keyfile", args.ssl_keyfile), ("--ssl-certfile", args.ssl_certfile)):
        if name is not None and not Path(name).is_file():
            raise InvalidRequest(f"{flag} {name} is no file", param="ssl_keyfile")
    return Listening(
        host=args.host,
        port=args.port,
        uds=args.uds,
        ssl_keyfile=args.ssl_keyfile,
        ssl_certfile=args.ssl_certfile,
        root_path=args.root_path,
        drain_seconds=args.drain_seconds,
    )


def _log(args: argparse.Namespace) -> None:
    from unbraid.server.logs import configure

    configure(args.log_format)


def _made(args: argparse.Namespace, reported: Listening | None) -> tuple[ASGIApp, Callable[[], None]]:
    """The app of one process, and what a reload does; the report is for the address ``reported``."""
    from unbraid.server.app import create_app

    _log(args)
    setup, engine = prepared(args)
    if reported is not None:
        _report(setup, reported, args.log_format)
    return create_app(setup, engine), partial(_reload, setup)


def _check(args: argparse.Namespace, listening: Listening) -> None:
    """Find out before there are workers whether they can start, and report."""
    from unbraid.engines.sandbox import OWN

    setup, engine = prepared(args)
    asyncio.run(engine.close())
    OWN.close()
    _report(setup, listening, args.log_format)


def _report(setup: Setup, listening: Listening, log_format: LogFormat) -> None:
    """Tell what the start found out: as lines for people, or in the log where that is for machines."""
    lines = list(setup.report)
    if listening.port or listening.uds is not None:
        lines.append(f"docs: {listening.url}/docs")
    if log_format == "text":
        print("\n".join(lines), file=sys.stderr, flush=True)
        return
    for line in lines:
        logger.info(line)


def _reload(setup: Setup) -> None:
    """Read the files again that may change while the server runs."""
    if setup.keys is not None:
        setup.keys.reload()
