"""Readers of names, ids, filler words and choices: parts that stand before the arguments."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from functools import lru_cache

from unbraid.literals import decode_entities
from unbraid.machine.core import Cut, Refuted, Run
from unbraid.machine.reader import Reader
from unbraid.machine.setup import first_literals
from unbraid.syntax import MAX_NAME, NAME_CHARS, WHITE, Choice, Given, Id, Name, Part, Word

__all__ = ["read_choice", "read_given", "read_id", "read_name", "read_word"]


@lru_cache(maxsize=64)
def _run(chars: str) -> re.Pattern[str]:
    return re.compile(chars + "*")


def read_chars(m: Reader, chars: str, expected: str) -> Generator[None, None, str]:
    """The run of ``chars`` that stands here, not consumed; refuted when empty or over-long."""
    pattern = _run(chars)
    while True:
        found = pattern.match(m.buf, m.i)
        assert found is not None
        text = found.group()
        if len(text) > MAX_NAME:
            m.fail("not_a_call", f"{expected} of at most {MAX_NAME} characters")
        if found.end() < len(m.buf) or m.eof:
            break
        yield
    if not text:
        if m.i >= len(m.buf):
            raise Cut
        m.fail("not_a_call", expected)
    return text


def read_name(m: Reader, part: Name) -> Run:
    """Read the function's name, white space around it tolerated."""
    yield from m.white_run(WHITE)
    name = yield from read_chars(m, part.chars, "a function's name")
    m.take(len(name), "name")
    m.call.name = single(decode_entities(name, part.entities), part.twice, m.state.tools)
    yield from m.white_run(WHITE)


def single(name: str, between: str, tools: Collection[str] | None) -> str:
    """A name that is written twice is read once, where only that is a declared tool's."""
    half = (len(name) - len(between)) // 2
    doubled = between and name == name[:half] + between + name[:half]
    return name[:half] if doubled and tools and name not in tools and name[:half] in tools else name


def read_given(m: Reader, part: Given) -> Run:
    """Take the name that the request knows."""
    m.call.name = part.name
    yield from ()


def read_word(m: Reader, part: Word) -> Run:
    """Read a word that carries no meaning."""
    word = yield from read_chars(m, r"[\w-]", part.text)
    m.take(len(word), "markup")


def read_id(m: Reader, part: Id) -> Run:
    """Read an id that the model writes, and the name in it if it holds one."""
    yield from m.white_run(WHITE)
    text = yield from read_chars(m, NAME_CHARS, "a call's id")
    m.take(len(text), "id")
    if part.name:
        prefix = part.pattern.partition("{name}")[0]
        name, colon, index = text.rpartition(":")
        if not (colon and index.isdecimal()):
            name = text
        else:
            m.call.id = text
        m.call.name = name.removeprefix(prefix)
        if not m.call.name:
            if m.eof and m.i >= len(m.buf):
                raise Cut
            raise Refuted("not_a_call", "a function's name")
    elif re.fullmatch(part.pattern, text):
        m.call.id = text
    yield from m.white_run(WHITE)


def read_choice(m: Reader, part: Choice) -> Run:
    """Read the option that can begin with what stands here."""
    beginnings, names, width, expected = _options(part)
    while True:
        rest = m.buf[m.i : m.i + width]
        waiting = False
        cut = False
        for text, option in beginnings:
            if not rest.startswith(text):
                partial = len(rest) < len(text) and text.startswith(rest)
                waiting |= partial and not m.eof
                cut |= partial and m.eof
                continue
            counts = m.is_marker(text, m.i)
            if counts and not waiting:
                yield from m.sequence(option)
                return
            waiting |= counts is None
        for name, option in names:
            if rest and not waiting and _run(name.chars).match(rest[0]).end():  # type: ignore[union-attr]
                yield from m.sequence(option)
                return
        if m.eof and (cut or not rest):
            raise Cut
        if not waiting:
            if (yield from m.literal(m.openers())) is None:
                raise Refuted("not_a_call", expected)
            yield from m.sequence(part.options[0])
            return
        yield


Parts = tuple[Part, ...]
Options = tuple[list[tuple[str, Parts]], list[tuple[Name, Parts]], int, str]
# By identity: a declaration is hashed anew, all of it, at every look-up.
_KNOWN: dict[int, tuple[Choice, Options]] = {}


def _options(part: Choice) -> Options:
    """What each option may begin with, the longest first; options that begin with a name; the
    length of the longest beginning; and all of them in words."""
    known = _KNOWN.get(id(part))
    if known is None or known[0] is not part:
        names = [(option[0], option) for option in part.options if isinstance(option[0], Name)]
        found = [
            (text, option)
            for option in part.options
            if not isinstance(option[0], Name)
            for text, _ in first_literals(option)
        ]
        expected = " or ".join(dict.fromkeys(text for text, _ in found))
        found.sort(key=lambda one: -len(one[0]))
        known = _KNOWN[id(part)] = (part, (found, names, len(found[0][0]) if found else 1, expected))
    return known[1]
