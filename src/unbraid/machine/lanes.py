"""How text of a plain run passes without resuming the generator."""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["UNSAFE", "Lane", "lane_of"]

UNSAFE = r'"\\\x00-\x1f\ud800-\udfff'
"""What a JSON string writes otherwise, as members of a character class."""


class Lane:
    """What a run asks of each piece, the next question only if the one before left it open.

    ``look`` searches for anything that needs a thought; a piece without it passes as
    it is. ``near`` tells of the text that is held and the piece together how many
    characters belong to the run for certain, so that the rest (bounded) is held;
    None when the generator must decide. ``encode`` makes argument text of these
    characters.
    """

    __slots__ = ("encode", "look", "near")

    def __init__(
        self,
        look: Callable[[str], object],
        near: Callable[[str], int | None],
        encode: Callable[[str], str] | None = None,
    ) -> None:
        self.look = look
        self.near = near
        self.encode = encode


def lane_of(run: str, held: str, unsafe: str, encode: Callable[[str], str] | None = None) -> Lane:
    """The lane of a run that a pattern describes.

    ``run`` matches any text of the run, ``held`` what may not be decided yet behind
    it; ``unsafe`` are the members of the class of characters that need a thought.
    """
    run_at = re.compile(run).match
    held_at = re.compile(held + r"\Z").match

    def near(text: str) -> int | None:
        end = run_at(text).end()  # type: ignore[union-attr]
        return end if end == len(text) or held_at(text, end) else None

    return Lane(re.compile(f"[{unsafe}]").search, near, encode)
