"""The two halves of a tag format, and the families that pair them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from unbraid import validate
from unbraid.syntax.parts import Part
from unbraid.syntax.text import ANY, NO_SPACE, Lit, Space

__all__ = [
    "Answer",
    "Calls",
    "Cite",
    "Preset",
    "Reasoning",
    "Section",
    "Switch",
    "Tools",
    "Variants",
]

SOME_EFFORT = "high"
"""A word for a level that knows any but those that turn thinking off."""


@dataclass(frozen=True)
class Section:
    """Markers around all calls of a turn.

    ``pad`` is written behind ``open`` and before ``close``; any white space is read there.
    ``noise``: text between its calls is in no strand. Otherwise text that is no call
    ends the section, and in front of its first call makes the opener text.
    ``bare``: a call in content counts without these markers too.
    """

    open: Lit
    close: Lit
    pad: str = ""
    noise: bool = True
    bare: bool = False


@dataclass(frozen=True)
class Calls:
    """How one call is written: its parts in order, the first a marker (or an anchored start).

    ``anchor``: a format without a marker begins a call only at the start of a
    line, or behind one of the texts ``behind``, and only for a declared tool.
    ``atomic``: a call, or a section where there is one, counts only as a whole, when it
    is closed, calls declared tools and has no key twice; otherwise it is content.
    ``needs_required``: nor may a required key be missing then.
    """

    parts: tuple[Part, ...]
    anchor: bool = False
    behind: tuple[str, ...] = ()
    atomic: bool = False
    needs_required: bool = False


@dataclass(frozen=True)
class Cite:
    """A passage that cites: ``open`` TEXT ``close`` SOURCES ``end``, sources ``CALL:[RESULT,RESULT]``."""

    open: str
    close: str
    end: str


@dataclass(frozen=True)
class Answer:
    """Markers that a model writes around its content; content without them is read too.

    Special tokens, and markers that begin with one of the half's ``stems``, always count, and such
    an opener ends thinking. Ordinary text counts in its place only: the opener where no content came
    before it, the closer where the turn ends behind it, or calls come. ``lead`` stands behind the
    opener, ``trail`` before the closer.
    ``written``: when the writer and the grammar have the markers: ``always``, around
    ``empty`` content too, around an answer ``alone``, or around what stands in front of
    ``calls``, even nothing. ``rest``: what text behind the closer, or behind calls, is, up
    to the next marker. ``cite``: passages of content and thinking may cite. ``end`` is
    written behind answer and calls, and is one of the turn ends as well.
    """

    open: Lit
    close: Lit
    lead: Space = NO_SPACE
    trail: Space = NO_SPACE
    written: Literal["always", "empty", "alone", "calls"] = "always"
    rest: Literal["content", "dropped"] = "content"
    cite: Cite | None = None
    end: Lit | None = None


@dataclass(frozen=True)
class Variants:
    """Halves of the same kind among which a template's ``variable`` chooses.

    ``names`` are its words and the name of the half that each stands for; the first is
    the default. The half that declares this is one of them.
    """

    variable: str
    names: tuple[tuple[str, str], ...]

    @property
    def default(self) -> str:
        """The name of the half that stands without the variable."""
        return self.names[0][1]


@dataclass(frozen=True)
class Tools:
    """The tools half of a format.

    ``before``, ``between`` and ``after`` are the white space before the first call
    (behind content), between calls, and behind the last. ``before_bare`` stands before
    a first call without content, None: what an output begins with; the parser takes white space
    that stands alone for framing anyway, so it and ``after`` only tell the writer. ``begin`` is what
    stands at the beginning of an output that does not begin with thinking, ``end`` between
    content and the turn's end. ``ids``: how call ids are made (``random``, ``nine``: nine
    alphanumerics). ``calls_per_turn``: how many calls the writer and the grammar put
    into one turn; the parser reads more. ``variants``: a template's variable chooses another half
    in place of this one. ``suffixes``: endings that checkpoints write in front of each marker's
    ``>`` (``:opensource``); with any, every ending is possible. ``dropped`` are turn ends: never
    content, never arguments. ``stems`` are special tokens that only begin markers of several tokens:
    with one of them a marker around content always counts, and one that the output's end cuts is no
    text. ``content``: where the template writes content beside calls, in front of them or behind; both
    are read. ``echoes``: what stood between a call's markers may be said again behind them, with
    another closer; it is dropped.
    ``answer``: the markers around content, said in both halves. ``models`` names who writes it.
    """

    call: Calls
    section: Section | None = None
    before: Space = NO_SPACE
    between: Space = NO_SPACE
    after: Space = NO_SPACE
    before_bare: Space | None = None
    begin: Space = NO_SPACE
    end: Space = NO_SPACE
    content: Literal["before", "behind"] = "before"
    ids: Literal["random", "nine"] = "random"
    calls_per_turn: int | None = None
    variants: Variants | None = None
    suffixes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    echoes: bool = False
    answer: Answer | None = None
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Switch:
    """How a request turns thinking on or off.

    ``names`` are the template's variables. Absent: ``default``. ``falsy``: the
    template tests truth, so null, 0 and "" are off too; otherwise only false is.
    ``null_unset``: null is as if the variable were absent. Any variable that is on wins.

    ``level`` is a variable that holds a word: one of ``off_words`` turns thinking off, one
    of ``on_words`` (``ANY``: any other word) turns it on, whatever ``names`` say. What is
    neither a word nor null is refused, unless the level is one of ``names`` too.

    ``opens``: words of the level with which the prompt opens thinking, where the output does
    without them. ``counts``: one of ``names`` that holds a number of tokens, 0 for no thinking.
    """

    names: tuple[str, ...] = ()
    default: bool = True
    falsy: bool = True
    null_unset: bool = False
    level: str = "reasoning_effort"
    off_words: tuple[str, ...] = ()
    on_words: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()
    counts: str = ""

    def on(self, kwargs: Mapping[str, Any] | None) -> bool:
        """Whether these template variables turn thinking on.

        Raises InvalidRequest for a level that is no word.
        """
        kwargs = kwargs or {}
        word = self._word(kwargs)
        if word in self.off_words:
            return False
        if word in self.on_words or (word and ANY in self.on_words):
            return True
        given = [kwargs[name] for name in self.names if name in kwargs]
        if self.null_unset:
            given = [value for value in given if value is not None]
        if not given:
            return self.default
        if self.falsy:
            return any(bool(value) for value in given)
        return any(value is not False for value in given)

    def _word(self, kwargs: Mapping[str, Any]) -> str | None:
        """The word of the level; None where nothing is said, or where another value is read as a switch."""
        word = kwargs.get(self.level)
        if word is None or isinstance(word, str):
            return word
        words = [one for one in (*self.off_words, *self.on_words) if one != ANY]
        if words and self.level not in self.names:
            raise validate.wrong(
                f"chat_template_kwargs.{self.level}", f"a word ({', '.join(words)}, …) or None", word
            )
        return None

    def opens_prompt(self, kwargs: Mapping[str, Any] | None) -> bool:
        """Whether these template variables make the prompt open thinking."""
        return (kwargs or {}).get(self.level) in self.opens

    def turned(self, on: bool) -> dict[str, Any]:
        """Template variables that turn thinking on or off; empty where none does."""
        found: dict[str, Any] = {name: on for name in self.names if name != self.level}
        if self.counts:
            found[self.counts] = -1 if on else 0
        both = self.level in self.names
        words = (*self.opens, *self.on_words, *((ANY,) if both else ())) if on else self.off_words
        if words and (not found or self.on_words or both):
            found[self.level] = SOME_EFFORT if words[0] == ANY else words[0]
        return found

    @property
    def variables(self) -> tuple[str, ...]:
        """Every variable that turns thinking on or off."""
        level = (self.level,) if self.off_words or self.on_words else ()
        return tuple(dict.fromkeys((*self.names, *level)))


@dataclass(frozen=True)
class Reasoning:
    """The reasoning half of a format: one region of thinking.

    ``opened_by``: who writes the opener; ``prompt`` and ``either`` begin inside
    thinking when nothing better is known. ``lead`` stands after the opener,
    ``trail`` before the closer, ``after`` behind it, ``before`` in front of the opener, ``end``
    between content and the turn's end.
    ``after_in``: where ``after`` is written: behind a block of the prompt too (``always``),
    only of the ``output``, or of those only in front of an ``answer``.
    ``label`` is written directly after the opener and is no thinking. ``reopens``: a
    later opener begins thinking again; otherwise only the first place counts.
    ``tools_inside``: what a call's opener means in open thinking (``end``, ``draft``,
    ``text``; ``stay``: a call, and thinking goes on behind it). ``ends_at`` are the
    family's own call openers, which end thinking even when no tools half is named.
    ``turns`` begin the assistant's turn in a prompt, ``dropped`` are turn ends: never
    content, never arguments. ``stems`` as in ``Tools``.
    ``ignored`` are tokens in no strand that end nothing.
    ``empty_when_off`` is what a template writes into the prompt when thinking is off.
    ``answer``: the markers around content, said in both halves. ``variants`` and ``suffixes`` as
    in ``Tools``.
    ``answer_if`` is a variable: when it is true, thinking that no content and no call
    follows is the content, and it is held until that is known. ``escaped_newlines``:
    the tokenizer writes line breaks as escapes, which are read as line breaks in thinking
    and content, outside code and formulas (see ``unbraid.newlines``). ``inline``: thinking is
    given out as content, between its markers.
    ``empty_before_calls``: calls without thinking have an empty block in front of them.
    ``bare_close``: an output without thinking begins with the closer.
    """

    open: Lit
    close: Lit
    opened_by: Literal["prompt", "output", "either"] = "either"
    empty_before_calls: bool = False
    bare_close: bool = False
    label: str = ""
    lead: Space = NO_SPACE
    trail: Space = NO_SPACE
    after: Space = NO_SPACE
    after_in: Literal["always", "output", "answer"] = "always"
    before: Space = NO_SPACE
    begin: Space = NO_SPACE
    end: Space = NO_SPACE
    reopens: bool = False
    tools_inside: Literal["end", "draft", "text", "stay"] = "draft"
    ends_at: tuple[str, ...] = ()
    switch: Switch = Switch()
    turns: tuple[str, ...] = ()
    variants: Variants | None = None
    suffixes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    empty_when_off: str = ""
    answer: Answer | None = None
    answer_if: str = ""
    escaped_newlines: bool = False
    inline: bool = False
    models: tuple[str, ...] = ()


@dataclass(frozen=True)
class Preset:
    """A model family: the names of its usual halves, None for one that it doesn't have.

    ``switch`` stands for that of the reasoning half where the family's templates have
    another default.
    """

    reasoning: str | None
    tools: str | None
    switch: Switch | None = None
    models: tuple[str, ...] = ()
