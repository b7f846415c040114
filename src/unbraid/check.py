"""The checker: does this tokenizer, or this chat template, fit these parsers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from unbraid import validate
from unbraid.errors import BrokenFormat
from unbraid.formats import reasoning_format, reasoning_names, tool_format, tool_names
from unbraid.machine.setup import literals, markers_of, written_parts
from unbraid.pair import halves, read_pair, with_family
from unbraid.prompts import prompt_state
from unbraid.syntax import Channels, Joint, Lit, Part, Reasoning, ResponseTemplate, Tools
from unbraid.tokens import Tokenizer
from unbraid.variants import variant_names

__all__ = ["Finding", "check_prompt", "check_template", "check_tokenizer", "fits"]

Half = Reasoning | Tools | Joint


@dataclass(frozen=True)
class Finding:
    """Something that does not fit, or that is worth knowing.

    ``severity`` is error (outputs will be misread), warning or info; ``code`` is a
    stable snake_case name; ``marker`` is the text that it is about, or empty; ``hint``
    says what to do.
    """

    severity: Literal["error", "warning", "info"]
    code: str
    marker: str
    message: str
    hint: str = ""


# ---------------------------------------------------------------- tokenizers


def check_tokenizer(
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    tokenizer: Tokenizer | None = None,
    *,
    format: str | None = None,
    response_template: object = None,
) -> list[Finding]:
    """Whether a tokenizer holds the markers of a pair as the formats declare them.

    Args:
        reasoning_parser, tool_parser, format: names as for ``Parser``.
        tokenizer: the model's.
        response_template: as for ``Parser``.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
        InvalidRequest: for an argument of a wrong type.
    """
    validate.tokenizer(tokenizer)
    assert tokenizer is not None
    reasoning_parser, tool_parser, _ = with_family(format, reasoning_parser, tool_parser)
    found: list[Finding] = []
    reasoning_parser, tool_parser = variant_names(reasoning_parser, tool_parser, tokenizer=tokenizer)
    found_halves = read_pair(reasoning_parser, tool_parser, response_template, tokenizer)
    for half in (one for one in found_halves if one is not None):
        required = _required(half)
        for marker in markers_of(half):
            if marker.special and all(tokenizer.token_id(one) is None for one in marker.spellings):
                found.append(_missing(marker, tokenizer, marker in required))
        ends = half.dropped
        if ends and all(tokenizer.token_id(one) is None for one in ends):
            message = f"none of the turn ends {', '.join(ends)} is a token of this tokenizer"
            hint = "an end that the model writes in another spelling would be content"
            found.append(Finding("warning", "turn_end_missing", ends[0], message, hint))
    if any(one.severity == "error" for one in found):
        found += _suggestion(fits(tokenizer), "the tokenizer holds the markers of")
    return list(dict.fromkeys(found))


def _missing(marker: Lit, tokenizer: Tokenizer, required: bool) -> Finding:
    text = marker.text
    try:
        ids = tokenizer.encode(text)
    except ValueError:
        ids = []
    severity: Literal["error", "warning"] = "error" if required else "warning"
    hint = "check that the parser is the one of this model"
    if len(ids) > 1:
        message = f"{text} is not one token here, it is split into {len(ids)}"
        return Finding(severity, "marker_split", text, message, hint)
    if ids:
        message = f"{text} is an ordinary token here: it may also come from text"
        return Finding("warning", "marker_not_special", text, message, hint)
    return Finding(severity, "marker_missing", text, f"{text} is not in the vocabulary", hint)


def fits(tokenizer: Tokenizer) -> list[str]:
    """The names of parsers whose markers, and a turn end, are tokens of this tokenizer.

    A format without special markers is named if its openers are tokens; one without
    any marker never is.
    """
    validate.tokenizer(tokenizer)

    def held(text: str) -> bool:
        return tokenizer.token_id(text) is not None

    return sorted(
        {
            name
            for name, half in _all_halves()
            if _all_there(_required(half), held) and (not half.dropped or any(map(held, half.dropped)))
        }
    )


def _all_there(markers: list[Lit], held: Callable[[str], bool]) -> bool:
    return bool(markers) and all(any(map(held, marker.spellings)) for marker in markers)


# ---------------------------------------------------------------- templates


def check_template(
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    template_source: str | None = None,
    *,
    format: str | None = None,
) -> list[Finding]:
    """Whether a chat template writes what a pair reads; the source is scanned, not rendered.

    Args:
        reasoning_parser, tool_parser, format: names as for ``Parser``.
        template_source: the template's Jinja source.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
        InvalidRequest: for an argument of a wrong type.
    """
    validate.text("template_source", template_source)
    assert template_source is not None
    reasoning_parser, tool_parser, _ = with_family(format, reasoning_parser, tool_parser)
    reasoning, tools, channels = halves(reasoning_parser, tool_parser)
    source = template_source.replace("\\n", "\n")
    found = _opening(reasoning, channels, source)
    if reasoning is not None and not any(one in source for one in reasoning.close.spellings):
        found += _unwritten(reasoning.close, source, "reasoning")
    half = channels or tools
    if half is not None:
        asked = _in_template(half)
        missing = [one for one in asked if not any(spelling in source for spelling in one.spellings)]
        if missing:
            found += _unwritten(missing[0], source, "tools")
        elif isinstance(half, Tools):
            found += _more_exact(half, asked, source)
    return found


def _unwritten(marker: Lit, source: str, kind: str) -> list[Finding]:
    """A template without a marker, and the formats of which it has all."""
    message = f"the template never writes {marker.text}"
    hint = "a template that renders no calls or no thinking says nothing about them"
    names = [name for name, half in _all_halves(kind) if _all_there(_in_template(half), source.__contains__)]
    found = [Finding("warning", "marker_not_in_template", marker.text, message, hint)]
    return found + _suggestion(names, "the template holds the markers of")


def _more_exact(half: Tools, asked: list[Lit], source: str) -> list[Finding]:
    """Formats whose markers are all in the template too, and more than this one's."""
    own = {one.text for one in asked}
    names = []
    for name, other in _all_halves("tools"):
        markers = _in_template(other)
        if (
            other is not half
            and own < {one.text for one in markers}
            and _all_there(markers, source.__contains__)
        ):
            names.append(name)
    if not names:
        return []
    message = f"the template holds all markers of {', '.join(names)}, this parser's among them"
    return [Finding("warning", "other_family", "", message, "try one of these names")]


def check_prompt(
    reasoning_parser: str | None = None, prompt: str | None = None, *, format: str | None = None
) -> list[Finding]:
    """What a rendered prompt says about thinking.

    Args:
        reasoning_parser, format: names as for ``Parser``.
        prompt: the prompt as the model gets it, generation prompt included.

    Raises:
        UnknownParser, BrokenFormat: about the name.
        InvalidRequest: for an argument of a wrong type.
    """
    validate.text("prompt", prompt)
    assert prompt is not None
    reasoning_parser, _, _ = with_family(format, reasoning_parser, None)
    reasoning_parser, _ = variant_names(reasoning_parser, None, prompt=prompt)
    reasoning, _, channels = halves(reasoning_parser, None)
    if channels is not None:
        return []
    if reasoning is not None:
        state = prompt_state(reasoning, prompt).thinking
        return [
            Finding("info", f"thinking_{state}", reasoning.open.text, f"the prompt leaves thinking {state}")
        ]
    end = prompt[-200:]
    openers = {one.open.text: name for name, one in _all_halves() if isinstance(one, Reasoning)}
    opened = [text for text in openers if end.rstrip().endswith(text)]
    return [_no_parser(text) for text in opened]


def _opening(reasoning: Reasoning | None, channels: Joint | None, source: str) -> list[Finding]:
    """Who opens thinking, by the part of the template behind ``add_generation_prompt``."""
    at = source.rfind("add_generation_prompt")
    if at < 0 or channels is not None:
        return []
    tail = source[at:]
    if reasoning is None:
        openers = {one.open.text: one.close.text for _, one in _all_halves() if isinstance(one, Reasoning)}
        return [_no_parser(text) for text, close in openers.items() if _opens(tail, text, close)]
    text = reasoning.open.text
    opens = _opens(tail, text, reasoning.close.text)
    if opens and reasoning.opened_by == "output":
        message = f"the template opens thinking with {text}, which this parser expects in the output"
        return [Finding("warning", "template_opens_thinking", text, message, "give the parser the prompt")]
    if not opens and reasoning.opened_by == "prompt":
        message = f"the template does not write {text}, which this parser expects in the prompt"
        return [Finding("warning", "template_opens_no_thinking", text, message, "give the parser the prompt")]
    state = "opens" if opens else "does not open"
    return [Finding("info", "who_opens_thinking", text, f"the template {state} thinking")]


def _opens(tail: str, opener: str, closer: str) -> bool:
    """Whether an opener stands in a piece of template text without its closer behind it."""
    for found in re.finditer(re.escape(opener), tail):
        literal = re.split(r"['\"]|\{[{%]|[%}]\}", tail[found.end() :], maxsplit=1)[0]
        if closer not in literal:
            return True
    return False


def _no_parser(text: str) -> Finding:
    return Finding(
        "error",
        "thinking_without_parser",
        text,
        f"thinking is opened with {text} in front of the output, but no reasoning parser is named",
        "name one: all thinking would be content",
    )


# ---------------------------------------------------------------- declarations


def _suggestion(names: list[str], what: str) -> list[Finding]:
    if not names:
        return []
    return [Finding("info", "other_family", "", f"{what} {', '.join(names)}", "try one of these names")]


def _all_halves(kind: str | None = None) -> Iterator[tuple[str, Half]]:
    """Every format that can be loaded, under each of its names; of one ``kind``, or both."""
    for name in reasoning_names() if kind != "tools" else ():
        with suppress(BrokenFormat):
            yield name, reasoning_format(name)
    for name in tool_names() if kind != "reasoning" else ():
        with suppress(BrokenFormat):
            yield name, tool_format(name)


def _required(half: Half) -> list[Lit]:
    """The markers that must be tokens for a half to fit: its special ones, else its openers.

    A response template is known by the tokenizer that carries it, never by its tokens.
    """
    if isinstance(half, ResponseTemplate):
        return []
    if isinstance(half, Tools):
        section = [half.section.open, half.section.close] if half.section else []
        special = [one for one in (*section, *_everywhere(half.call.parts)) if one.special]
        return special or _written(half.call.parts)[:1]
    markers = [one for one in markers_of(half) if not (isinstance(half, Channels) and one is half.constrain)]
    return [one for one in markers if one.special] or markers


def _in_template(half: Half) -> list[Lit]:
    """The markers that a template of this format writes."""
    required = _required(half)
    if isinstance(half, Tools) and not any(one.special for one in required):
        return _written(half.call.parts)
    return required


def _everywhere(parts: tuple[Part, ...]) -> list[Lit]:
    """The markers that stand in every call."""
    return [one for one in parts if isinstance(one, Lit) and not one.optional]


def _written(parts: tuple[Part, ...]) -> list[Lit]:
    """The markers of a call in its canonical spelling."""
    return literals(tuple(written_parts(parts)))
