"""The grammar of response templates: thinking, then an answer or calls, each in its region."""

from __future__ import annotations

import re
from typing import Any

from unbraid.constrain.build import Limits, MarkerMaker, Thinking
from unbraid.constrain.notations import GemmaText
from unbraid.constrain.pairs import Scope
from unbraid.constrain.request import Demand, Tool
from unbraid.constrain.schemas import answer, arguments
from unbraid.constrain.tree import (
    Grammar,
    Marker,
    Node,
    Repeat,
    Run,
    Space,
    Text,
    alt,
    json_node,
    maybe,
    seq,
)
from unbraid.constrain.unmarked import answer_json, unmarked
from unbraid.constrain.values import Values
from unbraid.errors import Unsupported
from unbraid.literals import quote
from unbraid.response.calls import PLACEHOLDER, rule
from unbraid.response.expression import expression
from unbraid.response.spelling import closer_of, marker_text, spelling, tag_of
from unbraid.syntax import Field, Lit, Pairs, Pattern, ResponseTemplate

__all__ = ["build_response"]

GAP = Space(1, " ")


def build_response(
    template: ResponseTemplate,
    demand: Demand,
    thinking: Thinking,
    limits: Limits,
    marker: MarkerMaker,
    specials: tuple[str, ...],
) -> Grammar:
    """The grammar of a template's output; ``specials`` are the special tokens in its markers."""
    builder = _Builder(template, demand, limits, marker, specials)
    return Grammar(builder.output(thinking), builder.scope.rules)


def _unsupported(what: str, param: str = "tool_choice") -> Unsupported:
    return Unsupported(f"the response template has {what}, which no grammar here can say", param=param)


class _Gemma(GemmaText):
    """Gemma's notation in whose strings no closer of the region stands."""

    def __init__(self, quote: Marker, exclude: tuple[str, ...]) -> None:
        super().__init__(quote)
        self.exclude = exclude

    def string(self, least: int, most: int | None, pattern: str | None) -> Node:
        if pattern is not None:
            return super().string(least, most, pattern)
        return seq(self.quote, Run((self.quote.text, *self.exclude), least, most, end=self.quote))

    def literal(self, value: Any) -> Node | None:
        if isinstance(value, str) and any(one in value for one in self.exclude):
            return None
        return super().literal(value)


class _Builder:
    def __init__(
        self,
        template: ResponseTemplate,
        demand: Demand,
        limits: Limits,
        marker: MarkerMaker,
        specials: tuple[str, ...],
    ) -> None:
        self.template = template
        self.demand = demand
        self.limits = limits
        self.marker = marker
        self.specials = sorted(specials, key=len, reverse=True)
        self.scope = Scope(marker, {}, limits.max_raw)
        self.values = Values(self.scope)
        self.implicit = next((one for one in template.fields if one.open is None), None)

    # -- markers --------------------------------------------------------------

    def pieces(self, text: str) -> list[Node]:
        """A marker as its special tokens and the text between them."""
        found: list[Node] = []
        plain = ""
        at = 0
        while at < len(text):
            special = next((one for one in self.specials if text.startswith(one, at)), None)
            if special is None:
                plain += text[at]
                at += 1
                continue
            found += [Text(plain)] if plain else []
            found.append(self.marker(special))
            plain = ""
            at += len(special)
        return [*found, Text(plain)] if plain else found

    def split(self, text: str) -> tuple[Marker, Node]:
        """What begins a marker, which ends free text in front of it, and the rest."""
        first, *rest = self.pieces(text)
        return first if isinstance(first, Marker) else Marker(text[: len(_text(first))]), seq(*rest)

    def closing(self, field: Field, last: bool) -> str:
        text = closer_of(self.template, field, last)
        if text is None:
            raise _unsupported("a closer that is an expression", "tool_parser")
        return text

    def forbidden(self, field: Field | None) -> tuple[str, ...]:
        """What may not stand in a region's text; for the implicit field, what begins another region."""
        found: list[str] = []
        if field is not None and field.open is not None:
            found += self.literals(field.close)
            found += [one for text in found for one in self.beginnings(text)]
        else:
            for one in self.template.fields:
                found += self.literals(one.open if one.open is not None else one.close)
        return tuple(sorted(set(found)))

    def beginnings(self, text: str) -> list[str]:
        """The special token that begins a closer of several."""
        return [one for one in self.specials if text.startswith(one) and one != text]

    def literals(self, marker: Lit | Pattern | None) -> list[str]:
        """Texts without which a marker can't stand somewhere."""
        if marker is None:
            return []
        if isinstance(marker, Lit):
            return list(marker.spellings)
        pieces = spelling(marker.text)
        runs = expression(marker.text).literals()
        if pieces is None or not isinstance(pieces[0], str) or not runs:
            raise _unsupported("a marker that begins with an expression", "tool_parser")
        return [runs[0]]

    # -- the output -----------------------------------------------------------

    def output(self, thinking: Thinking) -> Node:
        """Thinking as the start state wants it, then what is demanded."""
        body = self.body()
        field = self.template.field("reasoning")
        if field is None or thinking in ("off", "closed"):
            return body
        if thinking == "open":
            return seq(self.text(field, self.closing(field, False)), body)
        opener = marker_text(field.open, {})
        if not opener:
            raise _unsupported("thinking without a literal opener", "reasoning_parser")
        least = 1 if thinking == "output" and self.template.demands_thinking else 0
        block = seq(*self.pieces(opener), self.text(field, self.closing(field, False), least), self.white())
        return seq(block if thinking == "output" else maybe(block), body)

    def white(self) -> Node:
        """White space between regions, where that is framing."""
        return Space(self.limits.max_white) if self.implicit is not None else Text("")

    def text(self, field: Field, closer: str, least: int = 0) -> Node:
        """A region's text and its closer."""
        if not closer:
            raise _unsupported("thinking without a closer", "reasoning_parser")
        first, rest = self.split(closer)
        return seq(Run(self.forbidden(field), least, end=first), rest)

    def body(self) -> Node:
        """What follows thinking."""
        demand = self.demand
        options: list[Node] = []
        if demand.schema is not None:
            options.append(self.answer())
        if demand.mode == "required" or (demand.mode == "auto" and demand.schema is not None):
            first, rest = self.calls()
            options.append(seq(self.white(), first, rest))
        elif demand.mode == "auto":
            options += self.answer_or_calls()
        return alt(options)

    def answer_or_calls(self) -> list[Node]:
        """Free content and calls behind it, or in its place where content has a region of its own."""
        first, rest = self.calls()
        field = self.template.field("content")
        if field is not None and field.open is None:
            exclude = self.forbidden(None)
            return [seq(Run(exclude, end=first), rest), Run(exclude)]
        if field is None:
            return [seq(first, rest)]
        ends = [seq(self.content_run(field, *self.split(one))) for one in self.ends(field)]
        return [seq(self.opening(field), alt([Run(self.forbidden(field)), *ends])), seq(first, rest)]

    def content_run(self, field: Field, end: Marker, rest: Node) -> Node:
        return seq(Run(self.forbidden(field), end=end), rest)

    def ends(self, field: Field) -> list[str]:
        return list(field.close.spellings) if isinstance(field.close, Lit) else []

    def opening(self, field: Field) -> Node:
        opener = marker_text(field.open, {})
        if opener is None:
            raise _unsupported("content behind an expression")
        return seq(*self.pieces(opener))

    def answer(self) -> Node:
        """The answer by the response schema, in its region."""
        field = self.template.field("content")
        if field is None:
            raise _unsupported("no region for an answer", "response_schema")
        schema = answer(self.demand.schema, self.limits.max_raw)
        node = self.json(schema, self.forbidden(field), "response_schema")
        white = Space(self.limits.max_white)
        if field.open is None:
            return seq(white, node, white)
        ends = [maybe(alt(seq(*self.pieces(one)) for one in self.ends(field)))] if self.ends(field) else []
        return seq(self.opening(field), node, *ends)

    def json(self, schema: dict[str, Any], exclude: tuple[str, ...], where: str) -> Node:
        """JSON by a schema, in whose strings none of ``exclude`` stands."""
        if any('"' in one or not re.search(r"[^\s\[\]{}:,.\d+\-eEtrufalsn]", one) for one in exclude):
            raise _unsupported("a marker that JSON may hold outside its strings")
        rules, most = self.scope.rules, self.limits.max_raw
        if where == "response_schema":
            return answer_json(schema, exclude, rules, most)
        return json_node(schema, exclude, unmarked(schema, exclude, rules, most, where))

    # -- calls ----------------------------------------------------------------

    def calls(self) -> tuple[Marker, Node]:
        """All calls of a turn: what opens the first, and everything behind that."""
        field = self.template.field("call")
        if field is None or field.open is None:
            raise _unsupported("no region for calls", "tool_parser")
        if field.lists:
            return self.listed(field)
        heads: set[Marker] = set()
        between: list[Node] = []
        rests: list[Node] = []
        last = self.closing(field, True)
        closes = (
            maybe(seq(*self.pieces(last))) if field.content.kind == "xml-inline" else seq(*self.pieces(last))
        )
        for tool in self.demand.tools:
            text = self.opener(field, tool)
            prefix = self.literals(field.open)[0] if isinstance(field.open, Pattern) else text
            head, rest = self.split(prefix)
            heads.add(head)
            rests.append(seq(rest, *self.pieces(text[len(prefix) :]), self.body_of(field, tool)))
        if len(heads) != 1:
            raise _unsupported("calls that begin differently for different tools", "tool_parser")
        head, call = heads.pop(), alt(rests)
        most = self.demand.most if field.close is not None else 1
        if most > 1:
            separator = seq(*self.pieces(self.closing(field, False)), self.white())
            between.append(Repeat(seq(separator, head, call), 0, most - 1))
        return head, seq(call, *between, closes)

    def listed(self, field: Field) -> tuple[Marker, Node]:
        """One region that lists all calls."""
        head, rest = self.split(self.opener(field, None))
        items = alt(self.body_of(field, tool) for tool in self.demand.tools)
        more = Repeat(seq(Text(","), GAP, items), 0, self.demand.most - 1)
        several = [more] if self.demand.most > 1 else []
        return head, seq(rest, Text("["), items, *several, Text("]"), *self.pieces(self.closing(field, True)))

    def opener(self, field: Field, tool: Tool | None) -> str:
        """The opener of a tool's call."""
        assert field.open is not None
        names = {}
        if tool is not None and isinstance(field.open, Pattern):
            names = dict.fromkeys(self.named_by(field), tool.name)
        text = marker_text(field.open, names)
        if text is None:
            raise _unsupported("an opener whose text can't be told", "tool_parser")
        if (
            tool is not None
            and isinstance(field.open, Pattern)
            and not expression(field.open.text).whole(text)
        ):
            raise tool.uncarried()
        return text

    def shape(self, field: Field) -> tuple[Any, Any]:
        """The name and the arguments in the template's transform."""
        made = {"function": {"name": "{content.function.name}", "arguments": "{content.function.arguments}"}}
        if field.transform is not None:
            made = rule(field.transform)
        function = made.get("function") if isinstance(made, dict) else None
        if not isinstance(function, dict):
            raise _unsupported("a transform that can't be told backwards", "tool_parser")
        return function.get("name"), function.get("arguments")

    def named_by(self, field: Field) -> list[str]:
        """The group of the opener that is the name."""
        name = self.shape(field)[0]
        found = PLACEHOLDER.fullmatch(name) if isinstance(name, str) else None
        return [] if found is None or found[1].startswith("content") else [found[1]]

    def body_of(self, field: Field, tool: Tool) -> Node:
        """The body of a tool's call, or its entry in a list."""
        name, value = self.shape(field)
        called = tool.in_json()
        if not field.each and value == "{content}":
            if not self.named_by(field) and name != called:
                raise _unsupported(f"no place for the name {tool.name!r}", "tool_parser")
            return self.arguments(field, tool)
        keys = [self.key(one, field.each) for one in (name, value)]
        if field.content.kind != "json" or field.content.string_delims:
            raise _unsupported("a name in values that are no JSON", "tool_parser")
        path, other = keys
        if path[:-1] != other[:-1] or path == other:
            raise _unsupported("a transform that can't be told backwards", "tool_parser")
        before = "".join(f"{{{quote(key)}: " for key in path[:-1])
        return seq(
            Text(f"{before}{{{quote(path[-1])}:"), GAP, Text(f"{quote(called)},"), GAP,
            Text(f"{quote(other[-1])}:"), GAP, self.arguments(field, tool), Text("}" * len(path)),
        )  # fmt: skip

    def key(self, part: Any, each: bool) -> list[str]:
        """The keys that lead to a part of the content."""
        found = PLACEHOLDER.fullmatch(part) if isinstance(part, str) else None
        path = found[1].split(".") if found is not None else []
        if found is None or (not each and (path[0] != "content" or len(path) < 2)):
            raise _unsupported("a transform that can't be told backwards", "tool_parser")
        return path if each else path[1:]

    def arguments(self, field: Field, tool: Tool) -> Node:
        """The arguments in the template's notation."""
        content, exclude = field.content, self.forbidden(field)
        if content.kind == "json" and content.string_delims and content.unquoted_keys:
            opener, closer = content.string_delims[0]
            if opener != closer:
                raise _unsupported("strings between different delimiters", "tool_parser")
            return self.values.bare_object(_Gemma(self.marker(opener), exclude), tool)
        if content.kind == "json":
            schema = arguments(tool.parameters, tool.strict, self.limits.max_raw, tool.param)
            return self.json(schema, exclude, f"{tool.param}.parameters")
        if content.kind == "xml-inline" and content.tag is not None and content.value is None:
            return self.tagged(content.tag, exclude, tool)
        raise _unsupported(f"values of the kind {content.kind}", "tool_parser")

    def tagged(self, pattern: Pattern, exclude: tuple[str, ...], tool: Tool) -> Node:
        """Tags around keys and raw values."""
        tag = tag_of(pattern.text)
        if tag is None:
            raise _unsupported("a tag whose text can't be told", "tool_parser")
        part = Pairs(Lit((tag.open,)), (Lit((tag.middle,)),), Lit((tag.close,)), key_chars=tag.key_chars)
        ends = tuple(sorted({tag.close, *tag.ends, *exclude}))
        return self.values.tagged(part, ends, tool, Space(1, "\n"))


def _text(node: Node) -> str:
    assert isinstance(node, Text)
    return node.text
