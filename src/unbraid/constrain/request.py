"""What a request demands: which tools may or must be called, how often, how strictly."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbraid.constrain.checks import check_depth, checked
from unbraid.errors import InvalidRequest, Unsupported
from unbraid.request import Mode, functions, picked
from unbraid.syntax import MAX_NAME, WHITE

__all__ = ["Demand", "Tool", "demand"]


@dataclass(frozen=True)
class Tool:
    """A callable tool: ``parameters`` is its own copy of the schema, held only if ``strict``."""

    name: str
    parameters: Any
    strict: bool
    param: str

    def in_json(self) -> str:
        """The name as a JSON string carries it; raises Unsupported for one that would be read trimmed."""
        if len(self.name) > MAX_NAME or self.name != self.name.strip(WHITE):
            raise self.uncarried()
        return self.name

    def uncarried(self) -> Unsupported:
        """The refusal of a name that the format can't carry."""
        message = f"the format can't carry the function name {self.name!r}"
        return Unsupported(message, param=f"{self.param}.name")


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
    known = _tools(() if tools is None else tools, level)
    choice = picked(tool_choice)
    choice.among([tool.name for tool in known])
    mode, names = choice.mode, choice.names
    if names is not None:
        known = tuple(tool for tool in known if tool.name in names)
    answer = checked(schema, "response_schema") if schema is not None else None
    if mode == "none" or not known:
        return None if answer is None else Demand("none", schema=answer)
    if mode == "required":
        return Demand(mode, known, 1 if choice.named or parallel is False else max_calls)
    enforced = level != "auto" or names is not None or any(tool.strict for tool in known)
    if not enforced and answer is None:
        return None
    return Demand(mode, known, 1 if parallel is False else max_calls, answer)


def _tools(tools: Sequence[Mapping[str, Any]], level: str) -> tuple[Tool, ...]:
    found: dict[str, Tool] = {}
    for where, function in functions(tools):
        name = function["name"]
        if not name.strip() or any("\ud800" <= char <= "\udfff" for char in name):
            raise InvalidRequest(f"{where} has no proper name", param=f"{where}.name")
        if name in found:
            raise InvalidRequest(f"{where} repeats the name {name!r}", param=f"{where}.name")
        strict = level == "parameter" or function.get("strict") is True
        found[name] = Tool(name, _parameters(function, strict, f"{where}.parameters"), strict, where)
    return tuple(found.values())


def _parameters(function: Mapping[str, Any], strict: bool, where: str) -> Any:
    """A copy of a tool's schema; one that is not enforced may say anything."""
    parameters = function.get("parameters")
    if strict and parameters is not None:
        return checked(parameters, where, arguments=True)
    check_depth(parameters, where)
    return copy.deepcopy(parameters)
