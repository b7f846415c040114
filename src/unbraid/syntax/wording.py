"""A declared value in the words in which a family's author writes it, for messages about it."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from reprlib import Repr

from unbraid.syntax.text import NO_SPACE, Lit, Space

__all__ = ["wording"]

_plain = Repr()
_plain.maxstring = _plain.maxother = 60
_ITEMS = 3
_DEPTH = 3


def wording(value: object, depth: int = _DEPTH) -> str:
    """``value`` as source: markers as ``lit(…)`` or ``token(…)``, of a part only what was given."""
    if isinstance(value, Space):
        return _space(value)
    if isinstance(value, Lit) and isinstance(value.spellings, tuple):
        made = "token" if value.special is True else "lit"
        given = [wording(one) for one in value.spellings[:_ITEMS]]
        given += ["…"] if len(value.spellings) > _ITEMS else []
        return f"{made}({', '.join([*given, *_given(value, depth, leave=('spellings', 'special'))])})"
    if isinstance(value, (tuple, list)):
        return _items(value, depth)
    if not is_dataclass(value) or isinstance(value, type):
        return _plain.repr(value)
    name = type(value).__name__
    return f"{name}({', '.join(_given(value, depth))})" if depth else f"{name}(…)"


def _space(value: Space) -> str:
    if value == NO_SPACE:
        return "NO_SPACE"
    return f"{'any_space' if value.any else 'space'}({wording(value.text)})"


def _items(value: tuple[object, ...] | list[object], depth: int) -> str:
    items = [wording(one, depth - 1) for one in value[:_ITEMS]] if depth else ["…"] if value else []
    items += ["…"] if depth and len(value) > _ITEMS else []
    if isinstance(value, list):
        return f"[{', '.join(items)}]"
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _given(value: object, depth: int, leave: tuple[str, ...] = ()) -> list[str]:
    """The fields that are not as they are by default; the first without their names, flags with them."""
    found = []
    positional = True
    for one in fields(value):  # type: ignore[arg-type]
        if one.name in leave:
            positional = False
            continue
        given = getattr(value, one.name)
        if one.default is not MISSING and given == one.default:
            positional = False
            continue
        positional = positional and not isinstance(given, bool)
        found.append(f"{'' if positional else one.name + '='}{wording(given, depth - 1)}")
    return found
