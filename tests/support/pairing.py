"""Which halves are tested together, from the registry alone: a format is tested by being registered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from unbraid.formats import preset, preset_names, reasoning_format, reasoning_names, tool_format, tool_names
from unbraid.formats.registry import INLINE_PARSERS, REASONING_ALIASES, TOOL_ALIASES
from unbraid.syntax import Joint, Tools

Names = tuple["str | None", "str | None"]


def _distinct(names: Sequence[str], load: Any) -> dict[int, str]:
    """The first name of each declaration."""
    seen: dict[int, str] = {}
    for name in names:
        seen.setdefault(id(load(name)), name)
    return seen


# Thinking that is given out as content is another half's behind a filter: tests/core/test_inline.py.
_REASONING = _distinct(
    sorted(
        (name for name in reasoning_names() if name not in INLINE_PARSERS), key=REASONING_ALIASES.__contains__
    ),
    reasoning_format,
)
_TOOLS = _distinct(sorted(tool_names(), key=TOOL_ALIASES.__contains__), tool_format)
REASONING = list(_REASONING.values())
TOOLS = list(_TOOLS.values())


def composes(reasoning: str, tools: str) -> bool:
    """Whether a pair of names is one that a parser takes."""
    one, other = reasoning_format(reasoning), tool_format(tools)
    return one is other or not (isinstance(one, Joint) or isinstance(other, Joint))


def together(tools: str) -> list[str]:
    """The reasoning halves that some model uses with a tools half, the one of its own name first."""
    half = tool_format(tools)
    found = [one for one in REASONING if set(reasoning_format(one).models) & set(half.models)]
    for family in map(preset, preset_names()):
        if family.reasoning and family.tools and tool_format(family.tools) is half:
            found.append(_REASONING[id(reasoning_format(family.reasoning))])
    ranked = sorted(found, key=lambda one: (one != tools, -found.count(one), one))
    return [one for one in dict.fromkeys(ranked) if composes(one, tools)]


def families() -> list[Names]:
    """Every half: with one that some model uses with it, else with one that is left over, else alone."""
    found: list[Names] = []
    for tools in TOOLS:
        seen = {one for one, _ in found}
        fits = together(tools)
        found += [(one, tools) for n, one in enumerate(fits) if n == 0 or one not in seen]
    known = {other for _, other in found}
    alone = sorted((one for one in TOOLS if one not in known), key=_has_markers)
    for reasoning in REASONING:
        if reasoning not in {one for one, _ in found}:
            partner = next((one for one in alone if composes(reasoning, one)), None)
            found.append((reasoning, partner))
            alone = [one for one in alone if one != partner]
    return found + [(None, one) for one in alone]


def _has_markers(name: str) -> bool:
    half = tool_format(name)
    return not (isinstance(half, Tools) and half.call.anchor)


def foreign() -> list[Names]:
    """Each tools half with one of thinking that no model uses with it, each of those in its turn."""
    used = dict.fromkeys(REASONING, 0)
    found: list[Names] = []
    for tools in TOOLS:
        own = together(tools)
        rest = [one for one in REASONING if one not in own and composes(one, tools)]
        if rest:
            chosen = min(rest, key=lambda one: (used[one], one))
            used[chosen] += 1
            found.append((chosen, tools))
    return found
