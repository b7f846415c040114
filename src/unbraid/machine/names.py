"""Readers of names, ids, filler words and choices: parts that stand before the arguments."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from functools import lru_cache

from unbraid.literals import decode_entities
from unbraid.machine.core import Cut, Refuted, Run
from unbraid.machine.reader import Reader
from unbraid.machine.steps import Options, Step
from unbraid.syntax import MAX_NAME, NAME_CHARS, WHITE, Given, Id, Name, Word

__all__ = ["choose", "read_given", "read_id", "read_name", "read_word"]


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
    if m.blank_here():
        yield from m.white_run(WHITE)
    name = yield from read_chars(m, part.chars, "a function's name")
    m.take(len(name), "name")
    m.call.name = single(decode_entities(name, part.entities), part.twice, m.state.tools)
    if m.blank_here():
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


def choose(m: Reader, options: Options) -> Generator[None, None, tuple[Step, ...]]:
    """The option that can begin with what stands here."""
    while True:
        rest = m.buf[m.i : m.i + options.width]
        waiting = False
        cut = False
        for text, steps in options.beginnings:
            if not rest.startswith(text):
                partial = len(rest) < len(text) and text.startswith(rest)
                waiting |= partial and not m.eof
                cut |= partial and m.eof
                continue
            counts = m.is_marker(text, m.i)
            if counts and not waiting:
                return steps
            waiting |= counts is None
        if rest and not waiting:
            for chars, steps in options.names:
                if chars.match(rest):
                    return steps
        if m.eof and (cut or not rest):
            raise Cut
        if not waiting:
            if (yield from m.literal(m.openers())) is None or not m.call.name:
                raise Refuted("not_a_call", options.expected)
            return options.first
        yield
