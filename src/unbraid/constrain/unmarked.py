"""JSON in whose strings no marker stands, written out where a dialect's own JSON can't say that."""

from __future__ import annotations

from typing import Any

from unbraid.constrain.notations import AnswerText
from unbraid.constrain.tree import Json, Node, json_node
from unbraid.constrain.typed import Typed
from unbraid.errors import Unsupported

__all__ = ["answer_json", "unmarked"]

LISTED = 1024


def unmarked(
    schema: Any, exclude: tuple[str, ...], rules: dict[str, Node], max_string: int | None, where: str
) -> Node:
    """JSON by ``schema`` without the texts ``exclude``; shared parts become ``rules``."""
    return Typed(AnswerText(exclude), rules, schema, max_string, where, LISTED).value(schema, "")


def answer_json(
    schema: Any, exclude: tuple[str, ...], rules: dict[str, Node], max_string: int | None
) -> Json:
    """The answer by the response schema; what can't be written out is left to the dialect's own JSON."""
    if not exclude:
        return json_node(schema)
    try:
        return json_node(schema, exclude, unmarked(schema, exclude, rules, max_string, "response_schema"))
    except Unsupported:
        return json_node(schema, exclude)
