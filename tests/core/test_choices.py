"""A tool_choice that the tools can't meet is refused before a model runs, in every entry point alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from unbraid import InvalidRequest, Parser
from unbraid.constrain import constrain

TOOLS = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("f", "g")]


def function(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name}}


def allowed(mode: str, *names: str) -> dict[str, Any]:
    return {
        "type": "allowed_tools",
        "allowed_tools": {"mode": mode, "tools": [function(one) for one in names]},
    }


def flat(mode: str, *names: str) -> dict[str, Any]:
    """The shape of Responses."""
    return {
        "type": "allowed_tools",
        "mode": mode,
        "tools": [{"type": "function", "name": one} for one in names],
    }


ENTRIES: dict[str, Callable[..., Any]] = {
    "parser": lambda **request: Parser("qwen3", "hermes", **request),
    "complete": lambda **request: Parser("qwen3", "hermes", arguments="complete", **request),
    "channels": lambda **request: Parser("openai_gptoss", "openai", **request),
    "plain": lambda **request: Parser("qwen3", "hermes", reads_as="json", **request),
    "constrain": lambda **request: constrain("qwen3", "hermes", **request),
    "constrain plain": lambda **request: constrain("qwen3", "hermes", reads_as="json", **request),
    "reasoning alone": lambda **request: Parser("qwen3", **request),
}

UNMET: list[tuple[Any, list[Any], str, str]] = [
    (function("h"), TOOLS, "tool_choice", "'h', which is not in tools (f, g)"),
    ({"type": "function", "name": "h"}, TOOLS, "tool_choice", "'h', which is not in tools (f, g)"),
    (function("f"), [], "tool_choice", "'f', which is not in tools (none)"),
    (allowed("auto", "f", "h"), TOOLS, "tool_choice.allowed_tools.tools[1]", "'h', which is not in"),
    (allowed("required", "h"), TOOLS, "tool_choice.allowed_tools.tools[0]", "'h', which is not in"),
    (flat("required", "f", "g", "h"), TOOLS, "tool_choice.tools[2]", "'h', which is not in"),
    (flat("auto", "h"), [], "tool_choice.tools[0]", "'h', which is not in"),
    ("required", [], "tools", "tool_choice demands a call, but tools holds no function"),
]


@pytest.mark.parametrize(("choice", "tools", "param", "says"), UNMET, ids=str)
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_choice_that_the_tools_cant_meet(
    entry: str, choice: Any, tools: list[Any], param: str, says: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        ENTRIES[entry](tools=tools, tool_choice=choice)
    assert caught.value.param == param
    assert says in caught.value.message


@pytest.mark.parametrize(
    "choice", [function("g"), allowed("auto", "g"), flat("required", "f", "g"), "required"]
)
def test_one_that_they_meet(choice: Any) -> None:
    assert ENTRIES["parser"](tools=TOOLS, tool_choice=choice)
    assert ENTRIES["constrain"](tools=TOOLS, tool_choice=choice)


@pytest.mark.parametrize("choice", [function("h"), allowed("required", "h"), "required"])
def test_tools_that_are_unknown_meet_any(choice: Any) -> None:
    """A reader of outputs may not know the tools; a grammar has to."""
    assert Parser("qwen3", "hermes", tool_choice=choice).plan.constrained
    with pytest.raises(InvalidRequest):
        constrain("qwen3", "hermes", tool_choice=choice)
