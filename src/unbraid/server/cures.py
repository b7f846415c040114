"""Which flag helps against markers that nobody reads: the names of the formats that they belong to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from functools import cache

from unbraid.errors import UnbraidError
from unbraid.formats.presets import PRESETS
from unbraid.formats.registry import REASONING_PARSERS, reasoning_format
from unbraid.machine.frames import frame_of
from unbraid.syntax import Channels, Lit, Preset, Reasoning, ResponseTemplate

__all__ = ["call_cure", "reasoning_cure", "tells_a_format", "thinking_markers"]

SHORTEST_MARKER = 5
LONG_PHRASE = 20
SIGNS = "<[|｜◁"
MOST_NAMES = 3


def tells_a_format(text: str) -> bool:
    """Whether a marker is no text that answers hold anyway, such as the fence of a code block."""
    return len(text) >= SHORTEST_MARKER and (len(text) >= LONG_PHRASE or any(map(text.__contains__, SIGNS)))


def reasoning_cure(marker: str, tool_parser: str | None) -> str:
    """What to do about thinking around ``marker`` that no reasoning parser reads.

    Names that model families pair with ``tool_parser`` come first, then those of many families.
    """
    names = thinking_markers().get(marker, ())
    return _cure(
        "--reasoning-parser", names, [(one.reasoning, one.tools) for one in _families()], tool_parser
    )


def call_cure(names: Sequence[str], reasoning_parser: str | None) -> str:
    """What to do about calls that the formats ``names`` would read."""
    families = [(one.tools, one.reasoning) for one in _families()]
    return _cure("--tool-call-parser", names, families, reasoning_parser)


def _cure(
    flag: str, names: Sequence[str], families: Sequence[tuple[str | None, str | None]], partner: str | None
) -> str:
    """The flag with the likeliest of some names; ``families`` are pairs of a name and its partner."""
    if not names:
        return f"name its format with {flag} NAME"
    paired = Counter(name for name, other in families if other == partner)
    common = Counter(name for name, _ in families)
    first, *others = sorted(names, key=lambda name: (-paired[name], -common[name]))
    if not others:
        return f"{flag} {first} reads it"
    more = ", ..." if len(others) >= MOST_NAMES else ""
    return f"{flag} {first} (or {', '.join(others[: MOST_NAMES - 1])}{more}) reads it"


def _families() -> Collection[Preset]:
    return PRESETS.values()


@cache
def thinking_markers() -> dict[str, tuple[str, ...]]:
    """The texts that open and close thinking, each with the names of the reasoning halves that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(REASONING_PARSERS):
        try:
            half = reasoning_format(name)
        except UnbraidError:
            continue
        for text in dict.fromkeys(_texts(half)):
            if tells_a_format(text):
                found[text] = (*found.get(text, ()), name)
    return found


def _texts(half: Reasoning | Channels | ResponseTemplate) -> tuple[str, ...]:
    """What a half's thinking begins and ends with."""
    if isinstance(half, Reasoning):
        return (*half.open.spellings, *half.close.spellings)
    if isinstance(half, ResponseTemplate):
        field = half.field("reasoning")
        return field.open.spellings if field is not None and isinstance(field.open, Lit) else ()
    return frame_of(half).openers or half.frames[1].spellings
