"""From a format's declaration and a request to the grammar of the whole output."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from unbraid.constrain.pairs import Scope
from unbraid.constrain.patterns import negated
from unbraid.constrain.request import Demand, Tool
from unbraid.constrain.schemas import answer, arguments, enveloped
from unbraid.constrain.tree import (
    Grammar,
    Marker,
    Node,
    Regex,
    Repeat,
    Run,
    Seq,
    Space,
    Text,
    alt,
    json_node,
    maybe,
    seq,
)
from unbraid.constrain.unmarked import answer_json
from unbraid.constrain.values import Values
from unbraid.errors import Unsupported
from unbraid.literals import encode_entities
from unbraid.machine.setup import Setup, literals, setup, written_parts
from unbraid.syntax import (
    MAX_NAME,
    NAME_CHARS,
    WHITE,
    Answer,
    Choice,
    Elements,
    Envelope,
    Envelopes,
    GemmaObject,
    Given,
    Id,
    Json,
    Lit,
    Name,
    Named,
    Pairs,
    Part,
    PythonCalls,
    Reasoning,
    Tools,
    Word,
    Ws,
)

__all__ = ["Limits", "MarkerMaker", "Thinking", "body_of_calls", "build", "marker_maker"]

Thinking = Literal["open", "output", "optional", "off", "closed"]
MarkerMaker = Callable[[str], Marker]
GAP = Space(1, " ")


@dataclass(frozen=True)
class Limits:
    """Bounds of a generation: calls a turn, white space in a row, length of a string.

    ``max_raw`` is that of a string in an answer or in other notations than JSON.
    """

    max_calls: int
    max_white: int
    max_string: int | None
    max_raw: int | None


def marker_maker(token_id: Callable[[str], int | None] | None) -> MarkerMaker:
    """Makes markers: by token id where the tokenizer has one, else by text."""

    def make(text: str) -> Marker:
        return Marker(text, token_id(text) if token_id is not None else None)

    return make


def build(
    reasoning: Reasoning | None,
    tools: Tools | None,
    demand: Demand,
    thinking: Thinking,
    limits: Limits,
    marker: MarkerMaker,
    *,
    label: bool = False,
) -> Grammar:
    """The grammar of a tag format's output."""
    rules: dict[str, Node] = {}
    builder = _Builder(reasoning, tools, demand, limits, Scope(marker, rules, limits.max_raw))
    return Grammar(builder.output(thinking, label), rules)


def body_of_calls(
    tools: Tools,
    demand: Demand,
    limits: Limits,
    marker: MarkerMaker,
    around: Setup,
    rules: dict[str, Node],
) -> Node:
    """The calls that are the body of a message; ``around`` reads them, shared parts go into ``rules``."""
    builder = _Builder(None, tools, demand, limits, Scope(marker, rules, limits.max_raw), around)
    opener, rest = builder.calls()
    return seq(opener, rest)


class _Builder:
    def __init__(
        self,
        reasoning: Reasoning | None,
        tools: Tools | None,
        demand: Demand,
        limits: Limits,
        scope: Scope,
        around: Setup | None = None,
    ) -> None:
        self.reasoning = reasoning
        offered = demand.mode != "none"
        self.tools = tools if offered else None
        self.demand = demand
        self.limits = limits
        self.scope = scope
        self.marker = scope.marker
        self.setup = around or setup(reasoning, tools, True, offered=offered)
        self.anchored = self.setup.anchored
        self.white = Space(limits.max_white)
        self.gap = Space(min(limits.max_white, 64))
        self.values = Values(scope)
        self.forbidden = self._forbidden()

    def _forbidden(self) -> tuple[str, ...]:
        """Every marker that would mean something in content or thinking."""
        found = [*self.setup.content.markers, *self.setup.thinking.markers]
        if self.reasoning:
            found += [*self.reasoning.open.spellings, *self.reasoning.close.spellings]
        if self.tools and self.tools.section:
            found += literals(self.tools.call.parts[:1])[0].spellings
        if self.tools:
            found += self.tools.call.behind
        return tuple(sorted(one for one in set(found) if one not in self.anchored))

    # -- the output -----------------------------------------------------------

    def output(self, thinking: Thinking, label: bool) -> Node:
        """Thinking as the start state wants it, then what is demanded."""
        body = self.body()
        if self.reasoning is None or thinking == "closed":
            return body
        direct = body
        if self.reasoning.bare_close and thinking in ("off", "optional"):
            direct = alt([body, seq(self.white, self.spelled(self.reasoning.close), body)])
        if thinking == "off":
            return direct
        if thinking == "open":
            lead: Node = Text(self.reasoning.label) if label else Text("")
            return seq(lead, self.thinking(body))
        block = seq(
            self.white, self.spelled(self.reasoning.open), Text(self.reasoning.label), self.thinking(body)
        )
        return block if thinking == "output" else alt([block, direct])

    def spelled(self, part: Lit) -> Node:
        """A marker: the token, or any spelling of natural text."""
        if part.special:
            return self.marker(part.text)
        return alt(self.marker(one) for one in part.spellings)

    def thinking(self, body: Node) -> Node:
        """Thinking from behind its opener, its end, and what comes then."""
        reasoning = self.reasoning
        assert reasoning is not None
        closers = reasoning.close.spellings[:1] if reasoning.close.special else reasoning.close.spellings
        ends = [seq(Run(self.forbidden, end=self.marker(one)), body) for one in closers]
        if self.tools is not None and reasoning.tools_inside in ("end", "stay") and not self.anchored:
            opener, rest = self.calls()
            ends.append(seq(Run(self.forbidden, end=opener), rest, self.end()))
        return alt(ends)

    def no_answer(self, marks: Answer) -> Node:
        """The markers around content, where they are written around none."""
        if marks.written != "empty":
            return Text("")
        return maybe(seq(maybe(self.marker(marks.open.text)), self.marker(marks.close.text)))

    def end(self) -> Node:
        """What is written behind answer and calls."""
        marks = self.setup.answer
        if marks is None or marks.end is None:
            return Text("")
        return maybe(seq(self.marker(marks.end.text), self.white))

    def body(self) -> Node:
        """What follows thinking: the answer or calls, with the markers of the answer or without."""
        answer, demand = self.setup.answer, self.demand
        if answer is None:
            return self.bare_body()
        if answer.written in ("always", "empty"):
            return self.marked_body(answer)
        opener, closer = seq(self.white, self.spelled(answer.open)), self.marker(answer.close.text)
        text = self.marked_text(closer)
        options = [self.bare_body()]
        if answer.written == "calls":
            if demand.mode != "none":
                call, rest = self.calls()
                said = text if demand.schema is None else closer
                options.append(seq(opener, said, self.white, call, rest))
        elif demand.schema is not None:
            options.append(seq(opener, self.white, self.answer(), self.white, closer, self.white))
        elif demand.mode != "required":
            options.append(seq(opener, text, self.white))
        return alt(options)

    def marked_text(self, closer: Marker) -> Node:
        """Content between its markers; what begins a call without a marker stands behind no white space."""
        if not self.anchored:
            return Run(self.forbidden, end=closer)
        exclude = (*self.forbidden, *(white + one for white in WHITE for one in sorted(self.anchored)))
        first = negated("".join(sorted({*WHITE, *(one[0] for one in (*self.forbidden, *self.anchored))})))
        return alt([seq(Regex(first), Run(exclude, end=closer)), closer])

    def marked_body(self, marks: Answer) -> Node:
        """What follows thinking where content has its markers, the first perhaps in the prompt."""
        demand = self.demand
        options: list[Node] = []
        close = self.marker(marks.close.text)
        if demand.schema is not None:
            opener = maybe(seq(self.marker(marks.open.text), self.white))
            options.append(seq(self.white, opener, self.answer(), self.white, close, self.end()))
        if demand.mode != "none":
            call, rest = self.calls()
            options.append(seq(self.white, self.no_answer(marks), call, rest, self.end()))
            if demand.mode == "auto" and demand.schema is None:
                answer = seq(maybe(self.marker(marks.open.text)), Run(self.forbidden, end=close), self.white)
                options += [seq(answer, maybe(seq(call, rest)), self.end()), Run(self.forbidden)]
        return alt(options)

    def bare_body(self) -> Node:
        """What follows thinking, without the markers of the answer."""
        demand = self.demand
        options: list[Node] = []
        if demand.schema is not None:
            options.append(seq(self.white, self.answer(), self.white))
        if demand.schema is not None and demand.mode == "auto" and self.anchored & {"{"}:
            call = alt(_Call(self, tool).json_envelope() for tool in demand.tools)
            more = [Repeat(seq(self.between(), call), 0, demand.most - 1)] if demand.most > 1 else []
            options.append(seq(self.white, call, *more, self.white))
        elif demand.mode == "required" or (demand.mode == "auto" and demand.schema is not None):
            opener, rest = self.calls()
            options.append(seq(self.white, opener, rest))
        elif demand.mode == "auto":
            opener, rest = self.calls()
            line = "".join(one[0] for one in self.anchored)
            options.append(seq(Run(self.forbidden, line=line, end=opener), rest))
            options.append(Run(self.forbidden, line=line))
            if self.tools is not None and self.tools.content == "behind":
                options.append(seq(self.white, opener, rest, Run(self.forbidden, line=line)))
        return alt(options)

    def answer(self) -> Node:
        """The answer by the response schema."""
        schema = answer(self.demand.schema, self.limits.max_raw)
        exclude = tuple(one for one in self.forbidden if self.marker(one).token_id is None)
        if self.demand.mode == "auto" and self.anchored & {"{"}:
            return json_node(schema, exclude)
        return answer_json(schema, exclude, self.scope.rules, self.limits.max_raw)

    # -- calls ----------------------------------------------------------------

    def calls(self) -> tuple[Marker, Node]:
        """All calls of a turn: what opens the first, and everything behind that."""
        assert self.tools is not None
        tools, most = self.tools, self.demand.most
        if any(isinstance(part, PythonCalls) for part in tools.call.parts):
            return self.listed(tools.call.parts)
        opener, rest = self.call()
        if any(isinstance(part, Envelopes) for part in written_parts(tools.call.parts)):
            most = 1
        if tools.section is not None:
            items = Repeat(seq(opener, rest, self.gap), 1, most)
            close = self.marker(tools.section.close.text)
            return self.marker(tools.section.open.text), seq(self.gap, items, close, self.white)
        more = Repeat(seq(self.between(), opener, rest), 0, most - 1)
        return opener, seq(rest, *([more] if most > 1 else []), self.white)

    def between(self) -> Node:
        """What separates calls."""
        assert self.tools is not None
        space = self.tools.between
        others = "".join(sorted(set(space.chars) - set(WHITE))) if space.any else ""
        if not others:
            return self.white
        blank = f"[ \\n]{{0,{self.limits.max_white}}}"
        return Regex(f"{blank}(?:[{re.escape(others)}]{blank})?")

    def call(self) -> tuple[Marker, Node]:
        """One call: its opener, and the rest for any of the tools."""
        assert self.tools is not None
        openers: set[Marker] = set()
        rests: list[Node] = []
        for tool in self.demand.tools:
            opener, rest = _split(_Call(self, tool).node())
            openers.add(opener)
            rests.append(rest)
        if len(openers) != 1:
            raise Unsupported("the format's calls begin differently for different tools", param="tool_parser")
        return openers.pop(), alt(rests)

    def listed(self, parts: tuple[Part, ...]) -> tuple[Marker, Node]:
        """All calls in one list."""
        nodes: list[Node] = []
        for part in parts:
            if isinstance(part, PythonCalls):
                nodes.append(self.python_calls(part))
            elif isinstance(part, Ws):
                nodes += [self.gap] if nodes else []
            elif isinstance(part, Lit) and part.written:
                nodes.append(self.marker(part.text))
        opener, rest = _split(seq(*nodes))
        return opener, seq(rest, self.white)

    def python_calls(self, part: PythonCalls) -> Node:
        """Python calls, in brackets or not."""
        one = alt(self.values.python_call(tool) for tool in self.demand.tools)
        most = self.demand.most
        between = seq(Text(","), GAP) if part.between.startswith(",") else Text(part.between)
        calls = seq(one, *([Repeat(seq(between, one), 0, most - 1)] if most > 1 else []))
        return calls if part.brackets == "never" else seq(Text("["), calls, Text("]"))


def _taken(before: tuple[Part, ...]) -> bool:
    """Whether white space behind these parts is read with them: a gap ends every pair."""
    return isinstance(before[-1], Pairs) if before else True


def _split(node: Node) -> tuple[Marker, Node]:
    """The marker at the beginning of a sequence (of text, the first character), and the rest."""
    items = node.items if isinstance(node, Seq) else (node,)
    first = items[0]
    if isinstance(first, Marker):
        return first, seq(*items[1:])
    assert isinstance(first, Text)
    return Marker(first.text[0]), seq(Text(first.text[1:]), *items[1:])


class _Call:
    """Writes one call of one tool, part by part."""

    def __init__(self, builder: _Builder, tool: Tool) -> None:
        assert builder.tools is not None
        self.builder = builder
        self.tool = tool
        self.parts = builder.tools.call.parts

    def json(self) -> Node:
        """The arguments as JSON."""
        tool = self.tool
        return json_node(arguments(tool.parameters, tool.strict, self.builder.limits.max_string, tool.param))

    def node(self) -> Node:
        """The whole call."""
        return self.sequence(self.parts, ())

    def sequence(self, parts: tuple[Part, ...], outer: tuple[Part, ...]) -> Node:
        """Parts in order; ``outer`` stands behind them."""
        parts = tuple(part for part in parts if not (isinstance(part, Lit) and not part.written))
        parts = tuple(
            part for n, part in enumerate(parts) if not (isinstance(part, Ws) and _taken(parts[:n]))
        )
        nodes = [self.part(part, (*parts[n + 1 :], *outer)) for n, part in enumerate(parts)]
        for n in range(1, len(parts) - 1):
            if isinstance(parts[n], Ws) and _run_on(parts[n - 1], parts[n + 1]):
                nodes[n] = Regex(f"[ \\n]{{1,{self.builder.gap.most}}}")
        return seq(*nodes)

    def part(self, part: Part, rest: tuple[Part, ...]) -> Node:
        """One part."""
        if isinstance(part, Lit):
            return self.builder.marker(part.text)
        if isinstance(part, Ws):
            return self.builder.gap
        if isinstance(part, Word):
            return Regex("[0-9]{1,4}") if "{number}" in part.text else Text(part.text)
        if isinstance(part, Given):
            return Text("")
        if isinstance(part, Name):
            return Text(self.name(part.chars, part.entities))
        if isinstance(part, Id):
            return self.id(part)
        if isinstance(part, Json):
            return self.json()
        if isinstance(part, (Envelope, Named)):
            return self.envelope(part)
        if isinstance(part, Envelopes):
            return self.listed(part)
        if isinstance(part, Choice):
            return self.sequence(part.options[0], rest)
        if isinstance(part, Pairs):
            return self.builder.values.pairs(part, rest, self.tool, self.builder.setup, self.builder.gap)
        if isinstance(part, Elements):
            return self.builder.values.elements(part, self.tool, self.builder.gap)
        if isinstance(part, GemmaObject):
            return self.builder.values.gemma(part, self.tool)
        raise Unsupported(f"no grammar for {type(part).__name__}", param="tool_parser")

    def name(self, chars: str, entities: tuple[tuple[str, str], ...] = ()) -> str:
        """The tool's name, if the format can carry it."""
        name = encode_entities(self.tool.name, entities)
        if len(name) > MAX_NAME or not re.fullmatch(f"(?:{chars})+", name):
            raise self.tool.uncarried()
        return name

    def id(self, part: Id) -> Node:
        """An id that the model writes."""
        if not part.name:
            return Regex(part.pattern)
        before, _, after = part.pattern.partition("{name}")
        between, _, behind = after.partition("{index}")
        name = self.name(NAME_CHARS)
        return seq(Text(before + name + between), Regex("[0-9]{1,4}"), Text(behind))

    def json_envelope(self) -> Node:
        """The call as one JSON value: beside an answer that is one too, text and JSON can't be told apart."""
        part = next(part for part in self.parts if isinstance(part, Envelope))
        tool = self.tool
        schema = arguments(tool.parameters, tool.strict, self.builder.limits.max_string, tool.param)
        name = (part.name[0], tool.in_json())
        return json_node(enveloped(schema, name, part.arguments[0], tool.param))

    def listed(self, part: Envelopes) -> Node:
        """The calls of a row, each of any of the tools."""
        builder = self.builder
        one = alt(_Call(builder, tool).envelope(part.item) for tool in builder.demand.tools)
        opening, between, closing = (
            seq(builder.gap if text[:1].isspace() else Text(""), Text(text.strip()), builder.gap)
            for text in (part.open, part.between, part.close)
        )
        most = builder.demand.most
        more = [Repeat(seq(between, one), 0, most - 1)] if most > 1 else []
        return seq(opening, one, *more, closing)

    def envelope(self, part: Envelope | Named) -> Node:
        """The call as a JSON object: the name, then the arguments."""
        name = json.dumps(self.tool.in_json(), ensure_ascii=False)
        if isinstance(part, Named):
            return seq(Text("{" + name + ":"), GAP, self.json(), Text("}"))
        members: list[tuple[str, Node]] = [(part.name[0], Text(name)), (part.arguments[0], self.json())]
        if part.id is not None:
            member = (part.id.key, Regex(f'"(?:{part.id.id.pattern})"'))
            members.insert(len(members) if part.id.last else 0, member)
        nodes: list[Node] = []
        for n, (key, value) in enumerate(members):
            nodes += [Text(","), GAP] if n else []
            nodes += [Text(("" if n else "{") + json.dumps(key) + ":"), GAP, value]
        return seq(*nodes, Text("}"))


def _run_on(before: Part, behind: Part) -> bool:
    """Whether a name would go on in the literal behind it, were no white space between them."""
    if not isinstance(behind, Lit) or not isinstance(before, (Name, Id, Word)):
        return False
    chars = before.chars if isinstance(before, Name) else NAME_CHARS
    return re.match(chars, behind.text) is not None
