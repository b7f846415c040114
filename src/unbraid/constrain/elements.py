"""Arguments as nested elements."""

from __future__ import annotations

import re
from typing import Any

from unbraid.branches import Conjunction
from unbraid.codecs.elements import ITEM, KEY, holds_list, leaf_json
from unbraid.constrain.conjunctions import declared, extra_schema, required_keys, whole_number
from unbraid.constrain.notations import AnswerText
from unbraid.constrain.pairs import PAIRS, RawPairs, Scope
from unbraid.constrain.patterns import other_than
from unbraid.constrain.request import Tool
from unbraid.constrain.tree import Marker, Node, Regex, Repeat, Run, Seq, Space, Text, alt, maybe, seq
from unbraid.schema import Slot, Typer
from unbraid.syntax import MAX_NAME, Elements, Lit, Pairs

__all__ = ["Element"]


class Element(RawPairs):
    """The content of one element and its closing tag: a leaf is a raw value of ``RawPairs``."""

    def __init__(self, scope: Scope, part: Elements, name: str, tool: Tool, gap: Space) -> None:
        self.elements = part
        tags = Pairs(open=Lit((f"{part.mark}<{name}>",)), middle=(), close=Lit((f"{part.mark}</{name}>",)))
        exclude = (part.mark + "<",)
        super().__init__(scope, tags, exclude, tool, gap, AnswerText(exclude))

    def child(self, name: str, schema: Any, slot: Slot, path: str) -> Node:
        """An element of this name, and what separates it from the next."""
        inner = Element(self.scope, self.elements, name, self.tool, self.gap)
        opener = self.scope.marker(inner.part.open.text)
        return seq(opener, inner.value(schema, slot, path), self.gap)

    def value(self, schema: Any, slot: Slot, path: str) -> Node:
        """A leaf or elements, and the closing tag; without a type it may be either."""
        leaf = super().value(schema, slot, path)
        if not slot.untyped:
            return leaf
        more = Repeat(seq(self.any_element(), self.gap), 1, PAIRS)
        return alt([leaf, seq(self.gap, more, self.close)])

    def any_element(self) -> Node:
        """Any element, whatever is in it; the tags that end a call are none of its own."""
        mark = self.elements.mark
        name = Regex(other_than(("invoke", "tool_call"), KEY, 64))
        inner = self.typed.shared(f"element{mark}", lambda: self.any_content(name))
        return seq(self.scope.marker(mark + "<"), name, Text(">"), inner)

    def any_content(self, name: Node) -> Node:
        """A leaf or elements, and a closing tag."""
        end = Marker(self.elements.mark + "</")
        leaf = Run(self.exclude, most=self.scope.max_string, end=end)
        more = Repeat(seq(self.any_element(), self.gap), 1, PAIRS)
        return seq(alt([leaf, seq(self.gap, more, end)]), name, Text(">"))

    def written(self, kind: str, parts: Conjunction, slot: Slot, path: str) -> Node:
        """A value of another type than a string, and its closing tag."""
        if kind not in ("array", "object"):
            return super().written(kind, parts, slot, path)
        options = [super().written(kind, parts, slot, path)]
        empty, nonempty = ("[]", self.items) if kind == "array" else ("{}", self.filled)
        if leaf_json(slot, "")[0] == empty and not self.least(kind, parts):
            options.append(self.close)
        return alt([*options, *nonempty(parts, slot, path)])

    @staticmethod
    def least(kind: str, parts: Conjunction) -> int:
        """How many items or keys there must be."""
        word = "minItems" if kind == "array" else "minProperties"
        least = max((whole_number(part.get(word), 0) for part in parts), default=0)
        return max(least, len(required_keys(parts)) if kind == "object" else 0)

    def items(self, parts: Conjunction, slot: Slot, path: str) -> list[Node]:
        """A list with items."""
        if any(
            part.get("uniqueItems") is True or "contains" in part or "prefixItems" in part for part in parts
        ):
            raise self.typed.refuse(
                "uniqueItems, contains and prefixItems can't be held in this format", path
            )
        most = min((whole_number(part.get("maxItems"), PAIRS) for part in parts), default=PAIRS)
        items = [part["items"] for part in parts if "items" in part]
        schema = items[0] if len(items) == 1 else {"allOf": items} if items else True
        if not most or schema is False or not holds_list(slot, ITEM):
            return []
        child = self.child(ITEM, schema, slot.item(), path + ".items")
        least = max(self.least("array", parts), 1)
        return [seq(self.gap, Repeat(child, least, max(most, least)), self.close)]

    def filled(self, parts: Conjunction, slot: Slot, path: str) -> list[Node]:
        """An object with elements."""
        self.typed.check(parts, path)
        inner = self.members(parts, slot, path)
        return [] if inner == Seq() else [seq(self.gap, inner, self.close)]

    def members(self, parts: Conjunction, slots: Slot | Typer, path: str) -> Node:
        """The elements of an object: the required keys, then the others, then any."""
        schemas = declared(parts)
        required = required_keys(parts)
        nodes: list[Node] = []
        for key in [*required, *(key for key in schemas if key not in required)]:
            place = f"{path}.properties.{key}"
            if not re.fullmatch(f"{KEY}{{1,{MAX_NAME}}}", key):
                if key in required:
                    raise self.typed.refuse(f"the format can't carry the key {key!r}", place)
                continue
            child = self.child(key, schemas.get(key, True), slots.property(key), place)
            nodes.append(child if key in required else maybe(child))
        if path and not schemas and extra_schema(parts) is not None:
            nodes.append(Repeat(seq(self.any_element(), self.gap), 0, PAIRS))
        return seq(*nodes)
