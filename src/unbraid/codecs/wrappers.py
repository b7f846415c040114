"""Parameters that the tool does not declare: dropped, or all arguments put into one of them."""

from __future__ import annotations

import json

from unbraid.codecs.json_text import unwrap
from unbraid.literals import python_to_json
from unbraid.schema import Typer
from unbraid.syntax import WHITE, Pairs

__all__ = ["undeclared", "unwrapped", "wraps"]


def undeclared(part: Pairs, typer: Typer, key: str) -> bool:
    """Whether a key is dropped because the tool doesn't declare it."""
    declared = typer.order() if part.declared else []
    return bool(declared) and key not in declared


def wraps(part: Pairs, typer: Typer, key: str) -> bool:
    """Whether a parameter may hold all arguments: the tool declares others, and not this one."""
    declared = typer.order()
    return key in part.wrappers and bool(declared) and key not in declared


def unwrapped(typer: Typer, text: str) -> str | None:
    """The object in a wrapping parameter's raw text, if all of its keys are declared."""
    text = text.strip(WHITE)
    if text.startswith('"'):
        try:
            text = str(json.loads(text)).strip(WHITE)
        except ValueError:
            return None
    found = unwrap(text) or python_to_json(text) if text.startswith("{") else None
    if found is None or not json.loads(found).keys() <= set(typer.order()):
        return None
    return found
