"""Everything public that reads a pair takes its names in one way."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

import unbraid
from unbraid import (
    Gate,
    IncompatiblePair,
    InvalidRequest,
    Message,
    Parser,
    TokenizerMismatch,
    TokenTable,
    ToolCall,
    UnknownParser,
    write,
)
from unbraid.check import check_prompt, check_template, check_tokenizer
from unbraid.constrain import constrain
from unbraid.explain import describe, explain
from unbraid.expressible import expressible
from unbraid.formats import preset, preset_names

TABLE = TokenTable({n: bytes([n]) for n in range(256)})
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
TURN = Message(None, None, [ToolCall("functions.f:0", "f", "{}")])


def lark(**names: Any) -> str:
    made = constrain(**names, tools=TOOLS, tool_choice="required")
    assert made is not None
    return made.lark()


def parser_lark(**names: Any) -> str:
    made = Parser(**names, tools=TOOLS, tool_choice="required", prompt="").constraint()
    assert made is not None
    return made.lark()


def gate_ends(**names: Any) -> Any:
    gate = Gate(**names, tokenizer=TABLE)
    return gate.start_ids, gate.end_ids, gate.implicit_end_ids


CALLS: dict[str, Callable[..., Any]] = {
    "Parser": parser_lark,
    "constrain": lark,
    "Gate": gate_ends,
    "write": lambda **names: write(**names, message=TURN, tools=TOOLS),
    "expressible": lambda **names: expressible(**names, message=TURN, tools=TOOLS),
    "check_tokenizer": lambda **names: check_tokenizer(**names, tokenizer=TABLE),
    "check_template": lambda **names: check_template(**names, template_source="<think>"),
    "describe": lambda **names: {**describe(**names), "name": ""},
    "explain": lambda **names: explain(**names).partition("\n")[2],
}
PUBLIC = [
    Parser,
    Gate,
    constrain,
    write,
    expressible,
    check_tokenizer,
    check_template,
    check_prompt,
    describe,
    explain,
]


@pytest.mark.parametrize("do", PUBLIC, ids=lambda one: one.__name__)
def test_names_are_options_of_one_kind(do: Callable[..., Any]) -> None:
    parameters = inspect.signature(do).parameters
    assert parameters["format"].kind is inspect.Parameter.KEYWORD_ONLY
    for name in ("reasoning_parser", "tool_parser", "format"):
        if (do, name) != (check_prompt, "tool_parser"):
            assert parameters[name].default is None
    for name in ("reasoning_parser", "tool_parser"):
        assert name not in parameters or f"{name}" in (do.__doc__ or "")


PLAIN = [name for name in preset_names() if preset(name).tools and preset(name).switch is None]


@pytest.mark.parametrize("family", PLAIN)
@pytest.mark.parametrize("call", CALLS)
def test_a_family_is_its_pair(call: str, family: str) -> None:
    pair = preset(family)
    names = {"reasoning_parser": pair.reasoning, "tool_parser": pair.tools}
    assert CALLS[call](format=family) == CALLS[call](**names)


@pytest.mark.parametrize("call", CALLS)
def test_a_half_beside_a_family_overrides_it(call: str) -> None:
    do = CALLS[call]
    assert do(format="qwen3", tool_parser="kimi_k2") == do(reasoning_parser="qwen3", tool_parser="kimi_k2")
    assert do(format="qwen3", reasoning_parser="glm45") == do(reasoning_parser="glm45", tool_parser="hermes")


@pytest.mark.parametrize("call", CALLS)
def test_wrong_names_are_refused_alike(call: str) -> None:
    do = CALLS[call]
    with pytest.raises(UnknownParser, match="unknown format 'qwen33': did you mean") as caught:
        do(format="qwen33")
    assert caught.value.param == "format"
    with pytest.raises(InvalidRequest, match="format must be a string"):
        do(format=3)
    with pytest.raises(IncompatiblePair):
        do(format="gpt-oss", tool_parser="hermes")
    with pytest.raises(UnknownParser, match="unknown tool parser"):
        do(tool_parser="hermess")


@pytest.mark.parametrize("call", [name for name in CALLS if name != "check_template"])
def test_a_template_is_for_names_that_read_one(call: str) -> None:
    """Given beside other names it would be ignored."""
    with pytest.raises(InvalidRequest, match="read by hf or beam") as caught:
        CALLS[call](reasoning_parser="qwen3", tool_parser="hermes", response_template={"fields": {}})
    assert caught.value.param == "response_template"
    with pytest.raises(InvalidRequest):
        CALLS[call](reasoning_parser="hf", tool_parser="hf", response_template={"fields": {}})


class Carrying:
    """A tokenizer that carries a response template."""

    response_template: ClassVar[Any] = {
        "start_anchor": "<bot>",
        "fields": {
            "thinking": {"open": "<plan>", "close": "</plan>"},
            "content": {"close": "<end>"},
            "tool_calls": {
                "open": "<call>",
                "close": "</call>",
                "repeats": True,
                "content": "json",
                "transform": {"function": {"name": "{content.name}", "arguments": "{content.args}"}},
            },
        },
    }

    def __getattr__(self, name: str) -> Any:
        return getattr(TABLE, name)


def test_a_template_that_a_tokenizer_carries_is_everyone_s() -> None:
    """The grammar and the check read it as the parser and the gate do."""
    tokenizer = Carrying()
    request: dict[str, Any] = {"tools": TOOLS, "tool_choice": "required"}
    made = constrain("hf", "hf", tokenizer=tokenizer, thinking="optional", **request)
    given = constrain(
        "hf", "hf", response_template=tokenizer.response_template, thinking="optional", **request
    )
    by_parser = Parser("hf", "hf", tokenizer=tokenizer, prompt="<bot>", **request).constraint()
    assert made is not None
    assert given is not None
    assert by_parser is not None
    assert "<call>" in made.lark()
    assert made.lark() == given.lark() == by_parser.lark()
    assert not [one for one in check_tokenizer("hf", "hf", tokenizer) if "im_end" in one.marker]
    assert [one for one in check_tokenizer("hf", "hf", TABLE) if "im_end" in one.marker]


def test_a_prompt_is_checked_for_a_family() -> None:
    prompt = "<|im_start|>assistant\n<think>\n"
    assert check_prompt(format="qwen3", prompt=prompt) == check_prompt("qwen3", prompt)
    for check, missing in ((check_prompt, "prompt"), (check_template, "template_source"), (write, "message")):
        with pytest.raises(InvalidRequest, match=missing):
            check(format="qwen3")  # type: ignore[operator]


def test_what_is_written_at_the_turn_s_end_counts() -> None:
    """expressible answers for the text that write would give, options and all."""
    for end in (False, True):
        for history in (0, 3):
            options: dict[str, Any] = {"format": "kimi-k2", "message": TURN, "tools": TOOLS}
            assert expressible(**options, end=end, history_calls=history) is None
            assert write(**options, end=end, history_calls=history)


def test_every_public_name_is_what_it_says() -> None:
    """Also when the module of the same name has been imported."""
    code = (
        "import inspect, unbraid\n"
        "import unbraid.constrain, unbraid.explain, unbraid.expressible, unbraid.gate, unbraid.writer\n"
        "for name in unbraid.__all__:\n"
        "    value = getattr(unbraid, name)\n"
        "    assert not inspect.ismodule(value), name\n"
        "    assert getattr(value, '__doc__', None) or name == 'Event', name\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert set(unbraid.__all__) <= set(dir(unbraid))


def test_they_say_what_they_are() -> None:
    parser = Parser(format="qwen3", prompt="<think>\n")
    assert repr(parser) == "Parser(reasoning_parser='qwen3', tool_parser='hermes', thinking='open')"
    gate = Gate(format="qwen3", tokenizer=TABLE)
    assert repr(gate) == "Gate(reasoning_parser='qwen3', tool_parser='hermes', constrained=False)"
    for family in preset_names():
        assert preset(family).tools is None or repr(preset(family).tools) in repr(Parser(format=family))


def test_a_tokenizer_that_can_t_write_the_markers_is_a_mismatch() -> None:
    with pytest.raises(TokenizerMismatch, match="can't write '<"):
        Gate(format="qwen3", tokenizer=TokenTable({1: b"a"}))
