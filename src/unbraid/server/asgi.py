"""The app of a command line, for ASGI servers other than the one that ``unbraid serve`` starts."""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import NoReturn

from starlette.types import ASGIApp

from unbraid.cli.config import with_config
from unbraid.cli.serve import add_arguments, prepared, require_extra
from unbraid.errors import InvalidRequest
from unbraid.server.app import create_app

__all__ = ["app_of"]

logger = logging.getLogger("unbraid.server")


class _Flags(argparse.ArgumentParser):
    """A command line whose errors are exceptions."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say."""
        raise InvalidRequest(message, param="flags")


def app_of(*flags: str) -> ASGIApp:
    """The app that ``unbraid serve FLAGS`` would serve, connected to its engines.

    What the process does by itself (address, workers, signals other than the end) is the other
    server's business, and its flags have no effect. Blocks while it connects, so an event loop calls it in
    a thread. Raises what is wrong as the command does: InvalidRequest, EngineError, and errors
    about the formats.
    """
    require_extra()
    parser = _Flags(prog="unbraid serve", add_help=False)
    add_arguments(parser)
    args = parser.parse_args(flags)
    if args.config is not None:
        args = with_config(parser, add_arguments, Path(args.config), flags)
    setup, engine = prepared(args)
    for line in setup.report:
        logger.info("%s", line)
    return create_app(setup, engine)
