"""Endings of a checkpoint's own in every marker: ``<think:opensource>`` for ``<think>``.

A half with ``suffixes`` is declared without them. Its name with one (``hy_v3:opensource``)
is the half in which every marker carries it; its bare name reads markers without an
ending and with those of known checkpoints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import lru_cache
from typing import Any, TypeVar

from unbraid.syntax import Reasoning, Tools
from unbraid.tokens import Tokenizer

__all__ = ["SUFFIX", "spelled", "suffix_in_prompt", "suffix_in_vocabulary"]

Half = TypeVar("Half", Reasoning, Tools)

SUFFIX = re.compile(r":[\w.-]{1,32}")
_END = re.compile("(?<![|｜])(?=[|｜]?>)")
_LISTS = frozenset(("spellings", "ends_at", "turns", "dropped", "early", "ignored"))
_TEXTS = frozenset(("empty_when_off", "label"))


@lru_cache(maxsize=64)
def spelled(half: Half, suffix: str) -> Half:
    """The half with ``suffix`` in every marker; without one, with any of the known ones or none."""
    endings = (suffix,) if suffix else ("", *half.suffixes)
    written: Half = _rewrite(half, lambda text: tuple(_END.sub(one, text) for one in endings))
    return replace(written, suffixes=()) if suffix else written


def _rewrite(part: Any, write: Callable[[str], tuple[str, ...]]) -> Any:
    if isinstance(part, tuple):
        return tuple(_rewrite(one, write) for one in part)
    if not is_dataclass(part) or isinstance(part, type):
        return part
    changed: dict[str, Any] = {}
    for one in fields(part):
        value = getattr(part, one.name)
        if one.name in _LISTS:
            changed[one.name] = tuple(dict.fromkeys(text for each in value for text in write(each)))
        elif one.name in _TEXTS:
            changed[one.name] = write(value)[0]
        else:
            changed[one.name] = _rewrite(value, write)
    return replace(part, **changed)


def _anchors(half: Reasoning | Tools) -> Iterator[str]:
    """The markers that tell a checkpoint's ending: where a turn begins, else what opens."""
    if isinstance(half, Reasoning):
        yield from half.turns
        yield half.open.text
        yield half.close.text
    elif half.section is not None:
        yield half.section.open.text


def suffix_in_vocabulary(half: Reasoning | Tools, tokenizer: Tokenizer, candidates: list[str]) -> str | None:
    """The first of some endings with which a marker is a token; None if no marker is one."""
    for suffix in candidates:
        if any(tokenizer.token_id(_END.sub(suffix, one)) is not None for one in _anchors(half)):
            return suffix
    return None


def suffix_in_prompt(half: Reasoning | Tools, prompt: str) -> str | None:
    """The ending of the last marker in a prompt, empty for none; None if the prompt holds no marker."""
    for marker in _anchors(half):
        head, *_ = _END.split(marker, maxsplit=1)
        tail = marker[len(head) :]
        at = prompt.rfind(head)
        while at >= 0:
            found = SUFFIX.match(prompt, at + len(head))
            suffix = found.group() if found else ""
            if prompt.startswith(tail, at + len(head) + len(suffix)):
                return suffix
            at = prompt.rfind(head, 0, at)
    return None
