"""The grammar in GBNF, llama.cpp's own dialect.

llama.cpp reads characters and follows every way at once, so a text has an end only where
the grammar says at which character it can't go on. Free text is therefore written out as
a deterministic machine, one rule for each state: what begins a marker leads to the state
that knows it. The same holds for expressions through which one character of look-ahead
doesn't show the way; all others are written as they are.

A marker with an id is that token; elsewhere a special token is matched by its text, so
that what may not stand in a text may not stand there as a token either. llama.cpp lets a
turn end only where the grammar may, and matches a token that ends a turn to nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache

from unbraid.constrain.expressions import (
    TOP,
    Cat,
    Chars,
    Expression,
    Or,
    Ranges,
    Rep,
    expression,
    inverse,
    meet,
)
from unbraid.constrain.machines import (
    Both,
    Budget,
    Length,
    Lines,
    Machine,
    Pattern,
    State,
    Then,
    TooLarge,
    Without,
    explored,
)
from unbraid.constrain.notations import AnswerText
from unbraid.constrain.numbers import bounded
from unbraid.constrain.patterns import AROUND, without
from unbraid.constrain.tree import (
    Alt,
    Grammar,
    Json,
    Marker,
    Node,
    Ref,
    Regex,
    Repeat,
    Run,
    Seq,
    Space,
    Text,
)
from unbraid.constrain.typed import INTEGER, NUMBER, Typed
from unbraid.errors import Unsupported

__all__ = ["to_gbnf"]

_STATES = 4_000
_LENGTH = 2_000_000
_COPIES = 200_000
_WORK = 3_000_000
_BLOCK = 1_500
"""Repetitions in one rule; llama.cpp takes fewer than 2,000."""
_UNBOUNDED = 1 << 20
_SURROGATES = ((0xD800, 0xDFFF),)
_NUMBER = frozenset(("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"))
_ESCAPES = {"\n": r"\n", "\t": r"\t", "\r": r"\r", "\\": r"\\", '"': r"\""}
_CLASS_ESCAPES = {**_ESCAPES, '"': '"', "[": r"\[", "]": r"\]", "-": r"\-", "^": r"\x5e"}


def to_gbnf(grammar: Grammar) -> str:
    """The GBNF text; raises Unsupported for what can't be said in it, or only at too great a length."""
    return _Emitter(grammar).text()


def _escaped(char: str, escapes: dict[str, str]) -> str:
    code = ord(char)
    return escapes.get(char) or (f"\\x{code:02x}" if code < 32 or code == 127 else char)


def _literal(text: str) -> str:
    return '"' + "".join(_escaped(char, _ESCAPES) for char in text) + '"'


def _point(code: int) -> str:
    if code > 0xFFFF or 0xD800 <= code < 0xE000:
        return f"\\U{code:08x}"
    return _escaped(chr(code), _CLASS_ESCAPES) if code < 0x7F or chr(code).isprintable() else f"\\u{code:04x}"


def _class(ranges: Ranges) -> str:
    """A class of these characters, said the shorter way."""
    others = inverse(ranges)
    negated = ranges[-1][1] == TOP and len(others) <= len(ranges)
    if not others:
        return r"[^\x00]"
    inner = (
        _point(low) if low == high else f"{_point(low)}-{_point(high)}"
        for low, high in (others if negated else ranges)
    )
    return f"[{'^' * negated}{''.join(inner)}]"


class _Emitter:
    def __init__(self, grammar: Grammar) -> None:
        self.root = grammar.root
        self.known = dict(grammar.rules)
        self.names: dict[object, str] = {}
        self.waiting: list[tuple[str, Callable[[str], str]]] = []
        self.lines: list[str] = []
        self.length = 0
        self.copies = 0
        self.budget = Budget(_WORK)

    def text(self) -> str:
        """Every rule in the order of its first use."""
        self.add("root", self.expression(self.root))
        for name, body in self.waiting:
            self.add(name, body(name))
        return "\n".join(self.lines) + "\n"

    def add(self, name: str, body: str) -> None:
        """Write a rule; raises Unsupported where it would be too much."""
        self.lines.append(f"{name} ::= {body}")
        self.length += len(self.lines[-1])
        if self.length > _LENGTH:
            raise Unsupported(f"the GBNF of this request would have over {_LENGTH:,} characters")

    def rule(self, key: object, body: Callable[[str], str]) -> str:
        """The name of a rule, written out later."""
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = f"r{len(self.names)}"
            self.waiting.append((name, body))
        return name

    # -- nodes ----------------------------------------------------------------

    def expression(self, node: Node) -> str:
        """What stands for a node inside a rule."""
        if isinstance(node, Text):
            return _literal(node.text)
        if isinstance(node, Marker):
            return _literal(node.text) if node.token_id is None else f"<[{node.token_id}]>"
        if isinstance(node, Seq):
            return " ".join(map(self.expression, node.items)) or '""'
        if isinstance(node, Json) and node.plain is not None:
            return self.expression(node.plain)
        if isinstance(node, Ref):
            return self.rule(node.name, lambda _: self.expression(self.known[node.name]))
        return self.rule(node, lambda name: self.body(node, name))

    def body(self, node: Node, name: str) -> str:
        """The right side of a node's own rule."""
        if isinstance(node, Space):
            ranges = tuple((ord(char), ord(char)) for char in sorted(set(node.chars)))
            return self.counted(Chars(ranges), 0, node.most)
        if isinstance(node, Run):
            return self.run(node, name)
        if isinstance(node, Regex):
            return self.regex(node, name)
        if isinstance(node, Json):
            return self.json(node, name)
        if isinstance(node, Alt):
            return " | ".join(map(self.expression, node.options))
        assert isinstance(node, Repeat)
        if (node.least, node.most) == (1, 1):
            return self.expression(node.item)
        item = self.rule(("item", node.item), lambda _: self.expression(node.item))
        return self.times(item, node.least, node.most if node.most < _UNBOUNDED // 2 else None)

    # -- repetitions ----------------------------------------------------------

    def times(self, item: str, least: int, most: int | None) -> str:
        """``item``, a name or a class, as often; large counts in blocks, which llama.cpp would refuse."""
        self.copies += max(least, most or 0)
        if self.copies > _COPIES:
            raise Unsupported(f"the GBNF of this request would repeat over {_COPIES:,} parts")
        if (least, most) == (0, 1):
            return f"{item}?"
        if max(least, most or 0) <= _BLOCK:
            if most is None:
                return f"{item}*" if not least else f"{item}+" if least == 1 else f"{item}{{{least},}}"
            return f"{item}{{{least},{most}}}" if most else '""'
        block = self.rule(("block", item), lambda _: f"{item}{{{_BLOCK}}}")
        if least >= _BLOCK:
            rest = None if most is None else most - _BLOCK
            return f"{block} " + self.named_times(item, least - _BLOCK, rest)
        if most is None:
            return f"{item}{{{least},}}"
        more = self.named_times(item, 0, most - _BLOCK)
        return f"{item}{{{least},{_BLOCK - 1}}} | {block} {more}"

    def named_times(self, item: str, least: int, most: int | None) -> str:
        return self.rule(("times", item, least, most), lambda _: self.times(item, least, most))

    def counted(self, item: Expression, least: int, most: int | None) -> str:
        """An expression that often."""
        if isinstance(item, Chars):
            return self.times(_class(item.ranges), least, most)
        return self.times(self.rule(item, lambda _: self.written(item)), least, most)

    # -- expressions ----------------------------------------------------------

    def regex(self, node: Regex, name: str) -> str:
        """A pattern, with its length and without what it excludes."""
        if node.exclude:
            return self.excluding(node, name)
        tree = expression(node.pattern)
        if not node.least and node.most is None and tree.clear(()):
            return self.written(tree)
        machines: list[Machine] = [self.pattern(_loosened(tree), node.pattern)]
        if node.least or node.most is not None:
            machines.append(Length(node.least, node.most))
        return self.machine(Both(machines), name, f"the pattern {node.pattern!r}")

    def excluding(self, node: Regex, name: str) -> str:
        """A pattern in whose texts none of the excluded ones stands, or, if it is long, their beginnings."""
        try:
            inner = Pattern(_loosened(expression(node.pattern)), self.budget)
            nodes = len(inner.edges)
        except TooLarge:
            nodes = _STATES
        words = self.shortened(node.exclude, nodes * (1 if node.most is None else node.most + 1))
        if max(map(len, words)) == 1:
            pattern = without(node.pattern, "".join(words))
            return self.regex(Regex(pattern, node.least, node.most), name)
        machines: list[Machine] = [inner, Without(words), Length(node.least, node.most)]
        return self.machine(Both(machines), name, f"the pattern {node.pattern!r}")

    @staticmethod
    def shortened(words: Sequence[str], times: int) -> tuple[str, ...]:
        """The longest beginnings of the words, to be written nowhere, for which there is room ``times``."""
        size = max(map(len, words), default=1)
        while size > 1 and Without(word[:size] for word in words).size * times > _STATES:
            size -= 1
        return tuple(dict.fromkeys(word[:size] for word in words))

    def pattern(self, tree: Expression, pattern: str) -> Pattern:
        try:
            return Pattern(tree, self.budget)
        except TooLarge:
            raise Unsupported(f"GBNF can't hold the pattern {pattern!r}: it is too large") from None

    def written(self, one: Expression) -> str:
        """An expression as it is."""
        if isinstance(one, Chars):
            return _class(one.ranges)
        if isinstance(one, Cat):
            return self.row(one.items)
        if isinstance(one, Or):
            return " | ".join(map(self.written, one.options))
        return self.counted(one.item, one.least, one.most)

    def row(self, items: Sequence[Expression]) -> str:
        """Expressions in order, single characters joined."""
        found: list[str] = []
        text = ""
        for one in items:
            if isinstance(one, Chars) and len(one.ranges) == 1 and one.ranges[0][0] == one.ranges[0][1]:
                text += chr(one.ranges[0][0])
                continue
            found += [_literal(text)] if text else []
            text = ""
            written = self.written(one)
            found.append(f"({written})" if " | " in written else written)
        found += [_literal(text)] if text else []
        return " ".join(found) or '""'

    # -- machines -------------------------------------------------------------

    def run(self, node: Run, name: str) -> str:
        """Free text and the marker that ends it."""
        end = node.end
        named = end is not None and end.token_id is not None
        words = tuple(sorted({*node.exclude, *([end.text] if end is not None and named else [])}))
        spelled = end.text if end is not None and not named else ""
        if node.least or node.most is not None:
            words = self.shortened(words, (node.most or node.least) + 1)
            if all(len(word) == 1 for word in words) and not node.line:
                return self.plain_run(node, words)
            bounded = Both([_free(words, node.line, end is not None), Length(node.least, node.most)])
            machine: Machine = Then(bounded, spelled) if spelled else bounded
            states = self.explored(machine, "free text")
        else:
            states = _free_states(words, node.line, end is not None, spelled)
        return self.states(states, name, self.expression(end) if end is not None and named else "")

    def plain_run(self, node: Run, chars: Sequence[str]) -> str:
        """Free text of a length in which some characters don't stand at all, and its end."""
        codes = {ord(char) for char in [*chars, *(node.end.text[:1] if node.end is not None else "")]}
        free = Chars(inverse(tuple((code, code) for code in sorted(codes))))
        text = self.rule((free, node.least, node.most), lambda _: self.counted(free, node.least, node.most))
        return text if node.end is None else f"{text} {self.expression(node.end)}"

    def machine(self, machine: Machine, name: str, what: str) -> str:
        """The rules of a machine's states, and the body of the first."""
        return self.states(self.explored(machine, what), name)

    @staticmethod
    def explored(machine: Machine, what: str) -> Sequence[State]:
        """The states of a machine that can be written out; ``what`` is for the refusal."""
        try:
            states = explored(machine, _STATES)
        except TooLarge:
            raise Unsupported(
                f"GBNF can't hold {what} together with its bounds: it would take too many rules"
            ) from None
        if not states:
            raise Unsupported(f"no text fits {what} together with its bounds")
        return states

    def states(self, states: Sequence[State], name: str, end: str = "") -> str:
        """Rules for states, and the body of the first; ``end`` stands where a text may end."""
        names = [name if n == 0 else f"{name}-{n}" for n in range(len(states))]
        bodies = [_state(state, names, states, end) for state in states]
        for n in range(1, len(states)):
            if states[n].moves or end:
                self.add(names[n], bodies[n])
        return bodies[0]

    # -- JSON -----------------------------------------------------------------

    def json(self, node: Json, name: str) -> str:
        """A JSON value: a bounded number, or the schema written out."""
        schema = json.loads(node.schema)
        if (
            isinstance(schema, dict)
            and schema.get("type") in ("integer", "number")
            and set(schema) <= _NUMBER
        ):
            machines = bounded(schema, self.budget)
            if machines:
                return self.machine(Both(machines), name, f"a number of {node.schema}")
            return self.written(expression(INTEGER if schema["type"] == "integer" else NUMBER))
        typed = Typed(AnswerText(node.exclude), self.known, schema, None, "the schema", _UNBOUNDED)
        try:
            return self.expression(typed.value(schema, ""))
        except Unsupported as problem:
            raise Unsupported(f"GBNF can't hold this: {problem.message}") from None


def _loosened(tree: Expression) -> Expression:
    """A pattern without the bounds that are none of a schema's, which would make too many states.

    They are those of any text around a pattern and of a key that no schema declares; only in such
    a class stands half a surrogate pair.
    """
    if isinstance(tree, Or):
        return Or(tuple(map(_loosened, tree.options)))
    if isinstance(tree, Cat):
        return Cat(tuple(map(_loosened, tree.items)))
    if not (isinstance(tree, Rep) and isinstance(tree.item, Chars)):
        return tree
    bound = (tree.least, tree.most) in ((0, AROUND - 1), (0, AROUND))
    return Rep(tree.item, 0, None) if bound and meet(tree.item.ranges, _SURROGATES) else tree


def _free(words: tuple[str, ...], line: str, ended: bool) -> Machine:
    """Text without some words, and without lines that begin with ``line``."""
    free = Without(words)
    return Both([free, Lines(line, ended)]) if line else free


@lru_cache(maxsize=128)
def _free_states(words: tuple[str, ...], line: str, ended: bool, end: str) -> tuple[State, ...]:
    """The states of free text of any length, which only a format's markers tell."""
    free = _free(words, line, ended)
    return tuple(_Emitter.explored(Then(free, end) if end else free, "free text"))


def _state(state: State, names: Sequence[str], states: Sequence[State], end: str) -> str:
    """The right side of a state's rule."""
    options = []
    for ranges, target in state.moves:
        over = not states[target].moves and not end
        options.append(_class(ranges) if over else f"{_class(ranges)} {names[target]}")
    if state.accepts and (end or state.moves or not options):
        options.append(end or '""')
    return " | ".join(options)
