"""Law 3: what was emitted is never taken back; indexes, names and ids come once; modes agree."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.hostile import Case, Pair, cases, examples, pairs, splits
from unbraid import ContentDelta, Event, ReasoningDelta, ToolCallArguments, ToolCallEnd, ToolCallStart
from unbraid.syntax import WHITE

from .reading import Fold, read

SEEDS = st.integers(0, 2**16)


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_nothing_emitted_is_taken_back(pair: Pair) -> None:
    """At every moment the message holds exactly what the events said, and it only grows."""

    @settings(max_examples=examples(1500))
    @given(cases(pair), SEEDS)
    def law(case, seed):
        for arguments in ("incremental", "complete"):
            stream = case.parser(arguments=arguments).stream()
            fold = Fold()
            before = ("", "", 0)
            for piece in splits(case.text, seed)[3]:
                fold.add(stream.feed(piece))
                message = stream.message
                now = (message.reasoning or "", message.content or "", len(message.tool_calls))
                assert now[0].startswith(before[0])
                assert now[1].startswith(before[1])
                assert now[2] >= before[2]
                before = now
            fold.add(stream.finish(case.finish))
            fold.matches(stream.message)
            assert fold.reasoning.startswith(before[0])
            assert fold.content.startswith(before[1])

    law()


def begins_an_object(text: str) -> bool:
    """Whether a JSON object may begin with this text."""
    stack: list[str] = []
    string = escaped = False
    for char in text:
        if string:
            string = escaped or char != '"'
            escaped = char == "\\" and not escaped
        elif char == '"':
            string = True
        elif char in "{[":
            stack.append("}" if char == "{" else "]")
        elif char in "}]":
            stack.pop()
    closers = "".join(reversed(stack))
    for rest in ("", ":null", "null", '"k":null') if not string else ('"', '":null'):
        try:
            return isinstance(json.loads((text or "{") + rest + (closers or "}" * (not text))), dict)
        except ValueError:
            continue
    return False


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_calls_are_whole_objects_or_their_beginning(pair: Pair) -> None:
    """Complete arguments are one JSON object; the others are a beginning of one."""

    @settings(max_examples=examples(1500))
    @given(cases(pair), SEEDS)
    def law(case, seed):
        message, fold = read(case.parser(), splits(case.text, seed)[2], case.finish)
        assert [call.complete for call in message.tool_calls] == fold.ended
        for call in message.tool_calls:
            if call.complete:
                assert isinstance(json.loads(call.arguments), dict)
            else:
                assert begins_an_object(call.arguments), call.arguments
        assert not any(call.name != call.name.strip(WHITE) or not call.name for call in message.tool_calls)
        if message.tool_calls:
            assert message.content is None or message.content.strip(WHITE)
        if message.finish_reason == "tool_calls":
            assert case.finish == "stop"
            assert any(call.complete for call in message.tool_calls)

    law()


def whole_calls(events: list[Event]) -> list[Event]:
    """The events without calls that were cut or broken, the others' arguments in one piece."""
    starts = {event.index: event for event in events if isinstance(event, ToolCallStart)}
    parts: dict[int, str] = {}
    out: list[Event] = []
    given = 0
    for event in events:
        if isinstance(event, ToolCallArguments):
            parts[event.index] = parts.get(event.index, "") + event.text
        elif isinstance(event, ToolCallEnd):
            if event.complete:
                start = starts[event.index]
                out.append(ToolCallStart(given, start.id, start.name))
                out.append(ToolCallArguments(given, parts[event.index]))
                out.append(ToolCallEnd(given, True))
                given += 1
        elif not isinstance(event, ToolCallStart):
            out.append(event)
    return out


def events_of(case: Case, pieces: list[str], **more: str) -> list[Event]:
    stream = case.parser(**more).stream()
    events = [event for piece in pieces for event in stream.feed(piece)]
    return events + stream.finish(case.finish)


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_complete_mode_is_the_incremental_stream_filtered_per_call(pair: Pair) -> None:
    @settings(max_examples=examples(1000))
    @given(cases(pair), SEEDS)
    def law(case, seed):
        pieces = splits(case.text, seed)[3]
        assert events_of(case, pieces, arguments="complete") == whole_calls(events_of(case, pieces))
        whole = case.parser().parse(case.text, finish_reason=case.finish)
        complete = case.parser(arguments="complete").parse(case.text, finish_reason=case.finish)
        assert complete.spans == whole.spans
        assert complete.diagnostics == whole.diagnostics
        assert complete.tool_calls == [call for call in whole.tool_calls if call.complete]

    law()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_a_message_without_thinking_is_the_same_otherwise(pair: Pair) -> None:
    @settings(max_examples=examples(300))
    @given(cases(pair), SEEDS)
    def law(case, seed):
        message, _ = read(case.parser(), splits(case.text, seed)[3], case.finish)
        parser = case.parser(include_reasoning=False)
        without, fold = read(parser, splits(case.text, seed)[3], case.finish)
        assert without.reasoning is None
        assert fold.reasoning == ""
        assert (without.content, without.tool_calls) == (message.content, message.tool_calls)

    law()


@pytest.mark.parametrize("pair", pairs(), ids=str)
def test_plain_text_streams_at_once(pair: Pair) -> None:
    """Once a run of plain text has begun, every piece that ends in a letter comes out whole."""
    stream = pair.parser(tools=[]).stream()
    given = ""
    for n, piece in enumerate(["It is", " four", ", not", " five", ".\n\nSo", " it", " is"]):
        events = stream.feed(piece)
        text = "".join(one.text for one in events if isinstance(one, (ContentDelta, ReasoningDelta)))
        given += text
        assert n == 0 or text == piece
    assert given == "It is four, not five.\n\nSo it is"
