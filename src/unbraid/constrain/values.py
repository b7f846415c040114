"""Arguments in notations other than JSON: key and value tags, Gemma's objects, Python calls."""

from __future__ import annotations

import re

from unbraid.codecs.closers import closers
from unbraid.codecs.pythonic import KEY, NAME
from unbraid.constrain.elements import Element
from unbraid.constrain.notations import GemmaText, PythonText
from unbraid.constrain.pairs import PAIRS, QuotedPairs, RawPairs, Scope, XmlPairs, object_branches
from unbraid.constrain.request import Tool
from unbraid.constrain.tree import Node, Regex, Repeat, Space, Text, alt, seq
from unbraid.machine.setup import Setup
from unbraid.schema import Typer
from unbraid.syntax import MAX_NAME, Elements, GemmaObject, Pairs, Part

__all__ = ["Values"]

GAP = Space(1, " ")
PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}").fullmatch


class Values:
    """Makes the nodes of a tool's arguments."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    # -- Gemma and Python -----------------------------------------------------

    def gemma(self, part: GemmaObject, tool: Tool) -> Node:
        """Arguments as one object of Gemma's notation."""
        if not part.strings:
            quoted = QuotedPairs(self.scope, part, tool)
            return seq(Text("{"), quoted.strict() if tool.strict else quoted.free(), Text("}"))
        notation = GemmaText(self.scope.marker(part.quote), "sorted")
        return self.bare_object(notation, tool)

    def bare_object(self, notation: GemmaText, tool: Tool) -> Node:
        """Arguments as one object with bare keys."""
        typed = self.scope.typed(notation, tool)
        if not tool.strict:
            keys = [typed.notation.key(key) for key in Typer(tool.parameters).order() if not PLAIN_KEY(key)]
            key = alt([notation.any_key(""), *(one for one in keys if one is not None)])
            inner = typed.listed(seq(key, typed.anything()), 0, PAIRS)
            return seq(Text("{"), inner, Text("}"))
        bodies = [typed.entries(parts, "") for parts in object_branches(tool)]
        return seq(Text("{"), alt(bodies), Text("}"))

    def python_call(self, tool: Tool) -> Node:
        """A call with keyword arguments."""
        name = tool.name
        if (
            len(name) > MAX_NAME
            or not re.fullmatch(rf"{NAME}+", name)
            or not (name[0].isalpha() or name[0] == "_")
        ):
            raise tool.uncarried()
        typed = self.scope.typed(PythonText(), tool)
        if not tool.strict:
            keyword = seq(Regex("[A-Za-z_][A-Za-z0-9_]{0,63}"), Text("="), typed.anything())
            return seq(Text(name + "("), typed.listed(keyword, 0, PAIRS), Text(")"))
        bodies = [typed.entries(parts, "", _keyword) for parts in object_branches(tool)]
        return seq(Text(name + "("), alt(bodies), Text(")"))

    def elements(self, part: Elements, tool: Tool, gap: Space) -> Node:
        """Arguments as nested elements."""
        root = Element(self.scope, part, "", tool, gap)
        if not tool.strict:
            return Repeat(seq(root.any_element(), gap), 0, PAIRS)
        slots = Typer(tool.parameters)
        return alt(root.members(parts, slots, "") for parts in object_branches(tool))

    # -- key and value tags ---------------------------------------------------

    def pairs(self, part: Pairs, rest: tuple[Part, ...], tool: Tool, setup: Setup, gap: Space) -> Node:
        """Arguments as tags around keys and raw values."""
        table = closers(part, rest, setup.openers, setup.dropped)
        return self.tagged(part, tuple(sorted(table.follow)), tool, gap)

    def tagged(self, part: Pairs, exclude: tuple[str, ...], tool: Tool, gap: Space) -> Node:
        """Arguments as tags in whose values none of ``exclude`` stands."""
        kind = XmlPairs if part.xml else RawPairs
        writer = kind(self.scope, part, exclude, tool, gap)
        return writer.strict() if tool.strict else writer.free()


def _keyword(key: str) -> Node | None:
    return Text(key + "=") if re.fullmatch(f"{KEY}{{1,{MAX_NAME}}}", key) else None
