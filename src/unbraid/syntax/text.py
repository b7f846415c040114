"""Markers, white space and characters."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "ANY",
    "ATTRIBUTE",
    "BLANK",
    "MAX_DEPTH",
    "MAX_NAME",
    "MAX_NUMBER",
    "MAX_WHITE",
    "NAME_CHARS",
    "NO_SPACE",
    "UNQUOTED",
    "WHITE",
    "Lit",
    "Pattern",
    "Space",
    "any_space",
    "lit",
    "optional",
    "space",
    "token",
]

WHITE = " \t\r\n"
"""White space that framing is made of."""

UNQUOTED = r"[^\s<>{}\[\]()\"'`,=/]"
"""A character of a name that may stand without quotes in a tag."""

NAME_CHARS = r"[^\s<>{}\[\]()\"'`,=]"
"""A character of a function's name, where a family says no other class."""

ATTRIBUTE = (("&", "&amp;"), ('"', "&quot;"))
"""The entities of an attribute's value."""

BLANK = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
"""Every character that ``str.isspace`` takes for white space."""

ANY = "*"
"""Any recipient of a route, any other word of a switch."""

MAX_WHITE = 64
"""How much white space a look-ahead skips."""

MAX_NAME = 256
"""The length of a name or a key."""

MAX_DEPTH = 512
"""How deep values nest."""

MAX_NUMBER = 1024
"""The length of a number."""


@dataclass(frozen=True)
class Space:
    """Framing white space: ``text`` is what the template writes.

    With ``any`` set, any run of the characters in ``chars`` is framing there;
    otherwise only a beginning of ``text`` is (a newline too few is tolerated, a
    newline too many is data).
    """

    text: str = ""
    any: bool = False
    chars: str = WHITE


NO_SPACE = Space()


def space(text: str) -> Space:
    """Framing that is at most ``text``."""
    return Space(text)


def any_space(text: str, chars: str = WHITE) -> Space:
    """Framing written as ``text``, read as any run of ``chars``."""
    return Space(text, any=True, chars=chars)


@dataclass(frozen=True)
class Lit:
    """A marker: its spellings, the canonical one first.

    ``special`` says that the family's tokenizers hold it as one special token,
    so that with token ids the same characters made of ordinary tokens are text.
    ``optional``: models leave it out; ``repeats``: it may be written several times.
    ``written`` False: tolerated, but the writer and the grammar leave it out.
    """

    spellings: tuple[str, ...]
    special: bool = False
    optional: bool = False
    repeats: bool = False
    written: bool = True

    @property
    def text(self) -> str:
        """The canonical spelling."""
        return self.spellings[0]


def lit(*spellings: str, **flags: bool) -> Lit:
    """A marker of ordinary text, or one that may be either."""
    return Lit(spellings, **flags)


def token(*spellings: str, **flags: bool) -> Lit:
    """A marker that is one special token in the family's tokenizers."""
    return Lit(spellings, special=True, **flags)


def optional(*spellings: str, **flags: bool) -> Lit:
    """A marker that models may leave out."""
    return Lit(spellings, optional=True, **flags)


@dataclass(frozen=True)
class Pattern:
    """A marker that a regular expression describes; its dot matches a newline too.

    Named groups are captures. Only what a finite automaton can hold is taken, so that a
    partial match is known and reading takes linear time (see ``unbraid.response.expression``).
    """

    text: str
