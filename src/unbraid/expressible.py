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
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    message: Message | None = None,
    *,
    format: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    thinking: str | PromptState = "absent",
    history_calls: int = 0,
    end: bool = False,
    response_template: object = None,
) -> str | None:
    """None if the format can carry ``message``, else the reason why not.

    Every part of a declaration says in ``unbraid.writing`` which strings it can
    carry; the writer refuses with the same reason.

    Args:
        reasoning_parser, tool_parser, message, format, tools, thinking, history_calls, end,
            response_template: as for ``write``.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair, InvalidRequest: as ``Parser``.
    """
    try:
        write(
            reasoning_parser,
            tool_parser,
            message,
            format=format,
            tools=tools,
            thinking=thinking,
            history_calls=history_calls,
            end=end,
            response_template=response_template,
        )
    except Inexpressible as refused:
        return refused.message
    return None
