r"""Text of values, read without building them: JSON, Python literals, numbers, bare words.

Nothing here raises, recurses, or takes more than linear time in the length of the
text. No Python number or container is ever made from the text: digits stay digits.
"""

from __future__ import annotations

import json
import re
from json.encoder import encode_basestring as _encode_basestring

__all__ = ["DEPTH", "PYTHON_WORDS", "WHITE", "bare", "decode_entities", "encode_entities", "escape",
           "escape_surrogates", "integer_text", "json_kind", "number_text", "python_to_json",
           "quote", "string_value"]  # fmt: skip

PYTHON_WORDS = {"true": "True", "false": "False", "null": "None"}
"""JSON's words as Python writes them."""

DEPTH = 512
"""Containers nested deeper than this are not read."""

WHITE = " \t\n\r\f\v"
"""The white space around a raw value that carries no meaning."""

_MOST_ZEROS = 400  # an exponent that would write more zeros than this is not an integer

_SURROGATE = re.compile("[\ud800-\udfff]")


def escape_surrogates(json: str) -> str:
    r"""JSON text whose lone surrogates are written as ``\udXXX``, so that it encodes to UTF-8."""
    if json.isascii() or _SURROGATE.search(json) is None:
        return json
    return json.encode("utf-8", "backslashreplace").decode("utf-8")


def quote(text: str) -> str:
    """The JSON string of ``text``: non-ASCII kept, control characters and lone surrogates escaped."""
    return escape_surrogates(_encode_basestring(text))


def escape(text: str) -> str:
    """The inside of the JSON string of ``text``."""
    quoted = _encode_basestring(text)
    return (quoted if quoted.isascii() else escape_surrogates(quoted))[1:-1]


# ---------------------------------------------------------------- numbers and bare words

_JSON_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_LOOSE_NUMBER = re.compile(r"([+-]?)([0-9]*)(\.?)([0-9]*)(?:([eE])([+-]?)([0-9]+))?")
_WORDS = {"true": "true", "True": "true", "false": "false", "False": "false", "null": "null", "None": "null"}


def number_text(text: str) -> str | None:
    """The JSON number that ``text`` spells, or None.

    A JSON number is returned as written; ``+1.5``, ``.5``, ``5.`` and ``007`` are
    normalised. White space around it is ignored; NaN and infinities are no numbers.
    """
    text = text.strip(WHITE)
    if _JSON_NUMBER.fullmatch(text):
        return text
    found = _LOOSE_NUMBER.fullmatch(text)
    if found is None or not (found[2] or found[4]):
        return None
    sign, whole, dot, fraction, e, e_sign, exponent = found.groups("")
    point = "." + (fraction or "0") if dot else ""
    return f"{'-' * (sign == '-')}{whole.lstrip('0') or '0'}{point}{e}{e_sign}{exponent}"


def integer_text(text: str) -> str | None:
    """The JSON integer (digits, no point, no exponent) that ``text`` spells, or None.

    Integers of any size keep their digits; ``+3`` and ``007`` are normalised; ``5.0``
    and ``1e3`` are written out, unless the exponent is above 400.
    """
    found = _LOOSE_NUMBER.fullmatch(text.strip(WHITE))
    if found is None or not (found[2] or found[4]):
        return None
    sign, whole, dot, fraction, e, e_sign, exponent = found.groups("")
    minus = "-" * (sign == "-")
    if not dot and not e:
        return minus + (whole.lstrip("0") or "0")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return "0"
    exponent = exponent.lstrip("0") or "0"
    if len(exponent) > 15:
        return None
    power = int(e_sign + exponent)
    if power > _MOST_ZEROS:
        return None
    head = digits.rstrip("0")
    zeros = power - len(fraction) + len(digits) - len(head)
    return minus + head + "0" * zeros if zeros >= 0 else None


def bare(text: str) -> str | None:
    """The JSON text of a bare word (``true``, ``None``, ...) or of a JSON number, else None."""
    text = text.strip(WHITE)
    word = _WORDS.get(text)
    if word is not None:
        return word
    return text if _JSON_NUMBER.fullmatch(text) else None


def string_value(text: str) -> str | None:
    """What a text holds that is one JSON string, else None."""
    found = _JSON_STRING.fullmatch(text)
    return json.loads(text) if found and found[1] and len(text) > 1 else None


# ---------------------------------------------------------------- JSON

_JSON_SPACE = " \t\n\r"
# A string up to where it ends or goes wrong: always matches at a quote, so no text is read twice.
_JSON_STRING = re.compile(
    r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*("?)',
)
_JSON_SCALAR = re.compile(_JSON_NUMBER.pattern + "|true|false|null")
_SPACES = re.compile(r"[ \t\n\r]+")
_SKELETON = re.compile(r'[\[\]{},:0"]*')
_BRACKET = re.compile(r"([\[\]{}])")
_KIND_OF = {"{": "object", "[": "array", '"': "string", "t": "boolean", "f": "boolean", "n": "null"}


def json_kind(text: str, depth: int = DEPTH) -> str | None:
    """What ``text`` is, as a whole, in strict JSON.

    Returns "object", "array", "string", "number", "integer" (digits only), "boolean"
    or "null"; None if it is not valid JSON or nests deeper than ``depth``. Outer
    white space and duplicate keys are allowed, NaN and infinities are not.
    """
    # Three reductions, each one pass: strings to `"`, other scalars to `0`, white space away.
    # What stays is brackets and, between any two of them, one run of items.
    parts = _JSON_STRING.split(text)
    if "" in parts[1::2]:
        return None
    skeleton = _SPACES.sub("", _JSON_SCALAR.sub("0", '"'.join(parts[::2])))
    if _SKELETON.fullmatch(skeleton) is None:
        return None
    text = text.lstrip(_JSON_SPACE)
    if skeleton in ("0", '"'):
        kind = _KIND_OF.get(text[0])
        if kind is None:
            digits = text.rstrip(_JSON_SPACE)
            kind = "integer" if digits.removeprefix("-").isdigit() else "number"
        return kind
    return _KIND_OF[text[0]] if _nests(skeleton, depth) else None


def _nests(skeleton: str, depth: int) -> bool:
    """Whether the brackets of a skeleton pair up around well-formed runs, one value in all."""
    pieces = _BRACKET.split(skeleton)
    if len(pieces) < 2 or pieces[0] or pieces[-1]:
        return False
    stack: list[str] = []
    fresh = True  # nothing was read yet in the innermost container
    for at in range(1, len(pieces), 2):
        bracket, run = pieces[at], pieces[at - 1]
        opens = bracket in "[{"
        if stack:
            if not _run_fits(run, stack[-1], fresh, opens):
                return False
        elif not opens or at > 1:
            return False
        if opens:
            if len(stack) >= depth:
                return False
            stack.append(bracket)
        elif stack.pop() + bracket not in ("[]", "{}"):
            return False
        fresh = opens
    return not stack


def _run_fits(run: str, container: str, fresh: bool, opens: bool) -> bool:
    """Whether a run of items without brackets may stand here, in ``container``, before a bracket."""
    if container == "[":
        run, item = run.replace('"', "0"), "0"
    else:
        if opens:
            if not run.endswith('":'):
                return False
            run = run[:-2]
        run, item = run.replace('":"', "p").replace('":0', "p"), "p"
    if fresh:
        if not opens and run:
            run += ","
        return not run.replace(item + ",", "")
    if opens:
        run += item
    return not run.replace("," + item, "")


# ---------------------------------------------------------------- Python literals

_DIGITS = r"[0-9]+(?:_[0-9]+)*"
_PYTHON_TOKEN = re.compile(
    rf"""[ \t\n\r\f]*(?:
    (?P<string>'[^'\\]*(?:\\[\s\S][^'\\]*)*'|"[^"\\]*(?:\\[\s\S][^"\\]*)*")
    |(?P<number>(?:[+-][ \t\n\r\f]*)?(?:{_DIGITS}(?:\.(?:{_DIGITS})?)?|\.{_DIGITS})(?:[eE][+-]?{_DIGITS})?)
    |(?P<word>True|False|None|true|false|null)
    |(?P<mark>[\[\](){{}},:])
    )[ \t\n\r\f]*""",
    re.VERBOSE,
)
_PYTHON_ESCAPE = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(\r\n|[\s\S]))",
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v",
            "\\": "\\", "'": "'", '"': '"', "\n": "", "\r\n": "", "\r": ""}  # fmt: skip


class _Open:
    """A container that is being read: its bracket, where it began in the output, what it is so far."""

    __slots__ = ("at", "bracket", "colon", "items", "keyed")

    def __init__(self, bracket: str, at: int) -> None:
        self.bracket = bracket
        self.at = at
        self.items = False  # a comma was read
        self.keyed: bool | None = None  # of braces: a dict, a set, or not known yet
        self.colon = False  # the current entry has its colon


def python_to_json(text: str, depth: int = DEPTH) -> str | None:
    r"""The JSON text of a Python literal, or None if ``text`` is not one.

    Strings with either quote (no prefix), integers and floats (signs, underscores),
    True/False/None and their JSON spellings, lists, tuples and sets (arrays), dicts
    (objects; a number, bool or None as key becomes a string). Separators are ``, ``
    and ``: ``. Infinite floats, prefixes, ``\N{...}`` and a nesting above ``depth`` give None.
    """
    out: list[str] = []
    stack: list[_Open] = []
    position, end = 0, len(text)
    wanted = True  # a value may begin here
    scalar = False  # the value just read may be a key
    while position < end:
        found = _PYTHON_TOKEN.match(text, position)
        if found is None:
            return None
        position = found.end()
        group = found.lastgroup or ""
        mark = found[group]
        if group != "mark":
            value = _python_scalar(group, mark) if wanted else None
            if value is None:
                return None
            out.append(value)
            wanted, scalar = False, True
        elif mark in "[({":
            if not wanted or len(stack) >= depth:
                return None
            stack.append(_Open(mark, len(out)))
            out.append("{" if mark == "{" else "[")
        elif not stack:
            return None
        elif mark == ":":
            inner = stack[-1]
            if wanted or not scalar or inner.bracket != "{" or inner.colon or inner.keyed is False:
                return None
            inner.keyed = inner.colon = True
            if not out[-1].startswith('"'):
                out[-1] = quote(out[-1])
            out.append(": ")
            wanted = True
        elif mark == ",":
            inner = stack[-1]
            if wanted or (inner.keyed and not inner.colon):
                return None
            inner.keyed = bool(inner.keyed)
            inner.colon, inner.items, wanted = False, True, True
            out.append(", ")
        else:
            if not _close(stack.pop(), mark, out, wanted):
                return None
            wanted = scalar = False
    return "".join(out) if not stack and not wanted else None


def _close(inner: _Open, mark: str, out: list[str], wanted: bool) -> bool:
    """Write the end of a container; False if it cannot end here with this bracket."""
    if inner.bracket + mark not in ("[]", "()", "{}"):
        return False
    empty = len(out) == inner.at + 1
    if wanted:
        if inner.colon or not (empty or inner.items):
            return False
        if not empty:
            out.pop()  # a trailing comma
    elif inner.keyed and not inner.colon:
        return False
    if inner.bracket == "(" and not inner.items and not empty:
        out[inner.at] = ""  # only a group
        return True
    if inner.bracket == "{" and not inner.keyed and not empty:
        out[inner.at] = "["  # a set
    out.append("}" if out[inner.at] == "{" else "]")
    return True


def _python_scalar(group: str, token: str) -> str | None:
    """The JSON text of a string, number or word; None if it has no finite value."""
    if group == "word":
        return _WORDS[token]
    if group == "string":
        body: str | None = token[1:-1]
        if "\\" in token:
            body = _unescape(token[1:-1])
        return None if body is None else quote(body)
    if token == "0" or (token.isdigit() and token[0] != "0"):
        return token
    number = number_text("".join(token.split()).replace("_", ""))
    if number is None or number.removeprefix("-").isdigit():
        return number
    return None if float(number) in (float("inf"), float("-inf")) else number


def _unescape(body: str) -> str | None:
    broken = False

    def one(found: re.Match[str]) -> str:
        nonlocal broken
        octal, x, u, long, other = found.groups()
        if other is None:
            code = int(octal, 8) if octal else int(x or u or long, 16)
            if code <= 0x10FFFF:
                return chr(code)
            broken = True
            return ""
        if other in "xuUN":
            broken = True
        return _ESCAPES.get(other, found[0])

    plain = _PYTHON_ESCAPE.sub(one, body)
    return None if broken else plain


# -- entities -----------------------------------------------------------------


def encode_entities(text: str, entities: tuple[tuple[str, str], ...]) -> str:
    """The text with each of these characters written as its entity, in order."""
    for character, entity in entities:
        text = text.replace(character, entity)
    return text


def decode_entities(text: str, entities: tuple[tuple[str, str], ...]) -> str:
    """The text that ``encode_entities`` made this of."""
    for character, entity in reversed(entities):
        text = text.replace(entity, character)
    return text
