"""What a request says about tools: which there are, and which may or must be called.

One reading for the parser, the grammars and the server, in OpenAI's shapes of Chat
Completions and of Responses.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from unbraid import validate
from unbraid.errors import InvalidRequest

__all__ = ["Picked", "asked", "functions", "picked"]

Mode = Literal["none", "auto", "required"]
MAX_LISTED = 8
_WORDS: dict[object, Mode] = {None: "auto", "none": "none", "auto": "auto", "required": "required"}


@dataclass(frozen=True)
class Picked:
    """What a tool_choice picks: ``names`` are the functions it lists, with their paths; None for all.

    ``named``: one function is demanded by its name.
    """

    mode: Mode
    names: Mapping[str, str] | None = None
    named: bool = False

    def among(self, known: Collection[str]) -> None:
        """Raise InvalidRequest for a function that is not ``known``, or a call that none can meet."""
        for name, path in (self.names or {}).items():
            if name not in known:
                raise InvalidRequest(
                    f"{path} names {name!r}, which is not in tools ({_listed(name, known)})", param=path
                )
        if self.mode == "required" and not known:
            raise InvalidRequest("tool_choice demands a call, but tools holds no function", param="tools")


def _listed(name: str, known: Collection[str]) -> str:
    """The known names; of many, those that are like ``name``."""
    from difflib import get_close_matches

    if len(known) <= MAX_LISTED:
        return ", ".join(sorted(known)) or "none"
    near = get_close_matches(name, known, 3)
    return f"{len(known)} functions, the nearest {', '.join(near)}" if near else f"{len(known)} functions"


def picked(choice: Any) -> Picked:
    """What a tool_choice means; None is ``auto``. Raises InvalidRequest for another shape than OpenAI's."""
    if choice is None or isinstance(choice, str):
        if choice in _WORDS:
            return Picked(_WORDS[choice])
    elif isinstance(choice, Mapping):
        kind = choice.get("type", "function")
        if kind == "function":
            return Picked("required", {_name(choice, "tool_choice"): "tool_choice"}, named=True)
        if kind == "allowed_tools":
            return _allowed(choice)
    raise validate.wrong(
        "tool_choice",
        'none, auto, required, {"type": "function", "function": {"name": …}} '
        'or {"type": "allowed_tools", "allowed_tools": {"mode": …, "tools": […]}}',
        choice,
    )


def _allowed(choice: Mapping[str, Any]) -> Picked:
    """A choice among some of the tools; Chat Completions and Responses write it a little differently."""
    inner = choice.get("allowed_tools", choice)
    path = "tool_choice" if inner is choice else "tool_choice.allowed_tools"
    validate.instance(path, inner, Mapping, '{"mode": "auto" or "required", "tools": […]}')
    mode = inner.get("mode", "auto")
    validate.one_of(f"{path}.mode", mode, ("auto", "required"))
    listed = inner.get("tools")
    if not isinstance(listed, (list, tuple)) or not listed:
        raise validate.wrong(f"{path}.tools", "a list of at least one tool", listed)
    paths = [f"{path}.tools[{n}]" for n in range(len(listed))]
    return Picked(_WORDS[mode], {_name(one, where): where for one, where in zip(listed, paths, strict=True)})


def _name(value: object, path: str) -> str:
    """The function that a choice names."""
    inner = value.get("function", value) if isinstance(value, Mapping) else None
    name = inner.get("name") if isinstance(inner, Mapping) else None
    if not isinstance(name, str) or not name:
        raise validate.wrong(path, 'of the shape {"type": "function", "function": {"name": …}}', value)
    return name


def asked(tools: object, choice: Any) -> tuple[Picked, dict[str, object] | None]:
    """What the choice means among these tools, and the parameter schemas of those that may be called.

    The schemas are None when the tools are unknown, and empty when none may be called. Raises
    InvalidRequest for a tool or a choice of another shape than OpenAI's, and for a choice that the
    tools, where they are known, can't meet.
    """
    meant = picked(choice)
    if tools is None:
        return meant, {} if meant.mode == "none" else None
    offered = {function["name"]: function.get("parameters") for _, function in functions(tools)}
    meant.among(offered)
    return meant, {} if meant.mode == "none" else offered


def functions(tools: object) -> list[tuple[str, Mapping[str, Any]]]:
    """Every function of ``tools`` with its path, ``strict`` beside it moved into it.

    Raises InvalidRequest for a tool that names none.
    """
    if isinstance(tools, (str, bytes, bytearray)) or not isinstance(tools, Sequence):
        raise validate.wrong("tools", "a list of tools", tools)
    found: list[tuple[str, Mapping[str, Any]]] = []
    for n, tool in enumerate(tools):
        function = tool.get("function", tool) if isinstance(tool, Mapping) else None
        name = function.get("name") if isinstance(function, Mapping) else None
        if not isinstance(function, Mapping) or not isinstance(name, str) or not name:
            raise InvalidRequest(
                f"tools[{n}] has no function name: a tool is "
                '{"type": "function", "function": {"name": …, "parameters": …}}',
                param=f"tools[{n}].function.name",
            )
        nested = function is not tool
        beside = {"strict": tool["strict"]} if nested and "strict" in tool else {}
        found.append((f"tools[{n}].function" if nested else f"tools[{n}]", {**beside, **function}))
    return found
