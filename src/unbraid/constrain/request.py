"""What a request demands: which tools may or must be called, how often, how strictly."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from unbraid.constrain.checks import check_depth, checked
from unbraid.errors import InvalidRequest

__all__ = ["Demand", "Tool", "demand"]

Mode = Literal["none", "auto", "required"]


@dataclass(frozen=True)
class Tool:
    """A callable tool: ``parameters`` is its own copy of the schema, held only if ``strict``."""

    name: str
    parameters: Any
    strict: bool
    param: str


@dataclass(frozen=True)
class Demand:
    """``mode`` none: no call may be written; ``most``: calls a turn; ``schema``: what an answer must be."""

    mode: Mode
    tools: tuple[Tool, ...] = ()
    most: int = 1
    schema: Any = None


def demand(
    tools: Sequence[Mapping[str, Any]] | None,
    tool_choice: Any,
    *,
    parallel: bool | None,
    level: str,
    schema: Any,
    max_calls: int,
) -> Demand | None:
    """The demand of a request, or None when nothing has to be enforced; raises InvalidRequest."""
    known = _tools(tools or (), level)
    mode, names = _choice(tool_choice)
    if names is not None:
        known = _named(known, names, tool_choice)
    if mode == "required" and not known:
        raise InvalidRequest("tool_choice demands a call, but tools holds no function", param="tools")
    answer = checked(schema, "response_schema") if schema is not None else None
    if mode == "none" or not known:
        return None if answer is None else Demand("none", schema=answer)
    named = (
        names is not None and isinstance(tool_choice, Mapping) and tool_choice.get("type") != "allowed_tools"
    )
    if mode == "required":
        return Demand(mode, known, 1 if named or parallel is False else max_calls)
    enforced = level != "auto" or names is not None or any(tool.strict for tool in known)
    if not enforced and answer is None:
        return None
    return Demand(mode, known, 1 if parallel is False else max_calls, answer)


def _tools(tools: Sequence[Mapping[str, Any]], level: str) -> tuple[Tool, ...]:
    if isinstance(tools, (str, bytes, Mapping)) or not isinstance(tools, Sequence):
        raise InvalidRequest("tools must be a list of tools", param="tools")
    found: dict[str, Tool] = {}
    for n, tool in enumerate(tools):
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(name, str) or not name.strip():
            raise InvalidRequest(f"tools[{n}] has no function name", param=f"tools[{n}].function.name")
        if any("\ud800" <= char <= "\udfff" for char in name):
            raise InvalidRequest(f"tools[{n}] has no proper name", param=f"tools[{n}].function.name")
        if name in found:
            raise InvalidRequest(f"tools[{n}] repeats the name {name!r}", param=f"tools[{n}].function.name")
        strict = level == "parameter" or function.get("strict", tool.get("strict")) is True
        where = f"tools[{n}].function" if "function" in tool else f"tools[{n}]"
        found[name] = Tool(name, _parameters(function, strict, f"{where}.parameters"), strict, where)
    return tuple(found.values())


def _parameters(function: Mapping[str, Any], strict: bool, where: str) -> Any:
    """A copy of a tool's schema; one that is not enforced may say anything."""
    parameters = function.get("parameters")
    if strict and parameters is not None:
        return checked(parameters, where, arguments=True)
    check_depth(parameters, where)
    return copy.deepcopy(parameters)


def _choice(choice: Any) -> tuple[Mode, list[str] | None]:
    """The mode, and the names that may be called if the choice lists them."""
    if choice is None or choice in ("auto", "none", "required"):
        return choice or "auto", None
    kind = choice.get("type") if isinstance(choice, Mapping) else None
    if kind == "function":
        return "required", [_name_of(choice, "tool_choice")]
    if kind == "allowed_tools":
        inner = choice.get("allowed_tools", choice)
        if isinstance(inner, Mapping) and inner.get("mode", "auto") in ("auto", "required"):
            listed = inner.get("tools")
            if isinstance(listed, (list, tuple)) and listed:
                names = [_name_of(one, f"tool_choice.tools[{n}]") for n, one in enumerate(listed)]
                return inner.get("mode", "auto"), names
        raise InvalidRequest(
            "tool_choice of type allowed_tools needs mode auto or required, and a list of tools",
            param="tool_choice",
        )
    raise InvalidRequest(
        "tool_choice must be none, auto, required, a function or allowed_tools", param="tool_choice"
    )


def _name_of(choice: Any, param: str) -> str:
    function = choice.get("function", choice) if isinstance(choice, Mapping) else None
    name = function.get("name") if isinstance(function, Mapping) else None
    if not isinstance(name, str):
        raise InvalidRequest(f"{param} names no function", param=param)
    return name


def _named(tools: tuple[Tool, ...], names: list[str], choice: Any) -> tuple[Tool, ...]:
    known = {tool.name for tool in tools}
    for name in names:
        if name not in known:
            listed = ", ".join(sorted(known)) or "none"
            raise InvalidRequest(
                f"tool_choice names {name!r}, which is not in tools ({listed})", param="tool_choice"
            )
    return tuple(tool for tool in tools if tool.name in names)
