"""``unbraid serve``: the HTTP server."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unbraid.errors import EngineError

if TYPE_CHECKING:
    from unbraid.engines.base import Engine
    from unbraid.server.options import Options
    from unbraid.server.setup import Setup

__all__ = ["add_engine_flags", "add_parser", "prepared", "require_extra", "run"]

KEY_VARIABLE = "UNBRAID_API_KEY"
EXTRA = ("starlette", "uvicorn", "msgspec", "httpx", "jinja2")


def port(text: str) -> int:
    """A TCP port, 0 for any free one."""
    number = int(text) if text.isdecimal() else -1
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 65535, not {text!r}")
    return number


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command and its flags."""
    from unbraid.server.options import add_flags

    parser = commands.add_parser(
        "serve",
        help="serve OpenAI's chat completions with a local model or a llama.cpp server",
        description="Serve OpenAI's chat completions. Without --model and --engine-url a small model is "
        "fetched on first use and runs in this process.",
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=port, default=8000, help="port to listen on (default: 8000)")
    add_engine_flags(parser)
    add_flags(parser)


def add_engine_flags(parser: argparse.ArgumentParser) -> None:
    """The flags that choose what generates."""
    engine = parser.add_argument_group("engine")
    engine.add_argument("--model", metavar="PATH", help="a GGUF file to run in this process")
    engine.add_argument("--engine-url", metavar="URL", help="a running llama.cpp server to use instead")
    engine.add_argument("--engine-api-key", metavar="KEY", help="the key of that server")
    engine.add_argument("--context", type=int, metavar="N", help="tokens of context for each request")
    engine.add_argument("--slots", type=int, default=4, metavar="N", help="requests at once (default: 4)")
    engine.add_argument("--threads", type=int, default=1, metavar="N", help="threads to compute (default: 1)")


def require_extra() -> None:
    """Raise EngineError when the packages that a server needs are not there."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        raise EngineError(f"{', '.join(missing)} is not installed: pip install 'unbraid[serve]'")


def _engine(args: argparse.Namespace) -> Engine:
    """The engine that the flags choose. Raises EngineError."""
    if args.engine_url is not None:
        from unbraid.engines.llamacpp import LlamaCppEngine

        if args.model is not None:
            raise EngineError(
                "--model and --engine-url can't be combined: the other server has its own model"
            )
        return LlamaCppEngine(args.engine_url, args.engine_api_key)
    from unbraid.engines.embedded import EmbeddedEngine

    path = None if args.model is None else Path(args.model)
    return EmbeddedEngine(path, n_ctx=args.context, slots=args.slots, threads=args.threads)


def _with_defaults(options: Options, args: argparse.Namespace) -> Options:
    """The options with what depends on the engine: an embedded model thinks only so much."""
    from unbraid.server.options import EMBEDDED_BUDGET

    if options.thinking_token_budget is None and args.engine_url is None:
        options = replace(options, thinking_token_budget=EMBEDDED_BUDGET)
    if options.api_key is None and os.environ.get(KEY_VARIABLE):
        options = replace(options, api_key=os.environ[KEY_VARIABLE])
    return options


def prepared(args: argparse.Namespace) -> tuple[Setup, Engine]:
    """The engine that the flags choose, and the settled options for it."""
    from unbraid.server.options import options_from
    from unbraid.server.startup import prepare

    is_default = args.model is None and args.engine_url is None
    options = _with_defaults(options_from(args, default_model=is_default), args)
    engine = _engine(args)
    connect = getattr(engine, "connect", None)
    if args.engine_url is not None and connect is not None:
        asyncio.run(connect())
    return prepare(engine, options), engine


def run(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    require_extra()
    import uvicorn

    from unbraid.server.app import create_app

    logging.basicConfig(level=logging.INFO, format="%(levelname)s: %(message)s")
    logging.getLogger("httpx").setLevel(logging.WARNING)
    setup, engine = prepared(args)
    for line in setup.report:
        print(line, file=sys.stderr)
    print(f"docs: http://{args.host}:{args.port}/docs", file=sys.stderr, flush=True)
    uvicorn.run(create_app(setup, engine), host=args.host, port=args.port, log_level="info")
    return 0
