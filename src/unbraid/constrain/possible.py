"""Whether any value can satisfy a conjunction of schemas, as far as can be told cheaply."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

from unbraid.branches import Branch, Conjunction
from unbraid.constrain.conjunctions import declared, extra_schema, members, required_keys
from unbraid.constrain.patterns import FORMATS, widths

__all__ = ["BOUNDS", "possible"]

BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")


def possible(parts: Conjunction, kinds: tuple[str, ...], *, closed: bool) -> bool:
    """Whether a value of one of ``kinds`` may satisfy all parts; ``closed``: objects hold declared keys."""
    branch = Branch(parts)
    if not branch.typed:
        return True
    left = [kind for kind in branch.kinds if kind in kinds]
    listed = members(parts)
    if listed is not None:
        return bool(left) and any(_listed(one, parts) for one in listed)
    if len(left) > 1 and not any("type" in part for part in parts):
        left = [kind for kind in left if kind != "string"]
    return any(_kind(kind, parts, closed) for kind in left)


def _listed(value: Any, parts: Conjunction) -> bool:
    if not Branch((*parts, {"const": value})).kinds:
        return False
    if isinstance(value, dict) and not set(required_keys(parts)) <= set(value):
        return False
    for kind, what in ((str, "Length"), (dict, "Properties"), (list, "Items")):
        least, most = _counts(parts, what)
        if isinstance(value, kind) and not least <= len(value) <= most:
            return False
    return True


def _kind(kind: str, parts: Conjunction, closed: bool) -> bool:
    if kind in ("integer", "number"):
        return _number(parts, kind == "integer")
    if kind == "string":
        return _string(parts)
    if kind == "array":
        return _array(parts)
    return kind != "object" or _object(parts, closed)


def _counts(parts: Conjunction, what: str) -> tuple[int, float]:
    """The least and the greatest count that all parts allow."""
    least = [part["min" + what] for part in parts if "min" + what in part]
    most = [part["max" + what] for part in parts if "max" + what in part]
    return max(map(_whole, least), default=0), min(map(_whole, most), default=math.inf)


def _whole(value: object) -> int:
    assert isinstance(value, int)
    return value


def _number(parts: Conjunction, whole: bool) -> bool:
    """Whether there is a number between all bounds."""
    low, high = [(Fraction(-(10**19)), False)], [(Fraction(10**19), True)]
    steps: list[Fraction] = []
    for part in parts:
        for word in BOUNDS:
            value = part.get(word)
            if value is None or isinstance(value, bool):
                continue
            limit = Fraction(Decimal(str(value)))
            side = word[-7:].lower()
            strict = word.startswith("ex") or part.get("exclusiveM" + side[1:]) is True
            if word == "multipleOf":
                steps.append(limit)
            elif side == "minimum":
                low.append((limit, strict))
            else:
                high.append((limit, not strict))
    (least, above), (most, up_to) = max(low), min(high)
    below = not up_to
    if not whole and not steps:
        return least < most or (least == most and not above and not below)
    step = max(steps, default=Fraction(1))
    first, last = math.ceil(least / step), math.floor(most / step)
    first += above and first * step == least
    last -= below and last * step == most
    return first <= last


def _string(parts: Conjunction) -> bool:
    """Whether there are lengths that all patterns have."""
    least, most = _counts(parts, "Length")
    patterns = [str(part["pattern"]) for part in parts if "pattern" in part]
    formats = [FORMATS.get(str(part.get("format"))) for part in parts]
    for pattern in patterns or [f"^(?:{one})$" for one in formats if one is not None]:
        shortest, longest = widths(pattern)
        least, most = max(least, shortest), min(most, longest)
    return least <= most


def _array(parts: Conjunction) -> bool:
    least, most = _counts(parts, "Items")
    for part in parts:
        heads = part.get("prefixItems", ())
        items = part.get("items")
        if items is False and isinstance(heads, list):
            most = min(most, len(heads))
        if isinstance(items, list) and part.get("additionalItems") is False:
            most = min(most, len(items))
    return least <= most


def _object(parts: Conjunction, closed: bool) -> bool:
    required = required_keys(parts)
    least, most = _counts(parts, "Properties")
    if max(least, len(required)) > most:
        return False
    if any("patternProperties" in part for part in parts):
        return True
    known = declared(parts)
    if closed and extra_schema(parts) is None and (least > len(known) or not set(required) <= set(known)):
        return False
    for part in parts:
        own = part.get("properties", {})
        if (
            part.get("additionalProperties") is False
            and isinstance(own, dict)
            and not set(required) <= set(own)
        ):
            return False
    return not any(_denied(key, parts) for key in required)


def _denied(key: str, parts: Conjunction) -> bool:
    """Whether a part allows no value for a key."""
    maps = [part["properties"] for part in parts if isinstance(part.get("properties"), dict)]
    return any(key in one and one[key] is False for one in maps if isinstance(one, dict))
