"""A JSON schema as a flat list of branches, each of which can read a raw text or refuse it.

``expand`` resolves references and combinators: every branch is a conjunction of plain
schema dicts. ``Branch`` turns one into the kinds of value it allows and the checks on
them. Schemas come from outside: any shape is taken, nothing raises, nothing is changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from decimal import Context, Decimal
from itertools import islice, product
from typing import NamedTuple

from .effort import give_up, spend
from .literals import WHITE, escape_surrogates, integer_text, json_kind, number_text, python_to_json

__all__ = ["KINDS", "Branch", "Conjunction", "expand", "matches"]

KINDS = ("null", "integer", "number", "boolean", "object", "array", "string")
"""The kinds of value in the order in which a text is tried."""

Conjunction = tuple[dict[str, object], ...]

_WORK = 4096  # schema nodes that one expansion visits
_PARTS = 32768  # schemas that all branches of one expansion hold together, on the way too
_NESTING = 64  # combinators inside combinators
_MOST = 1024  # branches of one schema


# ---------------------------------------------------------------- expansion


def expand(root: object, schema: object) -> list[Conjunction]:
    """The branches of ``schema``, in its order, with ``$ref`` looked up in ``root``.

    Each is a tuple of dicts that must all hold; an empty one says nothing about the
    value. No branch at all means that the schema allows nothing or is circular.
    """
    return _Expansion(root).branches(schema, 0)


class _Expansion:
    def __init__(self, root: object) -> None:
        self.root = root
        self.left = _WORK
        self.parts = _PARTS
        self.active: set[str] = set()

    def branches(self, node: object, depth: int) -> list[Conjunction]:
        if depth > _NESTING or self.left <= 0:
            give_up()
            return []
        if node is False:
            return []
        if not isinstance(node, dict):
            return [()]
        self.left -= 1
        spend(1)
        found: list[Conjunction] = [(node,)] if node else [()]
        ref = node.get("$ref")
        if isinstance(ref, str):
            found = self.both(found, self.reference(ref, depth))
        for part in _list(node.get("allOf")):
            found = self.both(found, self.branches(part, depth + 1))
        for word in ("anyOf", "oneOf"):
            parts = _list(node.get(word))
            if parts:
                found = self.both(found, [one for part in parts for one in self.branches(part, depth + 1)])
        if node.get("nullable") is True:
            found.append(({"type": "null"},))
        if len(found) > _MOST:
            give_up()
        return found[:_MOST]

    def reference(self, ref: str, depth: int) -> list[Conjunction]:
        if ref in self.active:
            return []
        self.active.add(ref)
        found = self.branches(_resolve(self.root, ref), depth + 1)
        self.active.discard(ref)
        return found

    def both(self, left: list[Conjunction], right: list[Conjunction]) -> list[Conjunction]:
        """What holds when one of each side holds; no more of it than may be made."""
        if len(left) * len(right) > _MOST:
            give_up()
        found = []
        for a, b in islice(product(left, right), _MOST):
            self.parts -= len(a) + len(b)
            if self.parts < 0:
                give_up()
                break
            found.append(a + b)
        spend(len(found))
        return found


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, (list, tuple)) else []


def _resolve(root: object, ref: str) -> object:
    """The schema that a local reference points to; None (nothing known) if there is none."""
    if "%" in ref:
        from urllib.parse import unquote

        ref = unquote(ref)
    path = [step.replace("~1", "/").replace("~0", "~") for step in ref.removeprefix("#").split("/")]
    found: object = root
    for step in path[1:] if path[0] == "" else path:
        if isinstance(found, dict) and step in found:
            found = found[step]
        elif isinstance(found, (list, tuple)) and len(step) < 6 and re.fullmatch("[0-9]+", step):
            found = found[int(step)] if int(step) < len(found) else None
        else:
            break
    else:
        return found
    for place in ("$defs", "definitions"):
        names = root.get(place) if isinstance(root, dict) else None
        if isinstance(names, dict) and path[-1] in names:
            return names[path[-1]]
    return None


# ---------------------------------------------------------------- types

_ALIASES: dict[str, tuple[str, ...]] = {
    "null": ("null", "none", "nil", "nonetype"),
    "integer": ("integer", "int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16", "uint32",
                "uint64", "long", "short", "unsigned", "bigint"),
    "number": ("number", "float", "float16", "float32", "float64", "double", "decimal"),
    "boolean": ("boolean", "bool"),
    "object": ("object", "dict", "dictionary", "map"),
    "array": ("array", "arr", "list", "tuple", "sequence", "set"),
    "string": ("string", "str", "text", "varchar", "char", "enum"),
}  # fmt: skip
_KIND_OF_NAME = {name: kind for kind, names in _ALIASES.items() for name in names}

# Keywords that show, where no type is given, what the author had in mind.
_HINTS: tuple[tuple[str, tuple[str, ...], tuple[type, ...]], ...] = (
    ("object", ("properties", "additionalProperties", "patternProperties"), (dict,)),
    ("array", ("items", "prefixItems"), (dict, list, tuple)),
    ("number", ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), (int, float)),
)


def _named_kinds(schema: dict[str, object]) -> frozenset[str] | None:
    name = schema.get("type")
    names = [name] if isinstance(name, str) else _list(name)
    kinds = [_KIND_OF_NAME.get(one.lower()) for one in names if isinstance(one, str)]
    return frozenset(kind for kind in kinds if kind) or None


def _kind_of_value(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "integer" if value.is_integer() else "number"
    for python, kind in ((int, "integer"), (str, "string"), (dict, "object")):
        if isinstance(value, python):
            return kind
    return "array"


def _common(left: frozenset[str] | None, right: frozenset[str]) -> frozenset[str]:
    """The kinds that both sides allow; an integer is also a number."""
    if left is None:
        return right
    for a, b in ((left, right), (right, left)):
        if "number" in a and "integer" in b:
            return left & right | {"integer"}
    return left & right


# ---------------------------------------------------------------- one branch

_Readings = dict[str, "str | None"]


class _Bound(NamedTuple):
    limit: Decimal
    holds: Callable[[Decimal, Decimal], bool]


class Branch:
    """One way to satisfy a schema.

    ``parts`` are its schema dicts, ``kinds`` what it allows in the order of KINDS;
    ``typed`` is False if nothing in it says what the value is (it then takes any string).
    """

    __slots__ = (
        "_bounds",
        "_lengths",
        "_members",
        "_numbers",
        "_patterns",
        "_texts",
        "kinds",
        "parts",
        "typed",
    )

    def __init__(self, parts: Conjunction) -> None:
        spend(len(parts))
        self.parts = parts
        self._members: list[list[object]] = []
        self._bounds: list[_Bound] = []
        self._lengths: list[tuple[Decimal, Decimal]] = []
        self._patterns: list[str] = []
        self._texts: list[frozenset[str]] | None = None
        self._numbers: list[frozenset[Decimal | None]] | None = None
        kinds: frozenset[str] | None = None
        hints: set[str] = set()
        for part in parts:
            named = _named_kinds(part)
            if named is not None:
                kinds = _common(kinds, named)
            members = _list(part.get("enum"))
            for some in (members, [part["const"]] if "const" in part else []):
                if some:
                    self._members.append(some)
                    kinds = _common(kinds, frozenset(map(_kind_of_value, some)))
            self._bounds += _bounds(part)
            self._constrain_strings(part)
            hints.update(kind for kind, words, of in _HINTS
                         if any(isinstance(part.get(word), of) for word in words))  # fmt: skip
        self.typed = kinds is not None or bool(hints) or bool(self._lengths or self._patterns)
        if kinds is None:
            kinds = frozenset(hints | {"string"})
        self.kinds = tuple(kind for kind in KINDS if kind in kinds)

    def _constrain_strings(self, part: dict[str, object]) -> None:
        least, most = _limit(part.get("minLength")), _limit(part.get("maxLength"))
        if least is not None or most is not None:
            self._lengths.append((least or Decimal(0), Decimal("Infinity") if most is None else most))
        pattern = part.get("pattern")
        if isinstance(pattern, str):
            self._patterns.append(pattern)

    @property
    def any_string(self) -> bool:
        """Whether every string is allowed."""
        return "string" in self.kinds and not (self._members or self._lengths or self._patterns)

    def names(self, text: str) -> bool:
        """Whether this branch lists exactly this string."""
        return bool(self._members) and self.takes(text)

    def takes(self, text: str) -> bool:
        """Whether this branch allows this string."""
        return (
            "string" in self.kinds
            and all(text in listed for listed in self._strings())
            and all(least <= len(text) <= most for least, most in self._lengths)
            and all(matches(pattern, text) is not False for pattern in self._patterns)
        )

    def _strings(self) -> list[frozenset[str]]:
        """The strings of each list of members."""
        if self._texts is None:
            self._texts = [frozenset(one for one in some if isinstance(one, str)) for some in self._members]
        return self._texts

    def _listed_numbers(self) -> list[frozenset[Decimal | None]]:
        """The numbers of each list of members."""
        if self._numbers is None:
            self._numbers = [
                frozenset(_decimal(one) for one in some if type(one) in (int, float))
                for some in self._members
            ]
        return self._numbers

    def recognises(self, text: str) -> bool:
        """Whether this branch wants only strings, by a pattern, and this one matches."""
        return (
            self.kinds == ("string",)
            and any(matches(pattern, text) for pattern in self._patterns)
            and self.takes(text)
        )

    def read(self, text: str, seen: _Readings, digits: bool) -> str | None:
        """The JSON text of ``text`` as the first kind other than string that it fits, or None.

        ``seen`` keeps what was read from this text for other branches; ``digits``
        allows 1 and 0 for a boolean.
        """
        for kind in self.kinds:
            if kind == "string":
                continue
            if kind not in seen:
                _READERS[kind](text, seen)
            value = seen[kind]
            if value is None and kind == "boolean" and digits:
                value = {"1": "true", "0": "false"}.get(text.strip(WHITE))
            if value is not None and self._allows(kind, value):
                return value
        return None

    def _allows(self, kind: str, value: str) -> bool:
        if kind in ("integer", "number"):
            if not (self._bounds or self._members):
                return True
            number = _decimal(value)
            return (
                number is not None
                and all(bound.holds(number, bound.limit) for bound in self._bounds)
                and all(number in listed for listed in self._listed_numbers())
            )
        if kind == "null":
            return all(None in some for some in self._members)
        if kind == "boolean":
            return all(any(one is (value == "true") for one in some) for some in self._members)
        spend(sum(map(len, self._members)))
        return all(any(_same(one, value) for one in some) for some in self._members)


# ---------------------------------------------------------------- reading a text


def _read_null(text: str, seen: _Readings) -> None:
    word = text.strip(WHITE)
    seen["null"] = "null" if word == "None" or (len(word) == 4 and word.lower() == "null") else None


def _read_boolean(text: str, seen: _Readings) -> None:
    word = text.strip(WHITE)
    word = word.lower() if len(word) <= 5 else ""
    seen["boolean"] = word if word in ("true", "false") else None


def _read_integer(text: str, seen: _Readings) -> None:
    seen["integer"] = integer_text(text)


def _read_number(text: str, seen: _Readings) -> None:
    seen["number"] = number_text(text)


def _read_container(text: str, seen: _Readings) -> None:
    seen["object"] = seen["array"] = None
    text = text.strip(WHITE)
    if not text.startswith(("{", "[", "(")):
        return
    kind = json_kind(text)
    if kind is not None:
        seen[kind] = escape_surrogates(text)
        return
    value = python_to_json(text)
    if value is not None and value[0] in "{[":
        seen["object" if value[0] == "{" else "array"] = value


_READERS: dict[str, Callable[[str, _Readings], None]] = {
    "null": _read_null,
    "integer": _read_integer,
    "number": _read_number,
    "boolean": _read_boolean,
    "object": _read_container,
    "array": _read_container,
}


# ---------------------------------------------------------------- checks

_MOST_DIGITS = 4000  # of a number that is tested for multipleOf
_MOST_STEPS = 1_000_000  # that a pattern may need on a text
_LONGEST_COMPARED = 100_000  # characters of a container that is compared with an enum member


def _decimal(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    try:
        number = Decimal(repr(value) if isinstance(value, float) else value)
    except (ArithmeticError, ValueError):
        return None
    return number if number.is_finite() else None


def _limit(value: object) -> Decimal | None:
    """A number of the schema; None for anything else."""
    return None if isinstance(value, str) else _decimal(value)


def _bounds(part: dict[str, object]) -> Iterable[_Bound]:
    for word, holds, strict in (("inimum", Decimal.__ge__, Decimal.__gt__),
                                ("aximum", Decimal.__le__, Decimal.__lt__)):  # fmt: skip
        limit, exclusive = part.get("m" + word), part.get("exclusiveM" + word)
        for value, test in ((limit, strict if exclusive is True else holds), (exclusive, strict)):
            number = _limit(value)
            if number is not None:
                yield _Bound(number, test)
    step = _limit(part.get("multipleOf"))
    if step is not None and step > 0:
        yield _Bound(step, _is_multiple)


def _is_multiple(number: Decimal, step: Decimal) -> bool:
    """Whether a number is a multiple of a step; a number too long to be divided quickly is none."""
    exponents = [abs(one.adjusted()) + len(one.as_tuple().digits) for one in (number, step)]
    if max(exponents) > _MOST_DIGITS:
        return False
    return Context(prec=4 * _MOST_DIGITS, traps=[]).remainder(number, step) == 0


def matches(pattern: str, text: str) -> bool | None:
    """Whether a schema's pattern is found in ``text``; None if it can't be told.

    It can't if the pattern doesn't compile, or could take too long on a text of this
    length (quantified groups, many open quantifiers): a model's output never stalls us.
    """
    if re.search(r"\)[*+{]", pattern):
        return None
    loops = len(re.findall(r"[*+]|\{[0-9]*,", pattern)) + (not pattern.startswith("^"))
    forks = len(re.findall(r"[?|]", pattern))
    if loops > 16 or forks > 16 or (len(text) + 1) ** loops * len(pattern) << forks > _MOST_STEPS:
        return None
    if re.search(r"\{[0-9]*,?[0-9]{4}", pattern):
        return None
    try:
        return re.search(pattern, text) is not None
    except Exception:  # a pattern from outside: re.error, OverflowError, warnings as errors, ...
        return None


def _same(member: object, value: str) -> bool:
    """Whether a container's JSON text has the value of an enum member."""
    if not isinstance(member, (dict, list, tuple)) or len(value) > _LONGEST_COMPARED:
        return False
    try:
        return _equal(member, json.loads(value, parse_int=Decimal, parse_float=Decimal))
    except (ArithmeticError, ValueError, RecursionError):
        return False


def _equal(a: object, b: object) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)):
        return isinstance(b, list) and len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(b, Decimal):
        return type(a) in (int, float) and _decimal(a) == b
    return type(a) is type(b) and a == b
