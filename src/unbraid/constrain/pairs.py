"""Arguments as pairs of a key and a raw value: tags, quoted pairs, XML."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from unbraid.branches import Branch, Conjunction, expand
from unbraid.codecs.xml import CDATA, CDATA_END
from unbraid.constrain.conjunctions import declared, members, required_keys, schema_of
from unbraid.constrain.notations import AnswerText, GemmaText, JsonText, Notation
from unbraid.constrain.patterns import negated, whole
from unbraid.constrain.possible import possible
from unbraid.constrain.request import Tool
from unbraid.constrain.tree import Marker, Node, Regex, Repeat, Run, Space, Text, alt, maybe, seq
from unbraid.constrain.typed import CHARS, Typed
from unbraid.effort import spend
from unbraid.errors import Unsupported
from unbraid.literals import PYTHON_WORDS, WHITE, encode_entities, json_kind, quote
from unbraid.schema import Slot, Typer
from unbraid.syntax import MAX_NAME, GemmaObject, Lit, Pairs, TypeTag

__all__ = ["PAIRS", "QuotedPairs", "RawPairs", "Scope", "XmlPairs", "object_branches"]

PAIRS = 64
UNTYPED = Slot(None, None)
_WORDS = {"boolean": ("true", "false"), "null": ("null",)}
ANY_KIND = ("string", "null", "boolean", "number", "array", "object")


@dataclass(frozen=True)
class Scope:
    """What all arguments of one grammar share: what makes markers, the rules, a string's length."""

    marker: Callable[[str], Marker]
    rules: dict[str, Node]
    max_string: int | None

    def typed(self, notation: Notation, tool: Tool) -> Typed:
        """Makes the values of a tool's schema."""
        return Typed(notation, self.rules, tool.parameters, self.max_string, f"{tool.param}.parameters")


def object_branches(tool: Tool) -> list[Conjunction]:
    """The branches of a strict tool's arguments; Unsupported if none is an object."""
    found: list[Conjunction] = []
    where = f"{tool.param}.parameters"
    for parts in expand(tool.parameters, tool.parameters):
        branch = Branch(parts)
        if not branch.typed:
            found.append(({"properties": {}, "additionalProperties": False},))
        elif "object" in branch.kinds and members(parts) is None:
            found.append(parts)
    if not found:
        raise Unsupported(f"{where}: arguments are an object", param=where)
    return found


class RawPairs:
    """The pairs of one tool."""

    def __init__(
        self,
        scope: Scope,
        part: Pairs,
        exclude: tuple[str, ...],
        tool: Tool,
        gap: Space,
        notation: Notation | None = None,
    ) -> None:
        self.scope = scope
        self.part = part
        self.tool = tool
        self.gap = gap
        self.exclude = exclude
        self.first = "".join({one[0] for one in self.exclude})
        self.close = scope.marker(part.close.text)
        self.typed = scope.typed(notation or JsonText(self.exclude), tool)

    # -- which pairs ----------------------------------------------------------

    def free(self) -> Node:
        """Any keys that the format reads, any raw text."""
        chars = self.part.key_chars
        inner = chars[:-1] + r" \t\r]" if chars.startswith("[^") else chars
        key: Node = Regex(f"{inner}(?:{chars}{{0,62}}{inner})?")
        if self.part.declared and (names := Typer(self.tool.parameters).order()):
            key = alt(Text(encode_entities(one, self.part.entities)) for one in names if self.carries(one))
        return Repeat(self.pair(key, True, UNTYPED, ""), 0, PAIRS)

    def strict(self) -> Node:
        """The declared keys: the required ones, then the others, each at most once."""
        branches = object_branches(self.tool)
        for parts in branches:
            self.typed.check(parts, "")
        if len(branches) > 1:
            self.agree(branches)
        slots = Typer(self.tool.parameters)
        return alt(self.branch(parts, slots) for parts in branches)

    def agree(self, branches: list[Conjunction]) -> None:
        """Values are typed by all branches at once: a key must mean the same in each."""
        seen: dict[str, str] = {}
        for parts in branches:
            for key, schema in declared(parts).items():
                text = json.dumps(schema, sort_keys=True)
                spend(1 + len(text) // CHARS)
                if seen.setdefault(key, text) != text:
                    raise self.typed.refuse("the branches of the schema give this key different types",
                                            f".properties.{key}")  # fmt: skip

    def branch(self, parts: Conjunction, slots: Typer) -> Node:
        schemas = declared(parts)
        required = required_keys(parts)
        nodes: list[tuple[bool, Node]] = []
        for key in [*required, *(key for key in slots.order() if key in schemas and key not in required)]:
            path = f".properties.{key}"
            if not self.carries(key):
                if key in required:
                    raise self.typed.refuse(f"the format can't carry the key {key!r}", path)
                continue
            written = Text(encode_entities(key, self.part.entities))
            pair = self.pair(written, schema_of(parts, key), slots.property(key), path)
            nodes.append((key in required, pair))
        return self.joined(nodes)

    def joined(self, nodes: list[tuple[bool, Node]]) -> Node:
        """Pairs in order, the optional ones left out at will."""
        return seq(*(node if must else maybe(node) for must, node in nodes))

    def carries(self, key: str) -> bool:
        """Whether the key can stand between the tags."""
        text = encode_entities(key, self.part.entities)
        return (
            len(text) <= MAX_NAME
            and key == key.strip(WHITE)
            and bool(re.fullmatch(f"(?:{self.part.key_chars})+", text))
        )

    def pair(self, key: Node, schema: Any, slot: Slot, path: str) -> Node:
        """A key and a value of ``schema``, with its type where the format writes one."""
        if self.part.tag is None:
            return seq(self.before(key), self.value(schema, slot, path), self.gap)
        options = self.typed_values(schema, slot, path)
        if not options:
            raise self.typed.refuse("no value of this schema can be written in this format", path)
        return seq(alt(seq(self.before(key, word), value) for word, value in options), self.gap)

    def before(self, key: Node, word: str = "") -> Node:
        """What stands in front of a value; ``word`` is its type."""
        marker = self.scope.marker
        nodes: list[Node] = [marker(self.part.open.text), key]
        for one in self.part.middle:
            if isinstance(one, Lit):
                nodes.append(marker(one.text))
            elif isinstance(one, TypeTag):
                nodes += [marker(one.open.text), Text(word), marker(one.close.text)]
            else:
                nodes.append(self.gap)
        return seq(*nodes)

    # -- values that tell their type ------------------------------------------

    def typed_values(self, schema: Any, slot: Slot, path: str) -> list[tuple[str, Node]]:
        """The words of the types that ``schema`` allows, each with the values of that type."""
        tag = self.part.tag
        assert tag is not None
        found: list[tuple[str, Node]] = []
        for parts in expand(self.tool.parameters, schema):
            self.typed.refuse_words(parts, path)
            listed = members(parts)
            if listed is not None:
                for one in listed:
                    word = tag.word(json_kind(json.dumps(one)) or "string")
                    found += [(word, node) for node in self.listed(one, slot)]
                continue
            found += [(tag.word(kind), self.of_kind(kind, parts, path)) for kind in self.told(tag, parts)]
        return found

    @staticmethod
    def told(tag: TypeTag, parts: Conjunction) -> list[str]:
        """The kinds of a branch's values; of numbers, integers only where they have a word of their own."""
        branch = Branch(parts)
        kinds = branch.kinds if branch.typed else ANY_KIND
        if "number" not in kinds:
            return list(kinds)
        integers: Conjunction = (*parts, {"type": "integer"})
        apart = tag.word("integer") != tag.word("number") and possible(integers, ("integer",), closed=True)
        return [kind for kind in kinds if kind != "integer"] + ["integer"] * apart

    def of_kind(self, kind: str, parts: Conjunction, path: str) -> Node:
        """The values of one type: a string as raw text, all others as JSON."""
        if kind != "string":
            return seq(self.typed.kind(kind, parts, path), self.close)
        if self.any_string(parts):
            return Run(self.exclude, most=self.scope.max_string, end=self.close)
        return self.bounded(parts, False, path)

    # -- raw values -----------------------------------------------------------

    def value(self, schema: Any, slot: Slot, path: str) -> Node:
        """A raw value that is read as one of ``schema``, and its closer."""
        branches = list(expand(self.tool.parameters, schema))
        for parts in branches:
            self.typed.refuse_words(parts, path)
        containers = bool({"object", "array"} & set(slot.kinds))
        open_strings = [parts for parts in branches if self.any_string(parts)]
        if open_strings and not containers:
            return Run(self.exclude, most=self.scope.max_string, end=self.close)
        options: list[Node] = []
        for parts in branches:
            options += self.alternatives(parts, slot, containers, bool(open_strings), path)
        if not options:
            raise self.typed.refuse("no value of this schema can be written in this format", path)
        return alt(options)

    def any_string(self, parts: Conjunction) -> bool:
        branch = Branch(parts)
        return not branch.typed or (branch.any_string and self.by_type(parts, branch))

    @staticmethod
    def by_type(parts: Conjunction, branch: Branch) -> bool:
        return len(branch.kinds) == 1 or any("type" in part for part in parts)

    def alternatives(
        self, parts: Conjunction, slot: Slot, containers: bool, open_strings: bool, path: str
    ) -> list[Node]:
        """The spellings of one branch's values."""
        branch = Branch(parts)
        listed = members(parts)
        if listed is not None:
            return [node for one in listed for node in self.listed(one, slot)]
        if not branch.typed:
            return [self.guarded()]
        kinds = (
            branch.kinds
            if self.by_type(parts, branch)
            else tuple(kind for kind in branch.kinds if kind != "string")
        )
        if "number" in kinds:
            kinds = tuple(kind for kind in kinds if kind != "integer")
        found: list[Node] = []
        for kind in kinds:
            if kind != "string":
                if not (open_strings and kind not in ("object", "array")):
                    found.append(self.written(kind, parts, slot, path))
            elif branch.any_string:
                found.append(self.guarded())
            else:
                found.append(self.bounded(parts, containers, path))
        return found

    def written(self, kind: str, parts: Conjunction, slot: Slot, path: str) -> Node:
        """A value of another type than a string, and its closer."""
        values = alt([self.typed.kind(kind, parts, path), *self.words(kind, slot)])
        return seq(self.gap, values, self.gap, self.close)

    def words(self, kind: str, slot: Slot) -> list[Node]:
        """Python's words for values of this kind, where the format writes them."""
        words = _WORDS.get(kind, ()) if self.part.words == "python" else ()
        return [Text(PYTHON_WORDS[one]) for one in words if slot.coerce(PYTHON_WORDS[one])[0] == one]

    def listed(self, value: Any, slot: Slot) -> list[Node]:
        """The spellings of one listed value that are read as it."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if any(one in text for one in self.exclude):
            return []
        _, coerce = slot.typed(
            None if self.part.tag is None else "string" if isinstance(value, str) else "json"
        )
        read, _ = coerce(text)
        if isinstance(value, str) and read != quote(value):
            return []
        pad = self.part.pad
        found: list[Node] = [seq(Text(pad + text + pad), self.close)]
        if pad and not text.startswith(pad) and not text.endswith(pad):
            found.append(seq(Text(text), self.close))
        if value is None or isinstance(value, bool):
            words = self.words("null" if value is None else "boolean", slot)
            python = Text(PYTHON_WORDS[text])
            found += [seq(Text(pad), one, Text(pad), self.close) for one in words if one == python]
        return found

    def guarded(self) -> Node:
        """Any string that is not read as an object or a list: it doesn't begin like one."""
        first = negated("".join(sorted(set(WHITE + "{[(" + self.first))))
        text = seq(Regex(first), Run(self.exclude, most=self.scope.max_string, end=self.close))
        pad = [maybe(Text(self.part.pad))] if self.part.pad else []
        return seq(*pad, alt([text, self.close]))

    def bounded(self, parts: Conjunction, containers: bool, path: str) -> Node:
        """A string with a length or a pattern, between the markup's own newlines."""
        least, most, pattern = self.typed.string_bounds(parts, path)
        pad = self.part.pad
        if pattern is not None:
            forbidden = "".join(sorted(set(self.first + (WHITE + "{[(" if containers else ""))))
            text = self.typed.held(lambda: Regex(whole(pattern, forbidden), least, most), path)
            return seq(Text(pad), text, Text(pad), self.close)
        if containers:
            raise self.typed.refuse("a bounded string beside objects or lists", path)
        end = self.close if not pad else Marker(pad + self.close.text)
        if pad and self.close.token_id is not None:
            raise self.typed.refuse("a bounded string before a closer that is a special token", path)
        return seq(Text(pad), Run(self.exclude, least, most, end=end))


class QuotedPairs(RawPairs):
    """Keys and values between markers, commas between the pairs: the raw values of ``RawPairs``."""

    def __init__(self, scope: Scope, part: GemmaObject, tool: Tool) -> None:
        mark = Lit((part.quote,), special=True)
        pairs = Pairs(open=mark, middle=(), close=mark, key_chars=GemmaText.plain)
        super().__init__(scope, pairs, (part.quote,), tool, Space(0))

    def before(self, key: Node, word: str = "") -> Node:
        """What stands in front of a value."""
        return seq(key, Text(":"), self.close)

    def joined(self, nodes: list[tuple[bool, Node]]) -> Node:
        """Pairs in order, commas between them."""
        return self.typed.chain(nodes, None, 0)

    def free(self) -> Node:
        """Any keys, any raw text."""
        key = Regex(f"{self.part.key_chars}{{1,64}}")
        return self.typed.listed(self.pair(key, True, UNTYPED, ""), 0, PAIRS)


class XmlPairs(RawPairs):
    """Pairs whose values are XML: as character data, or as text without entities."""

    def __init__(self, scope: Scope, part: Pairs, exclude: tuple[str, ...], tool: Tool, gap: Space) -> None:
        super().__init__(scope, part, (*exclude, CDATA, "&"), tool, gap)
        end = CDATA_END + part.close.text
        inside = replace(part, close=Lit((end,)))
        self.data = Text(CDATA)
        self.inside = RawPairs(scope, inside, (end,), tool, gap, AnswerText((end,)))

    def value(self, schema: Any, slot: Slot, path: str) -> Node:
        """A value as text, or as character data."""
        return alt([super().value(schema, slot, path), seq(self.data, self.inside.value(schema, slot, path))])
