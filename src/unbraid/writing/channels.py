"""Messages of a channel format: one message per strand, each with its header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from unbraid.machine.frames import frame_of
from unbraid.machine.headers import RECIPIENT, write_header, written_route
from unbraid.message import Message, ToolCall
from unbraid.prompts import PromptState
from unbraid.syntax import Channels, Route
from unbraid.writing.calls import check_name, write_calls
from unbraid.writing.pair import Pair, fail
from unbraid.writing.values import check_object

__all__ = ["write_channels"]

Body = tuple[Route, str, str]


def write_channels(
    pair: Pair, channels: Channels, message: Message, state: PromptState, history_calls: int, end: bool
) -> str:
    """The messages of one turn, the first header going on behind the prompt's role; raises Inexpressible."""
    bodies: list[Body] = []
    if message.reasoning or state.thinking == "open":
        if message.reasoning and not pair.reads_reasoning:
            raise fail("reasoning", "no reasoning parser is named")
        bodies.append(_text(channels, "reasoning", message.reasoning or "", last=False))
    calls = message.tool_calls
    if message.content and not message.content.strip():
        raise fail("content", "white space that stands alone is framing")
    if message.content or not (calls or bodies):
        bodies.append(_text(channels, "content", message.content or "", last=not calls))
    if calls:
        bodies += _calls(pair, channels, calls, history_calls)
    return _join(channels, bodies, state, end)


def _text(channels: Channels, strand: str, text: str, *, last: bool) -> Body:
    """A message of text."""
    markers = (*(one.text for one in channels.frames if one != channels.constrain), *channels.dropped)
    marker = next((one for one in markers if one in text and not _harmless(channels, one, text)), None)
    if marker is not None:
        raise fail(strand, f"holds the marker {marker}")
    route = written_route(channels, strand, last=last)
    if route is None:
        raise fail(strand, "the format has no message for it")
    return route, write_header(channels, route), text


def _harmless(channels: Channels, marker: str, text: str) -> bool:
    """Whether an ordinary text only looks like a marker: no header begins with it."""
    frame = frame_of(channels)
    if any(one.text == marker and one.special for one in channels.frames) or marker in channels.dropped:
        return False
    return not any(begin in text for begin in frame.proved) or frame.whole.search(text) is None


def _join(channels: Channels, bodies: list[Body], state: PromptState, end: bool) -> str:
    out: list[str] = []
    for n, (route, header, body) in enumerate(bodies):
        if n:
            out.append(channels.start.text + channels.role)
        if n or state.thinking != "open":
            out.append(header)
        out.append(body)
        if n < len(bodies) - 1:
            out += route.ends[-1:]
        elif route.ends and (end or len(route.ends) == 1):
            out.append(route.ends[0])
    return "".join(out)


def _calls(pair: Pair, channels: Channels, calls: Sequence[ToolCall], history_calls: int) -> list[Body]:
    """The messages of calls: one for each, or as many calls in one as its markup allows."""
    if not pair.reads_calls:
        raise fail("tool_calls", "no tools are offered, or no tool parser is named")
    if channels.calls_per_turn is not None and len(calls) > channels.calls_per_turn:
        raise fail("tool_calls", f"at most {channels.calls_per_turn} call can be written in one turn")
    route = written_route(channels, "call")
    if route is None:
        raise fail("tool_calls", "the format has no message for calls")
    if not channels.start.special and pair.offered is not None:
        other = next((n for n, call in enumerate(calls) if call.name not in pair.offered), None)
        if other is not None:
            raise fail(f"tool_calls[{other}].name", "the format calls only declared tools")
    if route.calls is None:
        return [_named(channels, route, call, n) for n, call in enumerate(calls)]
    inside = replace(pair, tools=route.calls, setup=frame_of(channels).calls)
    step = route.calls.calls_per_turn or len(calls)
    bodies = []
    for n in range(0, len(calls), step):
        part = calls[n : n + step]
        names_one = any("{name}" in one for one in route.to)
        name = check_name(part[0].name, RECIPIENT, f"tool_calls[{n}].name") if names_one else ""
        text = write_calls(inside, part, history_calls, first=n)
        bodies.append((route, write_header(channels, route, name), text))
    return bodies


def _named(channels: Channels, route: Route, call: ToolCall, n: int) -> Body:
    """A message whose header names the function and whose body is its arguments."""
    path = f"tool_calls[{n}]"
    if not call.complete:
        raise fail(path, "the call is incomplete")
    name = check_name(call.name, RECIPIENT, f"{path}.name")
    return (
        route,
        write_header(channels, route, name),
        check_object(call.arguments, f"{path}.arguments", repeated=True),
    )
