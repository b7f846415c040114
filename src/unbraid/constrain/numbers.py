"""Numbers between bounds as regular expressions, one for each bound: both must hold.

Numbers with a bound are written without an exponent, with at most 18 digits before the
point and 17 behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

from unbraid.constrain.checks import LARGEST
from unbraid.constrain.expressions import expression
from unbraid.constrain.machines import Budget, Machine, Multiple, Pattern
from unbraid.constrain.typed import INTEGER
from unbraid.errors import Unsupported

__all__ = ["bounded"]

_WHOLE = "(?:0|[1-9][0-9]{0,17})"
_FRACTION = r"(?:\.[0-9]{1,17})?"
_NOTHING = r"[^\x00-\U0010ffff]"
_DIGITS = 18


def bounded(schema: Mapping[str, Any], budget: Budget) -> list[Machine]:
    """The machines of a number by its type and bounds; none for one without bounds.

    Raises Unsupported for a ``multipleOf`` that is no whole number.
    """
    whole = schema["type"] == "integer"
    found: list[Machine] = []
    step = schema.get("multipleOf")
    if step is not None:
        if step != int(step):
            raise Unsupported(f"GBNF can't hold multipleOf {step}, only whole numbers")
        whole = True
        found += [Multiple(int(step))] if step != 1 else [Pattern(expression(INTEGER), budget)]
    for word, pattern in (("minimum", _at_least), ("maximum", _at_most)):
        limit, strict = schema.get(word), False
        other = schema.get("exclusive" + word.capitalize())
        tighter = max if word == "minimum" else min
        if other is not None and (limit is None or tighter(other, limit) == other):
            limit, strict = other, True
        if limit is not None and abs(limit) < LARGEST:
            found.append(Pattern(expression(pattern(Decimal(str(limit)), strict, whole)), budget))
    return [Pattern(expression(INTEGER), budget), *found] if found and whole else found


def _at_least(limit: Decimal, strict: bool, whole: bool) -> str:
    """Numbers from ``limit`` up."""
    tail = "" if whole else _FRACTION
    if limit > 0 or (limit == 0 and strict):
        return _from(limit, strict, whole)
    below = f"|-{_to(-limit, strict, whole)}" if limit < 0 else ""
    return f"(?:{_WHOLE}{tail}{below})"


def _at_most(limit: Decimal, strict: bool, whole: bool) -> str:
    """Numbers up to ``limit``."""
    tail = "" if whole else _FRACTION
    if limit < 0 or (limit == 0 and strict):
        return f"-{_from(-limit, strict, whole)}"
    return f"(?:{_to(limit, strict, whole)}|-{_WHOLE}{tail})"


def _from(limit: Decimal, strict: bool, whole: bool) -> str:
    """Numbers without a sign from ``limit`` up."""
    base = int(limit.to_integral_value(ROUND_FLOOR))
    if whole:
        top = int(limit.to_integral_value(ROUND_CEILING))
        return _whole_from(top + 1 if strict and top == limit else top)
    digits = _behind(limit)
    fraction = _fraction_from(digits, strict)
    return f"(?:{_whole_from(base + 1)}{_FRACTION}|{base}{fraction})"


def _to(limit: Decimal, strict: bool, whole: bool) -> str:
    """Numbers without a sign up to ``limit``."""
    base = int(limit.to_integral_value(ROUND_FLOOR))
    if whole:
        return _whole_to(base - 1 if strict and base == limit else base)
    options = [f"{_whole_to(base - 1)}{_FRACTION}"] if base else []
    digits = _behind(limit)
    if digits:
        options.append(rf"{base}(?:\.{_digits_to(digits, strict)})?")
    elif not strict:
        options.append(rf"{base}(?:\.0{{1,17}})?")
    return "(?:" + "|".join(options or [_NOTHING]) + ")"


def _behind(limit: Decimal) -> str:
    """The digits behind the point, without zeros at their end."""
    return format(limit, "f").partition(".")[2].rstrip("0")


def _fraction_from(digits: str, strict: bool) -> str:
    if digits:
        return rf"\.{_digits_from(digits, strict)}"
    return r"\.0{0,16}[1-9][0-9]{0,16}" if strict else _FRACTION


def _digits_from(digits: str, strict: bool) -> str:
    """Digits behind the point from these up."""
    if not digits:
        return "0{0,15}[1-9][0-9]{0,15}" if strict else "[0-9]{0,16}"
    options = [digits[0] + _digits_from(digits[1:], strict)]
    if digits[0] < "9":
        options.append(f"[{int(digits[0]) + 1}-9][0-9]{{0,16}}")
    return "(?:" + "|".join(options) + ")"


def _digits_to(digits: str, strict: bool) -> str:
    """Digits behind the point, one or more, up to these."""
    rest = digits[1:]
    if rest:
        options = [f"{digits[0]}(?:{_digits_to(rest, strict)})?"]
    else:
        options = [] if strict else [digits[0] + "0{0,16}"]
    if digits[0] > "0":
        options.append(f"[0-{int(digits[0]) - 1}][0-9]{{0,16}}")
    return "(?:" + "|".join(options or [_NOTHING]) + ")"


def _whole_from(least: int) -> str:
    """Whole numbers without a sign from ``least`` up."""
    if least <= 0:
        return _WHOLE
    text = str(least)
    options = [_same_from(text)]
    if len(text) < _DIGITS:
        options.append(f"[1-9][0-9]{{{len(text)},{_DIGITS - 1}}}")
    return "(?:" + "|".join(options) + ")"


def _same_from(text: str) -> str:
    """Digits from these up, as many of them."""
    if not text:
        return ""
    options = [text[0] + _same_from(text[1:])]
    if text[0] < "9":
        options.append(f"[{int(text[0]) + 1}-9][0-9]{{{len(text) - 1}}}")
    return "(?:" + "|".join(options) + ")"


def _whole_to(most: int) -> str:
    """Whole numbers without a sign up to ``most``."""
    if most <= 0:
        return "0" if most == 0 else _NOTHING
    text = str(most)
    options = ["0"]
    if len(text) > 1:
        options.append(f"[1-9][0-9]{{0,{len(text) - 2}}}")
    return "(?:" + "|".join([*options, _same_to(text, "1")]) + ")"


def _same_to(text: str, first: str = "0") -> str:
    """Digits up to these, as many of them, from ``first`` on."""
    if not text:
        return ""
    options = [text[0] + _same_to(text[1:])]
    if text[0] > first:
        options.append(f"[{first}-{int(text[0]) - 1}][0-9]{{{len(text) - 1}}}")
    return "(?:" + "|".join(options) + ")"
