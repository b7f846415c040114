"""Calls as a Python list: ``[get_weather(city='Oslo', days=3), ping()]``."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

from unbraid.literals import escape, python_to_json
from unbraid.machine.core import Cut, Refuted, Run
from unbraid.machine.lanes import UNSAFE, lane_of
from unbraid.machine.names import read_chars
from unbraid.machine.reader import Reader
from unbraid.schema import quote
from unbraid.syntax import MAX_DEPTH, MAX_NUMBER, WHITE, PythonCalls

__all__ = ["read_python_calls"]

NAME = r"[\w.-]"
KEY = r"\w"
SCALAR = re.compile(r"[\w.+-]*")
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v", "\n": ""}
ESCAPES |= {char: char for char in "\\'\""}
HEX = {"x": "[0-9a-fA-F]{2}", "u": "[0-9a-fA-F]{4}", "U": "(?:000[0-9a-fA-F]|0010)[0-9a-fA-F]{4}"}
HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}
_WHOLE = "|".join(
    [
        "[^xuU0-7]",
        "[0-7]{3}|[0-7]{1,2}(?=[^0-7])",
        *(char + digits for char, digits in HEX.items()),
        *(rf"{char}(?!{HEX[char]}|[0-9a-fA-F]{{0,{length - 1}}}\Z)" for char, length in HEX_LENGTHS.items()),
    ]
)
BODY = {char: rf"[^{char}\\]*(?:\\(?:{_WHOLE})[^{char}\\]*)*" for char in "'\""}
BODIES = {char: re.compile(body) for char, body in BODY.items()}
ESCAPE = re.compile(rf"\\([0-7]{{1,3}}|{'|'.join(char + digits for char, digits in HEX.items())}|[\s\S])")
SAME = re.compile(rf'[^{UNSAFE}]*(?:\\["\\nrtbf][^{UNSAFE}]*)*').fullmatch
CLOSERS = {"[": "]", "(": ")", "{": "}"}


def _unescaped(found: re.Match[str]) -> str:
    text = found.group(1)
    if text[0] in "01234567":
        return chr(int(text, 8))
    if len(text) > 1:
        return chr(int(text[1:], 16))
    return ESCAPES.get(text, "\\" + text)


def as_json(text: str) -> str:
    """What the inside of a Python string, its escapes whole, is inside a JSON string."""
    return text if SAME(text) else escape(ESCAPE.sub(_unescaped, text))


LANES = {
    char: lane_of(BODY[char], r"\\[xuU0-7]?[0-9a-fA-F]{0,7}", f"{char}{UNSAFE}", as_json) for char in BODY
}


def read_python_calls(m: Reader, part: PythonCalls) -> Run:
    """Read a list of calls, each announced when its first keyword or its end is seen."""
    yield from expect(m, "[")
    while True:
        yield from m.white_run(WHITE)
        name = yield from read_chars(m, NAME, "a function's name")
        if not (name[0].isalpha() or name[0] == "_"):
            raise Refuted("not_a_call", "a function's name")
        m.take(len(name), "name")
        yield from m.white_run(WHITE)
        yield from expect(m, "(")
        yield from keywords(m, name)
        yield from m.white_run(WHITE)
        char = yield from m.peek()
        if not char:
            raise Cut
        if char not in ",]":
            return
        m.take(1, "markup")
        if char == "]":
            return
        m.next_call()


def expect(m: Reader, char: str) -> Run:
    """Read one character that must stand here."""
    found = yield from m.peek()
    if not found:
        raise Cut
    if found != char:
        m.fail("not_a_call", char)
    m.take(1, "markup")


def keywords(m: Reader, name: str) -> Run:
    """Read ``KEY=VALUE, …`` up to and with the closing parenthesis."""
    seen = m.call.keys
    while True:
        yield from m.white_run(WHITE)
        char = yield from m.peek()
        if char == ")":
            break
        start = m.at()
        key = yield from read_chars(m, KEY, "a keyword")
        m.take(len(key), "markup")
        yield from m.white_run(WHITE)
        yield from expect(m, "=")
        if not m.call.announced:
            m.announce(name)
            m.args("{")
        yield from m.white_run(WHITE)
        if key in seen:
            m.note("duplicate_key", start, m.at(), "each key once")
            yield from PythonValue(m, None).read("")
        else:
            before = f"{', ' if seen else ''}{quote(key)}: "
            seen.add(key)
            yield from PythonValue(m, m.args).read(before)
        yield from m.white_run(WHITE)
        char = yield from m.peek()
        if char == ",":
            m.take(1, "markup")
        elif char != ")":
            if not char:
                raise Cut
            m.fail("broken_call", ", or )")
    if not m.call.announced:
        m.announce(name)
        m.args("{")
    m.args("}")
    m.take(1, "markup")
    m.end_call(True)


class PythonValue:
    """Reads one Python literal with an explicit stack, giving out JSON text."""

    def __init__(self, m: Reader, put: Callable[[str], None] | None) -> None:
        self.m = m
        self.live = put is not None
        self.put: Callable[[str], None] = put or _nowhere
        self.kind = "arguments" if put else "dropped"
        self.stack: list[str] = []

    def read(self, before: str) -> Run:
        """Read the value; ``before`` is given out in front of it."""
        m = self.m
        yield from self.value(before)
        while self.stack:
            yield from m.white_run(WHITE, self.kind)
            char = yield from m.peek()
            closer = CLOSERS[self.stack[-1][0]]
            if char == closer:
                self.close()
                continue
            if char != ",":
                if not char:
                    raise Cut
                m.fail("broken_call", f", or {closer}")
            m.take(1, self.kind)
            yield from m.white_run(WHITE, self.kind)
            if (yield from m.peek()) == closer:
                continue
            if self.stack[-1] == "{":
                yield from self.entry(", ")
            else:
                yield from self.value(", ")

    def close(self) -> None:
        """Leave a container."""
        opener = self.stack.pop()
        self.put("}" if opener == "{" else "]")
        self.m.take(1, self.kind)

    def value(self, before: str) -> Run:
        """Read a scalar, or enter a container up to behind its first element."""
        m = self.m
        while True:
            char = yield from m.peek()
            if not char:
                raise Cut
            if char in "'\"":
                self.put(before + '"')
                yield from self.string(self.put)
                self.put('"')
                return
            if char not in "[({":
                self.put(before + (yield from self.scalar()))
                return
            if len(self.stack) >= MAX_DEPTH:
                m.fail("too_deep", f"at most {MAX_DEPTH} levels")
            m.take(1, self.kind)
            yield from m.white_run(WHITE, self.kind)
            following = yield from m.peek()
            if char == "{":
                if following == "}":
                    self.stack.append("{")
                    self.put(before + "{")
                else:
                    yield from self.dict_or_set(before)
                return
            self.stack.append(char)
            self.put(before + "[")
            if following == CLOSERS[char]:
                return
            before = ""

    def dict_or_set(self, before: str) -> Run:
        """Behind ``{``: the first element decides between a dict and a set."""
        m = self.m
        text, is_string = yield from self.key_or_item()
        yield from m.white_run(WHITE, self.kind)
        if (yield from m.peek()) == ":":
            m.take(1, self.kind)
            yield from m.white_run(WHITE, self.kind)
            self.stack.append("{")
            yield from self.value(before + "{" + (text if is_string else quote(text)) + ": ")
        else:
            self.stack.append("{set")
            self.put(before + "[" + text)

    def entry(self, before: str) -> Run:
        """Read a further key and value of a dict."""
        m = self.m
        text, is_string = yield from self.key_or_item()
        yield from m.white_run(WHITE, self.kind)
        if (yield from m.peek()) != ":":
            m.fail("broken_call", ":")
        m.take(1, self.kind)
        yield from m.white_run(WHITE, self.kind)
        yield from self.value(before + (text if is_string else quote(text)) + ": ")

    def key_or_item(self) -> Generator[None, None, tuple[str, bool]]:
        """Read a scalar whole: its JSON text, and whether it is a string."""
        m = self.m
        char = yield from m.peek()
        if not char:
            raise Cut
        if char in "'\"":
            pieces: list[str] = []
            yield from self.string(pieces.append, lane=False)
            return f'"{"".join(pieces)}"', True
        return (yield from self.scalar()), False

    def scalar(self) -> Generator[None, None, str]:
        """Read a number or a name, held until something ends it."""
        m = self.m
        while True:
            found = SCALAR.match(m.buf, m.i)
            assert found is not None
            if len(found.group()) > MAX_NUMBER:
                m.fail("broken_call", f"a number of at most {MAX_NUMBER} characters")
            if found.end() < len(m.buf):
                break
            if m.eof:
                raise Cut
            yield
        text = found.group()
        json_text = python_to_json(text) if text else None
        if json_text is None:
            m.fail("broken_call", "a Python literal")
        m.take(len(text), self.kind)
        return json_text

    def string(self, put: Callable[[str], None], lane: bool = True) -> Run:
        """Read a string literal, raw line breaks tolerated; ``put`` gets the text inside a JSON string."""
        m = self.m
        start = yield from m.peek(3)
        mark = start if start in ("'''", '"""') else start[0]
        m.take(len(mark), self.kind)
        body = BODIES[mark[0]].match
        while True:
            found = body(m.buf, m.i)
            assert found is not None
            if found.end() > m.i:
                put(as_json(found.group()))
                m.take(found.end() - m.i, self.kind)
            if m.buf.startswith(mark, m.i):
                m.take(len(mark), self.kind)
                return
            rest = m.buf[m.i : m.i + len(mark)]
            if rest and rest[0] != "\\" and not mark.startswith(rest):
                put(escape(rest[0]))
                m.take(1, self.kind)
                continue
            if m.eof:
                raise Cut
            if lane and self.live:
                m.args_lane(LANES[mark[0]])
            yield


def _nowhere(text: str) -> None:
    """A sink that keeps nothing."""
