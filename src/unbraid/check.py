"""The checker: does this tokenizer, or this chat template, fit these parsers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from unbraid.errors import BrokenFormat
from unbraid.formats import reasoning_format, reasoning_names, tool_format, tool_names
from unbraid.machine.setup import literals
from unbraid.parser import halves
from unbraid.prompts import prompt_state
from unbraid.syntax import Channels, Choice, Lit, Part, Reasoning, Tools
from unbraid.tokens import Tokenizer

__all__ = ["Finding", "check_prompt", "check_template", "check_tokenizer", "fits"]

Half = Reasoning | Tools | Channels


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
    reasoning_parser: str | None, tool_parser: str | None, tokenizer: Tokenizer
) -> list[Finding]:
    """Whether a tokenizer holds the markers of a pair as the formats declare them.

    Args:
        reasoning_parser, tool_parser: names as for ``Parser``.
        tokenizer: the model's.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
    """
    found: list[Finding] = []
    for half in _distinct(reasoning_parser, tool_parser):
        for marker in _markers(half):
            if marker.special and all(tokenizer.token_id(one) is None for one in marker.spellings):
                found.append(_missing(marker, tokenizer))
        ends = half.dropped
        if ends and all(tokenizer.token_id(one) is None for one in ends):
            found.append(
                Finding(
                    "warning",
                    "turn_end_missing",
                    ends[0],
                    f"none of the turn ends {', '.join(ends)} is a token of this tokenizer",
                    "an end that the model writes in another spelling would be content",
                )
            )
    if any(one.severity == "error" for one in found):
        found += _suggestion(fits(tokenizer), "the tokenizer holds the markers of", "other_family")
    return list(dict.fromkeys(found))


def _missing(marker: Lit, tokenizer: Tokenizer) -> Finding:
    text = marker.text
    try:
        ids = tokenizer.encode(text)
    except ValueError:
        ids = []
    severity: Literal["error", "warning"] = "warning" if marker.optional else "error"
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
    return _fitting(lambda text: tokenizer.token_id(text) is not None, ends=True)


def _fitting(has: Callable[[str], bool], *, ends: bool) -> list[str]:
    found = []
    for name, half in _all_halves():
        asked = _required(half)
        ended = not ends or not half.dropped or any(map(has, half.dropped))
        if asked and ended and all(any(map(has, marker.spellings)) for marker in asked):
            found.append(name)
    return sorted(set(found))


# ---------------------------------------------------------------- templates


def check_template(
    reasoning_parser: str | None, tool_parser: str | None, template_source: str
) -> list[Finding]:
    """Whether a chat template writes what a pair reads; the source is scanned, not rendered.

    Args:
        reasoning_parser, tool_parser: names as for ``Parser``.
        template_source: the template's Jinja source.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
    """
    reasoning, tools, channels = halves(reasoning_parser, tool_parser)
    source = template_source.replace("\\n", "\n")
    found = _opening(reasoning, channels, source)
    for half in (channels, tools):
        missing = [marker for marker in _required(half) if not any(one in source for one in marker.spellings)]
        if half is not None and missing:
            found.append(
                Finding(
                    "warning",
                    "marker_not_in_template",
                    missing[0].text,
                    f"the template never writes {missing[0].text}",
                    "a template that renders no calls says nothing about them",
                )
            )
            names = [name for name in _fitting(source.__contains__, ends=False) if name in tool_names()]
            found += _suggestion(names, "the template holds the markers of", "other_family")
    return found


def check_prompt(reasoning_parser: str | None, prompt: str) -> list[Finding]:
    """What a rendered prompt says about thinking.

    Args:
        reasoning_parser: a name as for ``Parser``.
        prompt: the prompt as the model gets it, generation prompt included.

    Raises:
        UnknownParser, BrokenFormat: about the name.
    """
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


def _opening(reasoning: Reasoning | None, channels: Channels | None, source: str) -> list[Finding]:
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


def _suggestion(names: list[str], what: str, code: str) -> list[Finding]:
    if not names:
        return []
    return [Finding("info", code, "", f"{what} {', '.join(names)}", "try one of these names")]


def _distinct(reasoning_parser: str | None, tool_parser: str | None) -> list[Half]:
    return [half for half in halves(reasoning_parser, tool_parser) if half is not None]


def _all_halves() -> Iterator[tuple[str, Half]]:
    """Every format that can be loaded, under each of its names."""
    for name in reasoning_names():
        with suppress(BrokenFormat):
            yield name, reasoning_format(name)
    for name in tool_names():
        with suppress(BrokenFormat):
            yield name, tool_format(name)


def _markers(half: Half) -> list[Lit]:
    """The markers of a half, turn ends left out."""
    if isinstance(half, Channels):
        return [half.start, half.channel, half.constrain, half.body, *half.ends]
    if isinstance(half, Reasoning):
        return [half.open, half.close]
    section = [half.section.open, half.section.close] if half.section else []
    return [*section, *literals(half.call.parts)]


def _required(half: Half | None) -> list[Lit]:
    """What must be there for a half to fit: its special markers, else its openers."""
    if half is None:
        return []
    if isinstance(half, Tools):
        written = [
            *([half.section.open, half.section.close] if half.section else []),
            *_written(half.call.parts),
        ]
        special = [one for one in written if one.special and not one.optional]
        return special or written[:1]
    markers = _markers(half)
    return [one for one in markers if one.special] or markers


def _written(parts: tuple[Part, ...]) -> list[Lit]:
    """The markers of a call that stand in every call."""
    return literals(tuple(part for part in parts if not isinstance(part, Choice)))
