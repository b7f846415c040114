"""Whether a finished answer is what was demanded of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from unbraid.message import Message, ToolCall
from unbraid.server.normal import Ask
from unbraid.server.schema_check import check_patterns_of, invalid, loads

__all__ = ["Level", "breach", "check_patterns"]

Level = Literal["auto", "function", "parameter"]

_NO_ARGUMENTS: Mapping[str, Any] = {"type": "object", "additionalProperties": False}


def breach(ask: Ask, message: Message, level: Level) -> str | None:
    """What a message that the model ended by itself breaks of its request, or None.

    A demanded call must be there. A call must be whole and be one that may be made, as far as ``level``
    or the request hold it, and its arguments valid for the schema of a strict tool. Without a call
    the content must be valid for the answer's schema, if there is one.
    """
    tools = ask.tools
    if tools.choice != "none":
        for call in message.tool_calls:
            problem = _call(ask, call, level)
            if problem is not None:
                return problem
        if tools.forced and not message.tool_calls:
            return "a tool call was demanded, and the model made none"
    if ask.schema is None or message.tool_calls:
        return None
    return _content(message.content, ask.schema)


def check_patterns(ask: Ask, level: Level) -> None:
    """Raise Unsupported when a schema that an answer must be valid for holds a pattern no one can check."""
    for at, tool in enumerate(ask.tools.callable if ask.tools.choice != "none" else ()):
        if _strict(tool["function"], level):
            check_patterns_of(tool["function"].get("parameters"), f"tools[{at}].function.parameters")
    check_patterns_of(ask.schema, "response_format.json_schema.schema")


def _strict(function: Mapping[str, Any], level: Level) -> bool:
    return level == "parameter" or bool(function.get("strict"))


def _call(ask: Ask, call: ToolCall, level: Level) -> str | None:
    tools = ask.tools
    may = {tool["function"]["name"]: tool["function"] for tool in tools.callable}
    if isinstance(tools.choice, Mapping):
        name = tools.choice["function"]["name"]
        may = {name: may[name]}
    held = tools.forced or tools.limited or level != "auto"
    function = may.get(call.name)
    if function is None:
        return f"the model called {call.name!r}, which it may not" if held else None
    if not call.complete:
        return f"the call of {call.name} is not whole" if held or _strict(function, level) else None
    if not _strict(function, level):
        return None
    given = function.get("parameters")
    schema = _NO_ARGUMENTS if given is None else given
    problem = invalid(loads(call.arguments), schema)
    return None if problem is None else f"the arguments of {call.name} break its schema: {problem}"


def _content(content: str | None, schema: Mapping[str, Any]) -> str | None:
    try:
        value = loads(content or "")
    except (ValueError, RecursionError):
        return "the answer is no JSON"
    problem = invalid(value, schema)
    return None if problem is None else f"the answer breaks its schema: {problem}"
