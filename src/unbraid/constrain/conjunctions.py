"""What a conjunction of plain schemas says: listed values, declared and required keys, extra keys, sizes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from unbraid.branches import Conjunction

__all__ = ["declared", "extra_schema", "members", "required_keys", "whole_number"]


def members(parts: Conjunction) -> list[Any] | None:
    """The values that a conjunction lists (enum, const), or None."""
    found: list[Any] | None = None
    for part in parts:
        for listed in (part.get("enum"), [part["const"]] if "const" in part else None):
            if isinstance(listed, (list, tuple)):
                texts = {json.dumps(one, sort_keys=True) for one in listed}
                found = [
                    one
                    for one in (listed if found is None else found)
                    if json.dumps(one, sort_keys=True) in texts
                ]
    return found


def declared(parts: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The declared keys and their schemas; a key that several parts declare holds all of theirs."""
    found: dict[str, list[Any]] = {}
    for part in parts:
        properties = part.get("properties")
        for key, schema in properties.items() if isinstance(properties, dict) else ():
            found.setdefault(key, []).append(schema)
    return {
        key: some[0] if len(some) == 1 else {"allOf": some}
        for key, some in found.items()
        if False not in some
    }


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
