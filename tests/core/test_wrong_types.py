"""A value of a wrong type is refused where it is passed, by its name."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import pytest

from unbraid import HFTokenizer, InvalidRequest, Message, Parser, TokenTable, ToolCall
from unbraid.check import check_prompt, check_template, check_tokenizer, fits
from unbraid.expressible import expressible
from unbraid.formats import register, tool_format
from unbraid.gate import Gate
from unbraid.writer import write

TABLE = TokenTable({n: bytes([n]) for n in range(256)})
TOOLS = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
NAMED = {"type": "function", "function": {"name": "f"}}


class Half:
    """No tokenizer: two methods are missing, one is no method."""

    encode = None

    def token_id(self, text: str) -> None:
        return None


def refused(param: str, do: Callable[..., Any], *args: Any, **options: Any) -> None:
    with pytest.raises(InvalidRequest) as caught:
        do(*args, **options)
    assert caught.value.param == param
    name = re.split(r"[.\[]", param)[0]
    assert name in caught.value.message


OPTIONS: dict[str, list[Any]] = {
    "reasoning_parser": [0, True, [], {}, b"qwen3"],
    "tool_parser": [0, False, [], {}, ("hermes",)],
    "tools": [0, True, "f", b"", bytearray(), {}, {"a": 1}, iter(())],
    "tool_choice": [0, True, "", "always", [], {}, {"a": 1}, {"type": "function"},
                    {"type": "function", "function": {}},
                    {"type": "function", "function": "f"}, {"type": "function", "function": {"name": 1}},
                    {"type": "function", "function": {"name": ""}},
                    {"type": "custom", "custom": {"name": "f"}}],
    "parallel_tool_calls": [0, 1, "true", []],
    "include_reasoning": [0, 1, "false", {}],
    "spans": [0, 1, "yes", []],
    "constrained": [0, 1, "auto"],
    "chat_template_kwargs": [0, 5, True, "x", [], [1], {1: 2}, {None: 1}],
    "prompt": [0, True, 1.5, b"ab", bytearray(b"a"), {}, {1: 2}],
    "prompt[0]": [[[1]], ["a"], [None], [True], [1.0], [b"a"]],
    "tokenizer": [0, "gpt2", {}, Half(), TokenTable],
    "max_calls": [-1, 1.5, True, False, "3", [], float("inf")],
    "history_calls": [-1, 1.5, True, None, "3", []],
    "make_id": [0, "id", [], True],
    "arguments": [None, 0, [], {}, "eager", True],
    "unknown_tools": [None, 0, [], {}, "drop"],
    "markers": [None, 0, [], {}, "bytes"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("param", "value"), [(param, value) for param, values in OPTIONS.items() for value in values]
)
def test_an_option_of_a_parser(param: str, value: Any) -> None:
    refused(
        param,
        Parser,
        **{"reasoning_parser": "qwen3", "tool_parser": "hermes", param.partition("[")[0]: value},
    )


@pytest.mark.parametrize("tools", [[3], [None], [{}], [{"function": []}], [{"function": {"name": 1}}], [[]]])
@pytest.mark.parametrize("choice", ["none", "auto"])
def test_a_tool(tools: Any, choice: str) -> None:
    refused("tools[0].function.name", Parser, None, "hermes", tools=tools, tool_choice=choice)


@pytest.mark.parametrize(
    ("choice", "param"),
    [
        ({"mode": "auto", "tools": []}, ".tools"),
        ({"mode": "auto"}, ".tools"),
        ({"mode": "auto", "tools": "f"}, ".tools"),
        ({"mode": "none", "tools": [NAMED]}, ".mode"),
        ({"mode": [], "tools": [NAMED]}, ".mode"),
        ({"mode": "auto", "tools": [NAMED, {}]}, ".tools[1]"),
        ({"mode": "auto", "tools": ["f"]}, ".tools[0]"),
    ],
)
def test_allowed_tools(choice: dict[str, Any], param: str) -> None:
    flat = {"type": "allowed_tools", **choice}
    refused(f"tool_choice{param}", Parser, None, "hermes", tools=TOOLS, tool_choice=flat)
    nested = {"type": "allowed_tools", "allowed_tools": choice}
    refused(f"tool_choice.allowed_tools{param}", Parser, None, "hermes", tools=TOOLS, tool_choice=nested)
    wrong = {"type": "allowed_tools", "allowed_tools": 3}
    refused("tool_choice.allowed_tools", Parser, None, "hermes", tools=TOOLS, tool_choice=wrong)


@pytest.mark.parametrize("choice", [{}, {"a": 1}])
def test_the_message_shows_the_right_shape(choice: Any) -> None:
    with pytest.raises(InvalidRequest, match=re.escape('{"type": "function", "function": {"name": …}}')):
        Parser(None, "hermes", tool_choice=choice)


@pytest.mark.parametrize(
    "options",
    [
        {"tool_choice": None, "parallel_tool_calls": None, "include_reasoning": None, "spans": None},
        {"tools": TOOLS, "tool_choice": NAMED, "constrained": None, "max_calls": None, "make_id": None},
        {"tools": tuple(TOOLS), "tool_choice": {"type": "function", "name": "f"}},
        {"tools": TOOLS, "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [NAMED]}},
        {"tools": TOOLS, "tool_choice": {"type": "allowed_tools", "allowed_tools": {"tools": [NAMED]}}},
        {"tokenizer": TABLE, "prompt": list(b"<think>")},
        {"tokenizer": TABLE, "prompt": tuple(b"<think>"), "markers": "text"},
        {"tokenizer": TABLE, "prompt": range(97, 99), "max_calls": 0, "history_calls": 10**30},
        {"chat_template_kwargs": {}, "tools": [], "prompt": ""},
        *({"tools": [{"name": "f", "parameters": value}]} for value in (None, 3, [], "x", {"type": [[]]})),
    ],
)  # fmt: skip
def test_what_is_taken_at_construction_reads(options: dict[str, Any]) -> None:
    text = 'r</think>a<tool_call>{"name": "f", "arguments": {"a": [1]}}</tool_call>'
    message = Parser("qwen3", "hermes", **options).parse(text)
    assert message.content is not None
    if "include_reasoning" in options:
        assert (message.reasoning, message.spans) == ("r", None)


@pytest.mark.parametrize("reason", [0, True, [], {}, b"stop"])
@pytest.mark.parametrize(
    "options", [{}, {"arguments": "complete"}, {"include_reasoning": False}, {"spans": True}]
)
def test_a_finish_reason(reason: Any, options: dict[str, Any]) -> None:
    stream = Parser("qwen3", "hermes", **options).stream()
    stream.feed("a")
    refused("finish_reason", stream.finish, reason)
    stream.finish()
    refused("finish_reason", stream.finish, reason)
    refused("finish_reason", Parser("qwen3").parse, "a", finish_reason=reason)


def called(*args: Any) -> Message:
    return Message(None, None, [ToolCall("", "f", "{}"), ToolCall(*args)])


MESSAGES: list[tuple[Any, str]] = [
    *((value, "message") for value in (None, "a", {"content": "a"}, [], Message)),
    *((Message(value), "message.reasoning") for value in (0, [], b"a", ["a"])),
    *((Message(None, value), "message.content") for value in (0, {}, b"a", [{"type": "text"}])),
    *((Message(None, "a", value), "message.tool_calls") for value in (None, 0, "f", {})),
    *((Message(None, "a", [value]), "message.tool_calls[0]") for value in (None, "f", {"name": "f"})),
    (called(None, "f", "{}"), "message.tool_calls[1].id"),
    *((called("", value, "{}"), "message.tool_calls[1].name") for value in (None, 0, b"f")),
    *((called("", "f", value), "message.tool_calls[1].arguments") for value in (None, {}, {"a": 1}, b"{}")),
    (called("", "f", "{}", None), "message.tool_calls[1].complete"),
]


@pytest.mark.parametrize(("message", "param"), MESSAGES)
@pytest.mark.parametrize("names", [("qwen3", "hermes"), ("openai_gptoss", "openai")])
def test_a_message_to_write(message: Any, param: str, names: tuple[str, str]) -> None:
    refused(param, write, *names, message)
    refused(param, expressible, *names, message)


def test_options_of_the_writer() -> None:
    for value in (None, -1, True, "1", 1.5):
        refused("history_calls", write, None, "kimi_k2", called("", "f", "{}"), history_calls=value)
    for value in (None, 0, "yes"):
        refused("end", write, "qwen3", None, Message("r", "a"), end=value)
    for value in (None, 0, [], "off"):
        refused("thinking", write, "qwen3", None, Message("r", "a"), thinking=value)
    refused("tools", write, "qwen3", "hermes", Message("r", "a"), tools=3)
    refused("reasoning_parser", write, 0, "hermes", Message("r", "a"))


def test_a_gate() -> None:
    for value in OPTIONS["tokenizer"]:
        refused("tokenizer", Gate, "qwen3", "hermes", tokenizer=value)
    refused("constrained", Gate, "qwen3", tokenizer=TABLE, constrained=1)
    refused("reasoning_parser", Gate, 0, tokenizer=TABLE)
    for names in (("qwen3", "hermes"), (None, None), ("openai_gptoss", "openai")):
        gate = Gate(*names, tokenizer=TABLE)
        for param, value in itertools.chain(
            (("prompt", value) for value in OPTIONS["prompt"]),
            (("prompt[0]", value) for value in OPTIONS["prompt[0]"]),
        ):
            refused(param, gate.begin, value)
            refused(param, gate.thinking_ended, value)
        for value in OPTIONS["chat_template_kwargs"]:
            refused("chat_template_kwargs", gate.begin, None, value)
        begun = gate.begin("<think>")
        for do in (gate.find_end, gate.count_thinking, gate.content_ids, gate.end_of):
            for value in (None, 3, "ab", b"ab", {}):
                refused("ids", do, value, begun)
            for value in ([None], ["a"], [[1]], [True], [1.5]):
                refused("ids[0]", do, value, begun)
            for value in (None, "over", begun.tokens):
                refused("carry", do, [97], value)
        refused("carry", gate.bounds, [97], None)
        end, _ = gate.find_end(range(97, 98), begun)
        assert end is None


def test_the_checker() -> None:
    for value in OPTIONS["tokenizer"]:
        refused("tokenizer", check_tokenizer, "qwen3", "hermes", value)
        refused("tokenizer", fits, value)
    refused("tokenizer", check_tokenizer, "qwen3", "hermes", None)
    for value in (None, 3, b"x", ["x"]):
        refused("template_source", check_template, "qwen3", "hermes", value)
        for name in ("qwen3", None, "openai_gptoss"):
            refused("prompt", check_prompt, name, value)
    refused("reasoning_parser", check_prompt, [], "x")
    refused("tool_parser", check_template, None, 3, "x")


def test_a_registered_name() -> None:
    half = tool_format("hermes")
    for name in (None, 0, "", [], b"x", ("x",)):
        refused("name", register, name, half)
    for wrong in (None, "hermes", {}):
        with pytest.raises(InvalidRequest) as caught:
            register("own", wrong)  # type: ignore[arg-type]
        assert caught.value.param == "half"


@pytest.mark.parametrize("pieces", [None, 0, "x", b"x", [], [(1, "a")], iter(())])
def test_a_table_of_tokens(pieces: Any) -> None:
    refused("pieces", TokenTable, pieces)


@pytest.mark.parametrize(
    ("pieces", "special", "param"),
    [
        ({1: 5}, [], "pieces[1]"),
        ({1: None}, [], "pieces[1]"),
        ({1: ["a"]}, [], "pieces[1]"),
        ({"1": "a"}, [], "pieces[0]"),
        ({True: "a"}, [], "pieces[0]"),
        ({1: "a"}, [2], "special"),
        ({1: "a"}, "a", "special"),
        ({1: "a"}, None, "special"),
        ({1: "a"}, ["a"], "special[0]"),
    ],
)
def test_the_entries_of_a_table_of_tokens(pieces: Any, special: Any, param: str) -> None:
    refused(param, TokenTable, pieces, special)


@pytest.mark.parametrize("tokenizer", [None, 0, "gpt2", {}, TABLE])
def test_what_is_no_fast_tokenizer(tokenizer: Any) -> None:
    refused("tokenizer", HFTokenizer, tokenizer)
