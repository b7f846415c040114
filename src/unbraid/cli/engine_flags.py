"""The flags that choose what generates, and the engine that they choose."""

from __future__ import annotations

import argparse
import asyncio
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from unbraid.errors import EngineUnavailable, InvalidRequest

if TYPE_CHECKING:
    from unbraid.engines.base import Engine

__all__ = ["ENGINE_KEY_VARIABLE", "add_engine_flags", "address", "chosen_engine"]

ENGINE_KEY_VARIABLE = "UNBRAID_ENGINE_API_KEY"
KINDS = ("auto", "llamacpp", "vllm", "sglang", "openai")
EMBEDDED = ("context", "slots", "threads")


def add_engine_flags(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    engine = parser.add_argument_group(
        "engine", "What generates. Without --engine a model runs in this process, a small one by default."
    )
    engine.add_argument(
        "--engine",
        "--engine-url",
        dest="engine",
        action="append",
        default=[],
        metavar="URL",
        help="a running engine; repeat it for several that run the same model",
    )
    engine.add_argument(
        "--engine-kind",
        choices=KINDS,
        default="auto",
        help="what answers there (default: auto, found out at the start)",
    )
    engine.add_argument(
        "--engine-api-key", metavar="KEY", help=f"the engine's key; or set {ENGINE_KEY_VARIABLE}"
    )
    engine.add_argument("--engine-api-key-file", metavar="FILE", help="a file that holds the engine's key")
    engine.add_argument(
        "--model",
        metavar="MODEL",
        help="without --engine: a GGUF file to run here; with it: the name to ask the engine for, or the "
        "folder or GGUF file of its model, for vocabulary and chat template",
    )
    engine.add_argument(
        "--tokenizer",
        metavar="PATH",
        help="the folder, tokenizer.json or GGUF file of the vocabulary (default: the engine is asked)",
    )
    engine.add_argument(
        "--context", type=int, metavar="N", help="embedded model: tokens of context for each request"
    )
    engine.add_argument(
        "--slots", type=int, metavar="N", help="embedded model: requests at once (default: 4)"
    )
    engine.add_argument(
        "--threads", type=int, metavar="N", help="embedded model: threads to compute with (default: 1)"
    )


def chosen_engine(args: argparse.Namespace) -> Engine:
    """The engine that the flags choose, connected. Raises EngineError and InvalidRequest."""
    if args.engine:
        return asyncio.run(_connected(args))
    if args.tokenizer is not None:
        raise InvalidRequest("--tokenizer is for --engine: a model in this process has its own")
    from unbraid.engines.embedded import EmbeddedEngine

    if args.model is not None and not Path(args.model).exists():
        raise InvalidRequest(
            f"the model file {args.model} doesn't exist; without --engine, --model is a GGUF file",
            param="model",
        )
    given = {name: getattr(args, name) for name in EMBEDDED if getattr(args, name) is not None}
    if "context" in given:
        given["n_ctx"] = given.pop("context")
    return EmbeddedEngine(None if args.model is None else Path(args.model), **given)


async def _connected(args: argparse.Namespace) -> Engine:
    """One engine, or a fleet of several."""
    from unbraid.engines.fleet import Fleet, Opener

    wrong = next((name for name in EMBEDDED if getattr(args, name) is not None), None)
    if wrong is not None:
        raise InvalidRequest(f"--{wrong} is for a model in this process, not for --engine", param=wrong)
    openers: dict[str, Opener] = {}
    key = _key(args)
    for url in args.engine:
        place = address(url)
        if place in openers:
            raise InvalidRequest(f"--engine {place} is given twice", param="engine")
        openers[place] = partial(_open, place, args, key)
    try:
        return await (next(iter(openers.values()))() if len(openers) == 1 else Fleet.open(openers))
    except EngineUnavailable as error:
        raise EngineUnavailable(
            f"{error}; unbraid starts once an engine answers: is one running at {', '.join(openers)}?"
        ) from error


async def _open(url: str, args: argparse.Namespace, key: str | None) -> Engine:
    from unbraid.engines.connect import open_engine

    return await open_engine(url, args.engine_kind, model=args.model, tokenizer=args.tokenizer, api_key=key)


def address(url: str) -> str:
    """An engine's address in one form. Raises InvalidRequest for what is none, or holds a password."""
    parts = urlsplit(url)
    if parts.scheme == "replay":
        return url
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise InvalidRequest(
            f"--engine must be an address like http://127.0.0.1:8080, not {url!r}", param="engine"
        )
    if parts.username is not None:
        raise InvalidRequest(
            "--engine takes no user and password, which logs would show: --engine-api-key", param="engine"
        )
    return url.rstrip("/").removesuffix("/v1")


def _key(args: argparse.Namespace) -> str | None:
    """The engine's key, from the command line, a file or the environment."""
    if args.engine_api_key is not None or args.engine_api_key_file is None:
        return args.engine_api_key or os.environ.get(ENGINE_KEY_VARIABLE) or None
    try:
        return Path(args.engine_api_key_file).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(
            f"--engine-api-key-file {args.engine_api_key_file} can't be read: {error}",
            param="engine_api_key_file",
        ) from error
