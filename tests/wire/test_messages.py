"""The blocks of Anthropic's messages: whole and as a stream they are one mapping."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.server.anthropic_helpers import fold, parse_events
from unbraid import Parser
from unbraid.errors import EngineError, EngineUnavailable, InvalidRequest
from unbraid.events import ContentDelta, Event, ReasoningDelta, ToolCallArguments, ToolCallEnd, ToolCallStart
from unbraid.wire.errors import ApiError
from unbraid.wire.messages import (
    Blocks,
    MessageAnswer,
    MessageDelta,
    MessageStart,
    MessageStop,
    MessageUsage,
    StopDelta,
    content,
    events_sse,
    failure_body,
)

PIECES = st.sampled_from(["a", "é\n", " ", '"', "\\ud83d"])


@st.composite
def outputs(draw: st.DrawFn) -> list[Event]:
    """Events as a parser gives them: deltas are not empty, calls come one by one, the last may be cut."""
    events: list[Event] = []
    calls = 0
    for kind in draw(st.lists(st.sampled_from("rct"), max_size=6)):
        if kind != "t":
            make = ReasoningDelta if kind == "r" else ContentDelta
            events += [make(text) for text in draw(st.lists(PIECES, max_size=3))]
            continue
        value = draw(st.dictionaries(st.text(max_size=3), st.text(max_size=3) | st.integers(), max_size=2))
        text = json.dumps(value)
        cut = draw(st.integers(0, len(text)))
        events.append(ToolCallStart(calls, f"id{calls}", "f"))
        events += [ToolCallArguments(calls, part) for part in (text[:cut], text[cut:]) if part]
        events.append(ToolCallEnd(calls, True))
        calls += 1
    if calls and isinstance(events[-1], ToolCallEnd) and draw(st.booleans()):
        events[-2:] = [ToolCallEnd(calls - 1, False)]
    return events


def streamed(events: list[Event]) -> dict[str, Any]:
    """What the official client makes of the events."""
    blocks = Blocks()
    made = [MessageStart(MessageAnswer("id", "m", [], None, None, MessageUsage(1, 0)))]
    made += [one for event in events for one in blocks.event(event)]
    made += [*blocks.end(), MessageDelta(StopDelta("end_turn", None), MessageUsage(1, 1)), MessageStop()]
    return fold(parse_events(events_sse(made).decode()))


@given(outputs())
def test_the_stream_folds_to_the_whole(events: list[Event]) -> None:
    assert json.loads(msgspec.json.encode(content(events))) == streamed(events)["content"]


@given(outputs())
def test_nothing_is_lost(events: list[Event]) -> None:
    blocks = json.loads(msgspec.json.encode(content(events)))
    text = "".join(event.text for event in events if isinstance(event, ContentDelta))
    thinking = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
    starts = [event for event in events if isinstance(event, ToolCallStart)]
    assert "".join(one.get("text", "") for one in blocks) == text
    assert "".join(one.get("thinking", "") for one in blocks) == thinking
    assert [one["id"] for one in blocks if one["type"] == "tool_use"] == [one.id for one in starts]
    assert blocks


@pytest.mark.parametrize("text", ["", "[1]", "nothing", "{]", '{"a": ' * 300, '{"a": NaN', "3"])
def test_C17_input_is_an_object_whatever_the_arguments(text: str) -> None:
    events = [ToolCallStart(0, "id", "f"), *([ToolCallArguments(0, text)] if text else [])]
    blocks = json.loads(msgspec.json.encode(content(events)))
    assert isinstance(blocks[0]["input"], dict)


CALLING = 'Look.\n<tool_call>\n{"name": "f", "arguments": {"city": "Oslo", "n": [1, 2]}}\n</tool_call>'
WHOLE = {"city": "Oslo", "n": [1, 2]}


@pytest.mark.parametrize("finish", ["length", "stop"])
def test_C17_a_call_that_is_cut_anywhere(finish: str) -> None:
    parser = Parser(None, "hermes", tools=[{"type": "function", "function": {"name": "f"}}])
    inputs = []
    for end in range(len(CALLING) + 1):
        stream = parser.stream()
        events = [*stream.feed(CALLING[:end]), *stream.finish(finish)]
        blocks = streamed(events)["content"]
        assert json.loads(msgspec.json.encode(content(events))) == blocks
        inputs += [one["input"] for one in blocks if one["type"] == "tool_use"]
    parts: list[Any] = [{}, {"city": "Oslo"}, *({"city": "Oslo", "n": part} for part in ([], [1], [1, 2]))]
    assert [one for n, one in enumerate(inputs) if n == 0 or one != inputs[n - 1]] == parts
    assert inputs[-1] == WHOLE


def test_values_are_given_as_they_are_written() -> None:
    text = '{"b": 12345678901234567890123, "a": 1.10, "b2": {"z": 1, "y": [1e2]}}'
    events = [ToolCallStart(0, "id", "f"), ToolCallArguments(0, text), ToolCallEnd(0, True)]
    encoded = msgspec.json.encode(content(events)).decode()
    assert '{"b":12345678901234567890123,"a":1.10,"b2":{"z": 1, "y": [1e2]}}' in encoded


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (InvalidRequest("is wrong", param="a.b"), "invalid_request_error", "a.b: is wrong"),
        (InvalidRequest("a.b is wrong", param="a.b"), "invalid_request_error", "a.b is wrong"),
        (ApiError(401, "no key", code="x"), "authentication_error", "no key"),
        (ApiError(403, "no", code="x"), "permission_error", "no"),
        (ApiError(404, "none", code="x", param="model"), "not_found_error", "model: none"),
        (ApiError(405, "no", code="x"), "invalid_request_error", "no"),
        (ApiError(413, "large", code="x"), "request_too_large", "large"),
        (ApiError(429, "later", code="x"), "rate_limit_error", "later"),
        (ApiError(503, "later", code="x"), "overloaded_error", "later"),
        (EngineUnavailable("away"), "overloaded_error", "away"),
        (EngineError("broken"), "api_error", "broken"),
        (RuntimeError("secret"), "api_error", "the server failed"),
    ],
)
def test_errors(error: Exception, kind: str, message: str) -> None:
    body = json.loads(msgspec.json.encode(failure_body(error, "req")))
    assert (body["type"], body["request_id"], body["error"]["type"]) == ("error", "req", kind)
    assert body["error"]["message"].startswith(message)
