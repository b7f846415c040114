"""The grammar of channel formats: messages with headers, the last ones calls or the answer."""

from __future__ import annotations

import re
from dataclasses import replace

from unbraid.constrain.build import Limits, MarkerMaker, Thinking, body_of_calls
from unbraid.constrain.request import Demand, Tool
from unbraid.constrain.schemas import answer, arguments
from unbraid.constrain.tree import Grammar, Marker, Node, Repeat, Run, Space, Text, alt, json_node, maybe, seq
from unbraid.constrain.unmarked import answer_json
from unbraid.errors import Unsupported
from unbraid.machine.frames import frame_of
from unbraid.machine.headers import RECIPIENT, written_route
from unbraid.syntax import MAX_NAME, Channels, Lit, Route, Tools

__all__ = ["build_channels"]


def build_channels(
    channels: Channels, demand: Demand, thinking: Thinking, limits: Limits, marker: MarkerMaker
) -> Grammar:
    """The grammar of a channel format's output, behind a prompt that began the first message."""
    builder = _Builder(channels, demand, limits, marker)
    root = builder.output(thinking)
    return Grammar(root, builder.rules)


class _Builder:
    def __init__(self, channels: Channels, demand: Demand, limits: Limits, marker: MarkerMaker) -> None:
        self.channels = channels
        self.demand = demand
        self.limits = limits
        self.marker = marker
        self.rules: dict[str, Node] = {}
        frames = (one for one in channels.frames if one.special or one == channels.start)
        spellings = [spelling for one in frames for spelling in one.spellings]
        self.forbidden = tuple(sorted({*spellings, *channels.dropped}))
        self.literal = tuple(one for one in self.forbidden if marker(one).token_id is None)

    def route(self, strand: str, *, last: bool = False) -> Route:
        """The written route of a strand."""
        route = written_route(self.channels, strand, last=last)
        if route is None:
            raise Unsupported(f"the format has no message of {strand}", param="reasoning_parser")
        return route

    def part(self, one: Lit) -> Node:
        return self.marker(one.text)

    # -- the output -----------------------------------------------------------

    def output(self, thinking: Thinking) -> Node:
        """Thinking, perhaps a preamble, and the message that is demanded."""
        body = self.body()
        route = written_route(self.channels, "reasoning")
        if route is None or thinking in ("off", "closed"):
            return body
        inside = self.followed(route)
        if thinking == "open":
            return seq(inside, body)
        block = seq(self.header(route), inside)
        return seq(block if thinking == "output" else maybe(block), body)

    def body(self) -> Node:
        """The messages behind thinking."""
        demand = self.demand
        final = self.route("content", last=True)
        options: list[Node] = []
        if demand.mode != "none":
            preamble = self.route("content")
            before = maybe(seq(self.header(preamble), self.followed(preamble)))
            options.append(seq(before, self.calls()))
        if demand.schema is not None:
            schema = answer(demand.schema, self.limits.max_raw)
            head = self.header(final, self.typed("json") if self.channels.constrain else None)
            value = answer_json(schema, self.literal, self.rules, self.limits.max_raw)
            options.append(seq(head, value, Space(self.limits.max_white), self.end(final)))
        elif demand.mode == "auto":
            ends = [Run(self.forbidden, end=self.marker(end)) for end in final.ends]
            options.append(seq(self.header(final), alt([Run(self.forbidden), *ends])))
        return alt(options)

    def header(self, route: Route, typed: Node | None = None) -> Node:
        """The header of a message to nobody in particular, and the marker of its body."""
        fields = route.write or {}
        items = [self.channel(fields["channel"])] if "channel" in fields else []
        items += [Text((self.channels.to or "") + fields["to"])] if "to" in fields else []
        return seq(*items, *([maybe(typed)] if typed else []), self.body_marker(route))

    def channel(self, name: str) -> Node:
        """A channel's name behind its marker."""
        assert self.channels.channel is not None
        return seq(self.part(self.channels.channel), Text(name))

    def body_marker(self, route: Route) -> Node:
        """What ends a header."""
        body = route.body or self.channels.body
        assert body is not None
        return self.part(body)

    def typed(self, kind: str) -> Node:
        """A content type behind its marker."""
        assert self.channels.constrain is not None
        return seq(maybe(Text(" ")), self.part(self.channels.constrain), maybe(Text(" ")), Text(kind))

    def followed(self, route: Route) -> Node:
        """The text of a message, its end, and what begins a further message."""
        end, rest = self.next_message(route)
        return seq(Run(self.forbidden, end=end), rest)

    def next_message(self, route: Route) -> tuple[Marker, Node]:
        """What ends a message that another follows, and the rest of what begins that."""
        start = self.marker(self.channels.start.text)
        role = Text(self.channels.role)
        return (self.marker(route.ends[-1]), seq(start, role)) if route.ends else (start, role)

    def end(self, route: Route) -> Node:
        """The end of the last message; an engine that stops at it doesn't write it."""
        return maybe(alt(self.marker(one) for one in route.ends)) if route.ends else Text("")

    # -- calls ----------------------------------------------------------------

    def calls(self) -> Node:
        """The messages of calls, as many as a turn may hold."""
        route = self.route("call")
        inside = route.calls.calls_per_turn if route.calls else 1
        if route.calls is None:
            message = alt(self.named(route, tool) for tool in self.demand.tools)
        elif any("{name}" in one for one in route.to):
            message = alt(self.marked(route, route.calls, (tool,)) for tool in self.demand.tools)
        else:
            message = self.marked(route, route.calls, self.demand.tools)
        most = 1 if inside is None else self.demand.most // inside
        if most < 2:
            return seq(message, self.end(route))
        more = seq(*self.next_message(route), message)
        return seq(message, Repeat(more, 0, most - 1), self.end(route))

    def recipient(self, route: Route, tool: Tool) -> Text:
        """The recipient that names a tool."""
        if len(tool.name) > MAX_NAME or not re.fullmatch(f"{RECIPIENT}+", tool.name):
            raise tool.uncarried()
        pattern = next(one for one in route.to if "{name}" in one)
        return Text((self.channels.to or "") + pattern.replace("{name}", tool.name))

    def named(self, route: Route, tool: Tool) -> Node:
        """A call whose header names the function: behind the channel, or before it as older models write."""
        fields = route.write or {}
        head: Node = self.recipient(route, tool)
        if "channel" in fields:
            channel = self.channel(fields["channel"])
            head = alt([seq(channel, head), seq(head, channel)])
        if "type" in fields:
            head = seq(head, alt([self.typed(fields["type"]), Text(" " + fields["type"]), Text("")]))
        schema = arguments(tool.parameters, tool.strict, self.limits.max_string, tool.param)
        return seq(head, self.body_marker(route), json_node(schema), Space(self.limits.max_white))

    def marked(self, route: Route, calls: Tools, tools: tuple[Tool, ...]) -> Node:
        """A message of calls with a markup of their own."""
        demand = replace(self.demand, tools=tools, most=calls.calls_per_turn or self.demand.most)
        around = frame_of(self.channels).calls
        body = body_of_calls(calls, demand, self.limits, self.marker, around, self.rules)
        named = any("{name}" in one for one in route.to)
        head: Node = self.recipient(route, tools[0]) if named else Text("")
        return seq(head, self.body_marker(route), body)
