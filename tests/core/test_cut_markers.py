"""A marker inside which a longer one is cut: it stands where the output ended by itself, in every flow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.laws.reading import read_every_way, strands
from unbraid import Message, Parser
from unbraid.formats import register
from unbraid.formats.registry import REASONING_PARSERS, TOOL_PARSERS
from unbraid.syntax import Calls, Channels, Json, Lit, Name, Reasoning, Route, Tools, Ws, lit, token

ENDS = ("<end>", "<end><off>")
THINKING = Reasoning(open=lit("<t>"), close=lit("</t>", "</t> ..."), opened_by="output")
CALLS = Tools(call=Calls((lit("<c>"), Name(), Ws(), Json(), lit("</c>", "</c> ..."))))
MESSAGES = Channels(
    start=token("<msg>"),
    role="bot",
    body=token("<body>"),
    ends=(token("<end>"), token("<end><off>")),
    to=" @",
    routes=(
        Route("call", to=("tools.{name}",), ends=ENDS, write={}),
        Route("reasoning", body=Lit(("<body><think>",), special=True), ends=ENDS, write={}),
        Route("content", ends=ENDS, write={}),
    ),
)


@pytest.fixture(autouse=True)
def formats() -> Iterator[None]:
    register("cut_tags", THINKING)
    register("cut_tags", CALLS)
    register("cut_messages", MESSAGES)
    yield
    for table in (REASONING_PARSERS, TOOL_PARSERS):
        table.pop("cut_tags")
        table.pop("cut_messages")


def read(name: str, text: str, finish: str = "stop") -> Message:
    return read_every_way(Parser(name, name, spans=True), text, finish)


def spans(message: Message, text: str) -> list[tuple[str, str]]:
    return [(one.kind, text[one.start : one.end]) for one in message.spans or ()]


@pytest.mark.parametrize("tail", ["", "<", "<of"])
def test_the_end_of_a_body(tail: str) -> None:
    text = f"<msg>bot<body>Hi<end>{tail}"
    assert strands(read("cut_messages", text)) == (None, "Hi", [])


def test_in_an_output_that_was_cut_a_body_may_end_so() -> None:
    text = "<msg>bot<body>Hi<end><of"
    assert read("cut_messages", text, "length").content == "Hi<end><of"


def test_the_end_of_a_header() -> None:
    text = "<msg>bot<body><thi"
    assert strands(read("cut_messages", text)) == (None, "<thi", [])
    assert strands(read("cut_messages", text, "length")) == (None, None, [])


def test_the_end_of_a_call_in_a_message() -> None:
    text = '<msg>bot @tools.f<body>{"a": 1}<end><o'
    assert strands(read("cut_messages", text)) == (None, None, [("f", '{"a": 1}')])
    assert ("markup", "<end>") in spans(read("cut_messages", text), text)


def test_the_end_of_thinking_behind_a_draft() -> None:
    text = "<t>I plan <c>f {}</c></t> .."
    message = read("cut_tags", text)
    assert strands(message) == ("I plan <c>f {}</c>", " ..", [])
    cut = read("cut_tags", text, "length")
    assert (cut.reasoning, cut.content, cut.tool_calls) == (text[3:], None, [])


def test_the_end_of_a_call_behind_a_slip() -> None:
    text = "<c>f {} so</c> .."
    message = read("cut_tags", text)
    assert strands(message) == (None, " ..", [("f", "{}")])
    assert spans(message, text)[-3:] == [("noise", "so"), ("markup", "</c>"), ("content", " ..")]
