"""A call's template as steps: each part with what may follow it, found once."""

from __future__ import annotations

import re
from dataclasses import dataclass

from unbraid.syntax import (
    Choice,
    Envelope,
    Envelopes,
    GemmaObject,
    Json,
    Lit,
    Name,
    Named,
    Pairs,
    Part,
    PythonCalls,
)

__all__ = ["Options", "Step", "first_literals", "steps_of"]

_FIRST_CHAR: dict[type, str] = {PythonCalls: "[", **dict.fromkeys((Envelope, Named, GemmaObject, Json), "{")}


def first_literals(parts: tuple[Part, ...]) -> list[tuple[str, bool]]:
    """What a sequence of parts may begin with: spellings, and whether each is a marker."""
    found: list[tuple[str, bool]] = []
    for part in parts:
        if isinstance(part, Lit):
            found += [(spelling, True) for spelling in part.spellings]
            if not part.optional:
                return found
        elif isinstance(part, Choice):
            for option in part.options:
                found += first_literals(option)
            return found
        elif isinstance(part, Envelopes):
            return [*found, (part.open.strip() or "{", False)]
        elif type(part) in _FIRST_CHAR:
            return [*found, (_FIRST_CHAR[type(part)], False)]
        elif isinstance(part, Pairs):
            found += [(spelling, True) for spelling in part.open.spellings]
    return found


@dataclass(frozen=True, eq=False)
class Step:
    """One part of a template.

    ``rest`` are the parts behind it in its own sequence, ``behind`` all of them; ``text``
    is a marker as it is mostly written, "" where more must be asked; ``options`` are
    those of a choice, each with the steps behind the choice.
    """

    part: Part
    rest: tuple[Part, ...]
    behind: tuple[Part, ...]
    text: str
    options: Options | None


Steps = tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class Options:
    """What each option of a choice may begin with.

    ``beginnings`` are texts, the longest first, ``width`` the length of the longest and
    ``expected`` all of them in words; ``names`` are characters of options that begin with
    a name; ``first`` is the option that is written.
    """

    beginnings: tuple[tuple[str, Steps], ...]
    names: tuple[tuple[re.Pattern[str], Steps], ...]
    first: Steps
    width: int
    expected: str


def steps_of(parts: tuple[Part, ...], then: Steps = (), behind: tuple[Part, ...] = ()) -> Steps:
    """The steps of these parts, in front of the steps ``then`` of the parts ``behind``."""
    steps = then
    for n in range(len(parts) - 1, -1, -1):
        part, rest = parts[n], parts[n + 1 :]
        after = (*rest, *behind)
        options = _options(part, steps, after) if isinstance(part, Choice) else None
        steps = (Step(part, rest, after, _text(part), options), *steps)
    return steps


def _text(part: Part) -> str:
    """The marker that needs no more than to stand here."""
    if not isinstance(part, Lit) or part.repeats:
        return ""
    return "" if any(one.startswith(part.text) for one in part.spellings[1:]) else part.text


def _options(choice: Choice, then: Steps, behind: tuple[Part, ...]) -> Options:
    beginnings: list[tuple[str, Steps]] = []
    names: list[tuple[re.Pattern[str], Steps]] = []
    options = [steps_of(option, then, behind) for option in choice.options]
    for parts, steps in zip(choice.options, options, strict=True):
        if isinstance(parts[0], Name):
            names.append((re.compile(parts[0].chars), steps))
        else:
            beginnings += [(text, steps) for text, _ in first_literals(parts)]
    expected = " or ".join(dict.fromkeys(text for text, _ in beginnings))
    beginnings.sort(key=lambda one: -len(one[0]))
    width = len(beginnings[0][0]) if beginnings else 1
    return Options(tuple(beginnings), tuple(names), options[0], width, expected)
