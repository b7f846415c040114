"""A format as a page."""

from __future__ import annotations

from typing import Any

from unbraid.errors import Inexpressible
from unbraid.explaining.data import Subject
from unbraid.explaining.notation import channels_of
from unbraid.explaining.response import template_diagram, template_limits
from unbraid.formats import names_of, preset, preset_names
from unbraid.machine.setup import flat, unit_openers
from unbraid.message import Message, ToolCall
from unbraid.syntax import (
    ANY,
    Channels,
    Elements,
    GemmaObject,
    Joint,
    Pairs,
    PythonCalls,
    Reasoning,
    ResponseTemplate,
    Tools,
)
from unbraid.writer import write

__all__ = [
    "INSIDE",
    "call_lines",
    "cut_lines",
    "diagram",
    "examples",
    "framing_lines",
    "limits",
    "marker_row",
    "models",
    "request_lines",
    "thinking_lines",
]

INSIDE = {
    "end": "a call's opener ends thinking at once",
    "draft": "a call is set aside; it is real only if the output ends behind it",
    "text": "a call's opener is thinking",
    "stay": "a call is one, and thinking goes on behind it",
}

_EXAMPLE_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            },
        },
    }
]

_WHERE = {
    "begin": "at the beginning of the turn",
    "before": "in front",
    "before_bare": "in front, without content",
    "lead": "behind the opener",
    "trail": "before the closer",
    "after": "behind",
    "between": "between calls",
    "end": "between content and the turn's end",
}

_ROUTED = {"reasoning": "reasoning", "content": "content", "call": "a call", "dropped": "no strand"}


def models(data: dict[str, Any]) -> str:
    """The halves' names and models, and the pair of a family of that name where it is another."""
    halves = {kind: half for kind in ("reasoning", "tools") if (half := data[kind])}
    names = {kind: ", ".join(half["names"]) for kind, half in halves.items()}
    if len(set(names.values())) < len(names):
        said = f"Reasoning and tool parser: {names['tools']}."
    else:
        word = {"reasoning": "Reasoning parser", "tools": "Tool parser"}
        said = " ".join(f"{word[kind]}: {one}." for kind, one in names.items())
    models = dict.fromkeys(model for half in halves.values() for model in half["models"])
    said += f" Models: {', '.join(models)}." if models else ""
    if data["name"] in preset_names():
        family = preset(data["name"])
        pair = {"reasoning": family.reasoning, "tools": family.tools}
        if any(
            (one or None) not in (halves.get(kind) or {"names": [None]})["names"]
            for kind, one in pair.items()
        ):
            said += (
                f" The model family of this name has the reasoning parser {family.reasoning or 'none'} "
                f"and the tool parser {family.tools or 'none'}."
            )
    return said


def request_lines(halves: list[dict[str, Any]]) -> list[str]:
    """What the request or the checkpoint decides, as a list with an empty line in front."""
    lines = []
    for variants in [half["variants"] for half in halves if half.get("variants")]:
        listed = ", ".join(f"{_code(word)} is {name}" for word, name in variants["halves"].items())
        lines.append(
            f"- The variable {_code(variants['name'])} chooses the half: {listed}; the first by default."
        )
    endings = dict.fromkeys(one for half in halves for one in half.get("suffixes", ()))
    if endings:
        known = ", ".join(map(_code, endings))
        lines.append(f"- Every marker may carry a checkpoint's ending in front of its `>`, such as {known}.")
        lines.append("- Tokenizer, prompt or `token_suffix` tell it, or the name: `NAME:ENDING`.")
    return ["", *lines] if lines else []


def _word(word: str) -> str:
    return "any other word" if word == ANY else _code(word)


def _code(text: str) -> str:
    """A code span; one with backticks needs a longer fence."""
    if not text:
        return "nothing"
    text = text.replace("\n", "⏎")
    return f"```` {text} ````" if "`" in text else f"`{text}`"


def marker_row(marker: dict[str, Any]) -> str:
    others = ", ".join(map(_code, marker["spellings"][1:]))
    role = marker["role"] + (" (may be missing)" if marker["optional"] else "")
    special = {True: "yes", False: "no", None: "as a rule"}[marker["special"]]
    cells = [_code(marker["text"]), role, others, special]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def thinking_lines(half: dict[str, Any]) -> list[str]:
    switch = half["switch"]
    lines = [f"- Opened by: {half['opened_by']}. Without a switch or a prompt it is {half['default']}."]
    if switch:
        names = ", ".join(map(_code, switch["names"]))
        lines.append(f"- Switch: {names}; null is {switch['null']}. The prompt decides where it is given.")
    if level := half["level"]:
        words = [f"{way} with {', '.join(map(_word, level[way]))}" for way in ("off", "on") if level[way]]
        lines.append(f"- Level: {_code(level['name'])}: {'; '.join(words)}, over any switch.")
    ends = half["ends_early"]
    early = ""
    if ends["ends_at"] and ends["tools_inside"] not in ("text", "stay"):
        early = f" Without a tool parser it ends at {_or([*map(_code, ends['ends_at'])])}."
    lines.append(f"- In open thinking {INSIDE[ends['tools_inside']]} ({ends['tools_inside']}).{early}")
    if half.get("label"):
        lines.append(f"- Behind the opener stands the label {_code(half['label'])}.")
    if half.get("answer_if"):
        lines.append(
            f"- With {_code(half['answer_if'])} true, thinking that no content and no call follows is the "
            "content; it is held until that is known."
        )
    if half.get("inline"):
        lines.append("- Thinking is given out as content, between its markers.")
    if half.get("escaped_newlines"):
        lines.append("- Line breaks may be written as escapes; code and formulas keep them.")
    if half.get("prompt_when_off"):
        lines.append(f"- Turned off, the prompt ends with {_code(half['prompt_when_off'])}.")
    return lines + [_route_line(route) for route in half.get("routes", ())]


def _route_line(route: dict[str, Any]) -> str:
    asked = ["any recipient"] if route["recipient"] == ANY else []
    asked += [
        f"{word} {_or([*map(_code, route[word].split(' or '))])}"
        for word in ("recipient", "channel", "marker")
        if route[word] not in (None, ANY)
    ]
    return f"- {' and '.join(asked) or 'anything else'}: {_ROUTED[route['strand']]}."


def call_lines(half: dict[str, Any]) -> list[str]:
    most = half["calls_per_turn"]
    lines = [f"- Ids: {half['ids']}.", f"- Calls in one turn: {most or 'any number'}."]
    if half["atomic"]:
        lines.append(
            "- Calls count only as a whole: closed, of declared tools, each key once; else all is content."
        )
    if half.get("content") == "behind":
        lines.append("- Content beside calls is written behind them; in front of them it is read too.")
    if half["anchored"]:
        lines.append("- A call needs no marker: it begins a line, and its name is a declared tool's.")
    return lines


def framing_lines(halves: list[dict[str, Any]]) -> list[str]:
    lines = []
    for half in halves:
        subject = "calls" if "ids" in half else "thinking"
        for part, space in half["framing"].items():
            if space["text"] or space["tolerates"] != "less of it":
                read = (
                    space["tolerates"] if space["tolerates"] != "less of it" else "as much of it as is there"
                )
                written = f"{_code(space['text'])} is written, {read} is read"
                lines.append(f"- {subject}, {_WHERE[part]}: {written}.")
    beside = " but where it stands alone beside calls" if any("ids" in half for half in halves) else ""
    return lines or [f"- None: white space is data everywhere{beside}."]


def cut_lines(halves: list[dict[str, Any]]) -> list[str]:
    """What becomes of what the output's end cuts: calls first."""
    fates = {case: fate for half in reversed(halves) for case, fate in half["cut_policy"].items()}
    return [f"- Cut, {case}: {fate}." for case, fate in fates.items()]


def limits(reasoning: Reasoning | Joint | None, tools: Tools | Joint | None) -> list[str]:
    if isinstance(reasoning, ResponseTemplate):
        return template_limits(reasoning)
    if isinstance(reasoning, Channels) or isinstance(tools, Channels):
        channels = channels_of(reasoning, tools)
        most = channels.calls_per_turn
        return [
            "Text that holds one of the markers.",
            *([f"More than {most} call in one turn."] if most is not None else []),
            "A name with white space, `<` or `>`.",
            *(line for one in channels.routes if one.calls is not None for line in _call_limits(one.calls)),
        ]
    content = ["a call's opener"] if tools else []
    content += ["thinking's opener"] if reasoning else []
    end = ["a turn's end"] if any(half.dropped for half in (reasoning, tools) if half) else []
    lines = [f"Content that holds {_or([*content, *end])}."]
    if reasoning and reasoning.escaped_newlines:
        lines.append("Thinking and content that hold a line break's escape outside code and formulas.")
    if reasoning:
        lines.append(f"Thinking that holds {_or([_code(reasoning.close.text), *end])}.")
        if tools and reasoning.tools_inside != "text":
            lines.append("Thinking that holds a call's opener.")
        elif not tools and reasoning.ends_at and reasoning.tools_inside not in ("text", "stay"):
            lines.append(f"Thinking that holds {_or([*map(_code, reasoning.ends_at)])}.")
    if isinstance(tools, Tools):
        lines += _call_limits(tools)
    return lines


def _or(words: list[str]) -> str:
    return " or ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def _call_limits(tools: Tools) -> list[str]:
    lines = ["Arguments that are no JSON object, or nest deeper than 512."]
    if tools.before.any:
        lines.append("Content that ends in white space, in front of a call.")
    if tools.call.anchor:
        lines.append("Content with a line that begins as a call does, and calls behind it on the same line.")
    for part in flat(tools.call.parts):
        if isinstance(part, Pairs):
            lines.append(
                "A value whose text the schema reads as another value, such as `3` for a string or integer."
            )
            lines.append(f"A value that holds {_code(part.close.text)} followed by what may follow it.")
        elif isinstance(part, Elements):
            lines.append(
                f"A value that holds {_code(part.mark + '<')}, or whose text the schema reads as another."
            )
        elif isinstance(part, GemmaObject):
            lines.append(f"A string that holds {_code(part.quote)}.")
        elif isinstance(part, PythonCalls):
            lines.append("A key that is no identifier; a number beyond Python's floats.")
    return lines


def examples(subject: Subject) -> list[str]:
    reasoning, tools = subject.reasoning, subject.tools
    reasoning_name = [*names_of("reasoning", reasoning), subject.names[0]][0] if reasoning else None
    tool_name = [*names_of("tools", tools), subject.names[1]][0] if tools else None
    first = ToolCall("", "get_weather", '{"city": "Oslo", "days": 3}')
    second = ToolCall("", "get_weather", '{"city": "Bergen"}')
    thoughts: str | None = "The user asks for Oslo." if reasoning else None
    messages = {"An answer": Message(thoughts, "It rains.")}
    if isinstance(reasoning, Reasoning) and reasoning.inline:
        block, thoughts = f"{reasoning.open.text}{thoughts}{reasoning.close.text}", None
        messages = {"An answer": Message(None, block + "It rains.")}
    if tools:
        messages["A call"] = Message(thoughts, None, [first])
        messages["Content and two calls"] = Message(None, "Let me look.", [first, second])
    lines = []
    for title, message in messages.items():
        try:
            text = write(
                reasoning_name,
                tool_name,
                message,
                tools=_EXAMPLE_TOOLS,
                response_template=subject.template,
            )
        except Inexpressible as refused:
            lines += [f"{title}: not written ({refused}).", ""]
        else:
            lines += [f"{title}:", "", "````text", text, "````", ""]
    return lines


def _escaped(text: str) -> str:
    """A marker in a diagram's label."""
    return "".join(char if char.isalnum() or char in " _/=" else f"#{ord(char)};" for char in text)


def diagram(reasoning: Reasoning | Joint | None, tools: Tools | Joint | None) -> list[str]:
    lines = ["stateDiagram-v2"]
    if isinstance(reasoning, ResponseTemplate):
        return [*lines, *template_diagram(reasoning, _escaped)]
    if isinstance(reasoning, Channels) or isinstance(tools, Channels):
        channels = channels_of(reasoning, tools)
        lines += ["    [*] --> Header"]
        lines += [f"    Header --> Body : {_escaped(one.text)}" for one in channels.bodies]
        lines += [f"    Body --> Between : {_escaped(one.text)}" for one in channels.ends]
        return [*lines, f"    Between --> Header : {_escaped(channels.start.text)}", "    Body --> [*]"]
    opened = reasoning.opened_by if reasoning else "output"
    lines += ["    [*] --> Content"] if opened != "prompt" else []
    lines += ["    [*] --> Thinking : the prompt opened it"] if opened != "output" else []
    if reasoning:
        lines.append(f"    Content --> Thinking : {_escaped(reasoning.open.text)}")
        lines.append(f"    Thinking --> Content : {_escaped(reasoning.close.text)}")
    if isinstance(tools, Tools):
        opener = unit_openers(tools)[0]
        lines.append(f"    Content --> Call : {_escaped(opener)}")
        if reasoning and reasoning.tools_inside in ("end", "stay"):
            lines.append(f"    Thinking --> Call : {_escaped(opener)}")
        elif reasoning and reasoning.tools_inside == "draft":
            lines += [f"    Thinking --> Draft : {_escaped(opener)}", "    Draft --> Thinking : more text"]
            lines.append("    Draft --> Call : the output ends")
        lines.append("    Call --> Content : the call is over")
    return [*lines, "    Content --> [*]"]
