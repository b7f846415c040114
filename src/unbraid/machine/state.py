"""What one request fixes before the first character: tools, start state, limits, ids."""

from __future__ import annotations

import os
import string
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from unbraid.machine.alignment import Alignment
from unbraid.machine.headers import Header
from unbraid.schema import Typer
from unbraid.syntax import NO_SPACE, Space
from unbraid.tokens import Tokenizer

__all__ = ["State", "nine_characters", "random_id"]

_ALPHANUMERIC = string.ascii_letters + string.digits


def random_id() -> str:
    """An id as vLLM makes them: ``chatcmpl-tool-`` and 16 hexadecimal digits."""
    return "chatcmpl-tool-" + os.urandom(8).hex()


def nine_characters() -> str:
    """An id as Mistral's templates demand: nine alphanumeric characters."""
    number = int.from_bytes(os.urandom(16), "big")
    characters = []
    for _ in range(9):
        number, choice = divmod(number, len(_ALPHANUMERIC))
        characters.append(_ALPHANUMERIC[choice])
    return "".join(characters)


@dataclass
class State:
    """The part of a request that the machine reads; shared by its streams, never changed.

    ``tools`` maps names to parameter schemas, None when they are unknown. ``open``:
    thinking is open at the first character; ``lead`` and ``label``: the prompt did not
    write that framing yet; ``after``: what it left of the framing behind closed
    thinking. ``begin``: framing at the beginning of the output.
    ``make_id`` makes call ids where the model writes none.
    ``spans``: whether messages carry spans. ``headers`` are those of messages that were
    read before.
    """

    tools: dict[str, object] | None = None
    open: bool = False
    lead: bool = True
    label: bool = False
    after: Space = NO_SPACE
    begin: Space = NO_SPACE
    unknown_tools: Literal["forward", "text"] = "forward"
    max_calls: float = float("inf")
    make_id: Callable[[], str] = random_id
    id_pattern: str | None = None
    history_calls: int = 0
    tokenizer: Tokenizer | None = None
    markers: dict[str, int] = field(default_factory=dict)
    spans: bool = True
    headers: dict[tuple[str, str | None], Header] = field(default_factory=dict)
    _typers: dict[str, Typer] = field(default_factory=dict)

    def alignment(self) -> Alignment | None:
        """A stream's own record of special tokens; None without a tokenizer that has any."""
        if self.tokenizer is None or not self.markers:
            return None
        return Alignment(self.tokenizer, self.markers)

    def new_id(self, name: str, index: int) -> str:
        """An id for a call whose model wrote none."""
        if self.id_pattern is not None:
            return self.id_pattern.format(name=name, index=self.history_calls + index)
        return self.make_id()

    def typer(self, name: str) -> Typer:
        """The types of a tool's parameters; untyped for an unknown tool."""
        typer = self._typers.get(name)
        if typer is None:
            typer = self._typers[name] = Typer(self.tools.get(name) if self.tools else None)
        return typer
