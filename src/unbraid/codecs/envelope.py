"""Calls as JSON objects: ``{"name": …, "arguments": …}``, alone or in an array."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from functools import lru_cache
from typing import Any

from unbraid.codecs.json_text import expect, read_object, read_string, skip_value, unwrap
from unbraid.machine.core import Cut, Refuted, Run
from unbraid.machine.reader import Reader
from unbraid.syntax import MAX_NAME, MAX_WHITE, WHITE, Envelope, Envelopes, IdMember, Lit, Named

__all__ = ["read_envelopes", "read_named", "read_tagged"]

ENVELOPE = Envelope()
KEY = re.compile(rf'("[^"\\\x00-\x1f]{{0,32}}")([{WHITE}]*)(:)([{WHITE}]*)')
KEY_CUT = re.compile(rf'"[^"\\\x00-\x1f]{{0,32}}(?:"[{WHITE}]{{0,{MAX_WHITE}}})?\Z')
NAME = re.compile(rf'"([^"\\\x00-\x1f]{{1,{MAX_NAME}}})"')
NAME_CUT = re.compile(rf'"[^"\\\x00-\x1f]{{0,{MAX_NAME}}}\Z')


def read_envelopes(m: Reader, part: Envelopes) -> Run:
    """Read a row of objects, each a call of its own."""
    marked = m.marked()
    if not part.open.strip():
        yield from read_rows(m, part.item, marked)
        return
    yield from expect(m, "[")
    m.take(1, "markup")
    while True:
        if m.blank_here():
            yield from m.white_run(WHITE)
        called = yield from read_item(m, part.item, marked)
        if not (yield from m.another_call(called)):
            return


def read_tagged(m: Reader, part: Envelope) -> Run:
    """Read the envelope of a call; in front of a closer, further ones are calls too."""
    if any(isinstance(one, Lit) for one in m.rest):
        yield from read_rows(m, part, False)
    else:
        yield from read_envelope(m, part)


def read_rows(m: Reader, item: Envelope | Named, marked: bool) -> Run:
    """Read objects as long as another follows, white space between them."""
    while True:
        if m.blank_here():
            yield from m.white_run(WHITE)
        called = yield from read_item(m, item, marked)
        if m.blank_here():
            yield from m.white_run(WHITE)
        if (m.buf[m.i : m.i + 1] or (yield from m.peek())) != "{":
            m.end_of_list(called)
            return
        if called:
            m.next_call()


def read_item(m: Reader, item: Envelope | Named, marked: bool) -> Generator[None, None, bool]:
    """Read an object of a row; False for one that is no call, see ``Reader.item``."""
    return m.item(ITEMS[type(item)](m, item), skip_value, marked)


def object_here(m: Reader) -> Run:
    """Fail where no object begins; the output's end cuts the call."""
    char = yield from m.peek()
    if not char:
        raise Cut
    if char != "{":
        m.fail("not_a_call", "{")


def read_named(m: Reader, _: Named) -> Run:
    """Read an object whose only key is the function's name."""
    yield from object_here(m)
    m.take(1, "markup")
    if m.blank_here():
        yield from m.white_run(WHITE)
    yield from read_name_value(m)
    if m.blank_here():
        yield from m.white_run(WHITE)
    yield from expect(m, ":")
    m.take(1, "markup")
    if m.blank_here():
        yield from m.white_run(WHITE)
    char = yield from m.peek()
    if char == '"' and m.call.name in ENVELOPE.name and m.call.name not in (m.state.tools or ()):
        yield from read_name_value(m)
        yield from read_members(m, ENVELOPE, seen_arguments=False, first=False)
        return
    yield from read_arguments(m)
    if not m.call.announced:
        m.announce(m.call.name)
    yield from read_members(m, ENVELOPE, seen_arguments=True, first=False)


def read_envelope(m: Reader, part: Envelope) -> Run:
    """Read one envelope; the call is announced when its name and its arguments are seen."""
    yield from object_here(m)
    seen_arguments = whole_head(m, part)
    if seen_arguments:
        yield from read_arguments(m)
    else:
        m.take(1, "markup")
    yield from read_members(m, part, seen_arguments=seen_arguments, first=not seen_arguments)


def read_members(m: Reader, part: Envelope, *, seen_arguments: bool, first: bool) -> Run:
    """Read the members of an envelope up to its brace; ``first``: none was read yet."""
    while True:
        if m.blank_here():
            yield from m.white_run(WHITE)
        char = m.buf[m.i : m.i + 1] or (yield from m.peek())
        if char == "}":
            break
        if not char:
            raise Cut
        if not first:
            if char != ",":
                m.fail("broken_json", ", or }")
            m.take(1, "markup")
            if m.blank_here():
                yield from m.white_run(WHITE)
        first = False
        key = yield from read_key(m)
        if key in part.name and not m.call.announced and not m.call.name:
            yield from read_name_value(m)
        elif key in part.arguments and not seen_arguments:
            seen_arguments = True
            yield from read_arguments(m)
        elif part.id is not None and key == part.id.key:
            yield from read_id_value(m, part.id)
        elif m.call.announced or key in (*part.extra, *part.name, *part.arguments):
            yield from skip_value(m)
        else:
            m.fail("not_a_call", "one of the keys " + ", ".join((*part.name, *part.arguments, *part.extra)))
        if seen_arguments and m.call.name and not m.call.announced:
            m.announce(m.call.name)
    close(m, part, seen_arguments)
    m.take(1, "markup")
    m.end_call(True)


@lru_cache(maxsize=64)
def _head(names: tuple[str, ...], arguments: tuple[str, ...]) -> re.Pattern[str]:
    """The usual beginning, each piece a group: a brace, the name, and the key of an object."""
    name, key = (f'"(?:{"|".join(map(re.escape, keys))})"' for keys in (names, arguments))
    tokens = (r"\{", name, ":", r'"[^"\\\x00-\x1f]{1,256}"', ",", key, ":")
    return re.compile("".join(f"({token})([{WHITE}]*)" for token in tokens) + r"(?=\{)")


def whole_head(m: Reader, part: Envelope) -> bool:
    """Read the usual beginning if all of it stands here."""
    found = _head(part.name, part.arguments).match(m.buf, m.i)
    name = found[7][1:-1].strip(WHITE) if found else ""
    if not found or not name:
        return False
    for n, text in enumerate(found.groups()):
        m.take(len(text), "framing" if n % 2 else "name" if n == 6 else "markup")
    m.call.name = name
    return True


def close(m: Reader, part: Envelope, seen_arguments: bool) -> None:
    """At the closing brace: an envelope without arguments is a call only where that is allowed."""
    if m.call.announced:
        return
    if not m.call.name or (part.both and not seen_arguments):
        raise Refuted("not_a_call", "a name and arguments")
    m.announce(m.call.name)
    m.args("{}")


def read_key(m: Reader) -> Generator[None, None, str]:
    """Read a key and its colon."""
    if (yield from m.peek()) != '"':
        if m.eof and m.i >= len(m.buf):
            raise Cut
        m.fail("not_a_call", "a key")
    found = yield from m.whole(KEY, KEY_CUT)
    if found is not None:
        for n, text in enumerate(found.groups()):
            m.take(len(text), "framing" if n % 2 else "markup")
        if m.blank_here():
            yield from m.white_run(WHITE)
        return found[1][1:-1]
    key = yield from read_string(m, "markup", 32)
    if m.blank_here():
        yield from m.white_run(WHITE)
    yield from expect(m, ":")
    m.take(1, "markup")
    if m.blank_here():
        yield from m.white_run(WHITE)
    return key


def read_name_value(m: Reader) -> Run:
    """Read the name's string."""
    char = yield from m.peek()
    if not char:
        raise Cut
    if char != '"':
        m.fail("not_a_call", "a function's name")
    found = yield from m.whole(NAME, NAME_CUT)
    if found is not None:
        m.take(found.end() - m.i, "name")
        name = found[1].strip(WHITE)
    else:
        name = (yield from read_string(m, "name", MAX_NAME)).strip(WHITE)
    if not name:
        m.fail("not_a_call", "a function's name")
    m.call.name = name


def read_id_value(m: Reader, part: IdMember) -> Run:
    """Read the id's string, the call's id if it comes in time; another value is read over."""
    if (yield from m.peek()) != '"':
        yield from skip_value(m)
        return
    text = yield from read_string(m, "id", None if m.call.announced else MAX_NAME)
    if not m.call.announced and re.fullmatch(part.id.pattern, text):
        m.call.id = text


def read_arguments(m: Reader) -> Run:
    """Read the arguments: an object, a string that holds one, or null."""
    char = yield from m.peek()
    if char == "{":
        if m.call.name:
            m.announce(m.call.name)
        yield from read_object(m)
        return
    if char == "n":
        yield from expect(m, "null")
        m.take(4, "arguments")
        m.args("{}")
        return
    if char == '"':
        text = unwrap((yield from read_string(m, "arguments", None)))
        if text is not None:
            m.args(text)
            return
    elif not char:
        raise Cut
    m.fail("not_a_call", "a JSON object")


ITEMS: dict[type, Callable[[Reader, Any], Run]] = {Envelope: read_envelope, Named: read_named}
