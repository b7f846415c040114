"""The declarative vocabulary: a format is said once, in these parts.

Every part has a canonical text (what the writer writes), a tolerance (what the
parser accepts) and a bound (what the grammar allows). Nothing here runs: the
parser, the writer, the grammar, the gate, the explainer and the checker all
read the same declaration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

__all__ = [
    "ANY",
    "ATTRIBUTE",
    "BLANK",
    "WHITE",
    "Answer",
    "Calls",
    "Channels",
    "Choice",
    "Cite",
    "Content",
    "Elements",
    "Envelope",
    "Envelopes",
    "Field",
    "GemmaObject",
    "Given",
    "Id",
    "IdMember",
    "Joint",
    "Json",
    "Lit",
    "Name",
    "Named",
    "Nothing",
    "Pairs",
    "Part",
    "Pattern",
    "Preset",
    "PythonCalls",
    "Reasoning",
    "ResponseTemplate",
    "Route",
    "Section",
    "Space",
    "Switch",
    "Tools",
    "TypeTag",
    "Variants",
    "Word",
    "Ws",
    "Xml",
    "any_space",
    "invoke",
    "lit",
    "optional",
    "replace",
    "space",
    "token",
]

WHITE = " \t\r\n"
UNQUOTED = r"[^\s<>{}\[\]()\"'`,=/]"
NAME_CHARS = r"[^\s<>{}\[\]()\"'`,=]"
ATTRIBUTE = (("&", "&amp;"), ('"', "&quot;"))
BLANK = "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)
ANY = "*"
MAX_WHITE = 64
MAX_NAME = 256
MAX_DEPTH = 512
MAX_NUMBER = 1024


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
class Ws:
    """White space inside a call: written as ``text``, read as any run of at most 64 characters."""

    text: str = ""


@dataclass(frozen=True)
class Word:
    """A word that carries no meaning (``function`` in DeepSeek V3): ``text`` is written, any name is read.

    ``{number}`` in it is the number of the call in its turn, from 1.
    """

    text: str


@dataclass(frozen=True)
class Name:
    """The function's name: one or more of ``chars`` (a regular-expression class), trimmed, at most 256.

    ``entities`` are characters and what is written for them. ``twice``: a name written two times
    with this between is read as the name once, where only that is declared.
    """

    chars: str = NAME_CHARS
    entities: tuple[tuple[str, str], ...] = ()
    twice: str = ""


@dataclass(frozen=True)
class Given:
    """The function's name where the request knows it and nothing of it is written."""

    name: str


@dataclass(frozen=True)
class Id:
    """An id that the model writes.

    ``pattern`` is the id's text with ``{name}`` and ``{index}``, or a regular
    expression when ``name`` is False; ``made`` is then what is written, with ``{index}``,
    for a call whose own id has another shape. The prefix before ``{name}`` and the
    ``:{index}`` behind it may be missing in output; ``index`` counts on from the
    number of calls in the history.
    """

    pattern: str
    name: bool = True
    made: str = ""


@dataclass(frozen=True)
class IdMember:
    """The member of a call's object that holds the call's id, a string.

    ``key`` is its key, ``id`` its text, by a pattern and with ``made``. It is written in front
    of the other members, or behind them where ``last``. An id behind the arguments is read but names
    no call: the call is given out with its own id by then.
    """

    key: str
    id: Id
    last: bool = False


@dataclass(frozen=True)
class Json:
    """Arguments as one JSON object, passed on byte for byte but for two repairs."""


@dataclass(frozen=True)
class Envelope:
    """``{"name": …, "arguments": …}``: the call as a JSON object, its keys a closed set.

    ``name`` and ``arguments`` list the accepted keys, the written one first;
    ``extra`` are keys that are read over. ``both``: an object without arguments
    is no call. ``id`` is the member that holds the call's id, where models write one.
    """

    name: tuple[str, ...] = ("name",)
    arguments: tuple[str, ...] = ("arguments", "parameters")
    extra: tuple[str, ...] = ("type", "id")
    both: bool = False
    id: IdMember | None = None


@dataclass(frozen=True)
class Named:
    """``{"NAME": {…}}``: the call as a JSON object whose only key is the function's name.

    ``other`` is read too, where its name's key stands and a string behind it, unless a
    declared tool has that key for its name.
    """

    other: Envelope = Envelope()


@dataclass(frozen=True)
class Envelopes:
    """A row of calls, each a JSON object: an array, or objects with white space between.

    ``open``, ``between`` and ``close`` are what is written around and between them, a
    bracket and a comma or neither; any white space is read there. An item that is no call
    is noise where others are.
    """

    item: Envelope | Named = Envelope()
    open: str = "["
    between: str = ", "
    close: str = "]"


@dataclass(frozen=True)
class TypeTag:
    """The type of a value as the model writes it, in the middle of ``Pairs``: ``open`` WORD ``close``.

    ``words`` are pairs of a JSON type and its word. ``string`` is raw text, every other
    type is JSON; an integer is a ``number`` and any type is ``json`` where it has no word
    of its own. Words are read without regard to case, up to a ``[``. ``absent`` is the type of
    a value without the tag, or with a word that is none of these; None: the tag may not be missing, and
    the schema decides the type of an unknown word.

    The written type counts where the schema allows it; elsewhere the schema decides.
    """

    open: Lit
    words: tuple[tuple[str, str], ...]
    close: Lit
    absent: Literal["string", "json"] | None = None

    def word(self, kind: str) -> str:
        """The word that is written for a JSON type."""
        words = dict(self.words)
        kinds = (kind, "number", "json") if kind == "integer" else (kind, "json")
        return next(words[one] for one in kinds if one in words)

    def type_of(self, word: str) -> Literal["string", "json"] | None:
        """What a word makes of the value; None: the schema decides."""
        word = word.partition("[")[0].strip().lower()
        for kind, known in self.words:
            if word == known.lower():
                return "string" if kind == "string" else "json"
        return self.absent


@dataclass(frozen=True)
class Xml:
    """Values as XML has them: between ``open`` and ``close`` as they are, elsewhere with entities.

    The writer puts a value between the two that holds one of ``chars``, and writes no entities.
    """

    open: str = "<![CDATA["
    close: str = "]]>"
    chars: str = "\n<&"


@dataclass(frozen=True)
class Pairs:
    """Arguments as key and value elements, the value raw text that the schema types.

    ``open`` KEY ``middle`` VALUE ``close``; white space ``gap`` (written so, read as
    any) stands behind each pair; ``pad`` is the
    newline that belongs to the markup on each side of a value, stripped once. A ``TypeTag``
    in ``middle`` tells the type of the value. ``empty`` is written in place of no pairs.
    ``wrappers`` are keys that models put around all arguments: a pair that stands alone with such a
    key, which the tool doesn't declare, and an object of declared keys is that object.
    ``entities`` are characters of a key and what is written for them.
    ``xml``: values are XML. ``declared``: a key that the tool doesn't declare is dropped, if it declares any.
    ``words``: how a value that is a boolean or null is written; JSON's and Python's words are read.
    A closer counts only if something that may follow it follows (see
    ``unbraid.codecs.closers``); ``early`` are literals that end a value whose
    closer is missing, and are not consumed: the next key's opener, or the end of
    the call, each only at the place where the template writes it.
    """

    open: Lit
    middle: tuple[Lit | Ws | TypeTag, ...]
    close: Lit
    gap: str = ""
    pad: str = ""
    key_chars: str = r"[^<>\n]"
    early: tuple[str, ...] = ()
    empty: str = ""
    wrappers: tuple[str, ...] = ()
    entities: tuple[tuple[str, str], ...] = ()
    xml: Xml | None = None
    declared: bool = False
    words: Literal["json", "python"] = "json"

    @property
    def tag(self) -> TypeTag | None:
        """The part that tells a value's type."""
        return next((one for one in self.middle if isinstance(one, TypeTag)), None)


@dataclass(frozen=True)
class Elements:
    """Arguments as nested elements named after the keys, ``mark`` in front of every tag.

    A list's items are elements called ``item``; text beside the elements of an object is
    kept under ``text``. Repeated elements are a list where the schema allows one.
    """

    mark: str
    item: str = "item"
    text: str = "$text"


@dataclass(frozen=True)
class GemmaObject:
    """Gemma's object notation: bare keys, strings between ``quote`` markers, typed bare words.

    ``sort``: keys are written in order, letters large and small alike, as templates' ``dictsort``
    does. ``strings`` False: the markers stand around every argument, a number too. The schema
    types it; without a type it is the JSON that it spells, or a string.
    """

    quote: str = '<|"|>'
    strings: bool = True
    sort: bool = False


@dataclass(frozen=True)
class PythonCalls:
    """A Python list of calls with keyword arguments: ``[f(a=1), g()]``.

    ``brackets``: ``always``; ``optional``: read without them too; ``never``: the calls stand
    alone. ``between`` is written between two calls; without brackets any white space is
    read there, a comma in it or not. ``item``: a call may be such an object instead.
    """

    brackets: Literal["always", "optional", "never"] = "always"
    between: str = ", "
    item: Envelope | None = None


@dataclass(frozen=True)
class Nothing:
    """No arguments: ``{}``, where the template ends a call early."""


@dataclass(frozen=True)
class Choice:
    """One of several continuations, chosen by what comes first; the first is written."""

    options: tuple[tuple[Part, ...], ...]


Part = (
    Lit
    | Ws
    | Word
    | Name
    | Given
    | Id
    | Json
    | Envelope
    | Named
    | Envelopes
    | Pairs
    | Elements
    | Nothing
    | GemmaObject
    | PythonCalls
    | Choice
)


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

    Special tokens always count, and an opener that is one ends thinking. Ordinary text
    counts in its place only: the opener where no content came before it, the closer where
    the turn ends behind it, or calls come. ``sure``: the markers are made of special tokens,
    and count as those do. ``lead`` stands behind the opener, ``trail`` before the closer.
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
    sure: bool = False
    end: Lit | None = None

    @property
    def ends_thinking(self) -> tuple[str, ...]:
        """The openers that end thinking, as they count wherever they stand."""
        return self.open.spellings if self.sure or self.open.special else ()


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
    a first call without content; the parser takes white space that stands alone for
    framing anyway, so it and ``after`` only tell the writer. ``begin`` is what
    stands at the beginning of an output that does not begin with thinking, ``end`` between
    content and the turn's end. ``ids``: how call ids are made (``random``, ``nine``: nine
    alphanumerics). ``calls_per_turn``: how many calls the writer and the grammar put
    into one turn; the parser reads more. ``variants``: a template's variable chooses another half
    in place of this one. ``suffixes``: endings that checkpoints write in front of each marker's
    ``>`` (``:opensource``); with any, every ending is possible. ``dropped`` are turn ends: never
    content, never arguments. ``stems`` are special tokens that only begin markers of several tokens:
    with one of them, a marker that the output's end cuts is no text. ``content``: where the template
    writes content beside calls, in front of them or behind; both are read. ``echoes``: what stood between
    a call's markers may be said again behind them, with another closer; it is dropped.
    ``answer``: the markers around content, said in both halves. ``models`` names who writes it.
    ``begin_calls`` False: ``begin`` stands in front of content only.
    """

    call: Calls
    section: Section | None = None
    before: Space = NO_SPACE
    between: Space = NO_SPACE
    after: Space = NO_SPACE
    before_bare: Space = NO_SPACE
    begin: Space = NO_SPACE
    end: Space = NO_SPACE
    content: Literal["before", "behind"] = "before"
    ids: Literal["random", "nine"] = "random"
    calls_per_turn: int | None = None
    variants: Variants | None = None
    suffixes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    stems: tuple[str, ...] = ()
    begin_calls: bool = True
    echoes: bool = False
    answer: Answer | None = None
    models: tuple[str, ...] = ()


def invoke(
    prefix: str = "",
    *,
    tag: TypeTag | None = None,
    any_quote: bool = False,
    gap: str = "\n",
    empty: str = "",
    wrappers: tuple[str, ...] = (),
    twice: str = "",
) -> Calls:
    """A call as elements: ``<invoke name="N">``, ``<parameter name="K">V</parameter>`` …, ``</invoke>``.

    ``prefix`` stands before both elements' names, ``gap`` behind every tag but the
    parameter's opener. ``tag``: the attribute that tells a value's type; ``any_quote``: names
    also stand between single quotes or none. ``empty`` and ``wrappers`` are as in ``Pairs``,
    ``twice`` as in ``Name``. An element that closes itself has no arguments, and a JSON object
    may stand in place of the parameters.
    """
    quotes = ('"', "'", "") if any_quote else ('"',)
    close = lit(f"</{prefix}invoke>")
    opener = lit(*(f"<{prefix}parameter name={quote}" for quote in quotes))
    ends = tuple(f"{quote}>" for quote in quotes)
    pairs = Pairs(
        open=opener,
        middle=(lit(*ends),) if tag is None else (lit('"'), tag, lit(">")),
        close=lit(f"</{prefix}parameter>"),
        gap=gap,
        key_chars=r"[^\"'<>\n]" if any_quote else r"[^\"<>\n]",
        early=(*(f"{gap}{one}" for one in opener.spellings), f"\n{close.text}", close.text),
        empty=empty,
        wrappers=wrappers,
    )
    body = Choice(((pairs, close), (Json(), Ws(), close)))
    alone = lit(*(f"{quote}{white}/>" for quote in quotes for white in ("", " ")))
    return Calls(
        (
            lit(*(f"<{prefix}invoke name={quote}" for quote in quotes)),
            Name(UNQUOTED if any_quote else NAME_CHARS, twice=twice),
            Choice(((lit(*ends), Ws(gap), body), (alone, Nothing()))),
        )
    )


@dataclass(frozen=True)
class Switch:
    """How a request turns thinking on or off.

    ``names`` are the template's variables. Absent: ``default``. ``falsy``: the
    template tests truth, so null, 0 and "" are off too; otherwise only false is.
    ``null_unset``: null is as if the variable were absent. Any variable that is on wins.

    ``level`` is a variable that holds a word: one of ``off_words`` turns thinking off, one
    of ``on_words`` (``ANY``: any other word) turns it on, whatever ``names`` say.

    ``opens``: words of the level with which the prompt opens thinking, where the output does
    without them.
    """

    names: tuple[str, ...] = ()
    default: bool = True
    falsy: bool = True
    null_unset: bool = False
    level: str = "reasoning_effort"
    off_words: tuple[str, ...] = ()
    on_words: tuple[str, ...] = ()
    opens: tuple[str, ...] = ()

    def on(self, kwargs: Mapping[str, Any] | None) -> bool:
        """Whether these template variables turn thinking on."""
        kwargs = kwargs or {}
        word = kwargs.get(self.level)
        if isinstance(word, str) and word:
            if word in self.off_words:
                return False
            if word in self.on_words or ANY in self.on_words:
                return True
        given = [kwargs[name] for name in self.names if name in kwargs]
        if self.null_unset:
            given = [value for value in given if value is not None]
        if not given:
            return self.default
        if self.falsy:
            return any(bool(value) for value in given)
        return any(value is not False for value in given)

    def opens_prompt(self, kwargs: Mapping[str, Any] | None) -> bool:
        """Whether these template variables make the prompt open thinking."""
        return (kwargs or {}).get(self.level) in self.opens

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
class Route:
    """Where the body of a message goes: the first route whose conditions hold.

    ``to`` are recipients: a pattern with ``{name}``, the function's (what stands before
    it may be missing), a name, which also stands for all below it (``browser`` for
    ``browser.open``), or ANY for any recipient; empty is no condition. ``channel`` is a
    channel's name, ``body`` the marker that ends the header and so tells what the
    message is; None is no condition. ``ends`` close the body. ``calls`` says how calls
    stand in a call's body, its ``calls_per_turn`` how many in one message; None: the
    body is one JSON object and the header names the function. ``write`` gives header
    fields for the writer (``channel``, ``to``, ``type``); a route without it is only
    read. Of the written routes of content the first is for text before calls, the last
    for an answer.
    """

    strand: Literal["reasoning", "content", "call", "dropped"]
    ends: tuple[str, ...]
    to: tuple[str, ...] = ()
    channel: str | None = None
    body: Lit | None = None
    calls: Tools | None = None
    write: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Channels:
    """A format of messages with headers; a routing table chooses each body's strand.

    ``start`` and ``role`` begin a message (the prompt ends with the first ones), ``body``
    ends the header where no marker of a route does. Header words come in any order: a
    channel after ``channel``, a recipient after ``to``, a content type after
    ``constrain`` or bare. With ``to`` empty the header is the recipient; None: words in
    it carry no meaning. ``alone``: a recipient and ``body`` begin a message also where
    ``start`` is missing. ``calls_per_turn`` bounds the writer and the grammar. It is both
    halves at once.
    """

    start: Lit
    role: str
    ends: tuple[Lit, ...]
    routes: tuple[Route, ...]
    body: Lit | None = None
    channel: Lit | None = None
    constrain: Lit | None = None
    to: str | None = None
    alone: bool = False
    dropped: tuple[str, ...] = ()
    calls_per_turn: int | None = None
    models: tuple[str, ...] = ()

    @property
    def bodies(self) -> tuple[Lit, ...]:
        """Every marker that ends a header."""
        found = (self.body, *(one.body for one in self.routes))
        return tuple(dict.fromkeys(one for one in found if one is not None))

    @property
    def frames(self) -> tuple[Lit, ...]:
        """Every marker of headers and ends."""
        inside = tuple(one for one in (self.channel, self.constrain) if one is not None)
        return (self.start, *inside, *self.bodies, *self.ends)


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


@dataclass(frozen=True)
class Pattern:
    """A marker that a regular expression describes; its dot matches a newline too.

    Named groups are captures. Only what a finite automaton can hold is taken, so that a
    partial match is known and reading takes linear time (see ``unbraid.response.expression``).
    """

    text: str


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
    switch: Switch = Switch(("enable_thinking",))
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
