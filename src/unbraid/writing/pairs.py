"""Key and value elements: each value must survive the scan for its closer and the schema's reading."""

from __future__ import annotations

import re
from typing import Literal

from unbraid.codecs.closers import Closers, closers
from unbraid.codecs.wrappers import undeclared, unwrapped, wraps
from unbraid.codecs.xml import CDATA, CDATA_END, MARKUP
from unbraid.literals import PYTHON_WORDS, encode_entities, json_kind
from unbraid.schema import Slot
from unbraid.syntax import MAX_NAME, WHITE, Lit, Pairs, Part, TypeTag
from unbraid.writing.pair import Pair, fail
from unbraid.writing.values import check_object, members, same_value, string_text

__all__ = ["write_pairs"]


def write_pairs(pair: Pair, part: Pairs, rest: tuple[Part, ...], name: str, arguments: str, path: str) -> str:
    """All elements of a call's arguments; ``rest`` are the parts behind them."""
    text = check_object(arguments, path, repeated=False)
    table = closers(part, rest, pair.setup.openers, pair.setup.dropped)
    typer = pair.typer(name)
    entries = list(members(text))
    if (
        len(entries) == 1
        and wraps(part, typer, entries[0][0])
        and unwrapped(typer, entries[0][1]) is not None
    ):
        raise fail(f"{path}.{entries[0][0]}", "it would be read as all arguments")
    behind = next((one.text for one in rest if isinstance(one, Lit)), "")
    out = []
    for n, (key, value) in enumerate(entries):
        follow = behind
        if n + 1 < len(entries):
            follow = part.open.text + encode_entities(entries[n + 1][0], part.entities)
        where = f"{path}.{key}"
        if undeclared(part, typer, key):
            raise fail(where, "only declared keys are read")
        out.append(part.open.text + _key(part, key, where) + _middle(part, value) + part.pad)
        out.append(_value(part, table, typer.property(key), value, follow, where))
        out.append(part.pad + part.close.text + part.gap)
    return "".join(out) or part.empty


def _key(part: Pairs, key: str, path: str) -> str:
    if not key or key != key.strip(WHITE) or len(key) > MAX_NAME:
        raise fail(path, f"a key is 1 to {MAX_NAME} characters without white space around it")
    text = encode_entities(key, part.entities)
    if len(text) > MAX_NAME or not re.fullmatch(f"{part.key_chars}+", text):
        raise fail(path, f"a key is made of {part.key_chars}")
    return text


def _middle(part: Pairs, value: str) -> str:
    return "".join(
        f"{piece.open.text}{piece.word(json_kind(value) or 'string')}{piece.close.text}"
        if isinstance(piece, TypeTag)
        else piece.text
        for piece in part.middle
    )


def _value(part: Pairs, table: Closers, slot: Slot, value: str, follow: str, path: str) -> str:
    """The raw text of a value, if it is read back as that value."""
    string = string_text(value, path)
    text = value if string is None else string
    written: Literal["string", "json"] | None = (
        None if part.tag is None else "json" if string is None else "string"
    )
    _, coerce = slot.typed(written)
    word = PYTHON_WORDS.get(value, text) if part.words == "python" else text
    text = word if same_value(coerce(word)[0], value) else text
    read, _ = coerce(text)
    if not same_value(read, value):
        raise fail(path, f"its text is read as {read[:60]}, by the tool's schema or for want of one")
    closer = part.pad + part.close.text + part.gap
    if part.xml and any(char in text for char in MARKUP):
        end = CDATA_END + part.close.text
        if (text + end).find(end) != len(text):
            raise fail(path, "the text holds what would end the value")
        return CDATA + text + CDATA_END
    if table.end_of(text + closer + follow) != len(text):
        raise fail(path, "the text holds what would end the value")
    return text
