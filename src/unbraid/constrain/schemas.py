"""JSON schemas as the grammars take them: copies, closed where strict, their strings bounded.

Keywords that no grammar can hold are refused with their path; what says nothing about
the value (unknown formats) is left out.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from unbraid.branches import Branch
from unbraid.constrain.checks import LARGEST
from unbraid.constrain.disjoint import disjoint
from unbraid.errors import Unsupported

__all__ = ["answer", "arguments", "enveloped", "subschemas"]

FORMATS = ("date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid", "uri")
_MAPS = ("properties", "patternProperties", "$defs", "definitions")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems", "items")
_SINGLES = ("items", "additionalItems", "additionalProperties")
_OPEN_WORDS = ("additionalProperties", "patternProperties", "allOf", "$ref")
_ANNOTATIONS = ("title", "description", "$schema", "default", "examples", "$comment")
_TYPES = ("string", "number", "integer", "boolean", "null", "array", "object")


def arguments(parameters: Any, strict: bool, max_string: int | None, where: str) -> dict[str, Any]:
    """The schema of a tool's arguments: always an object, closed if the tool is strict.

    Raises Unsupported when the tool's schema allows no object, or can't be held.
    """
    path = f"{where}.parameters"
    if not strict or parameters is True:
        return _bounded({"type": "object"}, max_string, path)
    if parameters is None or parameters == {}:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    if not isinstance(parameters, dict):
        raise Unsupported(f"{path} is no schema", param=path)
    schema = _inlined(copy.deepcopy(parameters))
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind) and kind in _TYPES:
        raise Unsupported(f"{path}: arguments are an object, not {kind!r}", param=f"{path}.type")
    schema["type"] = "object"
    _hold(schema, path)
    _close(schema)
    return _bounded(schema, max_string, path)


def _inlined(root: dict[str, Any]) -> dict[str, Any]:
    """``root`` without a reference at its top if that says everything: both at once are harder to hold."""
    definitions: dict[str, Any] = {word: root[word] for word in ("$defs", "definitions") if word in root}
    while set(root) <= {"$ref", *definitions, *_ANNOTATIONS} or (
        root.get("type") == "object" and set(root) <= {"$ref", "type", *definitions, *_ANNOTATIONS}
    ):
        _, word, name = (*str(root.get("$ref")).split("/"), "", "")[:3]
        target = definitions.get(word, {}).get(name)
        if not isinstance(target, dict) or str(root.get("$ref")).count("/") != 2:
            break
        root = {**copy.deepcopy(target), **definitions}
    return root


def answer(schema: Any, max_string: int | None) -> dict[str, Any]:
    """The schema of an answer, its strings bounded; raises Unsupported."""
    if schema is True:
        return _bounded({"anyOf": [{}]}, max_string, "response_schema")
    if not isinstance(schema, dict):
        raise Unsupported("response_schema must be a JSON schema", param="response_schema")
    held = copy.deepcopy(schema)
    _hold(held, "response_schema")
    return _bounded(held, max_string, "response_schema")


def enveloped(schema: dict[str, Any], name: tuple[str, str], key: str, where: str) -> dict[str, Any]:
    """The schema of a call as one JSON object: the key and value of its name, then its arguments."""
    for one, at in subschemas(schema):
        if not str(one.get("$ref", "#/$defs/")).startswith(("#/$defs/", "#/definitions/")):
            raise Unsupported(
                f"{where}.parameters{at}: a reference outside $defs", param=f"{where}.parameters{at}"
            )
    inner = {word: value for word, value in schema.items() if word not in ("$defs", "definitions")}
    return {
        "type": "object",
        "properties": {name[0]: {"const": name[1]}, key: inner},
        "required": [name[0], key],
        "additionalProperties": False,
        **{word: schema[word] for word in ("$defs", "definitions") if word in schema},
    }


def subschemas(schema: Any, path: str = "") -> Iterator[tuple[dict[str, Any], str]]:
    """Every schema inside a schema, itself first, with its path."""
    stack: list[tuple[Any, str]] = [(schema, path)]
    while stack:
        one, at = stack.pop()
        if not isinstance(one, dict):
            continue
        yield one, at
        for word in _MAPS:
            inner = one.get(word)
            if isinstance(inner, dict):
                stack += [(part, f"{at}.{word}.{key}") for key, part in inner.items()]
        for word in _LISTS:
            inner = one.get(word)
            if isinstance(inner, list):
                stack += [(part, f"{at}.{word}[{n}]") for n, part in enumerate(inner)]
        stack += [(one[word], f"{at}.{word}") for word in _SINGLES if isinstance(one.get(word), dict)]


def _hold(root: dict[str, Any], path: str) -> None:
    """Refuse what can't be held, and leave out what needs not be, in place."""
    for schema, at in subschemas(root, path):
        if "oneOf" in schema:
            if not disjoint(root, schema["oneOf"]):
                raise Unsupported(
                    f"{at}: the branches of oneOf overlap, which no grammar can hold", param=f"{at}.oneOf"
                )
            if "anyOf" not in schema:
                schema["anyOf"] = schema.pop("oneOf")
        if schema.pop("uniqueItems", False) is True:
            raise Unsupported(f"{at}: no grammar here can hold uniqueItems", param=f"{at}.uniqueItems")
        if schema.pop("unevaluatedProperties", True) is False:
            if "allOf" in schema or "anyOf" in schema or "oneOf" in schema or "$ref" in schema:
                raise Unsupported(
                    f"{at}: no grammar here can hold unevaluatedProperties",
                    param=f"{at}.unevaluatedProperties",
                )
            schema.setdefault("additionalProperties", False)
        if schema.get("format") not in FORMATS or "pattern" in schema:
            schema.pop("format", None)
        _rename_types(schema)
        _bound_digits(schema)
        _count_properties(schema, at)


def _rename_types(schema: dict[str, Any]) -> None:
    """Types by the names that JSON schema knows; unknown ones are left out."""
    kind = schema.get("type")
    if kind is None or kind in _TYPES:
        return
    names = kind if isinstance(kind, list) else [kind]
    if all(name in _TYPES for name in names):
        return
    kinds = [
        one for name in names for one in Branch(({"type": name},)).kinds if Branch(({"type": name},)).typed
    ]
    if kinds:
        schema["type"] = kinds[0] if len(kinds) == 1 else kinds
    else:
        del schema["type"]


def _bound_digits(schema: dict[str, Any]) -> None:
    """A bound on both sides of an integer, so that no model writes digits without end."""
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "integer" not in kinds or "number" in kinds or "enum" in schema or "const" in schema:
        return
    for word, limit in (("Minimum", -LARGEST), ("Maximum", LARGEST)):
        exclusive = schema.get("exclusive" + word)
        if word.lower() not in schema and (exclusive is None or isinstance(exclusive, bool)):
            schema[word.lower()] = limit


def _count_properties(schema: dict[str, Any], at: str) -> None:
    """minProperties and maxProperties, where they say something."""
    properties = schema.get("properties")
    if not isinstance(properties, dict) or not properties:
        return
    required = schema.get("required") or []
    if set(properties) <= set(required):
        return
    closed = schema.get("additionalProperties") is False
    for word in ("minProperties", "maxProperties"):
        limit = schema.get(word)
        if limit is None:
            continue
        if not (limit <= len(required) if word == "minProperties" else closed and limit >= len(properties)):
            raise Unsupported(
                f"{at}: no grammar here can hold {word} beside optional keys", param=f"{at}.{word}"
            )
        del schema[word]


def _close(root: dict[str, Any]) -> None:
    """Refuse undeclared keys wherever properties are declared and nothing else is said about keys."""
    joined = {id(one) for schema, _ in subschemas(root) for one in schema.get("allOf") or ()}
    for schema, _ in subschemas(root):
        declares = isinstance(schema.get("properties"), dict)
        branches = (*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ()))
        if any(isinstance(one, dict) and ("properties" in one or "$ref" in one) for one in branches):
            continue
        if declares and id(schema) not in joined and not any(word in schema for word in _OPEN_WORDS):
            schema["additionalProperties"] = False


_ANY = "unbraid_any"
_ANY_REF = {"$ref": f"#/$defs/{_ANY}"}


def _bounded(root: dict[str, Any], max_string: int | None, path: str) -> dict[str, Any]:
    """``root``, changed in place so that no string is longer than ``max_string``."""
    if max_string is None:
        return root
    for schema, at in list(subschemas(root, path)):
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds or []
        if "enum" in schema or "const" in schema:
            continue
        if "string" in kinds and "pattern" not in schema and "format" not in schema:
            if schema.get("minLength", 0) > max_string:
                raise Unsupported(
                    f"{at}: strings have at most {max_string} characters here", param=f"{at}.minLength"
                )
            schema["maxLength"] = min(schema.get("maxLength", max_string), max_string)
        if "object" in kinds and schema.get("additionalProperties", True) in (True, {}):
            schema["additionalProperties"] = dict(_ANY_REF)
        if "array" in kinds and schema.get("items", True) in (True, {}) and "prefixItems" not in schema:
            schema["items"] = dict(_ANY_REF)
        for key, one in (schema.get("properties") or {}).items():
            if one is True or one == {}:
                schema["properties"][key] = dict(_ANY_REF)
    root.setdefault("$defs", {})[_ANY] = {
        "anyOf": [
            {"type": "string", "maxLength": max_string},
            {"type": "number"},
            {"type": "boolean"},
            {"type": "null"},
            {"type": "array", "items": _ANY_REF},
            {"type": "object", "additionalProperties": _ANY_REF},
        ]
    }
    return root
