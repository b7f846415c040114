"""Errors name a field as the request that was sent spells it, whichever API it came by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from unbraid.errors import UnbraidError

__all__ = ["Paths", "named_as", "renamed"]

Paths = Sequence[tuple[str, str]]
"""Pairs of a field's path in chat completions and in the request as sent; the first that fits counts."""


def renamed(error: BaseException, paths: Paths) -> BaseException:
    """The same error about the request's own field; ``error`` itself where that has no other name."""
    if not isinstance(error, UnbraidError) or error.param is None:
        return error
    for old, new in paths:
        if error.param == old or error.param.startswith((f"{old}.", f"{old}[")):
            path = new + error.param[len(old) :]
            found = type(error).__new__(type(error), *error.args)
            found.__dict__.update(
                error.__dict__, message=error.message.replace(error.param, path), param=path
            )
            return found
    return error


@contextmanager
def named_as(paths: Paths) -> Iterator[None]:
    """Errors raised within come out ``renamed``."""
    try:
        yield
    except UnbraidError as error:
        found = renamed(error, paths)
        if found is error:
            raise
        raise found from error
