"""Deterministic machines over characters: for a dialect that has no lexer to find an end by itself.

A machine is small and lazy: a start, a step for each character, which states may end.
``explored`` writes out the states of one that can still come to an end.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from unbraid.constrain.expressions import TOP, Cat, Chars, Expression, Or, Ranges, Rep, union
from unbraid.effort import spend

__all__ = [
    "Both",
    "Budget",
    "Length",
    "Lines",
    "Machine",
    "Multiple",
    "Pattern",
    "State",
    "Then",
    "TooLarge",
    "Without",
    "explored",
]

_NODES = 5_000
_DONE = "done"


class TooLarge(Exception):
    """More states, or more work to find them, than is spent."""


class Budget:
    """What may be spent on following patterns, all in all; hostile ones would take minutes."""

    def __init__(self, work: int) -> None:
        self.left = work

    def spend(self, work: int) -> None:
        """Raises TooLarge where nothing is left."""
        self.left -= work
        if self.left < 0:
            raise TooLarge


class Machine(Protocol):
    """``cuts``: the code points at which the characters that it treats alike begin."""

    cuts: frozenset[int]
    start: Hashable

    def step(self, state: Any, code: int) -> Hashable | None:
        """The state behind a character, None where it may not stand."""
        ...

    def accepts(self, state: Any) -> bool:
        """Whether the text may end here."""
        ...


@dataclass(frozen=True)
class State:
    """Where characters lead, as the number of a state, and whether the text may end here."""

    moves: tuple[tuple[Ranges, int], ...]
    accepts: bool


def explored(machine: Machine, most: int) -> list[State]:
    """The states of a machine, the start first, without those from which no end can be reached.

    None at all means that no text fits. Raises TooLarge for more than ``most``.
    """
    cuts = sorted({0, *machine.cuts})
    highs = [*(cut - 1 for cut in cuts[1:]), TOP]
    numbers: dict[Hashable, int] = {machine.start: 0}
    queue: list[Hashable] = [machine.start]
    moves: list[dict[int, list[tuple[int, int]]]] = []
    for state in queue:
        found: dict[int, list[tuple[int, int]]] = {}
        spend(len(cuts))
        for low, high in zip(cuts, highs, strict=True):
            target = machine.step(state, low)
            if target is None:
                continue
            if target not in numbers:
                if len(queue) >= most:
                    raise TooLarge
                numbers[target] = len(queue)
                queue.append(target)
            found.setdefault(numbers[target], []).append((low, high))
        moves.append(found)
    return _trimmed(moves, [machine.accepts(state) for state in queue])


def _trimmed(moves: list[dict[int, list[tuple[int, int]]]], ends: list[bool]) -> list[State]:
    """The states that lead to an end, numbered anew."""
    before: list[list[int]] = [[] for _ in moves]
    for n, found in enumerate(moves):
        for target in found:
            before[target].append(n)
    live = [n for n, end in enumerate(ends) if end]
    seen = set(live)
    for n in live:
        for one in before[n]:
            if one not in seen:
                seen.add(one)
                live.append(one)
    kept = sorted(seen)
    if 0 not in seen:
        return []
    number = {n: at for at, n in enumerate(kept)}
    return [
        State(
            tuple((union(ranges), number[target]) for target, ranges in moves[n].items() if target in seen),
            ends[n],
        )
        for n in kept
    ]


def _cuts(ranges: Iterable[tuple[int, int]]) -> set[int]:
    return {edge for low, high in ranges for edge in (low, high + 1) if edge <= TOP}


def _codes(texts: Iterable[str]) -> frozenset[int]:
    return frozenset(_cuts((ord(char), ord(char)) for text in texts for char in text))


class Pattern:
    """The texts of a regular expression."""

    def __init__(self, expression: Expression, budget: Budget) -> None:
        self.budget = budget
        self.edges: list[list[tuple[Ranges, int]]] = []
        self.empty: list[list[int]] = []
        begin = self._node()
        self.end = self._write(expression, begin)
        self.cuts = frozenset(cut for edges in self.edges for ranges, _ in edges for cut in _cuts(ranges))
        self.start: Hashable = self._closed([begin])

    def _node(self) -> int:
        if len(self.edges) >= _NODES:
            raise TooLarge
        self.edges.append([])
        self.empty.append([])
        return len(self.edges) - 1

    def _write(self, one: Expression, at: int) -> int:
        """Nodes for an expression that begins at a node; where it ends."""
        if isinstance(one, Chars):
            end = self._node()
            self.edges[at].append((one.ranges, end))
            return end
        if isinstance(one, Cat):
            for item in one.items:
                at = self._write(item, at)
            return at
        end = self._node()
        if isinstance(one, Or):
            for option in one.options:
                begin = self._node()
                self.empty[at].append(begin)
                self.empty[self._write(option, begin)].append(end)
            return end
        return self._repeat(one, at, end)

    def _repeat(self, one: Rep, at: int, end: int) -> int:
        for _ in range(one.least):
            at = self._write(one.item, at)
        if one.most is None:
            loop = self._node()
            self.empty[at].append(loop)
            self.empty[self._write(one.item, loop)].append(loop)
            self.empty[loop].append(end)
            return end
        for _ in range(one.most - one.least):
            self.empty[at].append(end)
            begin = self._node()
            self.empty[at].append(begin)
            at = self._write(one.item, begin)
        self.empty[at].append(end)
        return end

    def _closed(self, nodes: Iterable[int]) -> frozenset[int]:
        found = set(nodes)
        stack = list(found)
        while stack:
            for one in self.empty[stack.pop()]:
                if one not in found:
                    found.add(one)
                    stack.append(one)
        return frozenset(found)

    def step(self, state: frozenset[int], code: int) -> Hashable | None:
        self.budget.spend(len(state))
        found = {
            target
            for node in state
            for ranges, target in self.edges[node]
            if any(low <= code <= high for low, high in ranges)
        }
        return self._closed(found) if found else None

    def accepts(self, state: frozenset[int]) -> bool:
        return self.end in state


class Without:
    """Texts in which none of ``words`` stands. A state is the longest beginning of a word at the end."""

    start: Hashable = ""

    def __init__(self, words: Iterable[str]) -> None:
        self.words = frozenset(words)
        self.cuts = _codes(self.words)
        self.begun = {word[:n] for word in self.words for n in range(len(word) + 1)} or {""}
        self.shorter = {
            one: next(one[n:] for n in range(1, len(one) + 1) if one[n:] in self.begun)
            for one in self.begun
            if one
        }
        self.over = {one for one in self.begun if any(one.endswith(word) for word in self.words)}
        self.known: dict[tuple[str, int], str | None] = {}

    @property
    def size(self) -> int:
        """How many states there are."""
        return len(self.begun)

    def step(self, state: str, code: int) -> Hashable | None:
        key = (state, code)
        if key not in self.known:
            self.known[key] = self._step(state, chr(code))
        return self.known[key]

    def _step(self, state: str, char: str) -> str | None:
        while state + char not in self.begun:
            if not state:
                return ""
            state = self.shorter[state]
        return None if state + char in self.over else state + char

    def accepts(self, state: str) -> bool:
        return True


class Length:
    """Texts of a length."""

    cuts: frozenset[int] = frozenset()
    start: Hashable = 0

    def __init__(self, least: int, most: int | None) -> None:
        self.least, self.most = least, most

    def step(self, state: int, code: int) -> Hashable | None:
        if self.most is None:
            return min(state + 1, self.least)
        return state + 1 if state < self.most else None

    def accepts(self, state: int) -> bool:
        return state >= self.least


class Lines:
    """Texts no line of which begins with one of ``chars``, blanks skipped.

    ``ends``: it ends where a line begins.
    """

    start: Hashable = True

    def __init__(self, chars: str, ends: bool) -> None:
        self.chars, self.ends = chars, ends
        self.cuts = _codes((chars, "\n \t\r"))

    def step(self, state: bool, code: int) -> Hashable | None:
        char = chr(code)
        if char == "\n":
            return True
        if state and char in self.chars:
            return None
        return state and char in " \t\r"

    def accepts(self, state: bool) -> bool:
        return state or not self.ends


class Multiple:
    """Whole numbers that ``step`` divides."""

    cuts = frozenset((0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38, 0x39, 0x3A))
    start: Hashable = 0

    def __init__(self, step: int) -> None:
        self.divisor = step

    def step(self, state: int, code: int) -> Hashable | None:
        return (state * 10 + code - 0x30) % self.divisor if 0x30 <= code <= 0x39 else state

    def accepts(self, state: int) -> bool:
        return state == 0


class Both:
    """The texts of all machines."""

    def __init__(self, machines: Sequence[Machine]) -> None:
        self.machines = tuple(machines)
        self.cuts = frozenset(cut for one in machines for cut in one.cuts)
        self.start: Hashable = tuple(one.start for one in machines)

    def step(self, state: tuple[Any, ...], code: int) -> Hashable | None:
        found = []
        for one, at in zip(self.machines, state, strict=True):
            target = one.step(at, code)
            if target is None:
                return None
            found.append(target)
        return tuple(found)

    def accepts(self, state: tuple[Any, ...]) -> bool:
        return all(one.accepts(at) for one, at in zip(self.machines, state, strict=True))


class Then:
    """A text of a machine and ``end``; it is over where ``end`` is there for the first time.

    A state is that of the text, None where it can't go on, and how much of an end was read.
    """

    def __init__(self, body: Machine, end: str) -> None:
        self.body, self.end = body, end
        self.cuts = body.cuts | _codes((end,))
        self.start: Hashable = (body.start, frozenset())

    def step(self, state: Any, code: int) -> Hashable | None:
        if state == _DONE:
            return None
        inside, begun = state
        char = chr(code)
        ends = {n + 1 for n in begun if self.end[n] == char}
        if inside is not None and self.body.accepts(inside) and self.end[0] == char:
            ends.add(1)
        if len(self.end) in ends:
            return _DONE
        inside = None if inside is None else self.body.step(inside, code)
        return (inside, frozenset(ends)) if inside is not None or ends else None

    def accepts(self, state: Any) -> bool:
        return bool(state == _DONE)
