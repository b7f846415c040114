"""Which messages a format can carry: a predicate of its parts, never of the parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.errors import Inexpressible
from unbraid.message import Message
from unbraid.prompts import PromptState
from unbraid.writer import write

__all__ = ["expressible"]


def expressible(
    reasoning_parser: str | None,
    tool_parser: str | None,
    message: Message,
    *,
    tools: Sequence[Mapping[str, Any]] | None = None,
    thinking: str | PromptState = "absent",
    response_template: object = None,
) -> str | None:
    """None if the format can carry ``message``, else the reason why not.

    Every part of a declaration says in ``unbraid.writing`` which strings it can
    carry; the writer refuses with the same reason.

    Args:
        reasoning_parser, tool_parser, message, tools, thinking, response_template: as for
            ``unbraid.writer.write``.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair, InvalidRequest: as ``Parser``.
    """
    try:
        write(
            reasoning_parser,
            tool_parser,
            message,
            tools=tools,
            thinking=thinking,
            response_template=response_template,
        )
    except Inexpressible as refused:
        return refused.message
    return None
