"""The parts of a call's template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from unbraid.syntax.text import NAME_CHARS, Lit

__all__ = [
    "Choice",
    "Elements",
    "Envelope",
    "Envelopes",
    "GemmaObject",
    "Given",
    "Id",
    "IdMember",
    "Json",
    "Name",
    "Named",
    "Nothing",
    "Pairs",
    "Part",
    "PythonCalls",
    "TypeTag",
    "Word",
    "Ws",
]


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

    An ``Envelope`` is read too, where its name's key stands and a string behind it, unless a
    declared tool has that key for its name.
    """


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
class Pairs:
    """Arguments as key and value elements, the value raw text that the schema types.

    ``open`` KEY ``middle`` VALUE ``close``; white space ``gap`` (written so, read as
    any) stands behind each pair; ``pad`` is the
    newline that belongs to the markup on each side of a value, stripped once. A ``TypeTag``
    in ``middle`` tells the type of the value. ``empty`` is written in place of no pairs.
    ``wrappers`` are keys that models put around all arguments: a pair that stands alone with such a
    key, which the tool doesn't declare, and an object of declared keys is that object.
    ``entities`` are characters of a key and what is written for them.
    ``xml``: values are XML, with entities or between the markers of character data.
    ``declared``: a key that the tool doesn't declare is dropped, if it declares any.
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
    xml: bool = False
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
    kept under ``$text``. Repeated elements are a list where the schema allows one.
    """

    mark: str


@dataclass(frozen=True)
class GemmaObject:
    """Gemma's object notation: bare keys, strings between ``quote`` markers, typed bare words.

    Keys are written in order, letters large and small alike, as templates' ``dictsort`` does.
    ``strings`` False: the markers stand around every argument, a number too, and keys keep their
    order. The schema types it; without a type it is the JSON that it spells, or a string.
    """

    quote: str = '<|"|>'
    strings: bool = True


@dataclass(frozen=True)
class PythonCalls:
    """A Python list of calls with keyword arguments: ``[f(a=1), g()]``.

    ``brackets``: ``always``; ``optional``: read without them too; ``never``: the calls stand
    alone, one a line. Without brackets any white space is read between calls, a comma in it
    or not. ``item``: a call may be such an object instead.
    """

    brackets: Literal["always", "optional", "never"] = "always"
    item: Envelope | None = None

    @property
    def between(self) -> str:
        """What is written between two calls."""
        return "\n" if self.brackets == "never" else ", "


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
