"""Checks of what a caller passes: a value of a wrong type is an InvalidRequest that names it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import index
from reprlib import repr as short
from typing import Any

from unbraid.errors import InvalidRequest

__all__ = [
    "count",
    "flag",
    "function",
    "instance",
    "mapping",
    "one_of",
    "text",
    "token_ids",
    "tokenizer",
    "wrong",
]

_METHODS = ("token_id", "token_bytes", "is_special", "encode")
_LISTS = (list, tuple)
_INT = {int}


def wrong(param: str, what: str, value: object) -> InvalidRequest:
    """The error for a value that is not ``what``; ``param`` is its path."""
    return InvalidRequest(f"{param} must be {what}, not {short(value)}", param=param)


def instance(param: str, value: object, kind: type | tuple[type, ...], what: str) -> None:
    """Refuse what is no ``kind``."""
    if not isinstance(value, kind):
        raise wrong(param, what, value)


def text(param: str, value: object, *, optional: bool = False) -> None:
    """Refuse what is no string (or None, if ``optional``)."""
    if not (isinstance(value, str) or (optional and value is None)):
        raise wrong(param, "a string or None" if optional else "a string", value)


def flag(param: str, value: object, *, optional: bool = False) -> None:
    """Refuse what is no bool (or None, if ``optional``)."""
    if not (isinstance(value, bool) or (optional and value is None)):
        raise wrong(param, "true, false or None" if optional else "true or false", value)


def count(param: str, value: object, *, least: int = 0, optional: bool = False) -> None:
    """Refuse what is no int of at least ``least`` (or None, if ``optional``)."""
    if optional and value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise wrong(param, f"an int of at least {least}{' or None' if optional else ''}", value)


def one_of(param: str, value: object, allowed: Sequence[str]) -> None:
    """Refuse what is none of these names."""
    if not (isinstance(value, str) and value in allowed):
        raise wrong(param, f"one of {', '.join(allowed)}", value)


def mapping(param: str, value: object) -> None:
    """Refuse what is neither None nor a mapping of names."""
    if value is None:
        return
    instance(param, value, Mapping, "a mapping of names to values, or None")
    assert isinstance(value, Mapping)
    for key in value:
        if not isinstance(key, str):
            raise InvalidRequest(f"the keys of {param} must be strings, not {short(key)}", param=param)


def function(param: str, value: object, *, optional: bool = False) -> None:
    """Refuse what can't be called."""
    if not (callable(value) or (optional and value is None)):
        raise wrong(param, "a function or None" if optional else "a function", value)


def tokenizer(value: object, *, optional: bool = False) -> None:
    """Refuse an object without the methods of the ``Tokenizer`` protocol."""
    if optional and value is None:
        return
    missing = [name for name in _METHODS if not callable(getattr(value, name, None))]
    if missing or isinstance(value, type):
        lacks = f"{short(value)} lacks {', '.join(missing or _METHODS)}"
        raise InvalidRequest(
            f"tokenizer must have the methods of unbraid.Tokenizer: {lacks}", param="tokenizer"
        )


def token_ids(param: str, value: Any) -> Sequence[int]:
    """The ids as a sequence of ints; whatever holds integers is taken."""
    if type(value) in _LISTS and _INT.issuperset(map(type, value)):
        return value  # type: ignore[no-any-return]
    if isinstance(value, (str, bytes, bytearray, Mapping)) or not isinstance(value, Iterable):
        raise wrong(param, "a list of token ids", value)
    ids = []
    for n, one in enumerate(value):
        try:
            ids.append(index(one))
        except TypeError:
            raise wrong(f"{param}[{n}]", "a token id", one) from None
        if isinstance(one, bool):
            raise wrong(f"{param}[{n}]", "a token id", one)
    return ids
