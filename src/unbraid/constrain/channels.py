"""The grammar of channel formats: messages with headers, one of them the call or the answer."""

from __future__ import annotations

import re

from unbraid.constrain.build import Limits, MarkerMaker, Thinking
from unbraid.constrain.request import Demand, Tool
from unbraid.constrain.schemas import answer, arguments
from unbraid.constrain.tree import Grammar, Node, Run, Space, Text, alt, json_node, maybe, seq
from unbraid.errors import Unsupported
from unbraid.syntax import MAX_NAME, NAME_CHARS, Channels, Lit, Route

__all__ = ["build_channels"]


def build_channels(
    channels: Channels, demand: Demand, thinking: Thinking, limits: Limits, marker: MarkerMaker
) -> Grammar:
    """The grammar of a channel format's output, behind a prompt that began the first message."""
    return Grammar(_Builder(channels, demand, limits, marker).output(thinking), {})


class _Builder:
    def __init__(self, channels: Channels, demand: Demand, limits: Limits, marker: MarkerMaker) -> None:
        self.channels = channels
        self.demand = demand
        self.limits = limits
        self.marker = marker
        frames = (channels.start, channels.channel, channels.constrain, channels.body, *channels.ends)
        spellings = [spelling for one in frames for spelling in one.spellings]
        self.forbidden = tuple(sorted({*spellings, *channels.dropped}))

    def route(self, strand: str, channel: str | None = None) -> Route:
        """The first route of a strand, in a channel if one is named."""
        return next(
            one
            for one in self.channels.routes
            if one.strand == strand and channel in (None, one.write.get("channel"))
        )

    def part(self, one: Lit) -> Node:
        return self.marker(one.text)

    # -- the output -----------------------------------------------------------

    def output(self, thinking: Thinking) -> Node:
        """Thinking, perhaps a preamble, and the message that is demanded."""
        body = self.body()
        if thinking in ("off", "closed"):
            return body
        inside = seq(self.text(self.route("reasoning")), self.next_message())
        if thinking == "open":
            return seq(inside, body)
        block = seq(self.header(self.route("reasoning")), inside)
        return seq(block if thinking == "output" else maybe(block), body)

    def body(self) -> Node:
        """The message behind thinking."""
        demand = self.demand
        final = self.route("content", "final")
        options: list[Node] = []
        if demand.mode != "none":
            preamble = self.route("content", "commentary")
            before = maybe(seq(self.header(preamble), self.text(preamble), self.next_message()))
            call = alt(self.call(tool) for tool in demand.tools)
            options.append(seq(before, call))
        if demand.schema is not None:
            typed = maybe(seq(maybe(Text(" ")), self.part(self.channels.constrain), Text("json")))
            schema = json_node(answer(demand.schema, self.limits.max_string))
            head = seq(self.part(self.channels.channel), Text("final"), typed, self.part(self.channels.body))
            options.append(seq(head, schema, Space(self.limits.max_white), self.end(final)))
        elif demand.mode == "auto":
            ends = [self.text(final, end) for end in final.ends]
            options.append(seq(self.header(final), alt([Run(self.forbidden), *ends])))
        return alt(options)

    def header(self, route: Route) -> Node:
        """A header with nothing but its channel."""
        return seq(
            self.part(self.channels.channel), Text(route.write["channel"]), self.part(self.channels.body)
        )

    def text(self, route: Route, end: str | None = None) -> Node:
        """The text of a message and its end."""
        return Run(self.forbidden, end=self.marker(end or route.ends[0]))

    def next_message(self) -> Node:
        """What begins a further message."""
        return seq(self.part(self.channels.start), Text(self.channels.role))

    def end(self, route: Route) -> Node:
        """The end of the last message; an engine that stops at it doesn't write it."""
        return maybe(alt(self.marker(one) for one in route.ends))

    # -- calls ----------------------------------------------------------------

    def call(self, tool: Tool) -> Node:
        """One call: the recipient behind the channel, or before it as older models write."""
        route = self.route("call")
        if len(tool.name) > MAX_NAME or not re.fullmatch(f"{NAME_CHARS}+", tool.name):
            raise Unsupported(
                f"the format can't carry the function name {tool.name!r}", param=f"{tool.param}.name"
            )
        assert route.to is not None
        to = Text(self.channels.to + route.to.replace("{name}", tool.name))
        channel = seq(self.part(self.channels.channel), Text(route.write["channel"]))
        kind = route.write["type"]
        constrained = seq(maybe(Text(" ")), self.part(self.channels.constrain), Text(kind))
        schema = arguments(tool.parameters, tool.strict, self.limits.max_string, tool.param)
        return seq(
            alt([seq(channel, to), seq(to, channel)]),
            alt([constrained, Text(" " + kind)]),
            self.part(self.channels.body),
            json_node(schema),
            Space(self.limits.max_white),
            self.end(route),
        )
