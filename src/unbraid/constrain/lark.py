"""The grammar in llguidance's Lark dialect.

llguidance reads text with a greedy lexer, so every place where two readings of the
next characters are possible must lie inside one lexeme: free text is one lexeme with
the marker that ends it, white space one with the literal behind it. A special token is
named by its id and never as text: a text literal can't match it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable

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
from unbraid.effort import spend

__all__ = ["to_lark"]

LAYOUT = {"whitespace_flexible": True, "whitespace_pattern": "[ ]{0,1}"}
ANY = "(?s:.)"
_SLASH = re.compile(r"\\.|/")


def to_lark(grammar: Grammar) -> str:
    """The text of the grammar; its rules are named by number, never by anything of the request."""
    return _Emitter(grammar).text()


def escaped(text: str) -> str:
    """``text`` inside a regular expression of llguidance."""
    out = []
    for char in text:
        if char in "\\/.+*?()|[]{}^$#&-~":
            out.append("\\" + char)
        elif char < " " or char == "\x7f":
            out.append(f"\\x{ord(char):02x}")
        else:
            out.append(char)
    return "".join(out)


def char_class(chars: str) -> str:
    """A class of these characters."""
    return "[" + "".join(sorted({escaped(char) for char in chars})) + "]"


class _Emitter:
    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.names: dict[Node, str] = {}
        self.terminals: dict[str, str] = {}
        self.references: dict[str, str] = {}
        self.rules: list[tuple[str, Callable[[], str]]] = []

    def text(self) -> str:
        """Every rule in the order of its first use, the start first."""
        lines = [f"start: {self.expression(self.grammar.root)}"]
        for name, body in self.rules:
            lines.append(f"{name}: {body()}")
        terminals = [f"{name}: {body}" for body, name in self.terminals.items()]
        return "\n".join([*lines, *terminals]) + "\n"

    def expression(self, node: Node) -> str:
        """What stands for a node inside a rule."""
        spend(1)
        if isinstance(node, Text):
            return json.dumps(node.text, ensure_ascii=False) if node.text else '""'
        if isinstance(node, Marker):
            return f"<[{node.token_id}]>" if node.token_id is not None else self.expression(Text(node.text))
        if isinstance(node, (Space, Regex)):
            return self.terminal(f"/{_regex(node)}/" + _bounds(node))
        if isinstance(node, Run):
            return self.run(node)
        if isinstance(node, Seq):
            return " ".join(self.items(node.items)) or '""'
        if isinstance(node, Ref):
            return self.reference(node.name)
        if isinstance(node, Json) and node.plain is not None:
            return self.expression(node.plain)
        return self.rule(node)

    def rule(self, node: Node) -> str:
        """The name of a node's own rule, written out later: a long way from rule to rule is no deep one."""
        name = self.names.get(node)
        if name is None:
            name = self.names[node] = f"r{len(self.names)}"
            self.rules.append((name, lambda: self.body(node)))
        return name

    def body(self, node: Node) -> str:
        if isinstance(node, Alt):
            return " | ".join(self.expression(option) for option in node.options)
        if isinstance(node, Repeat):
            item = self.expression(node.item)
            if (node.least, node.most) == (1, 1):
                return item
            return (
                f"({item})?" if (node.least, node.most) == (0, 1) else f"({item}){{{node.least},{node.most}}}"
            )
        assert isinstance(node, Json)
        schema = json.loads(node.schema)
        if not isinstance(schema, dict):
            schema = {"allOf": [schema]}
        return "%json " + json.dumps({"x-guidance": LAYOUT, **schema}, ensure_ascii=False)

    def reference(self, name: str) -> str:
        """The name of a shared rule."""
        found = self.references.get(name)
        if found is None:
            found = self.references[name] = f"v{len(self.references)}"
            self.rules.append((found, lambda: self.expression(self.grammar.rules[name])))
        return found

    def terminal(self, body: str) -> str:
        """The name of a terminal."""
        return self.terminals.setdefault(body, f"T{len(self.terminals)}")

    def items(self, items: Iterable[Node]) -> list[str]:
        """A sequence, with neighbouring white space and text made one lexeme."""
        out: list[str] = []
        joined: list[Node] = []
        for item in items:
            if _plain_or_regular(item):
                joined.append(item)
                continue
            out += self.joined(joined)
            joined = []
            out.append(self.expression(item))
        return out + self.joined(joined)

    def joined(self, items: list[Node]) -> list[str]:
        """White space and text in a row: one lexeme, white space at the end apart."""
        tail: list[str] = []
        if items and isinstance(items[-1], Space):
            tail.append(self.expression(items.pop()))
        if not items:
            return tail
        if any(isinstance(item, (Space, Regex)) for item in items):
            return [self.terminal("/" + "".join(map(_regex, items)) + "/"), *tail]
        return [self.expression(Text("".join(map(_plain, items)))), *tail]

    def run(self, node: Run) -> str:
        """Free text, as one lexeme with the marker that ends it."""
        body = _free(node)
        if node.exclude:
            strings = "|".join(escaped(one) for one in node.exclude)
            body = f"({body} & ~/{ANY}*({strings}){ANY}*/)"
        if node.end is None:
            return self.terminal(body)
        if node.end.token_id is not None:
            return f"{self.terminal(body)} {self.expression(node.end)}"
        return self.terminal(f"{body} {self.expression(node.end)}")


def _plain_or_regular(node: Node) -> bool:
    if isinstance(node, Regex):
        return not node.least and node.most is None and not node.exclude
    return isinstance(node, (Space, Text)) or (isinstance(node, Marker) and node.token_id is None)


def _plain(node: Node) -> str:
    assert isinstance(node, (Text, Marker))
    return node.text


def _regex(node: Node) -> str:
    if isinstance(node, Space):
        return f"{char_class(node.chars)}{{0,{node.most}}}"
    if isinstance(node, Regex):
        pattern = _SLASH.sub(lambda found: r"\/" if found.group() == "/" else found.group(), node.pattern)
        return f"(?:{pattern})"
    return escaped(_plain(node))


def _bounds(node: Node) -> str:
    found = ""
    if isinstance(node, Regex) and (node.least or node.most is not None):
        found = f" & /{ANY}{{{node.least},{'' if node.most is None else node.most}}}/"
    if isinstance(node, Regex) and node.exclude:
        found += f" & ~/{ANY}*({'|'.join(map(escaped, node.exclude))}){ANY}*/"
    return found


def _free(node: Run) -> str:
    """The text of a run before anything is excluded."""
    if not node.line:
        count = "*" if not node.least and node.most is None else f"{{{node.least},{node.most or ''}}}"
        return f"/{ANY}{count}/"
    line = rf"[ \t\r]*([^ \t\r\n{re.escape(node.line)}][^\n]*)?"
    if node.end is None:
        return f"/{line}(\\n{line})*/"
    return f"/({line}\\n)*[ \\t\\r]*/"
