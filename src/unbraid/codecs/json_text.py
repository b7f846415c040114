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
from unbraid.machine.keys import Keys
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
TOKEN = re.compile(
    r"[ \t\r\n]*"
    rf'([{{}}\[\],:]|"{_BODY}"|{NUMBER.pattern}{NUMBER_END}|true|false|null)'
    r"[ \t\r\n]*"
)
OTHER = "-0123456789"


OPEN, CLOSE, COLON, DONE = "open", "close", "colon", "done"


def _values(behind: str) -> dict[str, str]:
    return {"{": OPEN, "[": OPEN, **dict.fromkeys(OTHER + 'tfn"', behind)}


AFTER: dict[str, dict[str, str]] = {
    "value": _values(DONE),
    "item": {**_values("next_item"), "]": CLOSE},
    "more_items": _values("next_item"),
    "next_item": {",": "more_items", "]": CLOSE},
    "key": {'"': COLON, "}": CLOSE},
    "more_keys": {'"': COLON},
    "colon": {":": "member"},
    "member": _values("next_key"),
    "next_key": {",": "more_keys", "}": CLOSE},
}
"""What may stand in a state, by its first character, and the state behind it."""
BEHIND = {"value": DONE, "item": "next_item", "more_items": "next_item", "member": "next_key"}
"""The state behind a value."""
KEY_CUT = re.compile(r'"[^"\\\x00-\x1f]{0,64}\Z')
VALUE_CUT = re.compile(rf"(?:[-+.0-9eE]{{1,{MAX_NUMBER}}}|t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)\Z")
LITERALS = {"t": "true", "f": "false", "n": "null"}
LANE = lane_of(_BODY, r"\\(?:u[0-9a-fA-F]{0,3})?", r'"\\\x00-\x1f')


def _number(text: str) -> int:
    if len(text) > MAX_NUMBER:
        raise ValueError("number too long")
    return 0


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _pairs(pairs: list[tuple[str, Any]]) -> list[Any]:
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError("duplicate keys")
    return [value for _, value in pairs]


_DECODER = json.JSONDecoder(
    parse_int=_number, parse_float=_number, parse_constant=_refuse, object_pairs_hook=_pairs
)


def whole_object(text: str, start: int) -> int | None:
    """The end of a valid JSON object that stands whole at ``start``, or None."""
    try:
        lists, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        return None
    if text.count("{", start, end) + text.count("[", start, end) > MAX_DEPTH and _too_deep(lists):
        return None
    return end


def _too_deep(lists: list[Any]) -> bool:
    """Whether lists are nested deeper than is read."""
    level = [lists]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level for inner in one if type(inner) is list]
        if not level:
            return False
    return True


def read_json(m: Reader, part: Json) -> Run:
    """Read one JSON object; null and nothing are ``{}``, a string that holds an object is opened."""
    yield from m.white_run(WHITE)
    char = yield from m.peek()
    if char == "{":
        m.announce(m.call.name)
        yield from read_object(m)
    elif char in ('"', "n") and char:
        yield from read_wrapped(m)
    elif not char or m.is_cut():
        raise Cut
    else:
        yield from nothing_here(m)
    m.end_call(True)


def nothing_here(m: Reader) -> Run:
    """No arguments at all: right only where the template goes on at once."""
    following = tuple(text for text, marked in first_literals(m.rest) if marked)
    spelling = yield from m.literal((*following, *m.openers()))
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
    yield from value(m, True)


def skip_value(m: Reader) -> Run:
    """Read over any JSON value; it is markup."""
    yield from value(m, False)


def _nowhere(text: str) -> None:
    """A sink that keeps nothing."""


def read_string(m: Reader, kind: str, limit: int | None) -> Generator[None, None, str]:
    """Read a JSON string whole and decode it; over ``limit`` characters it fails."""
    pieces: list[str] = []
    m.take(1, kind)
    yield from string_rest(m, pieces.append, kind, limit)
    text = "".join(pieces)
    return text[:-1] if "\\" not in text else str(json.loads('"' + text, strict=False))


def string_rest(
    m: Reader, put: Callable[[str], None], kind: str, limit: int | None = None, opener: int = 0
) -> Run:
    """Read a string from behind its opening quote, or with it (``opener`` 1), to behind its closing one."""
    length = 0
    own = put == m.args
    while True:
        found = BODY.match(m.buf, m.i + opener)
        assert found is not None
        opener = 0
        if limit is None and m.buf.startswith('"', found.end()):
            put(m.buf[m.i : found.end() + 1])
            m.take(found.end() + 1 - m.i, kind)
            return
        if found.end() > m.i:
            put(m.buf[m.i : found.end()])
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


def whole_tokens(m: Reader, own: bool, stack: list[str], keys: Keys, state: str) -> str:
    """Read the tokens that stand here whole and are right, all at once; returns the state behind them.

    ``stack`` holds the states behind the containers that are open.
    """
    buf = m.buf
    at = m.i
    while at < len(buf):
        found = TOKEN.match(buf, at)
        if found is None:
            at = SPACES.match(buf, at).end()  # type: ignore[union-attr]
            break
        token = found[1]
        following = AFTER[state].get(token[0])
        if following is OPEN:
            if len(stack) >= MAX_DEPTH:
                at = found.start(1)
                break
            stack.append(BEHIND[state])
            state = "key" if token == "{" else "item"
        elif following is CLOSE:
            state = stack.pop()
        elif following is None or (len(token) > MAX_NUMBER and token[0] in OTHER):
            at = found.start(1)
            break
        else:
            if following is COLON and own and len(stack) == 1:
                note_key(m, token, m.base + found.start(1), m.base + found.end(1), keys)
            state = following
        if state is DONE:
            at = found.end(1)
            break
        at = found.end()
    if own:
        m.take_args(at)
    else:
        m.take(at - m.i, "markup")
    return state


def note_key(m: Reader, key: str, start: int, end: int, keys: Keys) -> None:
    """A key of the arguments themselves; a second one of the same name is noted."""
    if key in keys:
        m.note("duplicate_key", start, end, "each key once")
    keys.add(key)


def value(m: Reader, own: bool) -> Run:
    """Read one JSON value: the call's own arguments, or text that is read over."""
    stack: list[str] = []
    keys = m.call.keys
    state = "value"
    while True:
        state = whole_tokens(m, own, stack, keys, state)
        if state == "done":
            return
        if m.i >= len(m.buf) or (not m.eof and (VALUE_CUT if state in BEHIND else KEY_CUT).match(m.buf, m.i)):
            if m.eof:
                raise Cut
            yield
            continue
        if m.buf[m.i] != '"' or '"' not in AFTER[state]:
            wrong_token(m, state)
        if state in BEHIND:
            yield from string_rest(m, m.args if own else _nowhere, "arguments" if own else "markup", opener=1)
            state = BEHIND[state]
            if state == "done":
                return
        else:
            yield from read_key(m, own, keys, len(stack))
            state = "colon"


def wrong_token(m: Reader, state: str) -> NoReturn:
    """What stands here is cut by the end of the output, or it is not what JSON wants here."""
    char = m.buf[m.i]
    if state not in BEHIND:
        m.fail("broken_json", {"next_key": ", or }", "next_item": ", or ]", "colon": ":"}.get(state, "a key"))
    if char in "{[":
        m.fail("too_deep", f"at most {MAX_DEPTH} levels")
    if char in LITERALS:
        word = LITERALS[char]
        if m.eof and word.startswith(m.buf[m.i :]):
            raise Cut
        m.fail("broken_json", word)
    found = NUMBER_CHARS.match(m.buf, m.i)
    assert found is not None
    if len(found.group()) > MAX_NUMBER:
        m.fail("broken_json", f"a number of at most {MAX_NUMBER} characters")
    if found.end() == len(m.buf):
        raise Cut
    m.fail("broken_json", "a JSON value")


def read_key(m: Reader, own: bool, keys: Keys, depth: int) -> Run:
    """Read a key that doesn't stand here whole."""
    start = m.at()
    pieces: list[str] = []

    def keep(text: str) -> None:
        pieces.append(text)
        if own:
            m.args(text)

    yield from string_rest(m, keep, "arguments" if own else "markup", opener=1)
    if depth == 1 and own:
        note_key(m, "".join(pieces), start, m.at(), keys)
