"""The explainer: a format's wire format as data and as a page, from the same declaration as the parser."""

from __future__ import annotations

from typing import Any

from unbraid.explaining.data import ENFORCED, Subject, reasoning_data, subject_of, tools_data
from unbraid.explaining.notation import grammar
from unbraid.explaining.page import (
    call_lines,
    cut_lines,
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


def describe(
    name: str | None = None,
    *,
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    format: str | None = None,
    response_template: object = None,
) -> dict[str, Any]:
    """A format as plain data: ``name``, and under ``reasoning`` and ``tools`` each half, or None.

    Args:
        name: a reasoning or tool parser's name, an alias, or a model family's; if it names both
            halves, both are described.
        reasoning_parser, tool_parser, format: in place of ``name``, a pair as for ``Parser``.
        response_template: as for ``Parser``.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
        InvalidRequest: for both ways of naming, or neither.
    """
    return _data(subject_of(name, reasoning_parser, tool_parser, format, response_template))


def explain(
    name: str | None = None,
    *,
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    format: str | None = None,
    response_template: object = None,
) -> str:
    """The wire format as a page in Markdown: grammar, markers, switch, limits, examples, state diagram.

    Args:
        name, reasoning_parser, tool_parser, format, response_template: as for ``describe``.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair, InvalidRequest: as ``describe``.
    """
    subject = subject_of(name, reasoning_parser, tool_parser, format, response_template)
    reasoning, tools = subject.reasoning, subject.tools
    data = _data(subject)
    halves = [half for half in (data["reasoning"], data["tools"]) if half]
    lines = [f"# {subject.title}", "", models(data), *request_lines(halves), "", "## Grammar", "", "```ebnf"]
    lines += [*grammar(reasoning, tools), "```", "", "## Markers", ""]
    lines += ["| marker | role | other spellings | special token |", "|---|---|---|---|"]
    markers = {marker["text"]: marker for half in halves for marker in half["markers"]}
    lines += [marker_row(marker) for marker in markers.values()]
    if data["reasoning"]:
        lines += ["", "## Thinking", "", *thinking_lines(data["reasoning"])]
    if data["tools"]:
        lines += ["", "## Calls", "", *call_lines(data["tools"])]
    lines += ["", "## Framing", "", *framing_lines(halves)]
    lines += ["", "## Cut and enforced", "", *cut_lines(halves)]
    if data["tools"]:
        lines += [f"- tool_choice {choice}: {what}." for choice, what in ENFORCED.items()]
    lines += ["", "## What can't be written", "", *(f"- {one}" for one in limits(reasoning, tools))]
    lines += ["", "## Examples", "", *examples(subject)]
    lines += ["## States", "", "```mermaid", *diagram(reasoning, tools), "```", ""]
    return "\n".join(lines)


def _data(subject: Subject) -> dict[str, Any]:
    reasoning, tools = subject.reasoning, subject.tools
    return {
        "name": subject.title,
        "reasoning": None
        if reasoning is None
        else _as_named(reasoning_data(reasoning, subject.switch), subject.names[0]),
        "tools": None if tools is None else _as_named(tools_data(tools), subject.names[1]),
    }


def _as_named(half: dict[str, Any], name: str | None) -> dict[str, Any]:
    """A half that no name of the registry means, such as one with an ending, under the name it was given."""
    return half if half["names"] or name is None else {**half, "names": [name]}
