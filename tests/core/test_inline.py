"""Thinking that stays in the content, between its markers: MiniMax's append_think."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.reading import read_every_way
from tests.support.messages import any_text, hostile_text
from unbraid import Inexpressible, Message, Parser, ToolCall
from unbraid.expressible import expressible
from unbraid.formats import reasoning_format, register
from unbraid.formats.registry import REASONING_PARSERS
from unbraid.writer import write

NAME = "minimax_m2_append_think"
PROMPT = "Hello.]~b]ai\n<think>\n"
TOOLS = [{"type": "function", "function": {"name": "f"}}]
CALL = '<minimax:tool_call>\n<invoke name="f">\n</invoke>\n</minimax:tool_call>'


def read(text: str, prompt: str | None = PROMPT, finish: str = "stop") -> tuple[str | None, int]:
    """Content and the number of calls, the same in every split; nothing is reasoning."""
    parser = Parser(NAME, "minimax_m2", tools=TOOLS, prompt=prompt, spans=True)
    message = read_every_way(parser, text, finish)
    assert message.reasoning is None
    return message.content, len(message.tool_calls)


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("r</think>hi", "<think>r</think>hi", 0),
        ("r\n</think>\n\nhi", "<think>r\n</think>\n\nhi", 0),
        ("<think>r</think>hi", "<think>r</think>hi", 0),
        ("</think>hi", "<think></think>hi", 0),
        ("</think>", "<think></think>", 0),
        ("r</think>", "<think>r</think>", 0),
        ("r", "<think>r", 0),
        ("", None, 0),
        (f"r</think>a\n{CALL}", "<think>r</think>a", 1),
        (f"r\n{CALL}", "<think>r</think>", 1),
        (f"</think>{CALL}b", "<think></think>b", 1),
    ],
)
def test_thinking_stays_in_the_content(text: str, content: str | None, calls: int) -> None:
    assert read(text) == (content, calls)


@settings(max_examples=200)
@given(
    text=hostile_text,
    prompt=st.sampled_from([PROMPT, "Hello.]~b]ai\n", None]),
    finish=st.sampled_from(["stop", "length"]),
)
def test_it_is_the_same_thinking_with_its_markers(text: str, prompt: str | None, finish: str) -> None:
    """Every output reads as with the same half that separates thinking, the strands joined by the markers."""
    content, calls = read(text, prompt, finish)
    register("separate", replace(reasoning_format(NAME), inline=False), override=True)
    try:
        parser = Parser("separate", "minimax_m2", tools=TOOLS, prompt=prompt)
        other = parser.parse(text, finish_reason=finish)
    finally:
        REASONING_PARSERS.pop("separate")
    block = ""
    whole = content or ""
    if whole.startswith("<think>") and not (other.content or "").startswith("<think>"):
        block = f"<think>{other.reasoning or ''}"
        block += "</think>" if whole.startswith(block + "</think>") else ""
    else:
        assert not other.reasoning
    assert (whole, calls) == (block + (other.content or ""), len(other.tool_calls))


def test_a_prompt_without_the_opener() -> None:
    assert read("hi", "Hello.]~b]ai\n") == ("hi", 0)
    assert read("<think>r</think>hi", "Hello.]~b]ai\n") == ("<think>r</think>hi", 0)
    assert read("hi", "Hello.]~b]ai\n<think></think>") == ("hi", 0)


def test_spans_say_what_was_thinking() -> None:
    message = Parser(NAME, None, prompt=PROMPT, spans=True).parse("r</think>hi")
    assert [span.kind for span in message.spans or ()] == ["reasoning", "markup", "content"]
    assert Parser(NAME, None, prompt=PROMPT).thinking


def test_the_stream_knows_when_thinking_is_over() -> None:
    stream = Parser(NAME, None, prompt=PROMPT).stream()
    stream.feed("r")
    assert stream.thinking
    stream.feed("</think>h")
    assert not stream.thinking
    stream.feed("i")
    assert stream.message.content == "<think>r</think>hi"


@given(
    content=any_text | any_text.map(lambda text: f"<think>{text}</think>hi"),
    thinking=st.sampled_from(["open", "absent"]),
)
def test_it_reads_what_it_writes(content: str, thinking: str) -> None:
    message = Message(None, content or None, [])
    if expressible(NAME, "minimax_m2", message, thinking=thinking) is not None:
        with pytest.raises(Inexpressible):
            write(NAME, "minimax_m2", message, thinking=thinking)
        return
    text = write(NAME, "minimax_m2", message, thinking=thinking)
    prompt = PROMPT if thinking == "open" else "Hello.]~b]ai\n"
    assert Parser(NAME, "minimax_m2", prompt=prompt).parse(text).content == message.content


@pytest.mark.parametrize("message", [Message("r", "hi"), Message(None, "hi"), Message(None, "<think>r")])
def test_what_it_can_t_write(message: Message) -> None:
    assert expressible(NAME, None, message, thinking="open") is not None


def test_a_call_behind_thinking() -> None:
    message = Message(None, "<think>r</think>", [ToolCall("", "f", "{}")])
    text = write(NAME, "minimax_m2", message, tools=TOOLS, thinking="open")
    assert text == f"r</think>\n{CALL}"
    assert read(text) == ("<think>r</think>", 1)


def test_forced_calls() -> None:
    parser = Parser(NAME, "minimax_m2", tools=TOOLS, tool_choice="required", prompt=PROMPT)
    own = Parser("minimax_m2", "minimax_m2", tools=TOOLS, tool_choice="required", prompt=PROMPT)
    made, same = parser.constraint(), own.constraint()
    assert made is not None
    assert same is not None
    assert made.lark() == same.lark()
