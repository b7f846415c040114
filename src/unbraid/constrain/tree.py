"""The grammar as a tree, before any dialect: what may be written, in order.

Nodes are immutable and compare by value, so that equal parts become one rule. The
primitives are chosen so that both dialects can say them: free text is always told
together with the marker that ends it, because a greedy lexer can't find the end of
one without the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

__all__ = [
    "Alt",
    "Grammar",
    "Json",
    "Marker",
    "Node",
    "Ref",
    "Regex",
    "Repeat",
    "Run",
    "Seq",
    "Space",
    "Text",
    "alt",
    "json_node",
    "maybe",
    "seq",
]


def _hash_once(node: object) -> int:
    """The hash of a node by its fields, found once: what holds others would hash all of them each time."""
    known: int | None = node.__dict__.get("_hash")
    if known is None:
        known = node.__dict__["_hash"] = hash((type(node), *node.__dict__.values()))
    return known


@dataclass(frozen=True)
class Text:
    """Exactly this text."""

    text: str


@dataclass(frozen=True)
class Marker:
    """A marker: the special token ``token_id`` if it is known, else its text."""

    text: str
    token_id: int | None = None


@dataclass(frozen=True)
class Space:
    """At most ``most`` characters of ``chars``."""

    most: int
    chars: str = " \n"


@dataclass(frozen=True)
class Run:
    """Text in which none of ``exclude`` stands, and the marker that ends it.

    ``least`` and ``most`` bound its length. ``line``: no line of it begins with this
    character, white space skipped; with an ``end``, that marker then begins a line.
    Without an ``end`` nothing follows.
    """

    exclude: tuple[str, ...] = ()
    least: int = 0
    most: int | None = None
    line: str = ""
    end: Marker | None = None


@dataclass(frozen=True)
class Regex:
    """Text by a regular expression in the subset that both dialects share.

    Its length may be bounded, and texts excluded from it, where the dialect can.

    What may follow must not be able to continue it.
    """

    pattern: str
    least: int = 0
    most: int | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class Json:
    """A JSON value by a schema, which is kept as text, in whose strings none of ``exclude`` stands.

    ``plain`` is the same, written out, for a dialect whose JSON can't exclude anything.
    """

    schema: str
    exclude: tuple[str, ...] = ()
    plain: Node | None = None


@dataclass(frozen=True)
class Ref:
    """A rule of the grammar, by its name."""

    name: str


@dataclass(frozen=True)
class Seq:
    """Its items in order; none is the empty text."""

    items: tuple[Node, ...] = ()

    __hash__ = _hash_once


@dataclass(frozen=True)
class Alt:
    """One of its options."""

    options: tuple[Node, ...]

    __hash__ = _hash_once


@dataclass(frozen=True)
class Repeat:
    """``item`` at least ``least`` and at most ``most`` times."""

    item: Node
    least: int
    most: int

    __hash__ = _hash_once


Node = Text | Marker | Space | Run | Regex | Json | Ref | Seq | Alt | Repeat


@dataclass(frozen=True)
class Grammar:
    """A node and the rules that its references name."""

    root: Node
    rules: Mapping[str, Node]


def seq(*items: Node) -> Node:
    """A sequence, flattened, neighbouring texts joined."""
    flat: list[Node] = []
    for item in items:
        for one in item.items if isinstance(item, Seq) else (item,):
            if isinstance(one, Text) and flat and isinstance(flat[-1], Text):
                flat[-1] = Text(flat[-1].text + one.text)
            elif not (isinstance(one, Text) and not one.text) and not (
                isinstance(one, Space) and not one.most
            ):
                flat.append(one)
    return flat[0] if len(flat) == 1 else Seq(tuple(flat))


def alt(options: Iterable[Node]) -> Node:
    """A choice between distinct options; a single one is itself."""
    distinct = tuple(dict.fromkeys(options))
    return distinct[0] if len(distinct) == 1 else Alt(distinct)


def maybe(item: Node) -> Node:
    """The item or nothing."""
    return Repeat(item, 0, 1)


def json_node(schema: object, exclude: tuple[str, ...] = (), plain: Node | None = None) -> Json:
    """A JSON value by ``schema``."""
    return Json(json.dumps(schema, ensure_ascii=False), exclude, plain)
