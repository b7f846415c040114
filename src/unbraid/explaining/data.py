"""A format as plain data."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from unbraid.errors import InvalidRequest, UnknownParser
from unbraid.explaining.notation import written_id
from unbraid.explaining.response import template_markers
from unbraid.formats import (
    names_of,
    preset_names,
    reasoning_format,
    reasoning_names,
    sglang_names_of,
    tool_format,
    tool_names,
)
from unbraid.formats.registry import hint
from unbraid.machine.setup import call_openers, literals
from unbraid.pair import read_pair, with_family
from unbraid.syntax import Channels, Joint, Lit, Reasoning, ResponseTemplate, Space, Switch, Tools

__all__ = ["ENFORCED", "IGNORED", "TURN_END", "Subject", "reasoning_data", "subject_of", "tools_data"]

_CUT_MARKER = {"half a marker": "text"}
CUT_CALLS = {
    "complete calls": "kept; finish_reason stays as the engine gave it",
    "an announced call": "kept with complete=false; its fragments stop at the last valid text",
    "an opener without a name": "span unfinished, in no strand",
    **_CUT_MARKER,
}
CUT_THINKING = {**_CUT_MARKER, "open thinking": "reasoning"}
CUT = {"reasoning": CUT_THINKING, "tools": CUT_CALLS}

IDS = {"random": "random", "nine": "random, nine letters and digits"}

ENFORCED = {
    "none": "nothing; the text of a call is content",
    "auto": "nothing, unless a tool is strict: then names, the format's frame and the strict tools' schemas",
    "required": "at least one call: names, the format's frame, an object as arguments, strict tools' schemas",
    "named": "exactly one call of that name, otherwise as required",
}

TURN_END = "turn end"

IGNORED = "in no strand"


@dataclass(frozen=True)
class Subject:
    """What is explained: its title, both halves with the names they were given, a family's switch.

    ``template`` is the response template that was given. A format that is both halves is so under
    each of its names.
    """

    title: str
    reasoning: Reasoning | Joint | None
    tools: Tools | Joint | None
    names: tuple[str | None, str | None]
    switch: Switch | None = None
    template: object = None


def subject_of(
    name: str | None,
    reasoning_parser: str | None,
    tool_parser: str | None,
    format: str | None,
    template: object = None,
) -> Subject:
    """What a name, or a pair as a parser takes it, stands for.

    Raises UnknownParser, BrokenFormat, IncompatiblePair, or InvalidRequest for both or neither.
    """
    paired = any(one is not None for one in (reasoning_parser, tool_parser, format))
    if paired == (name is not None):
        raise InvalidRequest(
            "give a name, or reasoning_parser, tool_parser and format: one of the two ways", param="name"
        )
    if name is not None:
        return _named(name, template)
    reasoning_name, tool_name, switch = with_family(format, reasoning_parser, tool_parser)
    reasoning, tools, joint = read_pair(reasoning_name, tool_name, template)
    both = _both(reasoning or joint, tools or joint)
    said = (("", format), ("reasoning ", reasoning_parser), ("tools ", tool_parser))
    title = ", ".join(f"{kind}{name}" for kind, name in said if name is not None)
    return Subject(title, *both, (reasoning_name, tool_name), switch, template)


def _named(name: str, template: object) -> Subject:
    """The halves that are called so, else the model family."""
    reasoning: Reasoning | Joint | None = None
    tools: Tools | Joint | None = None
    with suppress(UnknownParser):
        reasoning = reasoning_format(name)
    with suppress(UnknownParser):
        tools = tool_format(name)
    if template is not None and (reasoning is not None or tools is not None):
        _, _, joint = read_pair(name if reasoning else None, name if tools else None, template)
        return Subject(name, joint, joint, (name, name), template=template)
    if reasoning is not None or tools is not None:
        return Subject(name, *_both(reasoning, tools), (name, name))
    try:
        return subject_of(None, None, None, name, template)
    except UnknownParser:
        known = sorted({*reasoning_names(), *tool_names(), *preset_names()})
        raise UnknownParser(f"unknown parser {name!r}: {hint(name, known)}", param="name") from None


def _both(
    reasoning: Reasoning | Joint | None, tools: Tools | Joint | None
) -> tuple[Reasoning | Joint | None, Tools | Joint | None]:
    """Each half; one that is both stands in both places, if it has both strands."""
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


def _call_markers(half: Tools) -> list[dict[str, Any]]:
    """The markers of calls, and those around all of them."""
    openers = call_openers(half.call)
    markers = [
        _marker(one, "opens a call" if one.text in openers else "inside a call")
        for one in literals(half.call.parts)
    ]
    if half.section is None:
        return markers
    around = _marker(half.section.open, "opens the calls"), _marker(half.section.close, "closes the calls")
    return [around[0], *markers, around[1]]


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


def _cut_whole(what: str) -> dict[str, str]:
    """What becomes of calls that count only as a whole: ``what`` is it that must be closed."""
    fate = CUT_CALLS["an opener without a name"]
    return {"complete calls": CUT_CALLS["complete calls"], f"{what} that is not closed": fate, **_CUT_MARKER}


def _template_data(half: ResponseTemplate, kind: str) -> dict[str, Any]:
    return {
        "names": names_of(kind, half),
        "sglang": sglang_names_of(kind, half),
        "models": list(half.models),
        "markers": [_marker(one, role) for one, role in template_markers(half)],
        "framing": {},
        "cut_policy": dict(CUT[kind]),
    }


def reasoning_data(half: Reasoning | Joint, switch: Switch | None = None) -> dict[str, Any]:
    """The reasoning half; ``switch`` stands for its own."""
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
    switch = switch or half.switch
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
        "cut_policy": dict(CUT_THINKING),
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


def tools_data(half: Tools | Joint) -> dict[str, Any]:
    if isinstance(half, ResponseTemplate):
        return {**_template_data(half, "tools"), "ids": "random", "calls_per_turn": half.calls_per_turn,
                "anchored": False, "atomic": True, "cut_policy": _cut_whole("a call"),
                "enforced": dict(ENFORCED)}  # fmt: skip
    if isinstance(half, Channels):
        return {**_channel_data(half, "tools"), "ids": "random", "calls_per_turn": half.calls_per_turn,
                "anchored": False, "atomic": False, "enforced": dict(ENFORCED)}  # fmt: skip
    written = written_id(half)
    framing = {part: getattr(half, part) for part in ("begin", "before", "between", "after", "end")}
    framing["before_bare"] = half.begin if half.before_bare is None else half.before_bare
    return {
        "names": names_of("tools", half),
        "sglang": sglang_names_of("tools", half),
        "models": list(half.models),
        **_request_data(half),
        "markers": [
            *_call_markers(half),
            *_answer_markers(half),
            *(_marker(Lit((one,)), TURN_END) for one in half.dropped),
        ],
        "ids": f"written by the model: {written.pattern}" if written else IDS[half.ids],
        "calls_per_turn": half.calls_per_turn,
        "anchored": half.call.anchor,
        "atomic": half.call.atomic,
        "content": half.content,
        "framing": {part: _space(space) for part, space in framing.items()},
        "cut_policy": _cut_policy(half),
        "enforced": dict(ENFORCED),
    }


def _cut_policy(half: Tools) -> dict[str, str]:
    """What becomes of calls that the output's end cuts."""
    if not half.call.atomic:
        return dict(CUT_CALLS)
    return _cut_whole("a section of calls" if half.section else "a call")


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
            *(marker for one in half.routes if one.calls is not None for marker in _call_markers(one.calls)),
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
        "cut_policy": dict(CUT[kind]),
    }
