"""Schemas from outside, before any grammar is made of them: held, or refused with their path.

``checked`` gives a copy whose every keyword has the right shape and can be held by all
notations; what no value can satisfy is refused too. ``check_depth`` is for schemas that
nothing enforces: they may say anything, but not without end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import pairwise
from math import lcm
from typing import Any

from unbraid.branches import KINDS, Branch, Conjunction, expand
from unbraid.constrain.conjunctions import declared
from unbraid.constrain.patterns import widths
from unbraid.constrain.possible import BOUNDS, possible
from unbraid.effort import Spent, spend
from unbraid.errors import InvalidRequest, Unsupported

__all__ = ["DEPTH", "LARGEST", "check_depth", "checked"]

DEPTH = 64
"""Levels of objects and lists in a schema."""
LARGEST = 10**18
"""Bounds of numbers beyond this are drawn in to it."""
TOO_MUCH = "{} can be satisfied in too many ways, or have too many keys beside each other, to be held"
_FARTHEST = 10**17  # a least value above this, or a greatest below its negative, can't be held
_COUNT = 65536  # the same for counts of characters, items and keys
_DIGITS = 17  # behind the point
_PER_STEP = 4  # what a state of such an automaton costs a grammar, in steps of work
_PER_PAIR = 16  # the same for two patterns of keys
_PLACES = 9  # of multipleOf behind the point
_STEP = 5000  # the greatest step of multipleOf, its point left out; longer automata fail in the middle
_MOST = 10**309  # above every finite float
_BEGINNING = re.compile(r"\^([A-Za-z0-9_-]+)(?![*+?{])")
_COMPOSITES = 256
_REFUSED = (
    *("not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames"),
    *("dependentRequired", "dependentSchemas", "dependencies", "unevaluatedItems"),
    *("$dynamicRef", "$recursiveRef"),
)
_PAIRS = (
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minimum", "maximum"),
)
_COUNTS = tuple(word for pair in _PAIRS[:3] for word in pair)
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_NAMED = ("$defs", "definitions")
_IN_PLACE = ("allOf", "anyOf", "oneOf")


def check_depth(value: Any, where: str, most: int = DEPTH) -> None:
    """Raise InvalidRequest if objects and lists nest deeper than ``most``."""
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        one, depth = stack.pop()
        if not isinstance(one, (dict, list, tuple)):
            continue
        if depth > most:
            raise InvalidRequest(f"{where} is nested more than {most} levels deep", param=where)
        stack += [(inner, depth + 1) for inner in (one.values() if isinstance(one, dict) else one)]


def checked(schema: Any, where: str, *, arguments: bool = False) -> Any:
    """A copy of an enforced schema; raises InvalidRequest or Unsupported with the path.

    ``arguments``: it is that of a tool's arguments, an object without undeclared keys.
    """
    check_depth(schema, where)
    copied = _copied(schema, where)
    try:
        _Check(copied, where, arguments).run()
    except Spent:
        raise Unsupported(TOO_MUCH.format(where), param=where) from None
    return copied


def _copied(value: Any, path: str) -> Any:
    """A copy in which there is nothing but JSON."""
    if isinstance(value, str):
        if any("\ud800" <= char <= "\udfff" for char in value):
            raise InvalidRequest(f"{path}: half a surrogate pair is no text", param=path)
        return value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, (int, float)):
        if value != value or not -_MOST < value < _MOST:
            raise InvalidRequest(f"{path}: no finite number", param=path)
        return value
    if isinstance(value, (list, tuple)):
        return [_copied(one, f"{path}[{n}]") for n, one in enumerate(value)]
    if not isinstance(value, dict):
        raise InvalidRequest(f"{path}: {type(value).__name__} is no JSON", param=path)
    for key in value:
        if not isinstance(key, str):
            raise InvalidRequest(f"{path}: a key must be a string", param=path)
        _copied(key, path)
    return {key: _copied(one, f"{path}.{key}") for key, one in value.items()}


# -- the shapes of keywords -----------------------------------------------------


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_type(value: Any) -> bool:
    names = value if isinstance(value, list) else [value]
    return bool(names) and all(
        isinstance(name, str) and Branch(({"type": name, "enum": [None, 1, 0.5, True, {}, [], ""]},)).kinds
        and Branch(({"type": name},)).typed
        for name in names
    )  # fmt: skip


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and bool(value)


_SHAPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    **dict.fromkeys(_MAPS, (lambda value: isinstance(value, dict), "an object of schemas")),
    **dict.fromkeys((*_IN_PLACE, "enum"), (_is_list, "a list that is not empty")),
    **dict.fromkeys(_COUNTS, (_is_count, "a count")),
    **dict.fromkeys(("minimum", "maximum"), (_is_number, "a number")),
    **dict.fromkeys(
        ("exclusiveMinimum", "exclusiveMaximum"),
        (lambda value: isinstance(value, bool) or _is_number(value), "a number"),
    ),
    **dict.fromkeys(("pattern", "$ref"), (lambda value: isinstance(value, str), "a string")),
    **dict.fromkeys(("uniqueItems", "nullable"), (lambda value: isinstance(value, bool), "true or false")),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "prefixItems": (lambda value: isinstance(value, list), "a list of schemas"),
    "required": (
        lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value),
        "a list of keys",
    ),
    "type": (_is_type, "the name of a type"),
}


def _parts(schema: dict[str, Any], at: str) -> Iterator[tuple[Any, str]]:
    """The schemas right inside a schema."""
    for word in _MAPS:
        for key, part in schema.get(word, {}).items():
            yield part, f"{at}.{word}.{key}"
    for word in (*_IN_PLACE, "prefixItems", "items"):
        if isinstance(schema.get(word), list):
            for n, part in enumerate(schema[word]):
                yield part, f"{at}.{word}[{n}]"
    for word in ("items", "additionalItems", "additionalProperties"):
        if word in schema and not (word == "items" and isinstance(schema[word], list)):
            yield schema[word], f"{at}.{word}"


def _apart(patterns: list[str]) -> bool:
    """Whether patterns of keys begin with texts of which none begins another."""
    if len(patterns) < 2:
        return True
    found = [_BEGINNING.match(pattern) for pattern in patterns]
    if any("|" in pattern for pattern in patterns):
        return False
    texts = sorted(one[1] for one in found if one)
    return len(texts) == len(patterns) and not any(later.startswith(text) for text, later in pairwise(texts))


def _step(*steps: int | float) -> int:
    """The step of all multipleOf together, its point left out: 125 of 0.125, 15 of 0.5 and 0.3."""
    decimals = [Decimal(str(one)).normalize() for one in steps]
    exponents = [int(one.as_tuple().exponent) for one in decimals]
    scale = Decimal(10) ** -min(0, *exponents)
    return lcm(*(int(one * scale) for one in decimals))


class _Check:
    def __init__(self, root: Any, where: str, arguments: bool) -> None:
        self.root = root
        self.where = where
        self.arguments = arguments
        self.found: dict[int, tuple[dict[str, Any], str]] = {}

    def run(self) -> None:
        """Shapes first, for what is looked at together relies on them."""
        stack: list[tuple[Any, str]] = [(self.root, self.where)]
        while stack:
            schema, at = stack.pop()
            if isinstance(schema, bool):
                continue
            if not isinstance(schema, dict):
                raise InvalidRequest(f"{at}: {str(schema)[:40]!r} is no schema", param=at)
            self.shapes(schema, at)
            self.found[id(schema)] = (schema, at)
            stack += _parts(schema, at)
        for schema, at in self.found.values():
            self.target(schema, at)
        self.circles()
        self.rows()
        for schema, at in self.found.values():
            self.satisfiable(schema, at)

    # -- one schema -----------------------------------------------------------

    def shapes(self, schema: dict[str, Any], at: str) -> None:
        """Every keyword for itself; bounds that are too far out are drawn in."""
        for word, (right, what) in _SHAPES.items():
            if word in schema and not right(schema[word]):
                raise InvalidRequest(f"{at}.{word} must be {what}", param=f"{at}.{word}")
        for word in _REFUSED:
            if word in schema:
                raise Unsupported(f"{at}: no grammar here can hold {word}", param=f"{at}.{word}")
        if isinstance(schema.get("unevaluatedProperties", True), dict):
            raise self.refuse(at, "unevaluatedProperties", "can't be held as a schema")
        patterns = [(schema["pattern"], f"{at}.pattern")] if "pattern" in schema else []
        keyed = schema.get("patternProperties", ())
        spend(_PER_PAIR * len(keyed) ** 2)
        patterns += [(key, f"{at}.patternProperties") for key in keyed]
        for pattern, place in patterns:
            try:
                widths(pattern)
            except Unsupported as problem:
                raise Unsupported(f"{place}: {problem.message}", param=place) from None
        if not _apart(list(keyed)):
            raise self.refuse(at, "patternProperties", "may match the same key twice")
        for word in _COUNTS:
            if schema.get(word, 0) > _COUNT:
                if word.startswith("min"):
                    raise self.refuse(at, word, f"is more than {_COUNT}")
                schema[word] = _COUNT
        for word in BOUNDS:
            if word in schema and not isinstance(schema[word], bool):
                self.bound(schema, at, word)
        for least, most in _PAIRS:
            if least in schema and most in schema and schema[least] > schema[most]:
                raise Unsupported(f"{at}: {least} is greater than {most}", param=f"{at}.{least}")

    def bound(self, schema: dict[str, Any], at: str, word: str) -> None:
        """A bound of a number: of a size and a length that every notation can hold."""
        value = schema[word]
        if word == "multipleOf":
            if not 10**-_PLACES <= value <= _STEP or _step(value) > _STEP:
                raise self.refuse(at, word, f"is a step of more than {_STEP}, its point left out")
            spend(_PER_STEP * _step(value))
            return
        upper = word.endswith("aximum")
        if (value < -_FARTHEST) if upper else (value > _FARTHEST):
            raise self.refuse(at, word, "is too large for a grammar")
        if abs(value) > LARGEST:
            schema[word] = LARGEST if upper else -LARGEST
        elif isinstance(value, float) and not value.is_integer():
            exponent = Decimal(str(value)).normalize().as_tuple().exponent
            if isinstance(exponent, int) and -exponent > _DIGITS:
                raise self.refuse(at, word, f"has more than {_DIGITS} digits behind the point")

    @staticmethod
    def refuse(at: str, word: str, why: str) -> Unsupported:
        return Unsupported(f"{at}.{word} {why}, which no grammar here can hold", param=f"{at}.{word}")

    # -- references -----------------------------------------------------------

    def target(self, schema: dict[str, Any], at: str) -> dict[str, Any] | None:
        """The schema that a schema refers to, which must be one of this document."""
        ref = schema.get("$ref")
        if ref is None:
            return None
        target = self.root if ref == "#" or ref.startswith("#/") else None
        for step in ref.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if isinstance(target, dict) and step in target:
                target = target[step]
            elif isinstance(target, list) and step.isascii() and step.isdigit() and len(step) < 6:
                target = target[int(step)] if int(step) < len(target) else None
            else:
                target = None
        if not isinstance(target, dict) or id(target) not in self.found:
            raise Unsupported(f"{at}: {ref!r} points to nothing in this schema", param=f"{at}.$ref")
        return target

    def inside(self, schema: dict[str, Any], at: str) -> list[dict[str, Any]]:
        """The schemas that hold for the same value."""
        target = self.target(schema, at)
        parts = [part for word in _IN_PLACE for part in schema.get(word, ()) if isinstance(part, dict)]
        return parts if target is None else [*parts, target]

    def circles(self) -> None:
        """Refuse references that lead back to where they are without a value in between."""
        done: set[int] = set()
        for start, place in self.found.values():
            if id(start) in done:
                continue
            way = [(start, iter(self.inside(start, place)))]
            active = {id(start)}
            while way:
                part = next(way[-1][1], None)
                if part is None:
                    active.discard(id(way[-1][0]))
                    done.add(id(way.pop()[0]))
                    continue
                at = self.found[id(part)][1]
                if id(part) in active or len(way) > DEPTH:
                    what = "refers to itself" if id(part) in active else "nests too deeply"
                    raise Unsupported(f"{at} {what}, which no grammar here can hold", param=at)
                if id(part) not in done:
                    active.add(id(part))
                    way.append((part, iter(self.inside(part, at))))

    def rows(self) -> None:
        """Refuse definitions that refer to each other in too long a row, whatever lies in between."""
        seen: set[int] = set()
        stack: list[tuple[Any, int]] = [(self.root, 0)]
        while stack:
            schema, hops = stack.pop()
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen.add(id(schema))
            at = self.found[id(schema)][1]
            if hops > DEPTH:
                raise Unsupported(f"{at}: more than {DEPTH} references in a row lead here", param=at)
            parts = [part for part, _ in _parts(schema, "")]
            named = [part for word in _NAMED for part in schema.get(word, {}).values()]
            stack += [(part, 0) for part in named]
            stack += [(part, hops) for part in reversed(parts) if not any(part is one for one in named)]
            target = self.target(schema, at)
            stack += [(target, hops + 1)] if target is not None else []

    # -- keywords together ----------------------------------------------------

    def satisfiable(self, schema: dict[str, Any], at: str) -> None:
        """Refuse what no value can satisfy, in the values of keys that several parts declare too."""
        stack: list[tuple[dict[str, Any], str]] = [(schema, at)]
        seen: set[str] = set()
        while stack:
            one, place = stack.pop()
            top = schema is self.root and one is schema and self.arguments
            kinds = ("object",) if top else KINDS
            left = [
                parts for parts in expand(self.root, one) if possible(parts, kinds, closed=self.arguments)
            ]
            if top and "type" in one and "object" not in Branch(({"type": one["type"]},)).kinds:
                raise Unsupported(f"{place}: arguments are an object", param=f"{place}.type")
            if not left:
                raise Unsupported(f"{place}: no value can satisfy this schema", param=place)
            for parts in left:
                self.counted(parts, place)
                self.stepped(parts, place)
                for key, both in self.composites(parts):
                    if str(both) not in seen and len(seen) < _COMPOSITES:
                        seen.add(str(both))
                        stack.append((both, f"{place}.properties.{key}"))

    @staticmethod
    def counted(parts: Conjunction, place: str) -> None:
        """Refuse a count of keys in one part and the keys in another."""
        for part in parts:
            for word in ("minProperties", "maxProperties"):
                if word in part and any("properties" in one for one in parts if one is not part):
                    raise Unsupported(
                        f"{place}: no grammar here can hold {word} beside other parts", param=place
                    )

    @staticmethod
    def stepped(parts: Conjunction, place: str) -> None:
        """Refuse steps that together are too long."""
        steps: list[Any] = [part["multipleOf"] for part in parts if "multipleOf" in part]
        if len(steps) > 1 and _step(*steps) > _STEP:
            raise Unsupported(
                f"{place}: several multipleOf are a step of more than {_STEP} together", param=place
            )

    @staticmethod
    def composites(parts: Conjunction) -> list[tuple[str, dict[str, Any]]]:
        """The keys that more than one part declares, and what all of them say."""
        if sum("properties" in part for part in parts) < 2:
            return []
        own = [one for part in parts for one in [part.get("properties")] if isinstance(one, dict)]
        found = declared(parts)
        return [(key, found[key]) for key in found if sum(key in one for one in own) > 1]
