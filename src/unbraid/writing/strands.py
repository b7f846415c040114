"""Which texts the reasoning and the content of a tag format can carry."""

from __future__ import annotations

import re
from collections.abc import Iterable

from unbraid.newlines import recovered
from unbraid.prompts import PromptState
from unbraid.syntax import WHITE, Reasoning, Space
from unbraid.writing.pair import Pair, fail

__all__ = ["check_content", "check_reasoning"]


def _holds(text: str, following: str, markers: Iterable[str]) -> str | None:
    """A marker that begins in ``text`` where ``following`` stands behind it, or None."""
    whole = text + following
    return next((one for one in markers if 0 <= whole.find(one) < len(text)), None)


def check_reasoning(pair: Pair, half: Reasoning, text: str, state: PromptState) -> None:
    """Raise Inexpressible unless thinking can be exactly ``text``."""
    if state.thinking == "open":
        again = next((one for one in half.open.spellings if text.lstrip(WHITE).startswith(one)), None)
        if again is not None and not state.label:
            raise fail("reasoning", f"begins with {again}, which would be read as the opener again")
    if not text.strip():
        raise fail("reasoning", "white space that stands alone is framing")
    lead_comes = state.thinking != "open" or state.lead or state.label
    if lead_comes and half.lead.any and text[0] in (WHITE if state.thinking == "open" else half.lead.chars):
        raise fail("reasoning", "white space at its beginning is framing")
    if half.trail.any and text[-1] in half.trail.chars:
        raise fail("reasoning", "white space at its end is framing")
    _check_newlines(half, "reasoning", text)
    marker = _holds(text, half.trail.text + half.close.text, pair.setup.thinking.markers)
    if marker is not None:
        raise fail("reasoning", f"holds {marker}, which may end thinking")


def check_content(pair: Pair, text: str, calls: str, *, block: bool, after: Space, end: str) -> None:
    """Raise Inexpressible unless content can be exactly ``text``.

    ``calls`` is what is written behind it; ``block``: thinking is written in front;
    ``after`` is the framing in front of it; ``end`` is the turn's end and its framing.
    """
    half, tools, compiled = pair.reasoning, pair.tools, pair.setup
    if (calls or end or compiled.answer) and not text.strip():
        raise fail("content", "white space that stands alone is framing")
    if after.any and text[0] in after.chars:
        raise fail("content", "white space at its beginning is framing")
    if calls and tools and tools.before.any and text[-1] in tools.before.chars:
        raise fail("content", "white space in front of a call is framing")
    if not calls and compiled.end.any and text[-1] in compiled.end.chars:
        raise fail("content", "white space at the turn's end is framing")
    _check_newlines(half, "content", text)
    opens = half.open.spellings if half else ()
    if not block and text.lstrip(WHITE).startswith(opens):
        raise fail("content", "begins as thinking does")
    passed = compiled.anchored if half is None or half.reopens else {*compiled.anchored, *opens}
    marker = _holds(text, calls + end, (one for one in compiled.content.markers if one not in passed))
    if marker is not None:
        raise fail("content", f"holds the marker {marker}")
    if not calls + end:
        _check_end(pair, text)
    if compiled.anchored:
        _check_lines(pair, text, calls)


def _check_end(pair: Pair, text: str) -> None:
    """A marker that the output's end cuts is no text behind the special token that begins it."""
    compiled = pair.setup
    for marker in compiled.content.markers:
        least = max((len(one) for one in compiled.stems if marker.startswith(one)), default=len(marker))
        if any(text.endswith(marker[:length]) for length in range(least, len(marker))):
            raise fail("content", f"ends with a part of {marker}")


def _check_newlines(half: Reasoning | None, path: str, text: str) -> None:
    """An escaped line break that would be read as a line break."""
    if half is not None and half.escaped_newlines and recovered(text) != text:
        raise fail(path, "holds an escaped line break, which would be read as a line break")


def _check_lines(pair: Pair, text: str, calls: str) -> None:
    """A format without markers: no line of content may begin as a call does, and a call begins a line."""
    first = "".join(re.escape(one) for one in sorted(pair.setup.anchored))
    behind = pair.tools.call.behind if pair.tools else ()
    starts = "|".join((r"\A", r"\n", *map(re.escape, behind)))
    if re.search(rf"(?:{starts})[ \t\r]*[{first}]", text):
        raise fail("content", "a line of it begins as a call does")
    answer = pair.setup.answer
    begins = ("\n", *(answer.close.spellings if answer else ()))
    if calls and "\n" not in text[len(text.rstrip(WHITE)) :] and not calls.startswith(begins):
        raise fail("content", "a call without a marker must begin a line")
