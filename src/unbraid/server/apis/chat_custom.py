"""Custom tools of chat completions: they take a text; the model sees a function with one string."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from unbraid.errors import InvalidRequest
from unbraid.server.paths import Paths
from unbraid.server.requests import checked
from unbraid.wire.custom_input import CUSTOM_PARAMETERS

__all__ = ["as_functions"]


class CustomFormat(Struct):
    """What the input may be; only text of any kind exists here."""

    type: Literal["text", "grammar"]


class CustomDefinition(Struct):
    """A custom tool's name, and what it is for."""

    name: str
    description: str | None = None
    format: CustomFormat | None = None


class CustomTool(Struct):
    """A tool that takes a text."""

    custom: CustomDefinition
    type: Literal["custom"] = "custom"


class CustomTools(Struct):
    """The custom tools of a request, the others left out."""

    tools: list[CustomTool | None]


def as_functions(plain: dict[str, Any]) -> tuple[dict[str, Any], frozenset[str], Paths]:
    """A request whose custom tools and their calls are functions, the tools' names, and where they stood.

    ``plain`` isn't changed. Raises InvalidRequest for a custom tool of another shape, and for one whose
    input is to be held by a grammar.
    """
    plain = _with_history(plain)
    tools = plain.get("tools")
    if not isinstance(tools, list) or not any(map(_custom, tools)):
        return plain, frozenset(), ()
    only = [tool if _custom(tool) else None for tool in tools]
    found = checked({"tools": only}, CustomTools).tools
    made, names, paths = list(tools), set(), []
    for n, tool in enumerate(found):
        if tool is None:
            continue
        if tool.custom.format is not None and tool.custom.format.type == "grammar":
            where = f"tools[{n}].custom.format"
            raise InvalidRequest(f"{where}: an input can't be held by a grammar here, use text", param=where)
        names.add(tool.custom.name)
        made[n] = {"type": "function", "function": _function(tool.custom)}
        paths.append((f"tools[{n}].function", f"tools[{n}].custom"))
    changed = {**plain, "tools": made, "tool_choice": _choice(plain.get("tool_choice"))}
    return changed, frozenset(names), tuple(paths)


def _custom(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("type") == "custom"


def _function(tool: CustomDefinition) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "parameters": CUSTOM_PARAMETERS}
    if tool.description is not None:
        function["description"] = tool.description
    return function


def _choice(choice: Any) -> Any:
    """The choice with custom tools named as functions; also within allowed_tools."""
    if _custom(choice):
        return {"type": "function", "function": choice.get("custom")}
    inner = choice.get("allowed_tools") if isinstance(choice, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("tools"), list):
        return choice
    return {**choice, "allowed_tools": {**inner, "tools": [_choice(one) for one in inner["tools"]]}}


def _with_history(plain: dict[str, Any]) -> dict[str, Any]:
    """A request in whose history calls of custom tools are calls of functions."""
    messages = plain.get("messages")
    if not isinstance(messages, list):
        return plain
    return {**plain, "messages": [_message(message) for message in messages]}


def _message(message: Any) -> Any:
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    if not isinstance(calls, list) or not any(map(_custom, calls)):
        return message
    return {**message, "tool_calls": [_call(call) for call in calls]}


def _call(call: Any) -> Any:
    inner = call.get("custom") if _custom(call) else None
    if not isinstance(inner, Mapping):
        return call
    arguments = json.dumps({"input": inner.get("input", "")}, ensure_ascii=False)
    kept = {key: value for key, value in call.items() if key != "custom"}
    return {**kept, "type": "function", "function": {"name": inner.get("name"), "arguments": arguments}}
