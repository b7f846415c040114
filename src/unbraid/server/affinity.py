"""Which requests belong to one conversation, so that the engine that has its prefix serves it again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

__all__ = ["affinity_of"]

KEY_BYTES = 16


def affinity_of(
    messages: Sequence[Mapping[str, Any]],
    tools: Sequence[Mapping[str, Any]] = (),
    *,
    prompt_cache_key: str | None = None,
    user: str | None = None,
) -> str:
    """A key that is equal for the requests of one conversation, 32 hexadecimal digits.

    A client's ``prompt_cache_key`` alone makes it, for it says which requests begin alike. Else it is
    made of ``user``, the tools and the messages up to the first of the user: what each later turn
    of the conversation repeats. It tells nothing of the text. The arguments are JSON data and not
    changed.
    """
    if prompt_cache_key is not None:
        return _digest(["key", prompt_cache_key])
    beginning = [[message.get("role"), message.get("content")] for message in _beginning(messages)]
    return _digest(["conversation", user, list(tools), beginning])


def _beginning(messages: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The messages up to the first one of the user."""
    for message in messages:
        yield message
        if message.get("role") == "user":
            return


def _digest(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))
    return blake2b(text.encode(), digest_size=KEY_BYTES).hexdigest()
