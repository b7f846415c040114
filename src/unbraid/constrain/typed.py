"""Values by a JSON schema, in any notation: the schema walked branch by branch.

What the walk can't hold in a notation is refused with the path of the schema; where
only some of the values can be written, the rest are left out.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from unbraid.branches import Branch, Conjunction, expand
from unbraid.constrain.conjunctions import (
    declared,
    extra_schema,
    members,
    required_keys,
    schema_of,
    whole_number,
)
from unbraid.constrain.disjoint import disjoint
from unbraid.constrain.notations import Notation
from unbraid.constrain.patterns import FORMATS
from unbraid.constrain.tree import Node, Ref, Regex, Repeat, Text, alt, json_node, maybe, seq
from unbraid.effort import spend
from unbraid.errors import Unsupported

__all__ = ["CHARS", "INTEGER", "NUMBER", "Typed"]

INTEGER = r"-?(?:0|[1-9][0-9]{0,17})"
NUMBER = INTEGER + r"(?:\.[0-9]{1,17})?(?:[eE][+-]?[0-9]{1,2})?"
MOST = 256
CHARS = 256  # of a schema as text that cost as much as a step
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_EXPANDED = ("$ref", "$defs", "definitions", "allOf", "anyOf", "oneOf")  # said by the parts of a branch
_REFUSED = ("not", "if", "dependentRequired", "dependentSchemas", "propertyNames", "contains")


class Typed:
    """Writes values of one schema document; shared parts become rules in ``rules``.

    ``where`` is the path of the schema in the request, for errors.
    """

    def __init__(
        self,
        notation: Notation,
        rules: dict[str, Node],
        root: Any,
        max_string: int | None,
        where: str,
        most: int = MOST,
    ) -> None:
        self.most = most
        self.notation = notation
        self.rules = rules
        self.root = root
        self.max_string = max_string
        self.where = where
        self.names: dict[str, str] = {}
        self.disjoint: dict[int, bool] = {}

    def refuse(self, what: str, path: str) -> Unsupported:
        return Unsupported(f"{self.where}{path}: {what}", param=self.where + path)

    def held(self, make: Callable[[], Node], path: str) -> Node:
        """What ``make`` makes; its refusal gets the path."""
        try:
            return make()
        except Unsupported as problem:
            raise self.refuse(problem.message, path) from None

    # -- any value ------------------------------------------------------------

    def shared(self, key: str, make: Callable[[], Node]) -> Node:
        """The rule of ``key``, made once."""
        name = self.names.get(key)
        if name is None:
            name = self.names[key] = f"value{len(self.rules)}"
            self.rules[name] = Text("")
            self.rules[name] = make()
        return Ref(name)

    def anything(self) -> Node:
        """Any value."""
        return self.shared("", self._anything)

    def _anything(self) -> Node:
        string = self.notation.string(0, self.max_string, None)
        words = [self.notation.literal(one) for one in (True, False, None)]
        inner = self.anything()
        return alt(
            [
                string,
                Regex(NUMBER),
                *(word for word in words if word is not None),
                seq(Text("["), self.listed(inner, 0, self.most), Text("]")),
                seq(Text("{"), self.listed(seq(self.notation.any_key(""), inner), 0, self.most), Text("}")),
            ]
        )

    def listed(self, item: Node, least: int, most: int) -> Node:
        """Items between commas."""
        if most <= 0:
            return Text("")
        rest = [Repeat(seq(self.notation.comma, item), max(least - 1, 0), most - 1)] if most > 1 else []
        more = seq(item, *rest)
        return more if least else maybe(more)

    # -- by schema ------------------------------------------------------------

    def value(self, schema: Any, path: str) -> Node:
        """A value of ``schema``."""
        if schema is True or schema == {}:
            return self.anything()
        options: list[Node] = []
        for parts in expand(self.root, schema):
            options += self.branch(parts, path)
        if not options:
            raise self.refuse("no value of this schema can be written in this format", path)
        return alt(options)

    def branch(self, parts: Conjunction, path: str) -> list[Node]:
        """The values of one branch, by kind."""
        self.refuse_words(parts, path)
        listed = members(parts)
        branch = Branch(parts)
        if listed is not None:
            found = [self.notation.literal(one) for one in listed]
            return [one for one in found if one is not None]
        if not branch.typed:
            return [self.anything()]
        kinds = branch.kinds
        if len(kinds) > 1 and not any("type" in part for part in parts):
            kinds = tuple(kind for kind in kinds if kind != "string")
        if "number" in kinds:
            kinds = tuple(kind for kind in kinds if kind != "integer")
        return [self.kind(kind, parts, path) for kind in kinds]

    def kind(self, kind: str, parts: Conjunction, path: str) -> Node:
        """The values of one kind."""
        if kind == "null":
            return self.word(None)
        if kind == "boolean":
            return alt([self.word(True), self.word(False)])
        if kind in ("integer", "number"):
            return self.number(kind, parts, path)
        if kind == "string":
            least, most, pattern = self.string_bounds(parts, path)
            return self.held(lambda: self.notation.string(least, most, pattern), path)
        plain = [{word: part[word] for word in part if word not in _EXPANDED} for part in parts]
        key = json.dumps([kind, *plain], sort_keys=True)
        spend(len(key) // CHARS)
        if kind == "array":
            return self.shared(key, lambda: self.array(parts, path))
        return self.shared(key, lambda: seq(Text("{"), self.entries(parts, path), Text("}")))

    def refuse_words(self, parts: Conjunction, path: str) -> None:
        """Refuse keywords that the walk doesn't know how to hold."""
        for part in parts:
            for word in _REFUSED:
                if word in part:
                    raise self.refuse(f"{word} can't be held in this format", path)
            if not self.apart(part.get("oneOf")):
                raise self.refuse("the branches of oneOf overlap, which no grammar can hold", path)

    def apart(self, branches: Any) -> bool:
        """Whether the branches of a oneOf exclude each other; each list is looked at once."""
        if id(branches) not in self.disjoint:
            self.disjoint[id(branches)] = disjoint(self.root, branches)
        return self.disjoint[id(branches)]

    def word(self, value: Any) -> Node:
        node = self.notation.literal(value)
        assert node is not None
        return node

    def number(self, kind: str, parts: Conjunction, path: str) -> Node:
        """A number, by JSON's own grammar if it has bounds."""
        bounds: dict[str, Any] = {}
        for part in parts:
            for word in _BOUNDS:
                limit = part.get(word)
                if limit is True and word.startswith("exclusive"):
                    limit = part.get(word.replace("exclusiveM", "m"))
                if isinstance(limit, bool) or not isinstance(limit, (int, float)):
                    continue
                if word in bounds and word == "multipleOf" and bounds[word] != limit:
                    raise self.refuse("several multipleOf", path)
                pick = min if word.endswith("aximum") else max
                bounds[word] = pick(bounds.get(word, limit), limit)
        if bounds:
            return json_node({"type": kind, **bounds})
        return Regex(INTEGER if kind == "integer" else NUMBER)

    def string_bounds(self, parts: Conjunction, path: str) -> tuple[int, int | None, str | None]:
        """The least and the greatest length of a string, and its pattern."""
        least = max((whole_number(part.get("minLength"), 0) for part in parts), default=0)
        lengths = [whole_number(part.get("maxLength"), -1) for part in parts] + [
            -1 if self.max_string is None else self.max_string
        ]
        bounds = [one for one in lengths if one >= 0]
        patterns = [one for one in (part.get("pattern") for part in parts) if isinstance(one, str)]
        formats = [FORMATS.get(str(part.get("format"))) for part in parts]
        patterns = patterns or [f"^(?:{one})$" for one in formats if one is not None]
        most = min(bounds) if bounds else None
        if len(set(patterns)) > 1:
            raise self.refuse("several patterns for one string", path)
        if most is not None and most < least:
            raise self.refuse(f"no string of {least} to {most} characters", path)
        pattern = patterns[0] if patterns else None
        if pattern is not None and least == 0 and most == self.max_string:
            most = None
        return least, most, pattern

    # -- containers -----------------------------------------------------------

    def array(self, parts: Conjunction, path: str) -> Node:
        """A list."""
        if any(part.get("uniqueItems") is True or "contains" in part for part in parts):
            raise self.refuse("uniqueItems and contains can't be held in this format", path)
        least = max((whole_number(part.get("minItems"), 0) for part in parts), default=0)
        most = min((whole_number(part.get("maxItems"), self.most) for part in parts), default=self.most)
        most = max(most, least) if most == self.most else most
        heads = [one for part in parts for one in [part.get("prefixItems")] if isinstance(one, (list, tuple))]
        items = [part["items"] for part in parts if "items" in part]
        if heads or any(isinstance(one, (list, tuple)) for one in items):
            return seq(Text("["), self.positions(heads, items, least, most, path), Text("]"))
        schema = items[0] if len(items) == 1 else {"allOf": items} if items else True
        if schema is False:
            most = 0
        inner = Text("") if most == 0 else self.listed(self.value(schema, path + ".items"), least, most)
        return seq(Text("["), inner, Text("]"))

    def positions(self, heads: list[Any], items: list[Any], least: int, most: int, path: str) -> Node:
        """The items of a list whose positions have schemas, all of them."""
        heads = heads or [one for one in items if isinstance(one, (list, tuple))]
        if len(heads) > 1:
            raise self.refuse("several lists of positions", path)
        first = [self.value(one, f"{path}.prefixItems[{n}]") for n, one in enumerate(heads[0])]
        if not least <= len(first) <= most:
            raise self.refuse("a list whose length differs from its positions", path)
        return seq(
            *(one for n, item in enumerate(first) for one in ([self.notation.comma] if n else []) + [item])
        )

    def entries(
        self, parts: Conjunction, path: str, equals: Callable[[str], Node | None] | None = None
    ) -> Node:
        """The inside of an object: the required keys, then the others, each at most once."""
        self.check(parts, path)
        entry = equals or self.notation.key
        schemas = declared(parts)
        required = required_keys(parts)
        extra = extra_schema(parts) if equals is None else None
        if self.notation.order == "required":
            ordered = [*required, *(key for key in schemas if key not in required)]
        else:
            ordered = [*schemas, *(key for key in required if key not in schemas)]
        if self.notation.order == "sorted":
            ordered.sort(key=str.lower)
        nodes: list[tuple[bool, Node]] = []
        for key in ordered:
            place = f"{path}.properties.{key}"
            name = entry(key)
            if name is None:
                if key in required:
                    raise self.refuse(f"the format can't carry the key {key!r}", place)
                continue
            nodes.append((key in required, seq(name, self.value(schema_of(parts, key), place))))
        if extra is None:
            return self.chain(nodes, None, 0)
        taken = "".join(sorted({key[:1] for key in ordered}))
        least = max((whole_number(part.get("minProperties"), 0) for part in parts), default=0)
        most = min((whole_number(part.get("maxProperties"), self.most) for part in parts), default=self.most)
        item = seq(self.notation.any_key(taken), self.value(extra, path + ".additionalProperties"))
        return self.chain(nodes, item, max(least - len(nodes), 0), max(most - len(nodes), 0))

    def check(self, parts: Conjunction, path: str) -> None:
        """Refuse what no order of keys can hold."""
        self.refuse_words(parts, path)
        free = extra_schema(parts) is not None and not declared(parts)
        least = max((whole_number(part.get("minProperties"), 0) for part in parts), default=0)
        most = min((whole_number(part.get("maxProperties"), self.most) for part in parts), default=self.most)
        if not free and (least > len(required_keys(parts)) or most < len(declared(parts))):
            raise self.refuse("minProperties and maxProperties can't be held in this format", path)

    def chain(self, nodes: list[tuple[bool, Node]], extra: Node | None, least: int, most: int = MOST) -> Node:
        """Entries in order with commas between them, the optional ones left out at will."""
        comma = self.notation.comma
        spend(len(nodes) * (len(nodes) + 1) // 2)
        if not nodes:
            return Text("") if extra is None else self.listed(extra, least, most)
        most = max(most, least)
        tail: Node = Text("") if extra is None or not most else Repeat(seq(comma, extra), least, most)
        options: list[Node] = []
        for n, (must, node) in enumerate(nodes):
            rest = [seq(comma, one) if needed else maybe(seq(comma, one)) for needed, one in nodes[n + 1 :]]
            options.append(seq(node, *rest, tail))
            if must:
                return alt(options)
        if extra is not None and most:
            options.append(self.listed(extra, max(least, 1), most))
        return alt(options) if least and extra is not None else maybe(alt(options))
