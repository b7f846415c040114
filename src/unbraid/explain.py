"""The explainer: a format's wire format as data and as a page, from the same declaration as the parser."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

from unbraid.errors import Inexpressible, UnknownParser
from unbraid.explain_response import (
    template_diagram,
    template_grammar,
    template_limits,
    template_markers,
)
from unbraid.formats import (
    names_of,
    preset,
    preset_names,
    reasoning_format,
    reasoning_names,
    sglang_names_of,
    tool_format,
    tool_names,
)
from unbraid.formats.registry import hint
from unbraid.machine.setup import answer_of, call_openers, flat, literals, written_parts
from unbraid.message import Message, ToolCall
from unbraid.syntax import (
    ANY,
    Channels,
    Choice,
    Elements,
    Envelope,
    Envelopes,
    GemmaObject,
    Given,
    Id,
    Joint,
    Json,
    Lit,
    Name,
    Named,
    Nothing,
    Pairs,
    Part,
    PythonCalls,
    Reasoning,
    ResponseTemplate,
    Space,
    Switch,
    Tools,
    TypeTag,
    Word,
    any_space,
)
from unbraid.writer import write

__all__ = ["describe", "explain"]

CUT = {
    "complete calls": "kept; finish_reason stays as the engine gave it",
    "an announced call": "kept with complete=false; its fragments stop at the last valid text",
    "an opener without a name": "span unfinished, in no strand",
    "half a marker": "text",
    "open thinking": "reasoning",
}
ENFORCED = {
    "none": "nothing; the text of a call is content",
    "auto": "nothing, unless a tool is strict: then names, the format's frame and the strict tools' schemas",
    "required": "at least one call: names, the format's frame, an object as arguments, strict tools' schemas",
    "named": "exactly one call of that name, otherwise as required",
}
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
TURN_END = "turn end"
IGNORED = "in no strand"
_WHERE = {
    "begin": "at the beginning of the turn",
    "before": "in front of it",
    "before_bare": "in front of it, without content",
    "lead": "behind the opener",
    "trail": "before the closer",
    "after": "behind it",
    "between": "between calls",
    "end": "between content and the turn's end",
}
_ROUTED = {"reasoning": "reasoning", "content": "content", "call": "a call", "dropped": "no strand"}


def describe(name: str) -> dict[str, Any]:
    """A format as plain data: ``name``, and under ``reasoning`` and ``tools`` each half, or None.

    Args:
        name: a reasoning or tool parser's name, an alias, or a model family's; if it names both
            halves, both are described.

    Raises:
        UnknownParser, BrokenFormat: about the name.
    """
    reasoning, tools = _halves(name)
    return {
        "name": name,
        "reasoning": None if reasoning is None else _reasoning_data(reasoning),
        "tools": None if tools is None else _tools_data(tools),
    }


def explain(name: str) -> str:
    """The wire format as a page in Markdown: grammar, markers, switch, limits, examples, state diagram.

    Args:
        name: a reasoning or tool parser's name, an alias, or a model family's; if it names both
            halves, both are on the page.

    Raises:
        UnknownParser, BrokenFormat: about the name.
    """
    reasoning, tools = _halves(name)
    data = describe(name)
    halves = [half for half in (data["reasoning"], data["tools"]) if half]
    lines = [f"# {name}", "", _models(data), *_request_lines(halves), "", "## Grammar", "", "```ebnf"]
    lines += [*_grammar(reasoning, tools), "```", "", "## Markers", ""]
    lines += ["| marker | role | other spellings | special token |", "|---|---|---|---|"]
    markers = {marker["text"]: marker for half in halves for marker in half["markers"]}
    lines += [_marker_row(marker) for marker in markers.values()]
    if data["reasoning"]:
        lines += ["", "## Thinking", "", *_thinking_lines(data["reasoning"])]
    if data["tools"]:
        lines += ["", "## Calls", "", *_call_lines(data["tools"])]
    lines += ["", "## Framing", "", *_framing_lines(halves)]
    lines += ["", "## Cut and enforced", "", *(f"- Cut, {case}: {fate}." for case, fate in CUT.items())]
    if data["tools"]:
        lines += [f"- tool_choice {choice}: {what}." for choice, what in ENFORCED.items()]
    lines += ["", "## What can't be written", "", *(f"- {one}" for one in _limits(reasoning, tools))]
    lines += ["", "## Examples", "", *_examples(name, reasoning, tools)]
    lines += ["## States", "", "```mermaid", *_diagram(reasoning, tools), "```", ""]
    return "\n".join(lines)


# ---------------------------------------------------------------- the halves


def _halves(name: str) -> tuple[Reasoning | Joint | None, Tools | Joint | None]:
    """What the name stands for; a format that is both halves is so under each of its names."""
    reasoning: Reasoning | Joint | None = None
    tools: Tools | Joint | None = None
    with suppress(UnknownParser):
        reasoning = reasoning_format(name)
    with suppress(UnknownParser):
        tools = tool_format(name)
    if reasoning is None and tools is None:
        try:
            family = preset(name)
        except UnknownParser:
            known = sorted({*reasoning_names(), *tool_names(), *preset_names()})
            raise UnknownParser(f"unknown parser {name!r}: {hint(name, known)}", param="name") from None
        reasoning = reasoning_format(family.reasoning) if family.reasoning else None
        tools = tool_format(family.tools) if family.tools else None
    if isinstance(tools, Channels) and all(one.strand != "reasoning" for one in tools.routes):
        return None, tools
    if isinstance(tools, Joint):
        return tools, tools
    if isinstance(reasoning, Joint):
        return reasoning, reasoning
    return reasoning, tools


def _marker(one: Lit, role: str) -> dict[str, Any]:
    return {
        "text": one.text,
        "role": role,
        "spellings": list(one.spellings),
        "special": None if role in (TURN_END, IGNORED) else one.special,
        "optional": one.optional,
    }


def _answer_markers(half: Reasoning | Tools) -> list[dict[str, Any]]:
    """The markers around content, and those of passages that cite."""
    if half.answer is None:
        return []
    found = [_marker(half.answer.open, "before content"), _marker(half.answer.close, "behind content")]
    cite = half.answer.cite
    if cite is not None:
        found.append(_marker(Lit((cite.open,), optional=True), "begins a passage that cites"))
        found.append(_marker(Lit((cite.close,), optional=True), f"ends it, sources up to {cite.end}"))
    return found


def _space(space: Space) -> dict[str, Any]:
    return {"text": space.text, "tolerates": "any run of white space" if space.any else "less of it"}


def _template_data(half: ResponseTemplate, kind: str) -> dict[str, Any]:
    return {
        "names": names_of(kind, half),
        "sglang": sglang_names_of(kind, half),
        "models": list(half.models),
        "markers": [_marker(one, role) for one, role in template_markers(half)],
        "framing": {},
        "cut_policy": dict(CUT),
    }


def _reasoning_data(half: Reasoning | Joint) -> dict[str, Any]:
    if isinstance(half, ResponseTemplate):
        names = half.switch.names
        null = "on" if half.switch.on(dict.fromkeys(names)) else "off"
        return {**_template_data(half, "reasoning"), "opened_by": "either", "level": None, "default": "on",
                "switch": {"names": list(names), "null": null},
                "ends_early": {"tools_inside": "text", "ends_at": []}}  # fmt: skip
    if isinstance(half, Channels):
        return {**_channel_data(half, "reasoning"), "opened_by": "output", "switch": None, "level": None,
                "default": "on",
                "ends_early": {"tools_inside": "text", "ends_at": []}}  # fmt: skip
    switch = half.switch
    by_null = switch.on(dict.fromkeys(switch.names)) if switch.names else switch.default
    return {
        "names": names_of("reasoning", half),
        "sglang": sglang_names_of("reasoning", half),
        "models": list(half.models),
        **_request_data(half),
        "markers": [_marker(half.open, "opens thinking"), _marker(half.close, "closes thinking"),
                    *_answer_markers(half), *(_marker(Lit((one,)), TURN_END) for one in half.dropped),
                    *(_marker(Lit((one,)), IGNORED) for one in half.ignored)],
        "label": half.label,
        "opened_by": half.opened_by,
        "switch": {"names": list(switch.names), "null": "on" if by_null else "off"} if switch.names else None,
        "level": _level(switch),
        "default": "on" if switch.default else "off",
        "reopens": half.reopens,
        "ends_early": {"tools_inside": half.tools_inside, "ends_at": list(half.ends_at)},
        "prompt_when_off": half.empty_when_off,
        "answer_if": half.answer_if,
        "escaped_newlines": half.escaped_newlines,
        "inline": half.inline,
        "framing": {part: _space(getattr(half, part))
                    for part in ("begin", "before", "lead", "trail", "after", "end")},
        "cut_policy": dict(CUT),
    }  # fmt: skip


def _request_data(half: Reasoning | Tools) -> dict[str, Any]:
    """What of a half the request or the checkpoint decides."""
    variants = half.variants
    return {
        "variants": {"name": variants.variable, "halves": dict(variants.names)} if variants else None,
        "suffixes": list(half.suffixes),
    }


def _level(switch: Switch) -> dict[str, Any] | None:
    if not (switch.off_words or switch.on_words):
        return None
    return {"name": switch.level, "off": list(switch.off_words), "on": list(switch.on_words)}


def _tools_data(half: Tools | Joint) -> dict[str, Any]:
    if isinstance(half, ResponseTemplate):
        return {**_template_data(half, "tools"), "ids": "random", "calls_per_turn": half.calls_per_turn,
                "anchored": False, "atomic": True, "enforced": dict(ENFORCED)}  # fmt: skip
    if isinstance(half, Channels):
        return {**_channel_data(half, "tools"), "ids": "random", "calls_per_turn": half.calls_per_turn,
                "anchored": False, "atomic": False, "enforced": dict(ENFORCED)}  # fmt: skip
    markers = [_marker(one, "inside a call") for one in literals(half.call.parts)]
    openers = call_openers(half.call)
    for marker in markers:
        if marker["text"] in openers:
            marker["role"] = "opens a call"
    if half.section:
        markers = [_marker(half.section.open, "opens the calls"), *markers,
                   _marker(half.section.close, "closes the calls")]  # fmt: skip
    written = _written_id(half)
    return {
        "names": names_of("tools", half),
        "sglang": sglang_names_of("tools", half),
        "models": list(half.models),
        **_request_data(half),
        "markers": [
            *markers,
            *_answer_markers(half),
            *(_marker(Lit((one,)), TURN_END) for one in half.dropped),
        ],
        "ids": f"written by the model: {written.pattern}" if written else half.ids,
        "calls_per_turn": half.calls_per_turn,
        "anchored": half.call.anchor,
        "atomic": half.call.atomic,
        "content": half.content,
        "framing": {
            part: _space(getattr(half, part))
            for part in ("begin", "before", "before_bare", "between", "after", "end")
        },
        "cut_policy": dict(CUT),
        "enforced": dict(ENFORCED),
    }


def _channel_data(half: Channels, kind: str) -> dict[str, Any]:
    return {
        "names": names_of(kind, half),
        "sglang": sglang_names_of(kind, half),
        "models": list(half.models),
        "markers": [
            _marker(half.start, "begins a message"),
            *([_marker(half.channel, "a channel follows")] if half.channel else []),
            *([_marker(half.constrain, "a content type follows")] if half.constrain else []),
            *(_marker(one, "the body follows") for one in half.bodies),
            *(_marker(one, "ends a body") for one in half.ends),
            *(_marker(one, "inside a call") for one in _inner_markers(half)),
            *(_marker(Lit((one,)), TURN_END) for one in half.dropped),
        ],
        "routes": [
            {
                "recipient": " or ".join(one.to) or None,
                "channel": one.channel,
                "marker": one.body.text if one.body else None,
                "strand": one.strand,
                "ends": list(one.ends),
            }
            for one in half.routes
        ],
        "framing": {},
        "cut_policy": dict(CUT),
    }


def _inner_markers(half: Channels) -> list[Lit]:
    """The markers of calls that stand in a body with a markup of their own."""
    found: list[Lit] = []
    for calls in (one.calls for one in half.routes if one.calls is not None):
        found += [calls.section.open, calls.section.close] if calls.section else []
        found += literals(calls.call.parts)
    return found


# ---------------------------------------------------------------- the grammar


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _lit(one: Lit) -> str:
    text = " | ".join(map(_text, one.spellings))
    text = f"( {text} )" if len(one.spellings) > 1 else text
    if one.repeats:
        text = f"{text} , {{ {text} }}"
    return f"[ {text} ]" if one.optional else text


def _framing(space: Space) -> list[str]:
    """Framing as an element of a sequence; nothing where none is written or tolerated."""
    if space.any:
        return [f"{_text(space.text)}~" if space.text else "ws"]
    return [f"[ {_text(space.text)} ]"] if space.text else []


def _written_id(half: Tools) -> Id | None:
    """The id that a call is written with."""
    for part in written_parts(half.call.parts):
        item = part.item if isinstance(part, Envelopes) else part
        if isinstance(item, Id):
            return item
        if isinstance(item, Envelope) and item.id is not None:
            return item.id.id
    return None


def _envelope(part: Envelope) -> str:
    members = [f'{_lit(Lit(part.name))} , ":" , NAME', f'{_lit(Lit(part.arguments))} , ":" , OBJECT']
    if part.id is not None:
        place = len(members) if part.id.last else 0
        members.insert(place, f'{_text(part.id.key)} , ":" , {_part(part.id.id)}')
    return " , ".join(('"{"', ' , "," , '.join(members), '"}"'))


def _part(part: Part) -> str:
    """One part of a call's template."""
    if isinstance(part, Lit):
        return _lit(part)
    if isinstance(part, Word):
        return f"WORD (* {part.text} *)"
    if isinstance(part, Given):
        return f"(* {part.name} *)"
    if isinstance(part, Id):
        return f"ID (* {part.pattern} *)"
    if isinstance(part, Envelope):
        return _envelope(part)
    if isinstance(part, Named):
        return '"{" , NAME , ":" , OBJECT , "}"'
    if isinstance(part, Envelopes):
        one = _part(part.item)
        around = (part.open, part.between, part.close)
        begin, between, end = ([_text(text)] if text else [] for text in around)
        return " , ".join([*begin, one, f"{{ {' , '.join([*between, one])} }}", *end])
    if isinstance(part, Pairs):
        middle = [_tag(one) if isinstance(one, TypeTag) else _part(one) for one in part.middle]
        steps = [_lit(part.open), "KEY", *middle, _text(part.pad) if part.pad else "", "VALUE"]
        steps += [_text(part.pad) if part.pad else "", _lit(part.close), "ws"]
        return f"{{ {' , '.join(filter(None, steps))} }}"
    if isinstance(part, Elements):
        tags = f'{_text(part.mark + "<")} , KEY , ">"', f'{_text(part.mark + "</")} , KEY , ">"'
        return f"{{ ELEMENT }} (* ELEMENT = {tags[0]} , ( VALUE | {{ ELEMENT }} ) , {tags[1]} *)"
    if isinstance(part, GemmaObject):
        return f"GEMMA_OBJECT (* strings between {part.quote} *)"
    if isinstance(part, Choice):
        return "( " + " | ".join(_sequence(option) for option in part.options) + " )"
    if isinstance(part, PythonCalls):
        return _python_calls(part)
    return {Name: "NAME", Json: "OBJECT", Nothing: "NOTHING"}.get(type(part), "ws")


def _python_calls(part: PythonCalls) -> str:
    call = "PYTHON_CALL" if part.item is None else f"( PYTHON_CALL | {_envelope(part.item)} )"
    calls = f"{call} , {{ {_text(part.between)}~ , {call} }}"
    listed = f'"[" , {calls} , "]"'
    return {"always": listed, "never": calls, "optional": f"( {listed} | {calls} )"}[part.brackets]


def _tag(part: TypeTag) -> str:
    """The type of a value."""
    words = " | ".join(_text(word) for _, word in part.words)
    text = f"{_lit(part.open)} , ( {words} ) , {_lit(part.close)}"
    return text if part.absent is None else f"[ {text} ]"


def _sequence(parts: tuple[Part, ...]) -> str:
    return " , ".join(_part(part) for part in parts)


def _channels(reasoning: object, tools: object) -> Channels:
    """The format of channels that the halves are."""
    return next(half for half in (reasoning, tools) if isinstance(half, Channels))


def _grammar(reasoning: Reasoning | Joint | None, tools: Tools | Joint | None) -> list[str]:
    if isinstance(reasoning, ResponseTemplate):
        return template_grammar(reasoning)
    if isinstance(reasoning, Channels) or isinstance(tools, Channels):
        return _channel_grammar(_channels(reasoning, tools))
    answer = answer_of(reasoning, tools if isinstance(tools, Tools) else None)
    content = f"[ {_lit(answer.open)} , CONTENT , {_lit(answer.close)} ]" if answer else "[ CONTENT ]"
    output = [*(["[ thinking ]"] if reasoning else []), content, *(["[ calls ]"] if tools else [])]
    lines = [f"output   = {' , '.join(output)} ;"]
    if reasoning:
        steps = [*_framing(reasoning.before), _lit(reasoning.open)]
        steps += [_text(reasoning.label)] if reasoning.label else []
        steps += [*_framing(reasoning.lead), "TEXT", *_framing(reasoning.trail), _lit(reasoning.close)]
        lines.append(f"thinking = {' , '.join([*steps, *_framing(reasoning.after)])} ;")
    if isinstance(tools, Tools):
        lines += _call_grammar(tools)
    return [*lines, '(* "x"~ : written as x, any white space is read; ws: any white space *)']


def _call_grammar(tools: Tools) -> list[str]:
    between = " , ".join([*_framing(tools.between), "call"])
    calls = f"call , {{ {between} }}"
    if tools.section:
        pad = _framing(any_space(tools.section.pad))
        calls = " , ".join([_lit(tools.section.open), *pad, calls, *pad, _lit(tools.section.close)])
    return [
        f"calls    = {' , '.join([*_framing(tools.before), calls, *_framing(tools.after)])} ;",
        f"call     = {_sequence(tools.call.parts)} ;",
    ]


def _channel_grammar(half: Channels) -> list[str]:
    ends = " | ".join(_text(one.text) for one in half.ends)
    role = f" , {_text(half.role)}" if half.role else ""
    parts = {
        "channel": f"{_text(half.channel.text)} , NAME" if half.channel else "",
        "recipient": f"{_text(half.to)} , NAME" if half.to else "NAME" if half.to == "" else "",
        "type": f'" " , [ {_text(half.constrain.text)} ] , NAME' if half.constrain else "",
    }
    said = {name: text for name, text in parts.items() if text}
    lines = [
        f"output  = header , body , {{ {_text(half.start.text)}{role} , header , body }} ;",
        f"header  = {{ {' | '.join(said) or 'NAME'} }} ;",
        *(f"{name} = {text} ;" for name, text in said.items()),
    ]
    bodies = " | ".join(_text(one.text) for one in half.bodies)
    bodies = f"( {bodies} )" if len(half.bodies) > 1 else bodies
    calls = next((one.calls for one in half.routes if one.calls is not None), None)
    inside = "( TEXT | calls )" if calls else "TEXT"
    end = f"( {ends} | END_OF_OUTPUT )" if ends else ""
    lines.append(f"body    = {' , '.join(filter(None, (bodies, inside, end)))} ;")
    return lines + (_call_grammar(calls) if calls else [])


# ---------------------------------------------------------------- the page


def _models(data: dict[str, Any]) -> str:
    """The halves' names and models, and the pair of a family of that name where it is another."""
    halves = {kind: half for kind in ("reasoning", "tools") if (half := data[kind])}
    names = {kind: ", ".join(half["names"]) for kind, half in halves.items()}
    if len(set(names.values())) < len(names):
        said = f"Reasoning and tool parser: {names['tools']}."
    else:
        word = {"reasoning": "Reasoning parser", "tools": "Tool parser"}
        said = " ".join(f"{word[kind]}: {one}." for kind, one in names.items())
    models = dict.fromkeys(model for half in halves.values() for model in half["models"])
    said += f" Models: {', '.join(models)}."
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


def _request_lines(halves: list[dict[str, Any]]) -> list[str]:
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


def _marker_row(marker: dict[str, Any]) -> str:
    others = ", ".join(map(_code, marker["spellings"][1:]))
    role = marker["role"] + (" (may be missing)" if marker["optional"] else "")
    special = {True: "yes", False: "no", None: "as a rule"}[marker["special"]]
    cells = [_code(marker["text"]), role, others, special]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _thinking_lines(half: dict[str, Any]) -> list[str]:
    switch = half["switch"]
    lines = [f"- Opened by: {half['opened_by']}. Without a switch or a prompt it is {half['default']}."]
    if switch:
        names = ", ".join(map(_code, switch["names"]))
        lines.append(f"- Switch: {names}; null is {switch['null']}. The prompt decides where it is given.")
    if level := half["level"]:
        words = [f"{way} with {', '.join(map(_word, level[way]))}" for way in ("off", "on") if level[way]]
        lines.append(f"- Level: {_code(level['name'])}: {'; '.join(words)}, over any switch.")
    ends = half["ends_early"]
    early = f" Its own openers: {', '.join(map(_code, ends['ends_at']))}." if ends["ends_at"] else ""
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
        f"{word} {_code(route[word])}" for word in ("recipient", "channel") if route[word] not in (None, ANY)
    ]
    return f"- {' and '.join(asked) or 'anything else'}: {_ROUTED[route['strand']]}."


def _call_lines(half: dict[str, Any]) -> list[str]:
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


def _framing_lines(halves: list[dict[str, Any]]) -> list[str]:
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
    return lines or ["- None: white space is data everywhere but where it stands alone beside calls."]


def _limits(reasoning: Reasoning | Joint | None, tools: Tools | Joint | None) -> list[str]:
    if isinstance(reasoning, ResponseTemplate):
        return template_limits(reasoning)
    if isinstance(reasoning, Channels) or isinstance(tools, Channels):
        channels = _channels(reasoning, tools)
        most = channels.calls_per_turn
        return [
            "Text that holds one of the markers.",
            *([f"More than {most} call in one turn."] if most is not None else []),
            "A name with white space, `<` or `>`.",
            *(line for one in channels.routes if one.calls is not None for line in _call_limits(one.calls)),
        ]
    lines = ["Content that holds a call's opener, thinking's opener or a turn's end."]
    if reasoning and reasoning.escaped_newlines:
        lines.append("Thinking and content that hold a line break's escape outside code and formulas.")
    if reasoning:
        lines.append(f"Thinking that holds {_code(reasoning.close.text)} or a turn's end.")
        if reasoning.tools_inside != "text":
            lines.append("Thinking that holds a call's opener.")
    if isinstance(tools, Tools):
        lines += _call_limits(tools)
    return lines


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


def _examples(name: str, reasoning: Reasoning | Joint | None, tools: Tools | Joint | None) -> list[str]:
    reasoning_name = (*names_of("reasoning", reasoning), name)[0] if reasoning else None
    tool_name = (*names_of("tools", tools), name)[0] if tools else None
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
            text = write(reasoning_name, tool_name, message, tools=_EXAMPLE_TOOLS)
        except Inexpressible as refused:
            lines += [f"{title}: not written ({refused}).", ""]
        else:
            lines += [f"{title}:", "", "````text", text, "````", ""]
    return lines


def _escaped(text: str) -> str:
    """A marker in a diagram's label."""
    return "".join(char if char.isalnum() or char in " _/=" else f"#{ord(char)};" for char in text)


def _diagram(reasoning: Reasoning | Joint | None, tools: Tools | Joint | None) -> list[str]:
    lines = ["stateDiagram-v2"]
    if isinstance(reasoning, ResponseTemplate):
        return [*lines, *template_diagram(reasoning, _escaped)]
    if isinstance(reasoning, Channels) or isinstance(tools, Channels):
        channels = _channels(reasoning, tools)
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
        opener = tools.section.open.text if tools.section else call_openers(tools.call)[0]
        lines.append(f"    Content --> Call : {_escaped(opener)}")
        if reasoning and reasoning.tools_inside in ("end", "stay"):
            lines.append(f"    Thinking --> Call : {_escaped(opener)}")
        elif reasoning and reasoning.tools_inside == "draft":
            lines += [f"    Thinking --> Draft : {_escaped(opener)}", "    Draft --> Thinking : more text"]
            lines.append("    Draft --> Call : the output ends")
        lines.append("    Call --> Content : the call is over")
    return [*lines, "    Content --> [*]"]
