"""Calls as a Python list: ``[get_weather(city='Oslo', days=3), ping()]``."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import NoReturn

from unbraid.codecs.envelope import read_envelope
from unbraid.literals import escape, python_to_json
from unbraid.machine.core import Cut, Refuted, Run
from unbraid.machine.lanes import UNSAFE, lane_of
from unbraid.machine.names import read_chars
from unbraid.machine.reader import Reader
from unbraid.schema import quote
from unbraid.syntax import MAX_DEPTH, MAX_NAME, MAX_NUMBER, MAX_WHITE, WHITE, PythonCalls

__all__ = ["read_python_calls"]

NAME = r"[\w.-]"
KEY = r"\w"
HEAD = re.compile(rf"{NAME}+[{WHITE}]*\(")
HEAD_CUT = re.compile(rf"{NAME}{{1,{MAX_NAME}}}[{WHITE}]{{0,{MAX_WHITE}}}\Z")
KEYWORD = re.compile(rf"({KEY}{{1,{MAX_NAME}}})([{WHITE}]*)(=)")
KEYWORD_CUT = re.compile(rf"{KEY}{{1,{MAX_NAME}}}[{WHITE}]{{0,{MAX_WHITE}}}\Z")
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
PLAIN_ESCAPES = "nrt'\""
"""What stands, besides a backslash, behind the backslashes of usual strings; no hexadecimal digits do."""
PLAIN = re.compile(rf"[^\\]*(?:\\[\\{PLAIN_ESCAPES}][^\\]*)*").fullmatch
_WHITE = f"[{WHITE}]{{0,{MAX_WHITE}}}"
_BLANK = rf"[ \t]{{0,{MAX_WHITE}}}"
_VALUE = r"[\"'\[({\])}0-9+.-]|(?:True|False|None|true|false|null)(?=\W)"
_BEHIND = rf"{_WHITE}(?::|[\])}}]{_BLANK}[,\])}}<\r\n]|,{_WHITE}(?:{KEY}{{1,{MAX_NAME}}}{_WHITE}=|{_VALUE}))"
BEHIND = re.compile(_BEHIND)
"""What stands behind the quote that ends a string; behind any other quote it is data."""
BEHIND_CUT = re.compile(rf"{_WHITE}(?:[\])}}]{_BLANK}|,{_WHITE}(?:{KEY}{{1,{MAX_NAME}}}{_WHITE})?)?\Z")
CLOSERS = {"[": "]", "(": ")", "{": "}"}
CLOSER_CHARS = frozenset(CLOSERS.values())
QUOTES = "'\""
BEGINS = "_+-([{" + QUOTES
ELEMENT = frozenset(("value", "first", "brace", "after"))
CLOSABLE = ELEMENT - {"value"}
_STRING = "|".join(
    f"{char}(?!{char}){body}{char}(?={_BEHIND})|{char}{char}(?={_BEHIND})" for char, body in BODY.items()
)
TOKEN = re.compile(rf"[{WHITE}]*([\[\](){{}},:]|{_STRING}|[\w.+-]{{1,{MAX_NUMBER}}}(?![\w.+-]|\Z))[{WHITE}]*")
WHOLE = re.compile(
    rf"({KEY}{{1,{MAX_NAME}}})([{WHITE}]*)(=)([{WHITE}]*)({_STRING}|[\w.+-]{{1,{MAX_NUMBER}}})([{WHITE}]*)(,|(?=\)))"
)
SPACES = re.compile(f"[{WHITE}]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,99})(?:\.[0-9]{1,99})?").fullmatch
WORDS = {"True": "true", "False": "false", "None": "null", "true": "true", "false": "false", "null": "null"}


def _unescaped(found: re.Match[str]) -> str:
    text = found.group(1)
    if text[0] in "01234567":
        return chr(int(text, 8))
    if len(text) > 1:
        return chr(int(text[1:], 16))
    return ESCAPES.get(text, "\\" + text)


def as_json(text: str) -> str:
    """What the inside of a Python string, its escapes whole, is inside a JSON string."""
    if SAME(text):
        return text
    if not PLAIN(text):
        return escape(ESCAPE.sub(_unescaped, text))
    text = text.replace(r"\\", r"\x")
    for char in PLAIN_ESCAPES:
        text = text.replace("\\" + char, ESCAPES[char])
    return escape(text.replace(r"\x", "\\"))


LANES = {
    char: lane_of(BODY[char], r"\\[xuU0-7]?[0-9a-fA-F]{0,7}", f"{char}{UNSAFE}", as_json) for char in BODY
}


def element(token: str) -> str | None:
    """The JSON text of a string or another scalar; None if it is none."""
    if token[0] in QUOTES:
        return f'"{as_json(token[1:-1])}"'
    if token in WORDS or NUMBER(token):
        return WORDS.get(token, token)
    return python_to_json(token)


def as_key(value: str, is_string: bool) -> str:
    """A scalar as a key of an object."""
    return value if is_string else quote(value)


def read_python_calls(m: Reader, part: PythonCalls) -> Run:
    """Read a list of calls, each announced when its first keyword or its end is seen."""
    marked = m.marked()
    listed = part.brackets == "always" or (part.brackets == "optional" and (yield from m.peek()) == "[")
    if listed:
        yield from expect(m, "[")
    while True:
        if m.blank_here():
            yield from m.white_run(WHITE)
        if part.item is not None and (yield from m.peek()) == "{":
            item = read_envelope(m, part.item)
        else:
            item = read_call(m)
        called = yield from m.item(item, skip_item, marked)
        if not (yield from (m.another_call(called) if listed else bare_call(m, called))):
            return


def read_call(m: Reader) -> Run:
    """Read ``NAME(KEY=VALUE, …)``."""
    yield from m.whole(HEAD, HEAD_CUT)
    name = yield from read_chars(m, NAME, "a function's name")
    if not (name[0].isalpha() or name[0] == "_"):
        raise Refuted("not_a_call", "a function's name")
    m.take(len(name), "name")
    if m.blank_here():
        yield from m.white_run(WHITE)
    yield from expect(m, "(")
    yield from keywords(m, name)


def skip_item(m: Reader) -> Run:
    """Read over a call of any shape or a literal; anything else is refuted."""
    found = yield from m.whole(HEAD, HEAD_CUT)
    if found is None:
        yield from PythonValue(m, None).read("")
        return
    m.take(len(found.group()), "noise")
    while True:
        yield from m.white_run(WHITE)
        if (yield from m.peek()) == ")":
            break
        keyword = yield from m.whole(KEYWORD, KEYWORD_CUT)
        m.take(len(keyword.group()) if keyword else 0, "noise")
        yield from m.white_run(WHITE)
        yield from PythonValue(m, None).read("")
        yield from m.white_run(WHITE)
        char = yield from m.peek()
        if char == ",":
            m.take(1, "noise")
        elif not char:
            raise Cut
        elif char != ")":
            m.fail("not_a_call", ", or )")
    m.take(1, "noise")


def bare_call(m: Reader, called: bool) -> Generator[None, None, bool]:
    """Behind an item without brackets: whether another begins, behind white space or a comma.

    ``called`` says whether the item was a call.
    """
    yield from m.white_run(WHITE)
    if (yield from m.peek()) == ",":
        m.take(1, "markup")
        yield from m.white_run(WHITE)
    char = yield from m.peek()
    if not (char.isalnum() or char in BEGINS) or not char:
        m.end_of_list(called)
        return False
    if called:
        m.next_call()
    return True


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
        if m.blank_here():
            yield from m.white_run(WHITE)
        char = m.buf[m.i : m.i + 1] or (yield from m.peek())
        if char == ")":
            break
        if whole_keyword(m, name):
            continue
        start = m.at()
        found = yield from m.whole(KEYWORD, KEYWORD_CUT)
        if found is not None:
            key = found[1]
            for kind, text in zip(("markup", "framing", "markup"), found.groups(), strict=True):
                m.take(len(text), kind)
        else:
            key = yield from read_chars(m, KEY, "a keyword")
            m.take(len(key), "markup")
            if m.blank_here():
                yield from m.white_run(WHITE)
            yield from expect(m, "=")
        if not m.call.announced:
            m.announce(name)
            m.args("{")
        if m.blank_here():
            yield from m.white_run(WHITE)
        if key in seen:
            m.note("duplicate_key", start, m.at(), "each key once")
            yield from PythonValue(m, None).read("")
        else:
            before = f"{', ' if seen else ''}{quote(key)}: "
            seen.add(key)
            yield from PythonValue(m, m.args).read(before)
        if m.blank_here():
            yield from m.white_run(WHITE)
        char = m.buf[m.i : m.i + 1] or (yield from m.peek())
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


def whole_keyword(m: Reader, name: str) -> bool:
    """Read a new keyword with a scalar at once, and the comma behind it, if all of it stands here."""
    found = WHOLE.match(m.buf, m.i)
    if found is None or found[1] in m.call.keys:
        return False
    value = element(found[5])
    if value is None:
        return False
    for kind, text in zip(("markup", "framing", "markup"), found.groups(), strict=False):
        m.take(len(text), kind)
    if not m.call.announced:
        m.announce(name)
        m.args("{")
    m.args(f"{', ' if m.call.keys else ''}{quote(found[1])}: {value}")
    m.call.keys.add(found[1])
    m.take(len(found[4]), "framing")
    m.take(len(found[5]), "arguments")
    m.take(len(found[6]), "framing")
    m.take(len(found[7]), "markup")
    return True


class PythonValue:
    """Reads one Python literal, giving out JSON text; the containers that are open are a stack.

    ``state`` says what may come: a ``value``; the ``first`` element or the end of a
    list or tuple, of braces (``brace``); what is ``next`` behind an element, what
    comes ``after`` a comma; a ``colon``; or, behind the first element in braces
    (``which``), what tells a dict from a set. ``before`` is given out with the next value.
    """

    def __init__(self, m: Reader, put: Callable[[str], None] | None) -> None:
        self.m = m
        self.live = put is not None
        self.put: Callable[[str], None] = put or _nowhere
        self.kind = "arguments" if put else "dropped"
        self.stack: list[str] = []
        self.state = "value"
        self.before = ""
        self.key = ("", False)

    def read(self, before: str) -> Run:
        """Read the value; ``before`` is given out in front of it."""
        m = self.m
        self.before = before
        while True:
            self.whole_tokens()
            if self.state == "done":
                return
            if m.i >= len(m.buf) or (not m.eof and self.undecided()):
                if m.eof:
                    raise Cut
                yield
            elif m.buf[m.i] in QUOTES and self.state in ELEMENT:
                yield from self.long_string()
                if self.state == "done":
                    return
            else:
                self.wrong_token()

    def whole_tokens(self) -> None:
        """Read the tokens that stand here whole and are right, all at once."""
        m = self.m
        buf = m.buf
        at = m.i
        out: list[str] = []
        while at < len(buf):
            found = TOKEN.match(buf, at)
            if found is None:
                at = SPACES.match(buf, at).end()  # type: ignore[union-attr]
                break
            if not self.step(found[1], out):
                at = found.start(1)
                break
            if self.state == "done":
                at = found.end(1)
                break
            at = found.end()
        if out:
            self.put("".join(out))
        m.take(at - m.i, self.kind)

    def step(self, token: str, out: list[str]) -> bool:
        """Go on with a token; False if it may not stand here, or what only a fail can tell."""
        state = self.state
        if state == "which":
            if token == ":":
                self.before += "{" + as_key(*self.key) + ": "
                self.stack[-1], self.state = "{", "value"
                return True
            out.append(self.set_begins())
            state = "next"
        if state == "next":
            if token == ",":
                self.state, self.before = "after", ", "
                return True
            return token == CLOSERS[self.stack[-1][0]] and self.close(out)
        if state == "colon":
            self.state = "value"
            return token == ":"
        if token in CLOSER_CHARS:
            return state in CLOSABLE and token == CLOSERS[self.stack[-1][0]] and self.close(out)
        if token in CLOSERS:
            return self.open(token, out)
        value = element(token)
        if value is not None:
            self.element(value, token[0] in QUOTES, out)
        return value is not None

    def set_begins(self) -> str:
        """No colon behind the first element in braces: the text of a set so far."""
        self.stack[-1], self.state = "{set", "next"
        return self.before + "[" + self.key[0]

    def open(self, token: str, out: list[str]) -> bool:
        """Enter a container; False where none may stand."""
        if self.keyed() or len(self.stack) >= MAX_DEPTH:
            return False
        self.stack.append(token)
        if token == "{":
            self.state = "brace"
        else:
            out.append(self.before + "[")
            self.before, self.state = "", "first"
        return True

    def close(self, out: list[str]) -> bool:
        """Leave a container."""
        opener = self.stack.pop()
        if self.state == "brace":
            out.append(self.before + "{")
        out.append("}" if opener == "{" else "]")
        self.behind()
        return True

    def behind(self) -> None:
        """Behind a value."""
        self.state = "next" if self.stack else "done"
        self.before = ""

    def keyed(self) -> bool:
        """Whether the element here must be a scalar: a key, or the first one in braces."""
        return self.state == "brace" or (self.state == "after" and self.stack[-1] == "{")

    def element(self, value: str, is_string: bool, out: list[str]) -> None:
        """A scalar was read: a key, or a value."""
        if self.state == "brace":
            self.key, self.state = (value, is_string), "which"
        elif self.keyed():
            self.before += as_key(value, is_string) + ": "
            self.state = "colon"
        else:
            out.append(self.before + value)
            self.behind()

    def undecided(self) -> bool:
        """Whether a scalar or a string may go on behind the end of the text."""
        m = self.m
        if self.state not in ELEMENT:
            return False
        found = SCALAR.match(m.buf, m.i)
        assert found is not None
        return m.i < found.end() == len(m.buf) <= m.i + MAX_NUMBER

    def long_string(self) -> Run:
        """Read a string that doesn't stand here whole; it streams unless it is a key."""
        if self.keyed():
            pieces: list[str] = []
            yield from self.string(pieces.append, lane=False)
            self.element(f'"{"".join(pieces)}"', True, [])
            return
        self.put(self.before + '"')
        yield from self.string(self.put)
        self.put('"')
        self.behind()

    def wrong_token(self) -> NoReturn:
        """What stands here is cut by the end of the output, or it is no Python."""
        m = self.m
        char = m.buf[m.i]
        if self.state == "which":
            self.put(self.set_begins())
        if self.state == "next":
            m.fail("broken_call", f", or {CLOSERS[self.stack[-1][0]]}")
        if self.state == "colon":
            m.fail("broken_call", ":")
        if char in CLOSERS and not self.keyed():
            m.fail("too_deep", f"at most {MAX_DEPTH} levels")
        found = SCALAR.match(m.buf, m.i)
        assert found is not None
        if len(found.group()) > MAX_NUMBER:
            m.fail("broken_call", f"a number of at most {MAX_NUMBER} characters")
        if found.end() == len(m.buf):
            raise Cut
        m.fail("broken_call", "a Python literal")

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
            rest = m.buf[m.i : m.i + len(mark)]
            ends = self.ends(mark) if rest == mark else None
            if ends:
                m.take(len(mark), self.kind)
                return
            if ends is False or (rest and rest[0] != "\\" and not mark.startswith(rest)):
                put(escape(rest[0]))
                m.take(1, self.kind)
                continue
            if m.eof:
                raise Cut
            if lane and self.live:
                m.args_lane(LANES[mark[0]])
            yield

    def ends(self, mark: str) -> bool | None:
        """Whether the quotes here end the string; None while what follows is not there yet."""
        m = self.m
        at = m.i + len(mark)
        if len(mark) > 1 or BEHIND.match(m.buf, at):
            return True
        if BEHIND_CUT.match(m.buf, at):
            return True if m.eof else None
        return False


def _nowhere(text: str) -> None:
    """A sink that keeps nothing."""
