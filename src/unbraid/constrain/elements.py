"""Arguments as nested elements."""

from __future__ import annotations

import re
from typing import Any

from unbraid.branches import Conjunction
from unbraid.codecs.elements import ITEM, KEY, holds_list, leaf_json
from unbraid.constrain.conjunctions import declared, extra_schema, required_keys, schema_of, whole_number
from unbraid.constrain.notations import AnswerText
from unbraid.constrain.pairs import PAIRS, RawPairs, Scope
from unbraid.constrain.patterns import other_than
from unbraid.constrain.request import Tool
from unbraid.constrain.tree import Marker, Node, Regex, Repeat, Run, Seq, Space, Text, alt, maybe, seq
from unbraid.schema import Slot, Typer
from unbraid.syntax import MAX_NAME, Elements, Lit, Pairs

__all__ = ["Element"]

ANY_NAME = Regex(other_than(("invoke", "tool_call"), KEY, 64))


class Element(RawPairs):
    """The content of one element and its closing tag: a leaf is a raw value of ``RawPairs``.

    Without a name the tags end in front of theirs.
    """

    def __init__(self, scope: Scope, part: Elements, name: str, tool: Tool, gap: Space) -> None:
        self.elements = part
        tail = f"{name}>" if name else ""
        tags = Pairs(open=Lit((f"{part.mark}<{tail}",)), middle=(), close=Lit((f"{part.mark}</{tail}",)))
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
        inner = self.typed.shared(f"element{mark}", lambda: self.any_content(ANY_NAME))
        return seq(self.scope.marker(mark + "<"), ANY_NAME, Text(">"), inner)

    def any_content(self, name: Node) -> Node:
        """A leaf or elements, and a closing tag."""
        end = Marker(self.elements.mark + "</")
        leaf = Run(self.exclude, most=self.scope.max_string, end=end)
        more = Repeat(seq(self.any_element(), self.gap), 1, PAIRS)
        return seq(alt([leaf, seq(self.gap, more, end)]), name, Text(">"))

    def any_child(self, schema: Any, slot: Slot, path: str) -> Node:
        """An element of any name with a value of ``schema``, and what separates it from the next."""
        inner = Element(self.scope, self.elements, "", self.tool, self.gap)
        opener, end = self.scope.marker(inner.part.open.text), seq(ANY_NAME, Text(">"))
        return seq(opener, end, inner.value(schema, slot, path), end, self.gap)

    def extras(self, parts: Conjunction, slots: Slot | Typer, said: int, path: str) -> Node:
        """Elements of any name behind ``said`` others. Those of one name would be a list where one may be."""
        schema, slot = extra_schema(parts), slots.property("")
        least = max((whole_number(part.get("minProperties"), 0) for part in parts), default=0)
        most = min((whole_number(part.get("maxProperties"), PAIRS) for part in parts), default=PAIRS)
        least, most = max(least - said, 0), max(most - said, 0)
        if not most or (schema is not True and "array" in slot.kinds):
            return Seq()
        if schema is True:
            return Repeat(seq(self.any_element(), self.gap), least, most)
        return Repeat(self.any_child(schema, slot, path + ".additionalProperties"), least, most)

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
            child = self.child(key, schema_of(parts, key), slots.property(key), place)
            nodes.append(child if key in required else maybe(child))
        if path and not schemas and extra_schema(parts) is not None:
            nodes.append(self.extras(parts, slots, len(nodes), path))
        return seq(*nodes)
