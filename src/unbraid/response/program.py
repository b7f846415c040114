"""A response template compiled: what is looked for outside its regions, and inside each."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from unbraid.machine.lanes import Lane
from unbraid.machine.markers import Scanner, scanner
from unbraid.response.expression import MOST, Expression, Hit, expression
from unbraid.syntax import Field, Lit, Pattern, ResponseTemplate
from unbraid.tokens import Tokenizer

__all__ = ["Delimiter", "Place", "Program", "Watch", "behind_anchor", "program", "special_tokens"]

_ORDER = ("content", "reasoning", "call")
"""The strands in the order of their fields' names: content, thinking, tool_calls."""

Counts = Callable[[str, int], "bool | None"]


@dataclass(frozen=True)
class Delimiter:
    """A marker with its meaning: it opens or closes ``field``; without one it begins a message."""

    field: Field | None
    opens: bool

    @property
    def rank(self) -> tuple[bool, int]:
        """Openers come before closers, then fields by their names."""
        return (not self.opens, _ORDER.index(self.field.strand) if self.field else len(_ORDER))


@dataclass(frozen=True)
class Place:
    """A delimiter in the text; pending, and without one, while that is open."""

    start: int
    end: int
    delimiter: Delimiter | None = None
    groups: tuple[tuple[str, int, int], ...] = ()

    @property
    def whole(self) -> bool:
        """Whether the delimiter stands here, and doesn't only begin."""
        return self.end > self.start


class Watch:
    """Delimiters that are looked for together: the earliest counts, then the longest, then its rank."""

    def __init__(self, delimiters: list[Delimiter], anchor: Lit | Pattern | None = None) -> None:
        self.literals: dict[str, Delimiter] = {}
        self.patterns: list[tuple[Expression, Delimiter]] = []
        for one in sorted(delimiters, key=lambda one: one.rank):
            marker = anchor if one.field is None else one.field.open if one.opens else one.field.close
            if isinstance(marker, Pattern):
                self.patterns.append((expression(marker.text), one))
            elif marker is not None:
                for spelling in marker.spellings:
                    self.literals.setdefault(spelling, one)
        self.scan: Scanner = scanner(tuple(self.literals))
        self.lane = self.scan.lane
        if self.patterns:
            first = "|".join(one.first for one, _ in self.patterns)
            literal = f"[{self.scan.first}]|" if self.literals else ""
            self.lane = Lane(re.compile(literal + first).search, lambda _: None)

    def find(self, text: str, at: int, final: bool, counts: Counts) -> Place | None:
        """The next delimiter that counts, or the place where one may still begin."""
        best = self._literal(text, at, final, counts)
        for one, delimiter in self.patterns:
            before = None if best is None else best.start + 1
            found = self._match(one, delimiter, text, at, final, before, counts)
            if found is not None and (best is None or _before(found, best)):
                best = found
        return best

    def _literal(self, text: str, at: int, final: bool, counts: Counts) -> Place | None:
        while True:
            found = self.scan.search(text, at)
            if found is None:
                return None
            marker, at = found.group(), found.start()
            if not final and (
                marker not in self.literals or (found.end() == len(text) and marker in self.scan.ambiguous)
            ):
                return Place(at, at)
            verdict = counts(marker, at) if marker in self.literals else False
            if verdict is None:
                return Place(at, at)
            if verdict:
                return Place(at, found.end(), self.literals[marker])
            at += 1

    def _match(
        self,
        one: Expression,
        delimiter: Delimiter,
        text: str,
        at: int,
        final: bool,
        before: int | None,
        counts: Counts,
    ) -> Place | None:
        while True:
            hit = one.search(text, at, final=final, before=before, most=MOST)
            if hit is None:
                return None
            if hit.end is None:
                return Place(hit.start, hit.start)
            verdict = counts(text[hit.start : hit.end], hit.start)
            if verdict is None:
                return Place(hit.start, hit.start)
            if verdict:
                return Place(hit.start, hit.end, delimiter, _groups(hit))
            at = hit.start + 1


def _groups(hit: Hit) -> tuple[tuple[str, int, int], ...]:
    return tuple((name, *place) for name, place in (hit.groups or {}).items())


def _before(one: Place, other: Place) -> bool:
    if one.start != other.start:
        return one.start < other.start
    if one.delimiter is None or other.delimiter is None:
        return one.delimiter is None
    return (-one.end, one.delimiter.rank) < (-other.end, other.delimiter.rank)


@dataclass(frozen=True)
class Program:
    """``outside`` watches for every opener and the implicit field's closer, ``inside`` for a field's own.

    ``cuts`` are beginnings of closers that end a region at the end of the output: the rest
    of the closer only begins the next message.
    """

    implicit: Field | None
    outside: Watch
    inside: dict[Field, Watch]
    cuts: dict[Field, tuple[str, ...]]


@lru_cache(maxsize=256)
def program(template: ResponseTemplate) -> Program:
    """The program of a template, made once."""
    explicit = [one for one in template.fields if one.open is not None]
    implicit = next((one for one in template.fields if one.open is None), None)
    outside = [Delimiter(one, True) for one in explicit]
    if implicit is not None and implicit.close is not None:
        outside.append(Delimiter(implicit, False))
    if implicit is None:
        outside.append(Delimiter(None, False))
    return Program(
        implicit,
        Watch(outside, template.anchor),
        {one: Watch([Delimiter(one, False)] if one.close is not None else []) for one in explicit},
        {one: _cuts(template.anchor, one.close) for one in explicit},
    )


def _cuts(anchor: Lit | Pattern, close: Lit | Pattern | None) -> tuple[str, ...]:
    """Proper beginnings of the closers that end inside the anchor of the next message."""
    found: list[str] = []
    for spelling in close.spellings if isinstance(close, Lit) else ():
        begin = next((n for n in range(1, len(spelling)) if _is_anchor(anchor, spelling[n:])), None)
        if begin is not None:
            found += [spelling[:n] for n in range(len(spelling) - 1, begin - 1, -1)]
    return tuple(sorted(found, key=len, reverse=True))


def _is_anchor(anchor: Lit | Pattern, text: str) -> bool:
    if isinstance(anchor, Pattern):
        return expression(anchor.text).whole(text)
    return text in anchor.spellings


def special_tokens(template: ResponseTemplate, tokenizer: Tokenizer) -> dict[str, int]:
    """The special tokens in a template's markers, and their ids."""
    found: dict[str, int] = {}
    for marker in (marker for one in template.fields for marker in (one.open, one.close) if marker):
        texts = marker.spellings if isinstance(marker, Lit) else expression(marker.text).literals()
        for text in texts:
            try:
                ids = tokenizer.encode(text)
            except ValueError:
                continue
            for token_id in ids:
                if tokenizer.is_special(token_id):
                    found[tokenizer.token_bytes(token_id).decode("utf-8", "replace")] = token_id
    return found


def behind_anchor(template: ResponseTemplate, prompt: str) -> str:
    """What stands behind the last anchor of a prompt; all of it without one."""
    anchor = template.anchor
    if isinstance(anchor, Pattern):
        hits = expression(anchor.text).matches(prompt)
        return prompt[hits[-1].end :] if hits else prompt
    end = max((prompt.rfind(one) + len(one) for one in anchor.spellings if one in prompt), default=0)
    return prompt[end:]
