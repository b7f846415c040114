"""Regular expressions as markers: a partial match is known, and time is linear.

An expression is compiled into a program of a Pike machine whose steps are remembered as
transitions of an automaton, so that each character costs one look-up. A match is the
one that ``re`` finds: leftmost, choices in their order. While a match may still begin or
grow at the end of the text it is *pending*.

What no such machine can hold is refused when the expression is made: back-references,
look-behind, look-ahead that does not stand at the end, anchors, flags, and expressions
that match the empty text.
"""

from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

__all__ = ["MOST", "Expression", "Hit", "Unreadable", "expression", "parsed"]

MOST = 512
"""A marker has at most this many characters."""

_parser = import_module("re._parser" if sys.version_info >= (3, 11) else "sre_parse")
_LONGEST = 1 << 31
_SIZE = 4096
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d", "CATEGORY_NOT_DIGIT": r"\D", "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S", "CATEGORY_WORD": r"\w", "CATEGORY_NOT_WORD": r"\W",
}  # fmt: skip
_NAMES = {
    "ASSERT": "a look-ahead that is not at the end, or a look-behind",
    "ASSERT_NOT": "a negative look-around",
    "AT": "an anchor",
    "ATOMIC_GROUP": "an atomic group",
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a condition on a group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}


class Unreadable(ValueError):
    """The text is no regular expression, or holds what can't be read in linear time."""


@dataclass(frozen=True)
class Hit:
    """A match: its place, and the places of its groups that took part. Pending without an ``end``."""

    start: int
    end: int | None = None
    groups: dict[str, tuple[int, int]] | None = None


def parsed(pattern: str) -> Any:
    """The tree of an expression, its dot matching a newline."""
    return _parser.parse(pattern, re.DOTALL)


CHAR, SPLIT, SAVE, MATCH = range(4)


class _Program:
    """The instructions of an expression, and the classes of characters that it tells apart."""

    def __init__(self, pattern: str) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compiled = re.compile(pattern, re.DOTALL)
                tree = parsed(pattern)
        except (re.error, OverflowError, RecursionError, ValueError) as problem:
            raise Unreadable(f"no regular expression: {problem}") from problem
        if compiled.flags & (re.IGNORECASE | re.MULTILINE | re.ASCII):
            raise Unreadable("flags can't be held")
        self.groups = dict(compiled.groupindex)
        self.slots = {group: 2 * n + 2 for n, group in enumerate(self.groups.values())}
        self.code: list[tuple[int, Any]] = []
        self.atoms: list[str] = []
        self.add(SAVE, 0)
        self.sequence(list(tree), True)
        self.add(SAVE, 1)
        self.add(MATCH, None)

    def add(self, op: int, value: Any) -> int:
        if len(self.code) >= _SIZE:
            raise Unreadable("too many repetitions")
        self.code.append((op, value))
        return len(self.code) - 1

    def atom(self, text: str) -> None:
        if text not in self.atoms:
            self.atoms.append(text)
        self.add(CHAR, self.atoms.index(text))

    def sequence(self, items: list[Any], tail: bool) -> None:
        for n, (op, value) in enumerate(items):
            self.item(str(op), value, tail and n == len(items) - 1)

    def item(self, op: str, value: Any, tail: bool) -> None:
        """One element of a parsed expression; ``tail``: nothing stands behind it."""
        if op == "LITERAL":
            self.atom(_char(value))
        elif op == "NOT_LITERAL":
            self.atom(f"[^{_char(value)}]")
        elif op == "ANY":
            self.atom(r"[\s\S]")
        elif op == "IN":
            self.atom(_class(value))
        elif op == "BRANCH":
            self.branch(value[1], tail)
        elif op == "SUBPATTERN":
            self.group(value, tail)
        elif op in ("MAX_REPEAT", "MIN_REPEAT"):
            self.repeat(int(value[0]), int(value[1]), list(value[2]), op == "MIN_REPEAT")
        elif op == "ASSERT" and tail and value[0] == 1:
            self.add(SAVE, 1)
            self.sequence(list(value[1]), False)
            self.add(MATCH, None)
        else:
            raise Unreadable(f"{_NAMES.get(op, op.lower())} can't be held")

    def group(self, value: Any, tail: bool) -> None:
        number, on, off, inner = value
        if on or off:
            raise Unreadable("flags can't be held")
        slot = self.slots.get(number)
        if slot is None:
            self.sequence(list(inner), tail)
            return
        self.add(SAVE, slot)
        self.sequence(list(inner), False)
        self.add(SAVE, slot + 1)

    def branch(self, options: list[Any], tail: bool) -> None:
        """Choices, the first preferred."""
        split = self.add(SPLIT, [])
        jumps = []
        for option in options:
            self.code[split][1].append(len(self.code))
            self.sequence(list(option), tail)
            jumps.append(self.add(SPLIT, []))
        for jump in jumps:
            self.code[jump][1].append(len(self.code))

    def repeat(self, least: int, most: int, inner: list[Any], lazy: bool) -> None:
        """Copies of ``inner``, then a loop or optional copies."""
        if most > 1 and _empty(inner):
            raise Unreadable("a repetition of what may be empty can't be held")
        for _ in range(least):
            self.sequence(inner, False)
        if most >= _LONGEST:
            loop = self.add(SPLIT, [])
            self.sequence(inner, False)
            self.add(SPLIT, [loop])
            self.code[loop][1].extend(_order(loop + 1, len(self.code), lazy))
            return
        splits = []
        for _ in range(most - least):
            splits.append(self.add(SPLIT, []))
            self.sequence(inner, False)
        for split in splits:
            self.code[split][1].extend(_order(split + 1, len(self.code), lazy))


def _order(inside: int, behind: int, lazy: bool) -> tuple[int, int]:
    return (behind, inside) if lazy else (inside, behind)


def _empty(items: list[Any]) -> bool:
    """Whether a parsed expression matches the empty text."""
    for op, value in items:
        name = str(op)
        if name == "BRANCH":
            empty = any(_empty(list(one)) for one in value[1])
        elif name == "SUBPATTERN":
            empty = _empty(list(value[3]))
        elif name in ("MAX_REPEAT", "MIN_REPEAT"):
            empty = int(value[0]) == 0 or _empty(list(value[2]))
        else:
            empty = name == "ASSERT"
        if not empty:
            return False
    return True


def _char(code: int) -> str:
    return f"\\U{code:08x}"


def _class(members: Any) -> str:
    """A class of characters, written again."""
    out = []
    for op, value in members:
        name = str(op)
        if name == "NEGATE":
            out.append("^")
        elif name == "LITERAL":
            out.append(_char(value))
        elif name == "RANGE":
            out.append(f"{_char(value[0])}-{_char(value[1])}")
        elif str(value) in _CATEGORIES:
            out.append(_CATEGORIES[str(value)])
        else:
            raise Unreadable(f"the class {str(value).lower()} can't be held")
    return f"[{''.join(out)}]"


Moves = tuple[tuple[int, tuple[int, ...]], ...]


class _Node:
    """Threads in order of preference, as places in the program.

    ``seeded``: a match may begin here too. ``steps`` are what each class of characters
    leads to; ``skip`` finds the first character that changes anything.
    """

    __slots__ = ("places", "seeded", "skip", "steps")

    def __init__(self, places: tuple[int, ...], seeded: bool) -> None:
        self.places = places
        self.seeded = seeded
        self.steps: dict[int, tuple[_Node, Moves, tuple[int, tuple[int, ...]] | None]] = {}
        self.skip: dict[int, Any] | None = None


class Expression:
    """A compiled expression; raises Unreadable. ``groups`` are the names of its groups."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        program = _Program(pattern)
        self.code = program.code
        self.groups = tuple(program.groups)
        self._slots = {name: program.slots[number] for name, number in program.groups.items()}
        self._atoms = [re.compile(one).match for one in program.atoms]
        self._texts = program.atoms
        self._width = 2 + 2 * len(program.slots)
        self._classes: dict[str, int] = {}
        self._signatures: dict[tuple[bool, ...], int] = {}
        self._nodes: dict[tuple[tuple[int, ...], bool], _Node] = {}
        self._start: list[tuple[int, tuple[int, ...]]] = []
        empty = self._close(0, (), self._start, set()) is not None
        if empty or any(1 in saves for _, saves in self._start):
            raise Unreadable("an expression that matches the empty text is no marker")
        self._seed = self._node(tuple(place for place, _ in self._start), True)
        first = dict.fromkeys(self._texts[self.code[place][1]] for place, _ in self._start)
        self.first = "|".join(first)
        self._candidate = re.compile(self.first or "(?!)").search

    # -- the automaton --------------------------------------------------------

    def _close(
        self, place: int, saves: tuple[int, ...], out: list[tuple[int, tuple[int, ...]]], seen: set[int]
    ) -> tuple[int, ...] | None:
        """The threads behind ``place``, in order; the slots of a match that stands there."""
        stack = [(place, saves)]
        while stack:
            at, saves = stack.pop()
            if at in seen:
                continue
            seen.add(at)
            op, value = self.code[at]
            if op == CHAR:
                out.append((at, saves))
            elif op == SAVE:
                stack.append((at + 1, (*saves, value)))
            elif op == SPLIT:
                stack += [(one, saves) for one in reversed(value)]
            else:
                return saves
        return None

    def _node(self, places: tuple[int, ...], seeded: bool) -> _Node:
        node = self._nodes.get((places, seeded))
        if node is None:
            if len(self._nodes) > 4 * _SIZE:
                self._nodes.clear()
            node = self._nodes[places, seeded] = _Node(places, seeded)
        return node

    def _class_of(self, char: str) -> int:
        found = self._classes.get(char)
        if found is None:
            if len(self._classes) > 4 * _SIZE:
                self._classes.clear()
            signature = tuple(match(char) is not None for match in self._atoms)
            found = self._signatures.setdefault(signature, len(self._signatures))
            self._classes[char] = found
        return found

    def _step(self, node: _Node, char: str) -> tuple[_Node, Moves, tuple[int, tuple[int, ...]] | None]:
        """What a character makes of the threads: the next node, where each came from, and a match."""
        threads: list[tuple[int, tuple[int, ...]]] = []
        sources: list[int] = []
        seen: set[int] = set()
        match: tuple[int, tuple[int, ...]] | None = None
        for n, place in enumerate(node.places):
            if self._atoms[self.code[place][1]](char) is None:
                continue
            saves = self._close(place + 1, (), threads, seen)
            sources += [n] * (len(threads) - len(sources))
            if saves is not None:
                match = (n, saves)
                break
        if node.seeded and match is None:
            for place, saves in self._start:
                if place not in seen:
                    seen.add(place)
                    threads.append((place, saves))
                    sources.append(-1)
        places = tuple(place for place, _ in threads)
        moves = tuple((source, saves) for source, (_, saves) in zip(sources, threads, strict=True))
        return self._node(places, node.seeded and match is None), moves, match

    def _skipper(self, node: _Node, char: str) -> Any:
        """Finds the first character that does something else than ``char`` does, which changes nothing."""
        parts = []
        for atom in dict.fromkeys(self.code[place][1] for place in node.places):
            text = self._texts[atom]
            parts.append(text if self._atoms[atom](char) is None else f"(?!{text})[\\s\\S]")
        return re.compile("|".join(parts)).search

    # -- searching ------------------------------------------------------------

    def search(
        self,
        text: str,
        at: int = 0,
        *,
        final: bool = True,
        before: int | None = None,
        most: int | None = None,
    ) -> Hit | None:
        """The first match that begins at ``at`` or behind, and before ``before``.

        Without ``final`` more text may come: a match that is not decided is pending.
        ``most`` bounds the length of a match.
        """
        before = len(text) if before is None else min(before, len(text))
        longest = len(text) if most is None else most
        while True:
            found = self._first(text, at, final, before, longest)
            if not isinstance(found, int):
                return found
            at = found

    def _first(self, text: str, at: int, final: bool, before: int, most: int) -> Hit | int | None:
        """The first match, or where to look next: one that began earlier would be too long."""
        stop = len(text)
        found = self._candidate(text, at, before)
        if found is None:
            return None
        at = found.start()
        node, best = self._seed, None
        rows = [self._row(saves, at) for _, saves in self._start]
        while node.places and at < stop:
            if node.seeded and at >= before:
                fresh = len([row for row in rows if row[0] < before])
                rows = rows[:fresh]
                node = self._node(node.places[:fresh], False)
                continue
            if node.seeded and rows[0][0] == at:
                found = self._candidate(text, at, before)
                if found is None:
                    return None
                if found.start() != at:
                    at = found.start()
                    rows = [self._row(saves, at) for _, saves in self._start]
            char = text[at]
            kind = self._class_of(char)
            step = node.steps.get(kind)
            if step is None:
                step = node.steps[kind] = self._step(node, char)
            following, moves, match = step
            at += 1
            if match is not None:
                best = self._saved(rows[match[0]], match[1], at)
            rows = self._moved(rows, moves, at)
            if following is node and match is None and moves and _still(moves):
                end = before if node.seeded else stop
                at = self._skip(node, char, text, at, min(end, rows[0][0] + most))
                rows = self._moved(rows, moves, at)
            node = following
            if rows and at - rows[0][0] > most:
                return self._hit(best) if best is not None and best[0] == rows[0][0] else rows[0][0] + 1
        if node.places and not final and not (node.seeded and rows[0][0] == at):
            return Hit(rows[0][0])
        return None if best is None else self._hit(best)

    def _skip(self, node: _Node, char: str, text: str, at: int, stop: int) -> int:
        if node.skip is None:
            node.skip = {}
        kind = self._class_of(char)
        skip = node.skip.get(kind)
        if skip is None:
            skip = node.skip[kind] = self._skipper(node, char)
        found = skip(text, at, stop) if at < stop else None
        return found.start() if found else max(at, stop)

    def _moved(self, rows: list[list[int]], moves: Moves, at: int) -> list[list[int]]:
        """The places that the threads hold behind a step to ``at``."""
        return [self._saved(rows[n], saves, at) if n >= 0 else self._row(saves, at) for n, saves in moves]

    def _row(self, saves: tuple[int, ...], at: int) -> list[int]:
        row = [-1] * self._width
        for slot in saves:
            row[slot] = at
        return row

    @staticmethod
    def _saved(row: list[int], saves: tuple[int, ...], at: int) -> list[int]:
        if not saves:
            return row
        row = row.copy()
        for slot in saves:
            if slot != 1 or row[1] < 0:
                row[slot] = at
        return row

    def _hit(self, row: list[int]) -> Hit:
        groups = {
            name: (row[slot], row[slot + 1]) for name, slot in self._slots.items() if row[slot + 1] >= 0
        }
        return Hit(row[0], row[1], groups)

    def literals(self) -> list[str]:
        """The runs of plain characters in the expression."""
        found = [""]
        for op, value in self.code:
            text = self._texts[value] if op == CHAR else ""
            if text.startswith("\\U") and len(text) == 10:
                found[-1] += chr(int(text[2:], 16))
            elif op != SAVE and found[-1]:
                found.append("")
        return [one for one in found if one]

    def matches(self, text: str) -> list[Hit]:
        """Every match in a whole text, one behind the other."""
        found: list[Hit] = []
        at = 0
        while True:
            hit = self.search(text, at)
            if hit is None or hit.end is None:
                return found
            found.append(hit)
            at = hit.end

    def whole(self, text: str) -> bool:
        """Whether the whole text is a match."""
        hit = self.search(text, 0, before=1)
        return hit is not None and (hit.start, hit.end) == (0, len(text))


def _still(moves: Moves) -> bool:
    """Whether a further step like this one changes no more than the places of the last character."""
    return all(source < 0 or moves[source] == (source, ()) for source, _ in moves)


@lru_cache(maxsize=256)
def expression(pattern: str) -> Expression:
    """The expression of a pattern, compiled once; raises Unreadable."""
    return Expression(pattern)
