"""Texts that are endless in one respect, made from the declarations of a pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from tests.support.hostile import First, Pair, markers, write_call
from unbraid.syntax import Reasoning

Make = Callable[[int], str]


def repeated(text: str) -> Make:
    """A text over and over, up to a length."""
    return lambda size: (text * (size // max(1, len(text)) + 1))[:size]


def inside(head: str, text: str) -> Make:
    """A text over and over behind a beginning."""
    fill = repeated(text)
    return lambda size: head + fill(size)


PLAIN = {
    "brackets": "[",
    "braces": '{"a":',
    "parentheses": "(",
    "angles": "<a>",
    "white": " \n",
    "quotes": '"',
    "backslashes": "\\",
    "digits": "9",
    "letters": "a",
    "high surrogates": "\ud83d",
    "low surrogates": "\ude00",
    "lines": "word word\n",
}


@cache
def endless(pair: Pair) -> dict[str, Make]:
    """Makers of endless texts: outside, in the arguments, and the pair's own markers."""
    found: dict[str, Make] = {name: repeated(text) for name, text in PLAIN.items()}
    own = markers(pair)
    for marker in own:
        found[f"marker {marker}"] = repeated(marker)
    if own:
        found["every marker"] = repeated("".join(own))
        found["cut markers"] = repeated("".join(one[:-1] for one in own if len(one) > 1) or "x")
    for name, head in heads(pair):
        for what, text in PLAIN.items():
            found[f"{what} {name}"] = inside(head, text)
    found |= calls(pair)
    return found


def heads(pair: Pair) -> Iterator[tuple[str, str]]:
    """Beginnings of outputs that end inside a value, inside a key, inside a name, inside thinking."""
    if pair.thinking is not None:
        yield "in thinking", pair.thinking.open.text
    for half in pair.halves:
        if not isinstance(half, Reasoning):
            whole = write_call(half, "NAME", {"KEY": "VALUE", "list": [["ITEM"]]}, First())
            for where in ("NAME", "KEY", "VALUE", "ITEM"):
                head, found, _ = whole.partition(where)
                if found:
                    yield f"in {where.lower()}", head
                if where == "ITEM" and "[" in head:
                    yield "in a list", head[: head.rindex("[") + 1]


def calls(pair: Pair) -> dict[str, Make]:
    """Endless calls, keys and arguments of the tools half, where there is one."""
    halves = [half for half in pair.halves if not isinstance(half, Reasoning)]
    if not halves:
        return {}
    half = halves[-1]

    def written(arguments: dict[str, Any]) -> str:
        return write_call(half, "f", arguments, First())

    def argument(piece: str) -> Make:
        return lambda size: written({"a": piece * (size // len(piece) + 1)})

    return {
        "calls": repeated(written({"a": "x"})),
        "calls without arguments": repeated(written({})),
        "keys": lambda size: written({f"k{n}": n for n in range(size // 16 + 1)}),
        "one key": lambda size: written({"k" * size: 1}),
        "argument": argument('line "q" \\ é\n'),
        "argument of markers": argument("".join(markers(pair)) or "x"),
        "argument of surrogates": argument("x\ud83d"),
        "list": lambda size: written({"a": list(range(size // 8 + 1))}),
    }
