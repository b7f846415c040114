"""What a conjunction of plain schemas says: listed values, declared and required keys, extra keys, sizes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from unbraid.branches import Conjunction, matches
from unbraid.effort import spend

__all__ = ["declared", "extra_schema", "members", "required_keys", "schema_of", "whole_number"]


def members(parts: Conjunction) -> list[Any] | None:
    """The values that a conjunction lists (enum, const), or None."""
    found: list[Any] | None = None
    for part in parts:
        for listed in (part.get("enum"), [part["const"]] if "const" in part else None):
            if isinstance(listed, (list, tuple)):
                spend(len(listed))
                texts = {json.dumps(one, sort_keys=True) for one in listed}
                found = [
                    one
                    for one in (listed if found is None else found)
                    if json.dumps(one, sort_keys=True) in texts
                ]
    return found


def schema_of(parts: Iterable[dict[str, Any]], key: str) -> Any:
    """All that is said of a key's value, declared or not; False if the key may not be there."""
    found = [one for part in parts for one in _said(part, key) if one is not True]
    if any(one is False for one in found):
        return False
    return found[0] if len(found) == 1 else {"allOf": found} if found else True


def _said(part: dict[str, Any], key: str) -> list[Any]:
    """What one schema says of a key; a pattern of which that can't be told counts as one that fits."""
    properties, patterns = part.get("properties") or {}, part.get("patternProperties") or {}
    fits = {one: matches(one, key) for one in patterns}
    found = [properties[key]] if key in properties else []
    found += [patterns[one] for one, fit in fits.items() if fit is not False]
    if key in properties or True in fits.values() or "additionalProperties" not in part:
        return found
    return [*found, part["additionalProperties"]]


def declared(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The declared keys that may be there, and all that must hold of their values."""
    parts = list(parts)
    maps = [part["properties"] for part in parts if isinstance(part.get("properties"), dict)]
    spend(len(parts) * sum(map(len, maps)))
    schemas = {key: schema_of(parts, key) for one in maps for key in one}
    return {key: schema for key, schema in schemas.items() if schema is not False}


def required_keys(parts: Iterable[dict[str, Any]]) -> list[str]:
    """The keys that must be there."""
    listed = [part["required"] for part in parts if isinstance(part.get("required"), (list, tuple))]
    return list(dict.fromkeys(key for some in listed for key in some if isinstance(key, str)))


def extra_schema(parts: Conjunction) -> Any:
    """The schema of undeclared keys; None if there may be none."""
    said = [part["additionalProperties"] for part in parts if "additionalProperties" in part]
    if any(one is False for one in said) or any("patternProperties" in part for part in parts):
        return None
    schemas = [one for one in said if isinstance(one, dict) and one]
    if schemas:
        return schemas[0] if len(schemas) == 1 else {"allOf": schemas}
    return True if said or not declared(parts) else None


def whole_number(value: Any, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else default
