"""Formats that a tokenizer carries as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unbraid.syntax.channels import Channels
from unbraid.syntax.halves import Switch
from unbraid.syntax.text import Lit, Pattern

__all__ = ["Content", "Field", "Joint", "ResponseTemplate"]

ENABLE_THINKING = Switch(("enable_thinking",))


@dataclass(frozen=True)
class Content:
    """How the body of a response template's field becomes a value.

    ``kind`` is text, int, float, bool, json, xml-inline or kv-lines. ``strip`` trims both
    ends. json: ``unquoted_keys``, ``string_delims`` (pairs of literals around strings) and
    ``allow_non_json`` (other text is a string). xml-inline: every match of ``tag``, whose
    groups ``key`` and ``value`` are an entry, the value read by ``value`` (raw text without
    one); ``merge_duplicates`` collects a repeated key's values. kv-lines: lines ``line_sep``
    apart, key and value ``kv_sep`` apart.
    """

    kind: str = "text"
    strip: bool = True
    unquoted_keys: bool = False
    string_delims: tuple[tuple[str, str], ...] = ()
    allow_non_json: bool = False
    tag: Pattern | None = None
    value: Content | None = None
    merge_duplicates: bool = False
    line_sep: str = "\n"
    kv_sep: str = ":"


@dataclass(frozen=True)
class Field:
    """A region of a response template.

    Without ``open`` it is the implicit field: all text outside the others. Without
    ``close`` it runs to the end of the output. ``transform`` is JSON text whose strings
    ``{content}``, ``{content.key}`` and ``{capture}`` stand for the parsed value, a part of
    it and a group of the opener; ``each`` applies it to every entry of a list. ``repeats``:
    the region may come several times.
    """

    strand: Literal["reasoning", "content", "call"]
    open: Lit | Pattern | None = None
    close: Lit | Pattern | None = None
    content: Content = Content()
    transform: str | None = None
    each: bool = False
    repeats: bool = False

    @property
    def lists(self) -> bool:
        """Whether one region holds a list of calls."""
        return self.each or (self.transform is None and not self.repeats)


@dataclass(frozen=True)
class ResponseTemplate:
    """A format that a tokenizer carries as data: regions, found by what opens them.

    Only a region's own closer is looked for inside it; nothing nests. ``anchor`` begins
    the assistant's message in a prompt. Text outside every region belongs to the implicit
    field. Without one it is content until a region of content or calls opens, then noise.
    ``demands_thinking``: a grammar demands thinking unless the switch is off. It is both
    halves at once.
    """

    fields: tuple[Field, ...]
    anchor: Lit | Pattern
    switch: Switch = ENABLE_THINKING
    demands_thinking: bool = False
    dropped: tuple[str, ...] = ()
    calls_per_turn: int | None = None
    models: tuple[str, ...] = ()

    @property
    def markers(self) -> list[Lit]:
        """The literal markers of the regions."""
        return [one for field in self.fields for one in (field.open, field.close) if isinstance(one, Lit)]

    def field(self, strand: str) -> Field | None:
        """The field of a strand, if there is one."""
        return next((one for one in self.fields if one.strand == strand), None)


Joint = Channels | ResponseTemplate

"""A format that is both halves at once."""
