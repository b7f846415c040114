"""JSON schemas as the grammars take them: copies, closed where strict, their strings bounded."""

from __future__ import annotations

import copy
from typing import Any

from unbraid.errors import Unsupported

__all__ = ["answer", "arguments", "bounded"]

_MAPS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SINGLES = ("items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else")
_OPEN_WORDS = ("additionalProperties", "patternProperties", "unevaluatedProperties", "allOf", "$ref")


def arguments(parameters: Any, strict: bool, max_string: int | None, where: str) -> dict[str, Any]:
    """The schema of a tool's arguments: always an object, closed if the tool is strict.

    Raises Unsupported when the tool's schema allows no object.
    """
    if not strict:
        return bounded({"type": "object"}, max_string)
    if parameters is None or parameters == {}:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    if parameters is True:
        return bounded({"type": "object"}, max_string)
    if not isinstance(parameters, dict):
        raise Unsupported(f"{where}.parameters is no schema", param=f"{where}.parameters")
    schema = copy.deepcopy(parameters)
    kind = schema.get("type", "object")
    if kind != "object" and not (isinstance(kind, list) and "object" in kind):
        raise Unsupported(
            f"{where}.parameters: arguments are an object, not {kind!r}", param=f"{where}.parameters.type"
        )
    schema["type"] = "object"
    _close(schema)
    return bounded(schema, max_string)


def answer(schema: Any, max_string: int | None) -> Any:
    """The schema of an answer, its strings bounded."""
    if schema is True:
        return bounded({}, max_string)
    if not isinstance(schema, dict):
        raise Unsupported("response_schema must be a JSON schema", param="response_schema")
    return bounded(copy.deepcopy(schema), max_string)


def _close(schema: Any) -> None:
    """Refuse undeclared keys wherever properties are declared and nothing else is said about keys."""
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("properties"), dict) and not any(word in schema for word in _OPEN_WORDS):
        schema["additionalProperties"] = False
    for word in _MAPS:
        inner = schema.get(word)
        for one in inner.values() if isinstance(inner, dict) else ():
            _close(one)
    for word in ("anyOf", "oneOf", "prefixItems"):
        for one in schema.get(word) or ():
            _close(one)
    _close(schema.get("items"))


def bounded(schema: dict[str, Any], max_string: int | None) -> dict[str, Any]:
    """``schema``, changed in place so that no string is longer than ``max_string``."""
    if max_string is None:
        return schema
    anything = _Anything(max_string)
    anything.bound(schema)
    if anything.used:
        schema.setdefault("$defs", {})[_ANY] = anything.schema()
    return schema


_ANY = "unbraid_any"


class _Anything:
    """Bounds strings; what is left open becomes a reference to any value with bounded strings."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.used = False

    def schema(self) -> dict[str, Any]:
        """Any JSON value with bounded strings."""
        ref = {"$ref": f"#/$defs/{_ANY}"}
        return {
            "anyOf": [
                {"type": "string", "maxLength": self.most},
                {"type": "number"},
                {"type": "boolean"},
                {"type": "null"},
                {"type": "array", "items": ref},
                {"type": "object", "additionalProperties": ref},
            ]
        }

    def any(self) -> dict[str, str]:
        """A reference to it."""
        self.used = True
        return {"$ref": f"#/$defs/{_ANY}"}

    def bound(self, schema: Any) -> None:
        """Bound every string of ``schema``, in place."""
        if not isinstance(schema, dict):
            return
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds or []
        if "enum" not in schema and "const" not in schema:
            if "string" in kinds and "pattern" not in schema and "format" not in schema:
                schema["maxLength"] = min(schema.get("maxLength", self.most), self.most)
            if "object" in kinds and schema.get("additionalProperties", True) in (True, {}):
                schema["additionalProperties"] = self.any()
            if "array" in kinds and schema.get("items", True) in (True, {}):
                schema["items"] = self.any()
        self.inside(schema)

    def inside(self, schema: dict[str, Any]) -> None:
        """Bound the schemas inside one."""
        for word in _MAPS:
            inner = schema.get(word)
            if isinstance(inner, dict):
                for key, one in inner.items():
                    if one in (True, {}):
                        inner[key] = self.any()
                    self.bound(inner[key])
        for word in _LISTS:
            for one in schema.get(word) or ():
                self.bound(one)
        for word in _SINGLES:
            self.bound(schema.get(word))
