"""Whether a JSON value is valid for a schema, by the words that the grammars know, older ones too."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any

from unbraid.errors import Unsupported

__all__ = ["check_patterns_of", "invalid", "loads"]

_SHOWN = 200
_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_DATA = ("const", "enum", "default", "examples")
_NULL = {"type": "null"}
_WHATEVER = ("$ref", "allOf", "anyOf", "oneOf", "not", "const", "enum")
"""Words that may hold for null, others than ``type``."""


def loads(text: str) -> Any:
    """A JSON value. Raises ValueError for what is none, NaN and the infinities too, and RecursionError."""
    return json.loads(text, parse_constant=_no_json)


def _no_json(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def invalid(value: Any, schema: Mapping[str, Any]) -> str | None:
    """The first way in which a value breaks a schema, or None."""
    from jsonschema.exceptions import ValidationError, best_match
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    try:
        plain = _Plain(_names(value)).schema(schema)
        validator = _validator_class()(plain, registry=Registry())
        found = best_match(validator.iter_errors(value))
    except Unresolvable as error:
        return f"{error.ref} in the schema leads nowhere"
    except RecursionError:
        return "it is nested too deeply to be checked"
    assert found is None or isinstance(found, ValidationError)
    return None if found is None else f"{found.json_path}: {found.message[:_SHOWN]}"


def check_patterns_of(schema: Any, path: str) -> None:
    """Raise Unsupported, with the path of its schema, for a pattern that no one can check."""
    if isinstance(schema, list):
        for inner in schema:
            check_patterns_of(inner, path)
    for word, value in schema.items() if isinstance(schema, Mapping) else ():
        at = f"{path}.{word}"
        if word == "pattern" and isinstance(value, str):
            _matcher(value, path)
        if word == "patternProperties" and isinstance(value, Mapping):
            for pattern in value:
                _matcher(pattern, path)
        if word in _MAPS and isinstance(value, Mapping):
            for name, inner in value.items():
                check_patterns_of(inner, f"{at}.{name}")
        elif word not in _DATA:
            check_patterns_of(value, at)


# -- schemas in fewer words ----------------------------------------------------------


def _names(value: Any) -> frozenset[str]:
    """All keys in a value."""
    found: set[str] = set()
    stack = [value]
    while stack:
        one = stack.pop()
        if isinstance(one, dict):
            found.update(one)
            stack += one.values()
        elif isinstance(one, list):
            stack += one
    return frozenset(found)


class _Plain:
    """Writes schemas in the words of today: tuples, bounds that exclude themselves, what may be null.

    Patterns of keys become those of the ``names`` that match them, as no other key is there.
    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def schema(self, schema: Any) -> Any:
        """A schema, or several."""
        if isinstance(schema, list):
            return [self.schema(one) for one in schema]
        if not isinstance(schema, Mapping):
            return schema
        made = {word: value if word in _DATA else self._inner(word, value) for word, value in schema.items()}
        if isinstance(made.get("items"), list):
            made["prefixItems"] = made.pop("items")
            if "additionalItems" in made:
                made["items"] = made.pop("additionalItems")
        for bound in ("Minimum", "Maximum"):
            word = f"exclusive{bound}"
            if isinstance(made.get(word), bool) and made.pop(word) and bound.lower() in made:
                made[word] = made.pop(bound.lower())
        if isinstance(made.get("patternProperties"), Mapping):
            made["properties"] = self._named(made.pop("patternProperties"), made.get("properties", {}))
        return _nullable(made) if made.get("nullable") is True else made

    def _inner(self, word: str, value: Any) -> Any:
        if word in _MAPS and isinstance(value, Mapping):
            return {name: self.schema(one) for name, one in value.items()}
        return self.schema(value)

    def _named(self, patterns: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
        made = dict(properties)
        for pattern, schema in patterns.items():
            for name in sorted(self._names):
                if _matches(pattern, name):
                    made[name] = {"allOf": [made[name], schema]} if name in made else schema
        return made


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema that null is valid for, whatever else it says."""
    held = {word: schema.pop(word) for word in _WHATEVER if word in schema}
    if "type" in schema:
        types = schema["type"]
        schema["type"] = [*(types if isinstance(types, list) else [types]), "null"]
    if held:
        schema["anyOf"] = [held, _NULL]
    return schema


# -- numbers as they are written, and patterns in linear time ------------------------


@cache
def _validator_class() -> Any:
    """JSON Schema's validator whose patterns can't run away, and whose 0.3 is a multiple of 0.1."""
    from jsonschema import Draft202012Validator, validators

    own = {"pattern": _pattern, "multipleOf": _multiple_of}
    return validators.extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]


def _multiple_of(_: Any, step: float, value: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(value, (int, float)) and not isinstance(value, bool) and _exact(value) % _exact(step):
        yield ValidationError(f"{value!r} is not a multiple of {step!r}")


def _exact(number: float) -> Fraction:
    """A number as it is written."""
    return Fraction(number) if isinstance(number, int) else Fraction(repr(number))


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(value, str) and not _matches(pattern, value):
        yield ValidationError(f"{value[:_SHOWN]!r} does not match {pattern!r}")


def _matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text."""
    matcher = _matcher(pattern, "pattern")
    written = json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    data = written.encode("utf-8", "surrogatepass")
    return bool(matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting())


def _matcher(pattern: str, path: str) -> Any:
    from llguidance import LLMatcher

    grammar = LLMatcher.grammar_from_json_schema({"type": "string", "pattern": pattern})
    matcher = LLMatcher(_byte_tokenizer(), grammar)
    if matcher.is_error():
        raise Unsupported(f"the pattern {pattern[:_SHOWN]!r} can't be checked", param=path)
    return matcher


@cache
def _byte_tokenizer() -> Any:
    from llguidance import LLTokenizer, TokenizerWrapper

    return LLTokenizer(TokenizerWrapper(_Bytes()))


class _Bytes:
    """A vocabulary of single bytes, in the shape that llguidance asks for."""

    tokens = (*(bytes([byte]) for byte in range(256)), b"")
    eos_token_id = 256
    bos_token_id = None
    special_token_ids = (256,)

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)
