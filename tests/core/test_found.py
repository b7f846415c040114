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


@pytest.mark.parametrize(
    ("tools", "text", "content", "noted"),
    [
        (
            "cohere_command3",
            '<|START_ACTION|>[\n    {"tool_name": "f", "parameters": {}},\nid<|START_ACTION|>hi',
            "<|START_ACTION|>hi",
            ("text_behind_answer", "\nid"),
        ),
        (
            "k2_horizon_json",
            '<ifm|tool_calls><ifm|tool_call>{"arguments": {"city": <ifm|tool_call>',
            '<ifm|tool_calls><ifm|tool_call>{"arguments": {"city": <ifm|tool_call>',
            ("not_a_call", '<ifm|tool_calls><ifm|tool_call>{"arguments": {"city":'),
        ),
    ],
)
def test_what_is_said_of_held_white_space(
    tools: str, text: str, content: str, noted: tuple[str, str]
) -> None:
    """White space held when text is dropped or given back keeps its place; no diagnostic runs ahead."""
    stream = Parser(None, tools, spans=True).stream()
    for piece in text:
        stream.feed(piece)
        message = stream.message
        decided = message.spans[-1].end if message.spans else 0
        assert all(one.end <= decided for one in message.diagnostics)
    stream.finish()
    message = stream.message
    assert message.content == content
    assert noted in [(one.code, text[one.start : one.end]) for one in message.diagnostics]
    spans = message.spans or []
    assert "".join(text[one.start : one.end] for one in spans if one.kind == "content") == content


def test_white_space_behind_refuted_text_may_begin_a_marker() -> None:
    """A marker that begins with a space is seen behind text that is no call, whenever its id comes."""
    table = TokenTable({2: "<minimax:tool_call>", 18: " />"}, [2, 18])
    parser = Parser("minimax_m2", "minimax_m2", tokenizer=table)
    whole = parser.parse("<minimax:tool_call> />", token_ids=[2, 18])
    stream = parser.stream()
    stream.feed("<minimax:tool_call>", [2])
    stream.feed(" />")
    stream.feed("", [18])
    stream.finish()
    assert stream.message == whole
    assert (whole.reasoning, whole.content) == ("<minimax:tool_call>", None)
    assert [one.code for one in whole.diagnostics] == ["stray_marker"]
