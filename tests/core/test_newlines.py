"""Line breaks that are written as escapes: what becomes one, in any split."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.laws.reading import read_every_way, strands
from unbraid import Parser
from unbraid.expressible import expressible
from unbraid.message import Message
from unbraid.newlines import Newlines, recovered


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"a\nb", "a\nb"),
        (r"a\rb", "a\nb"),
        (r"a\r\nb", "a\nb"),
        (r"a\r\r\n\nb", "a\n\n\nb"),
        (r"a\\nb", r"a\\nb"),
        (r"a\\\nb", r"a\\\nb"),
        (r"a\r\\nb", "a\n" + r"\\nb"),
        (r"C:\temp \frac{1}{2}\n", r"C:\temp \frac{1}{2}" + "\n"),
        ("end\\", "end\\"),
        ("end\\r\\", "end\n\\"),
        (r"`a\nb`\n", r"`a\nb`" + "\n"),
        (r"``a`\nb``\n", r"``a`\nb``" + "\n"),
        (r"```a\n`b`\n```\n", r"```a\n`b`\n```" + "\n"),
        (r"````a\n````\n", r"````a\n````" + "\n"),
        (r"`\`\n", "`\\`\n"),
        (r"$a\nu$\n", r"$a\nu$" + "\n"),
        (r"$a\$\nu$\n", r"$a\$\nu$" + "\n"),
        (r"$$a$\nu$$\n", r"$$a$\nu$$" + "\n"),
        (r"\(\nu\)\n", r"\(\nu\)" + "\n"),
        (r"\[\nu\)\]\n", r"\[\nu\)\]" + "\n"),
        (r"\$5\n", "\\$5\n"),
        ("cost $5\n" + r"so\n", "cost $5\nso\n"),
        ("an ` alone\n" + r"so\n", "an ` alone\nso\n"),
        (r"an ` open\n", r"an ` open\n"),
        (r"``` open" + "\n" + r"\n", r"``` open" + "\n" + r"\n"),
        ("", ""),
    ],
)
def test_what_becomes_a_line_break(written: str, read: str) -> None:
    assert recovered(written) == read


@settings(max_examples=500)
@given(st.text(alphabet="\\nrt`$()[]\n a", max_size=30), st.lists(st.integers(1, 4), max_size=30))
def test_every_split_reads_alike(text: str, sizes: list[int]) -> None:
    whole = recovered(text)
    strand, given, at = Newlines(), "", 0
    for size in [*sizes, len(text) + 1]:
        given += strand.feed(text[at : at + size])
        at += size
        assert recovered(text[:at], done=False) == given
        assert whole.startswith(given)
        assert len(whole) - len(given) <= max(0, len(text) - at) + 3
    assert given + strand.feed("", done=True) == whole


@given(st.text(alphabet="\\nrt`$()[]\n a", max_size=30))
def test_what_is_recovered_is_recovered(text: str) -> None:
    """Only escapes change: the text without them has the same characters in the same order."""
    read = recovered(text)
    for escape in (r"\r\n", r"\n", r"\r"):
        text = text.replace(escape, "\n")
        read = read.replace(escape, "\n")
    assert read.replace("\n", "") == text.replace("\n", "")


CALL = "<tool_call>\n<function=f>\n<parameter=s>\na\\nb\n</parameter>\n</function>\n</tool_call>"


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        (r"a\nb</think>" + "\n\n" + r"c\r\nd", "a\nb", "c\nd"),
        ("r\\</think>n", "r\\", "n"),
        ("`r</think>a\\nb", "`r", "a\nb"),
        ("r\\", "r\\", None),
        ("</think>c\\", None, "c\\"),
        ("</think>x<reserved_12>y<|reserved_12|>z<|im_end|>", None, "xyz"),
    ],
)
def test_each_strand_by_itself(text: str, reasoning: str | None, content: str | None) -> None:
    assert strands(read_every_way(Parser("minicpmv"), text)) == (reasoning, content, [])


def test_thinking_behind_content_commits_no_sooner() -> None:
    parser = Parser("minicpmv", chat_template_kwargs={"enable_thinking": False})
    stream = parser.stream()
    stream.feed("a<think>r\\")
    assert (stream.message.reasoning, stream.message.content) == ("r", "a")
    stream.feed("n")
    assert stream.message.reasoning == "r\n"


def test_an_escape_is_not_read_across_another_strand() -> None:
    parser = Parser("minicpmv", chat_template_kwargs={"enable_thinking": False})
    message = read_every_way(parser, "c\\<think>r\\</think>n<think>n")
    assert strands(message) == ("r\\n", "c\\n", [])


def test_arguments_keep_their_escapes() -> None:
    message = read_every_way(Parser("minicpmv", "qwen3_coder"), f"r\\n</think>a\\{CALL}")
    assert strands(message) == ("r\n", "a\\", [("f", '{"s": "a\\\\nb"}')])


def test_a_line_break_s_escape_can_t_be_written() -> None:
    for message in (Message(reasoning=None, content=r"a\nb"), Message(reasoning=r"a\nb", content="c")):
        reason = expressible("minicpmv", None, message)
        assert reason is not None
        assert "line break" in reason
    assert expressible("minicpmv", None, Message(reasoning=None, content=r"`a\nb`")) is None


def test_ignored_tokens_end_nothing() -> None:
    assert Parser("minicpmv").plan.stop == ("<|im_end|>",)
