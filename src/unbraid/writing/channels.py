"""Messages of a channel format: one message per strand, each with its header."""

from __future__ import annotations

from unbraid.message import Message, ToolCall
from unbraid.prompts import PromptState
from unbraid.syntax import Channels, Route
from unbraid.writing.calls import check_name
from unbraid.writing.pair import Pair, fail
from unbraid.writing.values import check_object

__all__ = ["write_channels"]

_NAME = r"[^\s<]"


def write_channels(pair: Pair, channels: Channels, message: Message, state: PromptState, end: bool) -> str:
    """The messages of one turn, the first header going on behind the prompt's role; raises Inexpressible."""
    bodies: list[tuple[Route, str, str]] = []
    if message.reasoning:
        route = _route(channels, "reasoning", first=True)
        _check_text(channels, "reasoning", message.reasoning)
        if not pair.reads_reasoning:
            raise fail("reasoning", "no reasoning parser is named")
        bodies.append((route, _header(channels, route, ""), message.reasoning))
    elif state.thinking == "open":
        route = _route(channels, "reasoning", first=True)
        bodies.append((route, _header(channels, route, ""), ""))
    if message.content:
        _check_text(channels, "content", message.content)
        if not message.content.strip():
            raise fail("content", "white space that stands alone is framing")
    calls = message.tool_calls
    if message.content or not (calls or bodies):
        route = _route(channels, "content", first=bool(calls))
        bodies.append((route, _header(channels, route, ""), message.content or ""))
    if calls and not pair.reads_calls:
        raise fail("tool_calls", "no tools are offered, or no tool parser is named")
    if channels.calls_per_turn is not None and len(calls) > channels.calls_per_turn:
        raise fail("tool_calls", f"at most {channels.calls_per_turn} call can be written in one turn")
    for n, call in enumerate(calls):
        bodies.append(_call(channels, call, n))
    return _join(channels, bodies, state, end)


def _join(channels: Channels, bodies: list[tuple[Route, str, str]], state: PromptState, end: bool) -> str:
    out: list[str] = []
    for n, (route, header, body) in enumerate(bodies):
        if n:
            out.append(channels.start.text + channels.role)
        if n or state.thinking != "open":
            out.append(header + channels.body.text)
        out.append(body)
        if n < len(bodies) - 1:
            out.append(route.ends[-1])
        elif end or len(route.ends) == 1:
            out.append(route.ends[0])
    return "".join(out)


def _route(channels: Channels, strand: str, *, first: bool) -> Route:
    routes = [one for one in channels.routes if one.strand == strand and one.write]
    return routes[0] if first else routes[-1]


def _header(channels: Channels, route: Route, recipient: str) -> str:
    channel, kind = route.write.get("channel"), route.write.get("type")
    header = channels.channel.text + channel if channel else ""
    if recipient:
        header += channels.to + recipient
    return f"{header} {channels.constrain.text}{kind}" if kind else header


def _call(channels: Channels, call: ToolCall, n: int) -> tuple[Route, str, str]:
    path = f"tool_calls[{n}]"
    if not call.complete:
        raise fail(path, "the call is incomplete")
    route = _route(channels, "call", first=True)
    name = check_name(call.name, _NAME, f"{path}.name")
    recipient = (route.to or "{name}").format(name=name)
    return (
        route,
        _header(channels, route, recipient),
        check_object(call.arguments, f"{path}.arguments", repeated=True),
    )


def _check_text(channels: Channels, strand: str, text: str) -> None:
    markers = [one.text for one in (channels.start, channels.channel, channels.body, *channels.ends)]
    marker = next((one for one in (*markers, *channels.dropped) if one in text), None)
    if marker is not None:
        raise fail(strand, f"holds the marker {marker}")
