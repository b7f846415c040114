"""Flags of other servers on the command line: taken without effect, or refused with what to do instead."""

from __future__ import annotations

import argparse
import sys
from typing import Any, NoReturn

__all__ = ["add_old_flags"]

ENGINES = "is a flag of the engine: give it to the server behind --engine"
CURES = {
    "--enable-reasoning": "was removed: name the format with --reasoning-parser NAME",
    "--guided-decoding-backend": "was removed: the engine's own back end runs unbraid's grammars",
    "--structured-outputs-config.backend": "is no flag here: the engine's back end runs unbraid's grammars",
    "--tool-server": "is no flag here: unbraid runs no tools, clients do",
    "--response-role": "is no flag here: the role of an answer is assistant",
    "--chat-template-content-format": "is no flag here: the chat template gets text",
    "--return-tokens-as-token-ids": "is no flag here: ask for return_token_ids in the request",
    "--lora-modules": ENGINES,
    "--quantization": ENGINES,
    "--dtype": ENGINES,
    "--max-model-len": f"{ENGINES}; for an embedded model --context N",
    "--max-num-seqs": f"{ENGINES}; for an embedded model --slots N",
    "--gpu-memory-utilization": ENGINES,
    "--tensor-parallel-size": ENGINES,
    "--pipeline-parallel-size": ENGINES,
    "--data-parallel-size": f"{ENGINES}, or start several and repeat --engine",
    "--enable-prefix-caching": ENGINES,
    "--speculative-config": ENGINES,
    "--trust-remote-code": f"{ENGINES}; unbraid runs no code of a model",
    "--api-server-count": "is no flag here: --workers N",
}
WITHOUT_EFFECT = {
    "--enable-log-requests": "each request has its line in the log, its prompt only with --log-prompts",
    "--disable-log-requests": "each request has its line in the log, its prompt only with --log-prompts",
    "--disable-log-stats": "the statistics are at /metrics",
    "--enable-prompt-tokens-details": "usage is given as it is",
    "--disable-frontend-multiprocessing": "the engine is another process",
}


class _Refused(argparse.Action):
    """A flag that only says what to use instead."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        name = self.option_strings[0]
        parser.error(f"{name} {CURES[name]}")


class _WithoutEffect(argparse.Action):
    """A flag that is taken, with a word on why it does nothing."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        name = self.option_strings[0]
        print(f"{name} has no effect: {WITHOUT_EFFECT[name]}", file=sys.stderr)


def add_old_flags(parser: argparse.ArgumentParser) -> None:
    """Add them, hidden from the help."""
    for name in CURES:
        parser.add_argument(name, action=_Refused, nargs="?", help=argparse.SUPPRESS, dest=argparse.SUPPRESS)
    for name in WITHOUT_EFFECT:
        parser.add_argument(
            name, action=_WithoutEffect, nargs=0, help=argparse.SUPPRESS, dest=argparse.SUPPRESS
        )
