"""Events to chunks: shapes only."""

from __future__ import annotations

import json

import msgspec

from unbraid.events import ContentDelta, ReasoningDelta, ToolCallArguments, ToolCallEnd, ToolCallStart
from unbraid.message import Message, ToolCall
from unbraid.wire.chat import ChunkWriter, choice, finish_reason, sse, usage

WRITER = ChunkWriter("chatcmpl-1", 5, "m")


def plain(value: object) -> object:
    return json.loads(msgspec.json.encode(value))


def delta(event: object) -> object:
    found = WRITER.event(2, event)  # type: ignore[arg-type]
    made = found[0] if found else None
    return None if made is None else plain(made)["choices"][0]["delta"]  # type: ignore[index]


def test_deltas() -> None:
    assert delta(ContentDelta("a")) == {"content": "a"}
    assert delta(ReasoningDelta("a")) == {"reasoning": "a"}
    start = {"index": 1, "id": "x", "type": "function", "function": {"name": "f", "arguments": ""}}
    assert delta(ToolCallStart(1, "x", "f")) == {"tool_calls": [start]}
    assert delta(ToolCallArguments(1, "{")) == {"tool_calls": [{"index": 1, "function": {"arguments": "{"}}]}


def test_events_without_news_make_no_chunk() -> None:
    empty = [ContentDelta(""), ReasoningDelta(""), ToolCallArguments(0, ""), ToolCallEnd(0, True)]
    assert [delta(event) for event in empty] == [None] * 4


def test_the_first_and_the_last_chunk() -> None:
    common = {"id": "chatcmpl-1", "created": 5, "model": "m", "object": "chat.completion.chunk"}
    first = {
        "index": 0,
        "delta": {"role": "assistant", "content": ""},
        "logprobs": None,
        "finish_reason": None,
    }
    assert plain(WRITER.role(0)) == {**common, "choices": [first]}
    last = {"index": 0, "delta": {}, "finish_reason": "stop"}
    assert plain(WRITER.finish(0, "stop")) == {**common, "choices": [last]}
    assert plain(WRITER.finish(0, "stop", "END"))["choices"][0]["stop_reason"] == "END"  # type: ignore[index]
    counts = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    assert plain(WRITER.usage(usage(1, 2, None))) == {**common, "choices": [], "usage": counts}


def test_the_alias() -> None:
    (made,) = ChunkWriter("i", 1, "m", alias=True).event(0, ReasoningDelta("r"))
    assert made is not None
    assert made.choices[0].delta.reasoning == made.choices[0].delta.reasoning_content == "r"


def test_a_finished_message() -> None:
    message = Message("r", None, [ToolCall("i", "f", '{"a": 1}')], "tool_calls")
    made = plain(choice(0, message, "tool_calls", reasoning=True))
    assert made == {
        "index": 0,
        "message": {
            "role": "assistant",
            "content": None,
            "refusal": None,
            "reasoning": "r",
            "tool_calls": [
                {"id": "i", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
            ],
        },
        "finish_reason": "tool_calls",
        "logprobs": None,
    }
    hidden = plain(choice(0, Message(content="c"), "stop", reasoning=False))
    assert hidden["message"] == {"role": "assistant", "content": "c", "refusal": None}  # type: ignore[index]


def test_finish_reasons() -> None:
    assert finish_reason("tool_calls", named=True) == "stop"
    assert finish_reason("tool_calls", named=False) == "tool_calls"
    assert finish_reason("length", named=True) == "length"
    assert finish_reason(None, named=False) == "stop"


def test_server_sent_events() -> None:
    assert sse([{"a": "x\ny"}, {}]) == b'data: {"a":"x\\ny"}\n\ndata: {}\n\n'
