"""The explainer: a format's wire format as data and as a page, from the same declaration as the parser."""

from __future__ import annotations

from typing import Any

from unbraid.explaining.data import CUT, ENFORCED, halves_of, reasoning_data, tools_data
from unbraid.explaining.notation import grammar
from unbraid.explaining.page import (
    call_lines,
    diagram,
    examples,
    framing_lines,
    limits,
    marker_row,
    models,
    request_lines,
    thinking_lines,
)

__all__ = ["describe", "explain"]


def describe(name: str) -> dict[str, Any]:
    """A format as plain data: ``name``, and under ``reasoning`` and ``tools`` each half, or None.

    Args:
        name: a reasoning or tool parser's name, an alias, or a model family's; if it names both
            halves, both are described.

    Raises:
        UnknownParser, BrokenFormat: about the name.
    """
    reasoning, tools = halves_of(name)
    return {
        "name": name,
        "reasoning": None if reasoning is None else reasoning_data(reasoning),
        "tools": None if tools is None else tools_data(tools),
    }


def explain(name: str) -> str:
    """The wire format as a page in Markdown: grammar, markers, switch, limits, examples, state diagram.

    Args:
        name: a reasoning or tool parser's name, an alias, or a model family's; if it names both
            halves, both are on the page.

    Raises:
        UnknownParser, BrokenFormat: about the name.
    """
    reasoning, tools = halves_of(name)
    data = describe(name)
    halves = [half for half in (data["reasoning"], data["tools"]) if half]
    lines = [f"# {name}", "", models(data), *request_lines(halves), "", "## Grammar", "", "```ebnf"]
    lines += [*grammar(reasoning, tools), "```", "", "## Markers", ""]
    lines += ["| marker | role | other spellings | special token |", "|---|---|---|---|"]
    markers = {marker["text"]: marker for half in halves for marker in half["markers"]}
    lines += [marker_row(marker) for marker in markers.values()]
    if data["reasoning"]:
        lines += ["", "## Thinking", "", *thinking_lines(data["reasoning"])]
    if data["tools"]:
        lines += ["", "## Calls", "", *call_lines(data["tools"])]
    lines += ["", "## Framing", "", *framing_lines(halves)]
    lines += ["", "## Cut and enforced", "", *(f"- Cut, {case}: {fate}." for case, fate in CUT.items())]
    if data["tools"]:
        lines += [f"- tool_choice {choice}: {what}." for choice, what in ENFORCED.items()]
    lines += ["", "## What can't be written", "", *(f"- {one}" for one in limits(reasoning, tools))]
    lines += ["", "## Examples", "", *examples(name, reasoning, tools)]
    lines += ["## States", "", "```mermaid", *diagram(reasoning, tools), "```", ""]
    return "\n".join(lines)
