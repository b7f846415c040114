"""The grammar as xgrammar's structural tag: plain dicts."""

from __future__ import annotations

import json
import re
from typing import Any

from unbraid.constrain.patterns import without
from unbraid.constrain.schemas import subschemas
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
from unbraid.constrain.unmarked import unmarked
from unbraid.errors import Unsupported

__all__ = ["to_structural_tag"]

Format = dict[str, Any]
_BLANK = r"[ \t\r]{0,64}"
_DEPTH = 3
_MOST = 50_000
_STRINGS = frozenset(("minLength", "maxLength", "pattern", "format"))  # not held beside ``excludes``


def to_structural_tag(grammar: Grammar) -> Format:
    """The structural tag; raises Unsupported for what xgrammar can't hold."""
    try:
        return {"type": "structural_tag", "format": _Emitter(grammar).format(grammar.root)}
    except _TooDeep:
        raise Unsupported("xgrammar's structural tags hold no value that must nest without end") from None


class _TooDeep(Exception):
    """A rule inside itself, too many times."""


def char_class(chars: str, negated: bool = False) -> str:
    """A class of these characters, or of all others."""
    inner = "".join(sorted({_CONTROLS.get(char) or re.escape(char) for char in chars}))
    return f"[{'^' * negated}{inner}]"


_CONTROLS = {"\n": r"\n", "\t": r"\t", "\r": r"\r", " ": " "}


def _const(text: str) -> Format:
    return {"type": "const_string", "value": text}


def _sequence(elements: list[Format]) -> Format:
    return elements[0] if len(elements) == 1 else {"type": "sequence", "elements": elements}


def _any(exclude: tuple[str, ...], most: int | None = None) -> Format:
    found: Format = {"type": "any_text", "excludes": list(exclude)}
    if most is not None:
        found["max_chars"] = most
    return found


class _Emitter:
    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.inside: list[str] = []
        self.written = 0

    def format(self, node: Node) -> Format:
        """The format of a node; raises Unsupported where so much would be written that it takes long."""
        self.written += 1
        if self.written > _MOST:
            raise Unsupported(f"xgrammar's structural tag of this schema would have over {_MOST:,} parts")
        if isinstance(node, Text):
            return _const(node.text)
        if isinstance(node, Marker):
            return _const(node.text) if node.token_id is None else {"type": "token", "token": node.token_id}
        if isinstance(node, Space):
            return {"type": "regex", "pattern": f"{char_class(node.chars)}{{0,{node.most}}}"}
        if isinstance(node, Regex):
            return self.regex(node)
        if isinstance(node, Run):
            return self.run(node)
        if isinstance(node, Json):
            return self.json(node)
        if isinstance(node, Seq):
            return _sequence([self.format(item) for item in node.items] or [_const("")])
        if isinstance(node, Alt):
            return self.choice(node)
        if isinstance(node, Ref):
            return self.reference(node)
        assert isinstance(node, Repeat)
        if (node.least, node.most) == (0, 1):
            content = self.unless_deep(node.item)
            return _const("") if content is None else {"type": "optional", "content": content}
        if not node.least:
            content = self.unless_deep(node.item)
            if content is None:
                return _const("")
            return {"type": "repeat", "min": 0, "max": node.most, "content": content}
        return {"type": "repeat", "min": node.least, "max": node.most, "content": self.format(node.item)}

    def regex(self, node: Regex) -> Format:
        """A pattern; in one that excludes texts their first characters don't stand at all."""
        if node.least or node.most is not None:
            raise Unsupported(f"xgrammar can't hold the pattern {node.pattern!r} together with a length")
        first = "".join(one[0] for one in node.exclude)
        return {"type": "regex", "pattern": without(node.pattern, first) if first else node.pattern}

    def json(self, node: Json) -> Format:
        """JSON by a schema that xgrammar can hold."""
        schema = json.loads(node.schema)
        for one, path in subschemas(schema):
            if node.exclude and not _STRINGS.isdisjoint(one):
                return self.written_out(node, schema)
            bounded = "minLength" in one or "maxLength" in one
            for word in ("multipleOf", "pattern", "format"):
                if word in one and (word == "multipleOf" or bounded):
                    beside = "" if word == "multipleOf" else " together with a length"
                    raise Unsupported(f"xgrammar can't hold {word}{beside}: {path or 'the schema'}")
        return {
            "type": "json_schema",
            "json_schema": schema,
            "style": "json",
            "max_whitespace_cnt": 1,
            **({"excludes": list(node.exclude)} if node.exclude else {}),
        }

    def written_out(self, node: Json, schema: Any) -> Format:
        """JSON whose strings have bounds that xgrammar doesn't hold beside excluded texts."""
        if node.plain is not None:
            return self.format(node.plain)
        rules: dict[str, Node] = {}
        root = unmarked(schema, node.exclude, rules, None, "schema")
        return _Emitter(Grammar(root, rules)).format(root)

    def reference(self, node: Ref) -> Format:
        """A shared rule, written out: tags have no rules, so a recursive one nests only so deep."""
        if self.inside.count(node.name) >= _DEPTH:
            raise _TooDeep
        self.inside.append(node.name)
        try:
            return self.format(self.grammar.rules[node.name])
        finally:
            self.inside.pop()

    def unless_deep(self, node: Node) -> Format | None:
        """A node that may be left out: None where it would nest too deep."""
        try:
            return self.format(node)
        except _TooDeep:
            return None

    def choice(self, node: Alt) -> Format:
        """The options that don't nest too deep."""
        found = [one for one in map(self.unless_deep, node.options) if one is not None]
        if not found:
            raise _TooDeep
        return found[0] if len(found) == 1 else {"type": "or", "elements": found}

    def run(self, node: Run) -> Format:
        """Free text and its end: a tag without a beginning."""
        if node.line:
            return self.lines(node)
        content = _any(node.exclude, node.most)
        if node.least:
            first = char_class("".join(one[0] for one in node.exclude), negated=True)
            rest = None if node.most is None else node.most - node.least
            content = _sequence(
                [{"type": "regex", "pattern": f"{first}{{{node.least}}}"}, _any(node.exclude, rest)]
            )
        if node.end is None:
            return content
        return {"type": "tag", "begin": "", "content": content, "end": self.end(node.end)}

    def end(self, marker: Marker) -> Any:
        return marker.text if marker.token_id is None else {"type": "token", "token": marker.token_id}

    def lines(self, node: Run) -> Format:
        """Text no line of which begins with a character.

        Narrower than it must be: that character is refused behind any white space, and
        no line begins with the first character of something excluded.
        """
        exclude = (*node.exclude, *(white + node.line for white in " \t\r"))
        first = "".join({one[0] for one in node.exclude} | {node.line}) + " \t\r\n"
        begin = {"type": "regex", "pattern": f"{_BLANK}{char_class(first, negated=True)}"}
        blank = {"type": "regex", "pattern": _BLANK}
        line = {"type": "or", "elements": [
            {"type": "regex", "pattern": f"{_BLANK}\\n"},
            _sequence([begin, {"type": "tag", "begin": "", "content": _any(exclude), "end": "\n"}]),
        ]}  # fmt: skip
        lines: list[Format] = [{"type": "star", "content": line}]
        if node.end is not None:
            return _sequence([*lines, blank, self.format(node.end)])
        last = _sequence([begin, _any((*exclude, "\n"))])
        return _sequence([*lines, {"type": "or", "elements": [last, blank]}])
