"""Key and value elements: raw text between tags, typed by the schema.

Where a raw value ends is one rule, shared with the writer and the grammar: a
closer counts only if, white space skipped, what follows it is something that the
template allows there, or the output ends. Otherwise it is data.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from typing import Literal

from unbraid.codecs.closers import TYPE_CHARS, Closers, closers
from unbraid.codecs.wrappers import undeclared, unwrapped, wraps
from unbraid.codecs.xml import CDATA, CDATA_END, decoded
from unbraid.literals import decode_entities, escape
from unbraid.machine.core import Broken, Cut, Run
from unbraid.machine.keys import Keys
from unbraid.machine.markers import scanner
from unbraid.machine.names import read_chars
from unbraid.machine.reader import Reader
from unbraid.schema import Slot, quote
from unbraid.syntax import WHITE, Lit, Pairs, TypeTag

__all__ = ["read_pairs"]

Kind = Literal["string", "json"] | None


def read_pairs(m: Reader, part: Pairs) -> Run:
    """Read every pair up to what follows the last one, which is not consumed."""
    table = table_of(m, part)
    seen = m.call.keys
    while True:
        if whole_pair(m, part, table, seen):
            continue
        if m.blank_here():
            yield from m.white_run(WHITE)
        opener = yield from m.literal(part.open.spellings)
        if opener is None:
            break
        begin(m)
        yield from read_pair(m, part, table, opener, seen)
    if not m.call.announced:
        if m.i >= len(m.buf):
            raise Cut
        if (yield from m.literal(table.after)) is None:
            m.fail("not_a_call", " or ".join((part.open.text, *table.after)))
        m.announce(m.call.name)
        m.args("{")
    elif m.i >= len(m.buf) or (yield from m.literal(table.after)) is None:
        if m.i >= len(m.buf):
            raise Cut
        m.fail("broken_call", " or ".join((part.open.text, *table.after)))
    m.args("}")


def table_of(m: Reader, part: Pairs) -> Closers:
    """The closers of this part's values where it stands."""
    place = (id(m.rest), m.openers())
    table = m.setup.tables.get(place)
    if table is None:
        table = m.setup.tables[place] = closers(part, m.rest, m.openers(), m.setup.dropped)
    return table


def begin(m: Reader) -> None:
    """The first pair's opener proves the call."""
    if not m.call.announced:
        m.announce(m.call.name)
        m.args("{")


def whole_pair(m: Reader, part: Pairs, table: Closers, seen: Keys) -> bool:
    """Read a usual pair at once if all of it stands here: a new key, no closer begins in the value."""
    found = table.pair.match(m.buf, m.i) if m.alignment is None else None
    end = table.scan.match(m.buf, found.end()) if found else None
    if found is None or end is None or end.group() not in table.consumed:
        return False
    white, _, key, *middle, pad, text = found.groups()
    key = decode_entities(key.strip(WHITE), part.entities)
    if part.xml or undeclared(part, m.typer(), key):
        return False
    if key in seen or key in part.wrappers or not table.confirmed(m.buf, end.group(), end.end(), m.eof):
        return False
    m.take(len(white), "framing")
    begin(m)
    kind: Kind = None
    for n, piece in enumerate(part.middle, 4):
        if isinstance(piece, TypeTag):
            kind = piece.type_of(tagged(piece, middle[n - 4])) if middle[n - 4] else piece.absent
        elif not isinstance(piece, Lit) and middle[n - 4]:
            m.take(found.start(n) - m.i, "markup")
            m.take(len(middle[n - 4]), "framing")
    m.take(found.start(len(middle) + 4) - m.i, "markup")
    m.take(len(pad), "framing")
    start = m.at()
    m.take(len(text), "arguments")
    m.take(len(end.group()), "markup")
    before = f"{', ' if seen else ''}{quote(key)}: "
    seen.add(key)
    streams, coerce = m.typer().property(key).typed(kind)
    value, code = (quote(text), None) if streams else coerce(text)
    if code is not None:
        m.note(code, start, m.at(), "a value of the parameter's type")
    m.args(before + value)
    return True


def read_pair(m: Reader, part: Pairs, table: Closers, opener: str, seen: Keys) -> Run:
    """Read one key and its value."""
    start = m.at()
    m.take(len(opener), "markup")
    key = yield from key_text(m, part)
    kind: Kind = None
    for piece in part.middle:
        if isinstance(piece, Lit):
            yield from marker(m, piece)
        elif isinstance(piece, TypeTag):
            kind = yield from type_tag(m, piece)
        else:
            yield from m.white_run(WHITE)
    yield from m.upto(part.pad, "framing")
    slot = m.typer().property(key)
    if key in seen:
        yield from (read_xml if part.xml else read_value)(m, table, slot, kind, [], dropped=True)
        m.note("duplicate_key", start, m.at(), "each key once")
    elif not seen and wraps(part, m.typer(), key):
        seen.add(key)
        yield from wrapped(m, part, table, kind, key)
    elif undeclared(part, m.typer(), key):
        yield from (read_xml if part.xml else read_value)(m, table, slot, kind, [], dropped=True)
        m.note("undeclared_key", start, m.at(), "a declared key")
    else:
        before = f"{', ' if seen else ''}{quote(key)}: "
        seen.add(key)
        yield from (read_xml if part.xml else read_value)(m, table, slot, kind, [before], dropped=False)


def wrapped(m: Reader, part: Pairs, table: Closers, kind: Kind, key: str) -> Run:
    """Read the value of a parameter that may hold all arguments: it does if it stands alone."""
    start = m.at()
    pieces: list[str] = []
    yield from raw(m, table, pieces.append, "arguments")
    text = "".join(pieces)
    yield from m.white_run(WHITE)
    behind = yield from m.literal((*part.open.spellings, *table.after))
    if behind is None and m.eof:
        raise Cut
    inner = None if behind in part.open.spellings else unwrapped(m.typer(), text)
    if inner is not None:
        for one in json.loads(inner):
            m.call.keys.add(one)
        m.note("unwrapped", start, m.at(), "arguments, not an object of them")
        m.args(inner[1:-1])
        return
    if undeclared(part, m.typer(), key):
        raise Broken("broken_call", "an object of arguments")
    value, code = m.typer().property(key).typed(kind)[1](text)
    if code is not None:
        m.note(code, start, m.at(), "a value of the parameter's type")
    m.args(f"{quote(key)}: {value}")


def marker(m: Reader, piece: Lit) -> Run:
    """Read a marker that must stand here."""
    spelling = yield from m.literal(piece.spellings)
    if spelling is None:
        if m.i >= len(m.buf):
            raise Cut
        m.fail("broken_call", piece.text)
    m.take(len(spelling), "markup")


def type_tag(m: Reader, part: TypeTag) -> Generator[None, None, Kind]:
    """Read the type of a value, where it is written."""
    if part.absent is not None and (yield from m.literal(part.open.spellings)) is None:
        return part.absent
    yield from marker(m, part.open)
    word = yield from read_chars(m, TYPE_CHARS, "a type")
    m.take(len(word), "markup")
    yield from marker(m, part.close)
    return part.type_of(word)


def tagged(part: TypeTag, text: str) -> str:
    """The word of a whole tag."""
    opener = next(one for one in part.open.spellings if text.startswith(one))
    closer = next(one for one in part.close.spellings if text.endswith(one))
    return text[len(opener) : -len(closer)]


def key_text(m: Reader, part: Pairs) -> Generator[None, None, str]:
    """Read a key, trimmed."""
    text = yield from read_chars(m, part.key_chars, "a key")
    m.take(len(text), "markup")
    return decode_entities(text.strip(WHITE), part.entities)


def read_value(m: Reader, table: Closers, slot: Slot, kind: Kind, before: list[str], *, dropped: bool) -> Run:
    """Read a raw value and its closer."""
    pieces: list[str] = []
    streams, coerce = slot.typed(kind)
    if dropped:
        yield from raw(m, table, pieces.append, "dropped")
    elif streams:
        m.args(before[0] + '"')
        yield from raw(m, table, lambda text: m.args(escape(text)), "arguments", lane=True)
        m.args('"')
    else:
        start = m.at()
        yield from raw(m, table, pieces.append, "arguments")
        text, code = coerce("".join(pieces))
        if code is not None:
            m.note(code, start, m.at(), "a value of the parameter's type")
        m.args(before[0] + text)


def read_xml(m: Reader, table: Closers, slot: Slot, kind: Kind, before: list[str], *, dropped: bool) -> Run:
    """Read a value that is XML, and its closer."""
    start = m.at()
    span = "dropped" if dropped else "arguments"
    if (yield from m.literal((CDATA,))) is not None:
        m.take(len(CDATA), "markup")
        scan = scanner(tuple(CDATA_END + one for one in sorted(table.consumed)))
        text, closer = yield from m.collect(scan, lambda marker, at: True)
        m.mark(span, len(text))
        if closer is None:
            raise Cut
        m.take(len(closer), "markup")
    else:
        pieces: list[str] = []
        yield from raw(m, table, pieces.append, span)
        text = decoded("".join(pieces))
    streams, coerce = slot.typed(kind)
    value, code = (quote(text), None) if streams else coerce(text)
    if dropped:
        return
    if code is not None:
        m.note(code, start, m.at(), "a value of the parameter's type")
    m.args(before[0] + value)


def raw(m: Reader, table: Closers, put: Callable[[str], None], kind: str, *, lane: bool = False) -> Run:
    """Read raw text up to a confirmed closer, and the closer if it is the value's own.

    ``lane``: the text is a string that is given out as it comes.
    """
    at = m.i
    while True:
        found = table.scan.search(m.buf, at)
        stop = found.start() if found else len(m.buf)
        verdict: bool | None = None
        closer = m.standing(table.scan, found) if found is not None else None
        if closer is not None:
            verdict = m.is_marker(closer.lstrip(WHITE), stop + len(closer) - len(closer.lstrip(WHITE)))
            if verdict:
                verdict = table.confirmed(m.buf, closer, stop + len(closer), m.eof)
        if verdict is False:
            at = stop + 1
            continue
        if stop > m.i:
            put(m.buf[m.i : stop])
            m.take(stop - m.i, kind)
        if verdict and closer is not None:
            if closer in table.consumed:
                m.take(len(closer), "markup")
            else:
                m.take(len(closer) - len(closer.lstrip(WHITE)), "framing")
                m.note("missing_marker", m.at(), m.at(), table.own)
            return
        if m.eof:
            raise Cut
        if lane:
            m.args_lane(table.lane)
        yield
        at = m.i
