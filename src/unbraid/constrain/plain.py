"""A forced call as one JSON schema, for back ends that know nothing else."""

from __future__ import annotations

import json
from typing import Any

from unbraid.constrain.request import Demand, Tool
from unbraid.constrain.schemas import arguments, enveloped, subschemas
from unbraid.errors import Unsupported

__all__ = ["plain_schema"]

_WORDS = ("$defs", "definitions")


def plain_schema(demand: Demand, *, named: bool, max_string: int | None) -> dict[str, Any]:
    """The schema of the whole output behind thinking: an array of calls, or a named call's arguments.

    Raises Unsupported for a request that demands no call, and for a schema that can't be held.
    """
    if demand.mode != "required":
        raise Unsupported("a JSON schema can only demand calls, not allow them", param="tool_choice")
    if named:
        tool = demand.tools[0]
        return arguments(tool.parameters, tool.strict, max_string, tool.param)
    items = [_item(tool, n, max_string) for n, tool in enumerate(demand.tools)]
    shared = {key: value for item in items for key, value in item.pop("$defs", {}).items()}
    found = {"type": "array", "minItems": 1, "maxItems": demand.most, "items": {"anyOf": items}}
    return {**found, "$defs": shared} if shared else found


def _item(tool: Tool, n: int, max_string: int | None) -> dict[str, Any]:
    """One call of one tool; its definitions under names of its own."""
    schema = enveloped(
        arguments(tool.parameters, tool.strict, max_string, tool.param),
        ("name", tool.name),
        "parameters",
        tool.param,
    )
    schema = json.loads(json.dumps(schema))
    for one, _ in subschemas(schema):
        if "$ref" in one:
            _, _, rest = one["$ref"].split("/", 2)
            one["$ref"] = f"#/$defs/{n}_{rest}"
    definitions = {f"{n}_{key}": value for word in _WORDS for key, value in schema.pop(word, {}).items()}
    return {**schema, "$defs": definitions} if definitions else schema
