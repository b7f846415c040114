"""``force_nonempty_content``: thinking that nothing follows is the content, and is given once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.laws.reading import read, read_every_way, strands
from unbraid import ContentDelta, Parser, ReasoningDelta
from unbraid.message import Span

NAMES = ("nemotron_v3", "granite_thinking_parser")
FORCED = {"force_nonempty_content": True}
CALL = "<tool_call>\n<function=f>\n</function>\n</tool_call>"


def parser(name: str = "nemotron_v3", tools: str | None = "qwen3_coder", **options: Any) -> Parser:
    return Parser(name, tools, **{"chat_template_kwargs": FORCED, **options})


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("text", "reasoning", "content", "calls"),
    [
        ("hi", None, "hi", 0),
        ("r</think>", None, "r", 0),
        ("r\n</think>\n", None, "r", 0),
        ("r\n</think>\n\n", None, "r", 0),
        ("r</think>hi", "r", "hi", 0),
        (f"r{CALL}", "r", None, 1),
        (f"r</think>{CALL}", "r", None, 1),
        (f"r</think>hi{CALL}", "r", "hi", 1),
        ("r</think><tool_call>", None, "r", 0),
        ("", None, None, 0),
        ("</think>", None, None, 0),
        ("</think>hi", None, "hi", 0),
    ],
)
def test_what_thinking_becomes(
    name: str, text: str, reasoning: str | None, content: str | None, calls: int
) -> None:
    message = read_every_way(parser(name, spans=True), text)
    assert (message.reasoning, message.content, len(message.tool_calls)) == (reasoning, content, calls)
    for strand in ("reasoning", "content"):
        held = "".join(text[one.start : one.end] for one in message.spans or () if one.kind == strand)
        assert held == (getattr(message, strand) or "")


@pytest.mark.parametrize("value", [False, None, 0, 1, "true", {}])
def test_only_true_holds_thinking(value: Any) -> None:
    plain = parser(chat_template_kwargs={"force_nonempty_content": value})
    assert strands(read_every_way(plain, "hi")) == ("hi", None, [])
    assert plain.stream().feed("hi") == [ReasoningDelta("hi")]


def test_a_family_without_it_reads_on() -> None:
    assert strands(read_every_way(parser("qwen3"), "hi")) == ("hi", None, [])


def test_thinking_comes_once_and_joined() -> None:
    stream = parser().stream()
    for piece in ("I ", "think", ".</think>", "\n"):
        assert stream.feed(piece) == []
    assert stream.message.reasoning is stream.message.content is None
    assert stream.feed("So") == [ReasoningDelta("I think."), ContentDelta("So")]
    assert stream.feed(" it is") == [ContentDelta(" it is")]
    assert stream.finish() == []


def test_the_answer_comes_at_the_end() -> None:
    stream = parser(spans=True).stream()
    assert stream.feed("I think.</think>") == []
    assert stream.finish("length") == [ContentDelta("I think.")]
    assert stream.finish("length") == []
    assert stream.message.content == "I think."
    assert stream.message.spans == [Span("content", 0, 8), Span("markup", 8, 16)]


def test_hidden_thinking_is_still_the_answer() -> None:
    message, _ = read(parser(include_reasoning=False), ["hi"])
    assert strands(message) == (None, "hi", [])
    message, _ = read(parser(include_reasoning=False), ["r</think>hi"])
    assert strands(message) == (None, "hi", [])


def test_a_call_that_is_cut_keeps_thinking_apart() -> None:
    text = "r</think><tool_call>\n<function=f>\n<parameter=s>\nx"
    for mode in ("incremental", "complete"):
        message = read_every_way(parser(arguments=mode), text)
        assert (message.reasoning, message.content) == ("r", None)
