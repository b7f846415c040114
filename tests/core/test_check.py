"""The checker: tokenizers and templates that fit, and those that don't."""

from __future__ import annotations

import pytest

from unbraid import IncompatiblePair, TokenTable, UnknownParser
from unbraid.check import Finding, check_prompt, check_template, check_tokenizer, fits


def table(*special: str) -> TokenTable:
    """A tokenizer of single bytes and some special tokens."""
    pieces: dict[int, bytes | str] = {n: bytes([n]) for n in range(256)}
    pieces |= {256 + n: text for n, text in enumerate(special)}
    return TokenTable(pieces, special=range(256, 256 + len(special)))


KIMI = ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>", "<|tool_call_begin|>",
        "<|tool_call_end|>", "<|tool_call_argument_begin|>", "<|im_end|>")  # fmt: skip


def codes(found: list[Finding]) -> list[tuple[str, str]]:
    return [(one.severity, one.code) for one in found]


def test_a_tokenizer_that_fits() -> None:
    assert check_tokenizer(None, "kimi_k2", table(*KIMI)) == []
    assert check_tokenizer("qwen3", "hermes", table("<|im_end|>")) == []


def test_a_split_marker() -> None:
    found = check_tokenizer(None, "kimi_k2", table(*KIMI[1:]))
    assert codes(found) == [("error", "marker_split")]
    assert found[0].marker == KIMI[0]
    assert "split into 28" in found[0].message


def test_a_missing_marker() -> None:
    lacking = TokenTable({0: b"a", 1: "<|im_end|>"}, special=[1])
    found = check_tokenizer(None, "kimi_k2", lacking)
    assert {one.code for one in found} == {"marker_missing"}
    assert len(found) == 5


def test_an_ordinary_token_is_a_warning() -> None:
    pieces: dict[int, bytes | str] = dict(enumerate(KIMI))
    ordinary = TokenTable(pieces, special=range(1, 6))
    assert codes(check_tokenizer(None, "kimi_k2", ordinary)) == [("warning", "marker_not_special")]


def test_another_family_is_suggested() -> None:
    found = check_tokenizer("mistral", "mistral", table(*KIMI, "<think>", "</think>"))
    assert found[-1].code == "other_family"
    assert "kimi_k2" in found[-1].message
    assert ("warning", "turn_end_missing") in codes(found)
    optional = [one for one in found if one.marker == "[ARGS]"]
    assert optional
    assert all(one.severity == "warning" for one in optional)


def test_fits() -> None:
    assert fits(table(*KIMI)) == ["kimi_k2"]
    assert "hermes" in fits(table("<tool_call>", "</tool_call>", "<|im_end|>"))
    assert fits(table()) == []
    harmony = (
        "<|start|>",
        "<|channel|>",
        "<|message|>",
        "<|end|>",
        "<|return|>",
        "<|call|>",
        "<|endoftext|>",
    )
    assert fits(table(*harmony)) == ["openai", "openai_gptoss"]


OPENS = "{{ messages }}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n<think>\\n' }}{% endif %}"
EMPTY = "{% if add_generation_prompt %}{{ '<think>\\n\\n</think>\\n\\n' }}{% endif %}"
CODER = "{{ '<tool_call>\\n<function=' + name + '>\\n<parameter=' }}</parameter></function></tool_call>"


def test_a_template_that_opens_thinking() -> None:
    found = check_template(None, None, OPENS)
    assert codes(found) == [("error", "thinking_without_parser")]
    assert found[0].marker == "<think>"
    assert check_template(None, None, EMPTY) == []
    assert "who_opens_thinking" in {one.code for one in check_template("qwen3", None, OPENS + "</think>")}


def test_a_template_that_opens_what_the_output_should() -> None:
    source = "{{ '[/THINK]' }}{% if add_generation_prompt %}[THINK]{% endif %}"
    assert codes(check_template("mistral", None, source)) == [("warning", "template_opens_thinking")]


def test_a_template_of_another_family() -> None:
    found = check_template(None, "kimi_k2", CODER)
    assert codes(found) == [("warning", "marker_not_in_template"), ("info", "other_family")]
    assert "qwen3_coder" in found[1].message


def test_a_template_that_fits_another_parser_better() -> None:
    found = check_template(None, "hermes", CODER)
    assert codes(found) == [("warning", "other_family")]
    assert "qwen3_coder" in found[0].message
    assert check_template(None, "qwen3_coder", CODER) == []


def test_prompts() -> None:
    assert codes(check_prompt(None, "<|im_start|>assistant\n<think>\n")) == [
        ("error", "thinking_without_parser")
    ]
    assert check_prompt(None, "<|im_start|>assistant\n") == []
    assert codes(check_prompt("qwen3", "<|im_start|>assistant\n<think>\n")) == [("info", "thinking_open")]
    assert codes(check_prompt("qwen3", "<think>\n\n</think>\n\n")) == [("info", "thinking_closed")]
    assert check_prompt("openai_gptoss", "<|start|>assistant") == []


def test_names_are_checked() -> None:
    with pytest.raises(UnknownParser):
        check_template("nothing", None, "")
    with pytest.raises(IncompatiblePair):
        check_tokenizer("qwen3", "openai", table())


def test_a_channel_format_is_checked_too() -> None:
    """Both names of a channel format are one declaration, and each missing marker is one finding."""
    findings = check_tokenizer("openai_gptoss", "openai", TokenTable({1: "<|start|>"}, {1}))
    assert {finding.marker for finding in findings} >= {"<|channel|>", "<|message|>"}
    assert "<|start|>" not in {finding.marker for finding in findings}
