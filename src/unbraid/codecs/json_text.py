"""JSON arguments: passed on byte for byte as they are proved valid.

Two repairs keep the text JSON: a raw control character in a string is escaped, a
backslash before a character that JSON doesn't know is doubled. Emission stops
before the first invalid token; nothing is turned into Python objects except by
the accelerator, whose result is thrown away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from typing import Any, NoReturn

from unbraid.machine.core import Cut, Run
from unbraid.machine.lanes import lane_of
from unbraid.machine.reader import Reader
from unbraid.machine.setup import first_literals
from unbraid.syntax import MAX_DEPTH, MAX_NUMBER, WHITE, Json

__all__ = ["ACCELERATE", "read_json", "read_object", "read_string", "skip_value", "unwrap"]

ACCELERATE = [512]
"""From this many characters on an object is first tried as a whole."""

_BODY = r'[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*'
BODY = re.compile(_BODY)
STRING = re.compile(f'"{_BODY}"')
SPACES = re.compile(r"[ \t\r\n]*")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
NUMBER_CHARS = re.compile(r"[-+.0-9eE]*")
ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})')
ESCAPE_CUT = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?\Z")
NUMBER_END = r"(?![-+.0-9eE]|\Z)"
TOKEN = re.compile(rf'[ \t\r\n]*([{{}}\[\],:]|"{_BODY}"|true|false|null|{NUMBER.pattern}{NUMBER_END})')
OTHER = "-0123456789"
AFTER = {
    (state, char): following
    for state, more in {
        "value": {},
        "item": {"]": "closed"},
        "next": {",": "more", "}": "closed", "]": "closed"},
        "key": {'"': "colon", "}": "closed"},
        "more_keys": {'"': "colon"},
        "colon": {":": "value"},
    }.items()
    for char, following in (
        {"{": "open", "[": "open", **dict.fromkeys(OTHER + 'tfn"', "next")}
        if state in ("value", "item")
        else {}
    ).items()
    | more.items()
}
"""What may follow in a state, and the state behind it."""
LITERALS = {"t": "true", "f": "false", "n": "null"}
LANE = lane_of(_BODY, r"\\(?:u[0-9a-fA-F]{0,3})?", r'"\\\x00-\x1f')


def _number(text: str) -> int:
    if len(text) > MAX_NUMBER:
        raise ValueError("number too long")
    return 0


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _pairs(pairs: list[tuple[str, Any]]) -> int:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate keys")
    return 0


_DECODER = json.JSONDecoder(
    parse_int=_number, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_pairs
)


def whole_object(text: str, start: int) -> int | None:
    """The end of a valid JSON object that stands whole at ``start``, or None."""
    try:
        _, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if text.count("{", start, end) + text.count("[", start, end) > MAX_DEPTH:
        return None
    return end


def read_json(m: Reader, part: Json) -> Run:
    """Read one JSON object; null and nothing are ``{}``, a string that holds an object is opened."""
    yield from m.white_run(WHITE)
    char = yield from m.peek()
    if char == "{":
        m.announce(m.call.name)
        yield from read_object(m)
    elif char in ('"', "n") and char:
        yield from read_wrapped(m)
    elif not char:
        raise Cut
    else:
        yield from nothing_here(m)
    m.end_call(True)


def nothing_here(m: Reader) -> Run:
    """No arguments at all: right only where the template goes on at once."""
    following = tuple(text for text, marked in first_literals(m.rest) if marked)
    spelling = (yield from m.literal((*following, *m.openers()))) if following else None
    if spelling is None:
        m.fail("not_a_call", "a JSON object")
    m.announce(m.call.name)
    m.args("{}")


def read_wrapped(m: Reader) -> Run:
    """Read null, or a string whose text is an object."""
    char = m.buf[m.i]
    if char == "n":
        yield from expect(m, "null")
        m.take(4, "arguments")
        text: str | None = "{}"
    else:
        text = unwrap((yield from read_string(m, "arguments", None)))
    if text is None:
        m.fail("not_a_call", "a JSON object")
    if not m.call.announced:
        m.announce(m.call.name)
    m.args(text)


def unwrap(text: str) -> str | None:
    """The object that a string holds, as JSON text, or None."""
    inner = text.strip(WHITE)
    if inner in ("", "null"):
        return "{}"
    if inner.startswith("{") and whole_object(inner, 0) == len(inner):
        return inner
    return None


def expect(m: Reader, word: str) -> Run:
    """Wait until ``word`` stands here whole, or fail."""
    text = yield from m.peek(len(word))
    if text != word:
        if m.eof and word.startswith(text):
            raise Cut
        m.fail("broken_json", word)


def read_object(m: Reader) -> Run:
    """Read the object that begins here, giving it out through ``m.args`` as it is proved."""
    if len(m.buf) - m.i >= ACCELERATE[0]:
        end = whole_object(m.buf, m.i)
        if end is not None:
            m.args(m.buf[m.i : end])
            m.take(end - m.i, "arguments")
            return
    yield from value(m, m.args, "arguments")


def skip_value(m: Reader, kind: str) -> Run:
    """Read over any JSON value."""
    yield from value(m, _nowhere, kind)


def _nowhere(text: str) -> None:
    """A sink that keeps nothing."""


def read_string(m: Reader, kind: str, limit: int | None) -> Generator[None, None, str]:
    """Read a JSON string whole and decode it; over ``limit`` characters it fails."""
    pieces: list[str] = []
    m.take(1, kind)
    yield from string_rest(m, pieces.append, kind, limit)
    return str(json.loads('"' + "".join(pieces), strict=False))


def string_rest(m: Reader, put: Callable[[str], None], kind: str, limit: int | None = None) -> Run:
    """Read a string from behind its opening quote to behind its closing one."""
    length = 0
    own = put == m.args
    while True:
        found = BODY.match(m.buf, m.i)
        assert found is not None
        if found.end() > m.i:
            put(found.group())
            taken = found.end() - m.i
            m.take(taken if limit is None else min(taken, limit - length), kind)
            length += taken
        if limit is not None and length > limit:
            m.fail("not_a_call", f"a string of at most {limit} characters")
        if m.i < len(m.buf):
            char = m.buf[m.i]
            if char == '"':
                put(char)
                m.take(1, kind)
                return
            if char != "\\" or not ESCAPE_CUT.match(m.buf, m.i):
                if length == limit:
                    m.fail("not_a_call", f"a string of at most {limit} characters")
                put(json.dumps(char)[1:-1])
                m.take(1, kind)
                length += 1
                continue
            if m.eof:
                raise Cut
        elif m.eof:
            raise Cut
        if own:
            m.args_lane(LANE)
        yield


def whole_tokens(
    m: Reader, put: Callable[[str], None], kind: str, stack: list[str], keys: set[str], state: str
) -> str:
    """Read the tokens that stand here whole and are right, all at once; returns the state behind them."""
    own = put == m.args
    at = m.i
    while state != "done":
        found = TOKEN.match(m.buf, at)
        if found is None:
            break
        token = found[1]
        following = AFTER.get((state, token[0]))
        if following is None or (token[0] in OTHER and len(token) > MAX_NUMBER):
            break
        if following == "open":
            if len(stack) >= MAX_DEPTH:
                break
            stack.append(token)
            following = "key" if token == "{" else "item"
        elif following == "closed":
            if stack[-1] + token not in ("{}", "[]"):
                break
            stack.pop()
            following = "next" if stack else "done"
        elif following == "more":
            following = "more_keys" if stack[-1] == "{" else "value"
        elif following == "colon":
            if own and len(stack) == 1:
                note_key(m, token, m.base + found.start(1), m.base + found.end(1), keys)
        elif following == "next" and not stack:
            following = "done"
        state = following
        at = found.end()
    if at > m.i:
        put(m.buf[m.i : at])
        m.take(at - m.i, kind)
    return state


def note_key(m: Reader, key: str, start: int, end: int, keys: set[str]) -> None:
    """A key of the arguments themselves; a second one of the same name is noted."""
    if key in keys:
        m.note("duplicate_key", start, end, "each key once")
    keys.add(key)


def value(m: Reader, put: Callable[[str], None], kind: str) -> Run:
    """Read one JSON value, handing valid text to ``put``."""
    stack: list[str] = []
    keys: set[str] = set()
    state = "value"
    while True:
        state = whole_tokens(m, put, kind, stack, keys, state)
        if state == "done":
            return
        found = SPACES.match(m.buf, m.i)
        assert found is not None
        if found.end() > m.i:
            put(found.group())
            m.take(found.end() - m.i, kind)
        if m.i >= len(m.buf):
            if m.eof:
                raise Cut
            yield
            continue
        char = m.buf[m.i]
        if state == "next":
            if char == ",":
                state = "more_keys" if stack[-1] == "{" else "value"
                put(char)
                m.take(1, kind)
                continue
            closer = "}" if stack[-1] == "{" else "]"
            if char != closer:
                m.fail("broken_json", f", or {closer}")
        elif state == "colon":
            if char != ":":
                m.fail("broken_json", ":")
            put(char)
            m.take(1, kind)
            state = "value"
            continue
        elif state in ("key", "more_keys"):
            if char == '"':
                yield from read_key(m, put, kind, keys, len(stack))
                state = "colon"
                continue
            if char != "}" or state == "more_keys":
                m.fail("broken_json", "a key")
        elif char in "{[":
            if len(stack) >= MAX_DEPTH:
                m.fail("too_deep", f"at most {MAX_DEPTH} levels")
            stack.append(char)
            put(char)
            m.take(1, kind)
            state = "key" if char == "{" else "item"
            continue
        elif not (state == "item" and char == "]"):
            yield from scalar(m, put, kind, char)
            if not stack:
                return
            state = "next"
            continue
        put(char)
        m.take(1, kind)
        stack.pop()
        if not stack:
            return
        state = "next"


def read_key(m: Reader, put: Callable[[str], None], kind: str, keys: set[str], depth: int) -> Run:
    """Read a key; a second one of the same name in the arguments themselves is noted."""
    start = m.at()
    pieces: list[str] = []

    def keep(text: str) -> None:
        pieces.append(text)
        put(text)

    keep('"')
    m.take(1, kind)
    yield from string_rest(m, keep, kind)
    if depth == 1 and put == m.args:
        note_key(m, "".join(pieces), start, m.at(), keys)


def scalar(m: Reader, put: Callable[[str], None], kind: str, char: str) -> Run:
    """Read a string, a number or a literal."""
    if char == '"':
        put(char)
        m.take(1, kind)
        yield from string_rest(m, put, kind)
    elif char in LITERALS:
        word = LITERALS[char]
        yield from expect(m, word)
        put(word)
        m.take(len(word), kind)
    else:
        yield from number(m, put, kind)


def number(m: Reader, put: Callable[[str], None], kind: str) -> Run:
    """Read a number, held until something ends it."""
    while True:
        found = NUMBER_CHARS.match(m.buf, m.i)
        assert found is not None
        length = found.end() - m.i
        if length > MAX_NUMBER:
            m.fail("broken_json", f"a number of at most {MAX_NUMBER} characters")
        if found.end() < len(m.buf):
            break
        if m.eof:
            raise Cut
        yield
    text = found.group()
    if not text or not NUMBER.fullmatch(text):
        m.fail("broken_json", "a JSON value")
    put(text)
    m.take(length, kind)
