"""A reader of GBNF of its own, and a matcher that follows every way through a grammar, as llama.cpp does.

What is refused here is what llama.cpp refuses too: unknown rules, left recursion, repetitions
of 2,000 and more, and what its documentation doesn't know.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(
    r"""(?P<space>[ \t]+)|(?P<literal>"(?:[^"\\\n]|\\.)*")|(?P<class>\[\^?(?:[^\]\\\n]|\\.)*\])
    |(?P<token>!?<\[[0-9]+\]>)|(?P<times>[*+?]|\{[0-9]+(?:,[0-9]*)?\})|(?P<name>[A-Za-z0-9-]+)|(?P<punct>[()|])""",
    re.VERBOSE,
)
_CHAR = re.compile(r"\\x([0-9a-f]{2})|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\\(.)|([^\\])", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "[": "[", "]": "]", "-": "-"}
ASCII = "abcxyz XYZ0123456789 .,:;!?-_'\"\\/<>{}[]()|=&#\n\n\t"
CLOSERS = ('"', "'", "}", "]", ")", '<|"|>', "0", "\n")
Symbol = tuple[Any, ...]


def _chars(text: str) -> list[tuple[str, bool]]:
    """The characters of a literal or class, and whether each was escaped."""
    found = []
    for one in _CHAR.finditer(text):
        code = one[1] or one[2] or one[3]
        char = chr(int(code, 16)) if code else _SHORT[one[4]] if one[4] else one[5]
        found.append((char, one[5] is None))
    return found


def _class(text: str) -> Symbol:
    inner = text[1:-1]
    negated = inner.startswith("^")
    chars = _chars(inner[1:] if negated else inner)
    ranges, at = [], 0
    while at < len(chars):
        low = high = ord(chars[at][0])
        if at + 2 < len(chars) and chars[at + 1] == ("-", False):
            high = ord(chars[at + 2][0])
            at += 2
        assert low <= high
        ranges.append((low, high))
        at += 1
    return ("class", negated, tuple(ranges))


class Rules:
    """A grammar: each rule is a list of sequences of symbols."""

    def __init__(self, text: str) -> None:
        self.rules: dict[str, list[list[Symbol]]] = {}
        for line in text.splitlines():
            name, arrow, body = line.partition(" ::= ")
            assert arrow, line
            assert re.fullmatch("[A-Za-z0-9-]+", name), line
            assert name not in self.rules, line
            self.rules[name] = []
            tokens = self._tokens(body)
            options, rest = self._options(tokens, name)
            assert not rest, line
            self.rules[name] = options
        used = {
            one[1]
            for options in self.rules.values()
            for option in options
            for one in option
            if one[0] == "rule"
        }
        assert used <= set(self.rules), used - set(self.rules)
        self._check_recursion()

    @staticmethod
    def _tokens(body: str) -> list[tuple[str, str]]:
        found, at = [], 0
        while at < len(body):
            one = _TOKEN.match(body, at)
            assert one is not None, body[at : at + 40]
            at = one.end()
            if one.lastgroup != "space":
                found.append((str(one.lastgroup), one.group()))
        return found

    def _new(self, name: str) -> str:
        found = f"{name}_{len(self.rules)}"
        self.rules[found] = []
        return found

    def _options(self, tokens: list[tuple[str, str]], name: str) -> tuple[list[list[Symbol]], Any]:
        options: list[list[Symbol]] = [[]]
        start = 0
        while tokens and tokens[0] != ("punct", ")"):
            kind, text = tokens.pop(0)
            if (kind, text) == ("punct", "|"):
                options.append([])
                start = 0
                continue
            here = options[-1]
            if kind == "times":
                self._times(here, start, text, name)
                continue
            start = len(here)
            if kind == "literal":
                here += [("class", False, ((ord(char), ord(char)),)) for char, _ in _chars(text[1:-1])]
            elif kind == "class":
                here.append(_class(text))
            elif kind == "token":
                here.append(("token", text[0] != "!", int(text.strip("!<[]>"))))
            elif kind == "name":
                here.append(("rule", text))
            else:
                inner, tokens = self._options(tokens, name)
                assert tokens.pop(0) == ("punct", ")")
                group = self._new(name)
                self.rules[group] = inner
                here.append(("rule", group))
        return options, tokens

    def _times(self, here: list[Symbol], start: int, text: str, name: str) -> None:
        item = here[start:]
        assert item, "nothing to repeat"
        bounds = {"*": "0,", "+": "1,", "?": "0,1"}.get(text, text.strip("{}"))
        first, comma, last = bounds.partition(",")
        least, most = int(first), int(last) if last else None if comma else int(first)
        assert max(least, most or 0) < 2000, text
        del here[start:]
        here += item * least
        if most is None:
            loop = self._new(name)
            self.rules[loop] = [[*item, ("rule", loop)], []]
            here.append(("rule", loop))
            return
        last_rule = ""
        for _ in range(most - least):
            one = self._new(name)
            self.rules[one] = [[*item, *([("rule", last_rule)] if last_rule else [])], []]
            last_rule = one
        here += [("rule", last_rule)] if last_rule else []

    def _check_recursion(self) -> None:
        empty: set[str] = set()
        while True:
            more = {
                name
                for name, options in self.rules.items()
                if name not in empty
                and any(all(one[0] == "rule" and one[1] in empty for one in option) for option in options)
            }
            if not more:
                break
            empty |= more
        left: dict[str, set[str]] = {}
        for name, options in self.rules.items():
            left[name] = set()
            for option in options:
                for one in option:
                    if one[0] == "rule":
                        left[name].add(one[1])
                    if one[0] != "rule" or one[1] not in empty:
                        break
        done: set[str] = set()
        for name in self.rules:
            stack, active = [(name, iter(left[name]))], {name}
            while stack and name not in done:
                target = next(stack[-1][1], None)
                if target is None:
                    done.add(stack[-1][0])
                    active.discard(stack.pop()[0])
                    continue
                assert target not in active, f"left recursion of {target}"
                if target not in done:
                    active.add(target)
                    stack.append((target, iter(left[target])))


class Matcher:
    """Where a text can be in a grammar: stacks of what is still to come, the next on top.

    A stack is the number of a symbol and what is below it; 0 is the empty one.
    """

    def __init__(self, text: str) -> None:
        self.rules = Rules(text).rules
        self.stacks: list[tuple[Symbol, int]] = [(("end",), 0)]
        self.numbers: dict[tuple[Symbol, int], int] = {}
        self.known: dict[tuple[frozenset[int], str | int], frozenset[int]] = {}
        self.start = self._closed([self._pushed(("rule", "root"), 0)])

    def _pushed(self, symbol: Symbol, below: int) -> int:
        key = (symbol, below)
        if key not in self.numbers:
            self.numbers[key] = len(self.stacks)
            self.stacks.append(key)
        return self.numbers[key]

    def _closed(self, stacks: Iterable[int]) -> frozenset[int]:
        found: set[int] = set()
        seen: set[int] = set()
        waiting = list(stacks)
        while waiting:
            stack = waiting.pop()
            if stack in seen:
                continue
            seen.add(stack)
            symbol, below = self.stacks[stack]
            if symbol[0] != "rule":
                found.add(stack)
                continue
            for option in self.rules[symbol[1]]:
                one = below
                for inner in reversed(option):
                    one = self._pushed(inner, one)
                waiting.append(one)
        return frozenset(found)

    def symbols(self, stacks: frozenset[int]) -> list[Symbol]:
        """What may come next, in an order that doesn't change."""
        return sorted({self.stacks[one][0] for one in stacks if one})

    def step(self, stacks: frozenset[int], char: str | int) -> frozenset[int]:
        """Where a character, or a token by its id, leads."""
        key = (stacks, char)
        found = self.known.get(key)
        if found is None:
            tops = [self.stacks[one] for one in stacks if one]
            found = self.known[key] = self._closed(below for symbol, below in tops if _takes(symbol, char))
        return found

    def read(self, items: Sequence[str | int]) -> tuple[int, bool]:
        """How many characters (or tokens) of a text are taken, and whether it may end there."""
        stacks = self.start
        for n, item in enumerate(items):
            further = self.step(stacks, item)
            if not further:
                return n, 0 in stacks
            stacks = further
        return len(items), 0 in stacks

    def accepts(self, items: Sequence[str | int]) -> bool:
        """Whether this is a whole text of the grammar."""
        return self.read(items) == (len(items), True)


def _takes(symbol: Symbol, char: str | int) -> bool:
    if symbol[0] == "token":
        return isinstance(char, int) and (char == symbol[2]) == symbol[1]
    if isinstance(char, int):
        return False
    code = ord(char)
    return any(low <= code <= high for low, high in symbol[2]) != symbol[1]


@lru_cache(maxsize=8)
def matcher(text: str) -> Matcher:
    """The matcher of a grammar."""
    return Matcher(text)


def walk(
    match: Matcher, seed: int, *, fragments: Sequence[str], bias: float, limit: int = 1500
) -> list[str | int] | None:
    """A random text of a grammar, in characters and tokens; None if the walk did not end in time.

    ``fragments`` are tried whole with probability ``bias``; after a random number of steps
    they, and what closes values, come first.
    """
    rng = random.Random(seed)
    finish_after = rng.choice((40, 120, 300))
    stacks = match.start
    text: list[str | int] = []
    for step in range(limit):
        finishing = step > finish_after
        if 0 in stacks and (stacks == {0} or rng.random() < (0.7 if finishing else 0.05)):
            return text
        if rng.random() < (0.8 if finishing else bias):
            chosen = rng.choice(CLOSERS if finishing and rng.random() < 0.4 else fragments)
            for char in chosen:
                further = match.step(stacks, char)
                if not further:
                    break
                stacks = further
                text.append(char)
            continue
        symbols = match.symbols(stacks)
        tokens = [one for one in symbols if one[0] == "token"]
        symbol = rng.choice(tokens if tokens and finishing else symbols)
        plain = [] if symbol in tokens else _plain(symbol)
        usual = plain and rng.random() < 0.95
        item = symbol[2] if symbol in tokens else rng.choice(plain) if usual else _any_char(symbol, rng)
        stacks = match.step(stacks, item)
        text.append(item)
    return None


@lru_cache(maxsize=4096)
def _plain(symbol: Symbol) -> list[str]:
    """The usual characters of a class."""
    return [char for char in ASCII if _takes(symbol, char)]


def _any_char(symbol: Symbol, rng: random.Random) -> str:
    """A character of a class: of one that excludes some, any other."""
    _, negated, ranges = symbol
    if not negated:
        low, high = rng.choice(ranges)
        return chr(rng.randint(low, min(high, low + 2000)))
    while True:
        char = chr(
            rng.choice((rng.randint(1, 0x2FF), rng.randint(0x3040, 0xD7FF), rng.randint(0x1F300, 0x1F6FF)))
        )
        if _takes(symbol, char):
            return char
