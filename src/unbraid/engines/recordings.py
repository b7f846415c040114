"""Recorded outputs in a file, as an engine: for demonstrations and tests of a whole server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta, Struct

from unbraid.engines.base import Dialect
from unbraid.engines.replay import Recording, ReplayEngine, byte_tokenizer
from unbraid.engines.template import TOOL_TEMPLATE
from unbraid.errors import EngineError

__all__ = ["SCHEME", "load_recordings"]

SCHEME = "replay:"
"""What stands before the file's path where an engine's address is expected."""


_T = TypeVar("_T")


class _Model(Struct, forbid_unknown_fields=True):
    """The first line: the model that the outputs are played for."""

    model: str = "replay"
    special_tokens: list[Annotated[str, Meta(min_length=1)]] = []
    chat_template: str | None = None
    dialects: list[Dialect] = []


class _Output(Struct, forbid_unknown_fields=True):
    """Each other line: one output."""

    text: str | list[str]
    finish_reason: Literal["stop", "length"] = "stop"
    delay: Annotated[float, Meta(ge=0)] = 0.0
    ids: bool = True
    fault: str | None = None

    def recording(self) -> Recording:
        """The same for a replay engine."""
        fault = None if self.fault is None else EngineError(self.fault)
        return Recording(self.text, self.finish_reason, self.delay, fault, self.ids)


def load_recordings(path: Path) -> ReplayEngine:
    """An engine that plays the outputs of a file in turn, the last one again and again.

    The file holds a JSON object a line. The first one describes the model: ``model`` (its name),
    ``special_tokens`` (each one token; all other tokens are single bytes), ``chat_template``
    (Jinja source; ChatML with tools where there is none) and ``dialects`` (of grammars that it
    claims to enforce). The others are outputs: ``text`` in one string, which comes a token at a
    time, or in pieces, ``delay`` (seconds before each), ``finish_reason`` (``stop`` or
    ``length``), ``ids`` (whether token ids come) and ``fault`` (an error in place of the end).

    Raises EngineError that names the line which can't be read.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(f"the recordings {path} can't be read: {error}") from error
    numbered = [(number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if len(numbered) < 2:
        raise EngineError(f"{path} needs a line about the model and at least one output")
    model = _read(path, *numbered[0], _Model)
    outputs = [_read(path, number, line, _Output).recording() for number, line in numbered[1:]]
    return ReplayEngine(
        *outputs,
        tokenizer=byte_tokenizer(*model.special_tokens),
        chat_template=model.chat_template or TOOL_TEMPLATE,
        dialects=tuple(model.dialects),
        model=model.model,
    )


def _read(path: Path, number: int, line: str, kind: type[_T]) -> _T:
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise EngineError(f"{path}, line {number}: {error}") from error
