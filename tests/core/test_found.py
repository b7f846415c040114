"""Faults that were found by attack, each with its smallest example."""

from __future__ import annotations

import pytest

from unbraid import Parser, TokenTable
from unbraid.machine.core import WINDOW
from unbraid.machine.tags import TagMachine

HARMONY = ("openai_gptoss", "openai")


@pytest.mark.parametrize(
    "text",
    [
        "<tool_call>" * 5000,
        "hm " + '<tool_call>{"name":"f","arguments":{}}</tool_call> x ' * 1000,
    ],
    ids=["openers", "drafts"],
)
def test_drafts_look_at_a_window_only(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the text, a draft in open thinking searches and copies a bounded part of it."""
    seen: list[int] = []
    look = TagMachine.hide_closer

    def counted(self: TagMachine, close: object, checked: int) -> tuple[str, bool]:
        seen.append(len(self.buf))
        return look(self, close, checked)  # type: ignore[arg-type]

    monkeypatch.setattr(TagMachine, "hide_closer", counted)
    message = Parser("qwen3", "hermes").parse(text)
    assert message.reasoning == text.rstrip() or message.reasoning == text
    assert len(seen) > 900
    assert max(seen) <= 3 * WINDOW


@pytest.mark.parametrize("prompt", [None, "", "<|start|>assistant"])
def test_a_role_that_is_written_again_is_a_header(prompt: str | None) -> None:
    """Harmony: ``assistant to=…`` again, although the prompt has it, is still the header."""
    text = 'assistant to=functions.ping<|channel|>commentary json<|message|>{"a":1}<|call|>'
    message = Parser(*HARMONY, prompt=prompt).parse(text)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("ping", '{"a":1}')]
    assert Parser(*HARMONY, prompt=prompt).parse("assistant<|channel|>final<|message|>Hi").content == "Hi"


def test_an_empty_body_is_no_arguments() -> None:
    """Harmony: a call whose body is empty has none."""
    message = Parser(*HARMONY).parse("<|channel|>commentary to=functions.ping json<|message|><|call|>")
    assert [(call.name, call.arguments, call.complete) for call in message.tool_calls] == [
        ("ping", "{}", True)
    ]


def test_a_call_without_the_marker_of_its_arguments() -> None:
    """Kimi: the call's end behind the id proves that it has no arguments."""
    text = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.ping:0<|tool_call_end|>"
        "<|tool_calls_section_end|>"
    )
    message = Parser(None, "kimi_k2").parse(text)
    assert [(call.id, call.arguments) for call in message.tool_calls] == [("functions.ping:0", "{}")]
    assert [one.code for one in message.diagnostics] == ["missing_marker"]


def test_white_space_in_front_of_a_closer_is_no_missing_marker() -> None:
    """Kimi: a space between arguments and closer is framing without a word."""
    text = (
        '<|tool_calls_section_begin|><|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{"a": 1} '
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    assert Parser(None, "kimi_k2").parse(text).diagnostics == []


def test_several_envelopes_in_one_tag() -> None:
    """Hermes: a further envelope in front of the closer is a call too."""
    text = (
        '<tool_call>\n{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {"z": 1}}\n</tool_call> done'
    )
    message = Parser(None, "hermes").parse(text)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("a", "{}"), ("b", '{"z": 1}')]
    assert message.content == " done"


def test_a_value_that_another_marker_ended_is_noted() -> None:
    """Qwen3-Coder: a missing ``</parameter>`` is repaired, and said."""
    text = "<tool_call>\n<function=f>\n<parameter=a>\nx\n</function>\n</tool_call>"
    message = Parser(None, "qwen3_coder").parse(text)
    assert message.tool_calls[0].arguments == '{"a": "x"}'
    assert [one.code for one in message.diagnostics] == ["missing_marker"]


def test_quoted_keys_are_not_taken_with_their_quotes() -> None:
    """Gemma: JSON between the braces is a broken call, not a call with quotes in its keys."""
    message = Parser(None, "gemma4").parse('<|tool_call>call:f{"city": "Oslo"}<tool_call|>x')
    assert [call.complete for call in message.tool_calls] == [False]
    assert message.diagnostics != []


def test_a_detokenizer_may_drop_the_first_space() -> None:
    """The text begins without the space of its first token; special tokens are found all the same."""
    table = TokenTable({1: " Hello", 3: "</think>", 4: " hi"}, [3])
    message = Parser("qwen3", None, tokenizer=table).parse("Hello</think> hi", token_ids=[1, 3, 4])
    assert (message.reasoning, message.content) == ("Hello", " hi")


@pytest.mark.parametrize(
    ("prompt", "thinking"),
    [
        (None, "optional"),
        ("<|start|>assistant", "optional"),
        ("<|start|>assistant<|channel|>analysis<|message|>hm", "open"),
        ("<|start|>assistant<|channel|>analysis<|message|>hm<|end|><|start|>assistant", "optional"),
        ("<|start|>assistant<|channel|>final<|message|>Hm", "optional"),
    ],
)
def test_a_prompt_inside_thinking_opens_it_for_channels_too(prompt: str | None, thinking: str) -> None:
    """Harmony: the grammar of a prompt that ends inside a body of thinking begins inside it."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    parser = Parser(*HARMONY, tools=tools, tool_choice="required", prompt=prompt)
    assert parser.plan.thinking == thinking
    constraint = parser.constraint()
    assert constraint is not None
    start = constraint.lark().splitlines()[0]
    assert start.startswith("start: T0 ") == (thinking == "open")


def test_one_call_a_turn_holds_in_the_grammar() -> None:
    """Harmony declares one call a turn, and the grammar says so whatever the request allows."""
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    constraint = Parser(*HARMONY, tools=tools, tool_choice="required").constraint()
    assert constraint is not None
    assert "one call of f" in constraint.enforced


@pytest.mark.parametrize("name", [" ping ", "\nping", "ping\n"])
def test_white_space_around_a_name(name: str) -> None:
    """Every family: white space on both sides of a name is none of it."""
    text = f"<tool_call>\n<function={name}>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
    calls = Parser(None, "qwen3_coder").parse(text).tool_calls
    assert [(call.name, call.arguments) for call in calls] == [("ping", '{"a": "1"}')]


def test_the_first_token_may_be_a_part_of_a_character() -> None:
    """Ids have come although they decode to nothing yet: what text spells before its ids waits for them."""
    pieces: dict[int, str | bytes] = {1: b"\xe2\x80", 2: b"\xa8", 3: "<think", 4: ">", 5: "<think>"}
    parser = Parser("kimi_k2", "kimi_k2", tokenizer=TokenTable(pieces, [5]))
    text = "\u2028<think>"
    stream = parser.stream()
    for piece, ids in (("", [1]), (text, []), ("", [2, 3, 4])):
        stream.feed(piece, ids)
    stream.finish()
    assert stream.message == parser.parse(text, token_ids=[1, 2, 3, 4])
    assert stream.message.reasoning == text
