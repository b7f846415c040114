"""A pair of halves and a request's tools, as the writer reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unbraid.errors import Inexpressible, InvalidRequest
from unbraid.machine.setup import Setup, setup
from unbraid.pair import read_pair
from unbraid.prompts import PromptState
from unbraid.request import asked
from unbraid.schema import Typer
from unbraid.syntax import NO_SPACE, Joint, Reasoning, Tools

__all__ = ["Pair", "fail", "make_pair", "start_state"]


def fail(path: str, reason: str) -> Inexpressible:
    """The error for a part of the message, ``path``, that the format can't write."""
    return Inexpressible(f"{path}: {reason}", param=path)


def start_state(thinking: str | PromptState, half: Reasoning | None) -> PromptState:
    """What the prompt wrote, from its short name; raises InvalidRequest for another."""
    if isinstance(thinking, PromptState):
        return thinking
    if thinking == "open":
        return PromptState("open", lead=False)
    if thinking == "closed":
        after = half.after if half else NO_SPACE
        return PromptState("closed", after=replace(after, text="") if after.any else NO_SPACE)
    if thinking == "absent":
        return PromptState("absent")
    raise InvalidRequest(f"thinking must be open, closed or absent, not {thinking!r}", param="thinking")


@dataclass(frozen=True)
class Pair:
    """Both halves, or the format that is both; ``offered`` as in a request: None is unknown.

    ``tools`` is None when no tool was offered: the text of a call is content then.
    """

    reasoning: Reasoning | None
    tools: Tools | None
    joint: Joint | None
    offered: dict[str, object] | None
    setup: Setup
    reads_reasoning: bool
    reads_calls: bool

    def typer(self, name: str) -> Typer:
        """The types of a tool's parameters; untyped for an unknown tool."""
        return Typer(self.offered.get(name) if self.offered else None)


def make_pair(
    reasoning_parser: str | None,
    tool_parser: str | None,
    tools: Sequence[Mapping[str, Any]] | None,
    response_template: object = None,
) -> Pair:
    """The pair of these names; raises as ``Parser`` does for unknown or incompatible ones."""
    reasoning, half, joint = read_pair(reasoning_parser, tool_parser, response_template)
    _, offered = asked(tools, None)
    called = half if offered is None or offered else None
    return Pair(
        reasoning=reasoning,
        tools=called,
        joint=joint,
        offered=offered,
        setup=setup(reasoning, half, False, offered=called is not None),
        reads_reasoning=reasoning_parser is not None,
        reads_calls=tool_parser is not None and offered != {},
    )
