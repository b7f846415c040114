"""Halves that a request chooses: by a template's variable, or by the ending of a checkpoint's markers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.laws.reading import read_every_way, strands
from unbraid import Parser, TokenTable
from unbraid.check import check_prompt, check_tokenizer
from unbraid.errors import InvalidRequest, UnknownParser
from unbraid.explain import describe, explain
from unbraid.formats import reasoning_format, reasoning_names, tool_format, tool_names
from unbraid.gate import Gate
from unbraid.message import Message, ToolCall
from unbraid.suffixes import spelled, suffix_in_prompt
from unbraid.syntax import Reasoning, Tools
from unbraid.writer import write

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]
CALL = (
    "<tool_calls{s}><tool_call{s}>find<arg_key{s}>city</arg_key{s}><arg_value{s}>Oslo</arg_value{s}>"
    "</tool_call{s}></tool_calls{s}>"
)
FOUND = ("plan", None, [("find", '{"city": "Oslo"}')])


def output(suffix: str) -> str:
    """Thinking from an open prompt, and a call, in a checkpoint's spelling."""
    return f"plan</think{suffix}>" + CALL.format(s=suffix)


def table(suffix: str, text: str = "") -> TokenTable:
    """A tokenizer with the checkpoint's markers."""
    words = ("think", "/think", "tool_calls", "/tool_calls", "tool_call", "/tool_call")
    markers = [f"<{word}{suffix}>" for word in words]
    pieces = dict(enumerate([*markers, *(bytes([byte]) for byte in range(256))]))
    return TokenTable(pieces, range(len(markers)))


# -- a checkpoint's ending --------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ":opensource", ":6124c78e"])
def test_known_endings_are_read_without_a_hint(suffix: str) -> None:
    parser = Parser("hy_v4", "hy_v4", tools=TOOLS, spans=True)
    assert strands(read_every_way(parser, output(suffix))) == FOUND


@pytest.mark.parametrize("name", ["hy_v3", "hunyuan", "sglang:hunyuan"])
@pytest.mark.parametrize("suffix", [":opensource", ":x-1.2_3"])
def test_the_prompt_tells_the_ending(suffix: str, name: str) -> None:
    prompt = f"<｜hy_User{suffix}｜>what is <think:other>?<｜hy_Assistant{suffix}｜><think{suffix}>"
    parser = Parser(name, name, tools=TOOLS, prompt=prompt, spans=True)
    assert parser.tool_parser == f"{name}{suffix}"
    assert strands(read_every_way(parser, output(suffix))) == FOUND


def test_the_prompt_tells_it_where_the_turns_have_none() -> None:
    parser = Parser("hy_v4", "hy_v4", tools=TOOLS, prompt="Hi<think:abc>", spans=True)
    assert strands(read_every_way(parser, output(":abc"))) == FOUND


@pytest.mark.parametrize("word", ["abc", ":abc"])
def test_a_variable_tells_the_ending(word: str) -> None:
    parser = Parser("hy_v4", "hy_v4", tools=TOOLS, chat_template_kwargs={"token_suffix": word}, spans=True)
    assert strands(read_every_way(parser, output(":abc"))) == FOUND


@pytest.mark.parametrize("word", ["a b", ":", ":" + "x" * 33, 3, "<"])
def test_a_variable_that_is_no_ending_is_refused(word: object) -> None:
    with pytest.raises(InvalidRequest, match="token_suffix must be"):
        Parser("hy_v4", chat_template_kwargs={"token_suffix": word})


def test_the_vocabulary_decides_over_the_prompt() -> None:
    parser = Parser("hy_v4", "hy_v4", prompt="what is <think:no>?<think>", tokenizer=table(":opensource"))
    assert parser.reasoning_parser == "hy_v4:opensource"
    assert Parser("hy_v4", prompt="<think:own>", tokenizer=table(":own")).reasoning_parser == "hy_v4:own"
    assert Parser("hy_v4", prompt="<think:own>", tokenizer=table("")).reasoning_parser == "hy_v4"


def test_another_ending_than_the_prompts_is_text() -> None:
    parser = Parser("hy_v4", "hy_v4", tools=TOOLS, prompt="<｜hy_Assistant:a｜><think:a></think:a>")
    text = CALL.format(s=":b")
    assert strands(read_every_way(parser, text)) == (None, text, [])


def test_a_name_with_an_ending_is_a_format_of_its_own() -> None:
    half, tools = reasoning_format("hy_v3:x"), tool_format("hy_v3:x")
    assert isinstance(half, Reasoning)
    assert isinstance(tools, Tools)
    assert half.open.spellings == ("<think:x>",)
    assert half.turns[0] == "<｜hy_Assistant:x｜>"
    assert half.empty_when_off == "<think:x></think:x>"
    assert tools is tool_format("hy_v3:x")
    assert tool_format("hy_v3") is tool_format("hy_v3")
    message = Message("plan", None, [ToolCall("", "find", '{"city": "Oslo"}')])
    text = write("hy_v4:x", "hy_v4:x", message, tools=TOOLS, thinking="open")
    assert text == output(":x")
    forced = Parser("hy_v4", "hy_v4", tools=TOOLS, tool_choice="required", prompt="<think:x>").constraint()
    assert forced is not None
    assert "<tool_call:x>" in forced.lark()
    assert "<tool_call>" not in forced.lark()
    assert "`<think:x>`" in explain("hy_v3:x")


@pytest.mark.parametrize(
    "name",
    ["hermes:x", "hy_v3:a b", "hy_v3:", "nobody:x", "sglang:hermes:x", "sglang:hunyuan:", "sglang:x:y"],
)
def test_a_name_whose_ending_means_nothing_is_unknown(name: str) -> None:
    with pytest.raises(UnknownParser, match=name):
        tool_format(name)


def test_the_gate_and_the_checks_find_the_ending_in_the_vocabulary() -> None:
    tokenizer = table(":opensource")
    gate = Gate("hy_v4", "hy_v4", tokenizer=tokenizer)
    ids = tokenizer.encode(output(":opensource"))
    end, _ = gate.find_end(ids, gate.begin("<think:opensource>"))
    assert end is not None
    assert end.token == len(tokenizer.encode("plan</think:opensource>"))
    assert not [one for one in check_tokenizer("hy_v4", "hy_v4", tokenizer) if one.severity == "error"]
    assert check_prompt("hy_v4", "<think:q>")[0].code == "thinking_open"


def test_the_last_marker_of_a_long_prompt_counts() -> None:
    half = reasoning_format("hy_v3")
    assert isinstance(half, Reasoning)
    turn = "<｜hy_Assistant:{}｜>"
    assert (
        suffix_in_prompt(half, turn.format("a") + "x" * 10_000 + turn.format("b") + "<｜hy_Assistant") == ":b"
    )
    assert suffix_in_prompt(half, "nothing") is None
    assert spelled(half, "") is not half


# -- a template's variable --------------------------------------------------------------------

VARIANTS = [
    (kind, name)
    for kind, names, find in (
        ("reasoning", reasoning_names(), reasoning_format),
        ("tools", tool_names(), tool_format),
    )
    for name in names
    if getattr(find(name), "variants", None)
]


@pytest.mark.parametrize(("kind", "name"), VARIANTS)
def test_variants_are_halves_of_the_same_kind_and_the_declaring_one_is_the_default(
    kind: str, name: str
) -> None:
    find = reasoning_format if kind == "reasoning" else tool_format
    half = find(name)
    assert isinstance(half, (Reasoning, Tools))
    assert half.variants is not None
    assert half.variants.default == name
    for word, other in half.variants.names:
        assert isinstance(find(other), type(half))
        parser = Parser(
            **{"reasoning_parser" if kind == "reasoning" else "tool_parser": name},
            chat_template_kwargs={half.variants.variable: word},
        )
        assert getattr(parser, "reasoning_parser" if kind == "reasoning" else "tool_parser") == other
    page = describe(name)[kind]
    assert page["variants"] == {"name": half.variants.variable, "halves": dict(half.variants.names)}
    assert half.variants.variable in explain(name)


EFFORTS = {"high": "think", "medium": "think_fast", "low": "think_faster"}


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("prompted", [False, True])
def test_an_effort_chooses_the_markers_of_thinking(effort: str, prompted: bool) -> None:
    tag = EFFORTS[effort]
    options = (
        {"prompt": f"<|ifm|im_start|>assistant\n<ifm|{tag}>\n"}
        if prompted
        else {"chat_template_kwargs": {"reasoning_effort": effort}}
    )
    parser = Parser("k2_horizon", "k2_horizon", spans=True, **options)
    message = read_every_way(parser, f"plan</ifm|{tag}>Sunny.")
    assert strands(message) == ("plan", "Sunny.", [])
    others = "".join(f"<ifm|{one}></ifm|{one}>" for one in EFFORTS.values() if one != tag)
    assert strands(read_every_way(parser, f"</ifm|{tag}>{others}")) == (None, others, [])


TYPED = (
    "<ifm|tool_calls>\n<ifm|tool_call>find\n<ifm|arg_key>city</ifm|arg_key>\n"
    "<ifm|arg_type>string</ifm|arg_type>\n<ifm|arg_value>1</ifm|arg_value>\n</ifm|tool_call>\n"
    "</ifm|tool_calls>"
)
LAYOUTS = {
    "xml": TYPED.replace("<ifm|arg_type>string</ifm|arg_type>\n", ""),
    "xml_typed": TYPED,
    "json": '<ifm|tool_calls>\n<ifm|tool_call>\n{"name": "find", "arguments": {"city": "1"}}\n'
    "</ifm|tool_call>\n</ifm|tool_calls>",
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_variable_chooses_the_layout_of_calls(layout: str) -> None:
    kwargs = {"tool_call_format": layout}
    parser = Parser(None, "k2_horizon", tools=TOOLS, chat_template_kwargs=kwargs, spans=True)
    message = read_every_way(parser, LAYOUTS[layout])
    assert strands(message) == (None, None, [("find", '{"city": "1"}')])
    assert write(None, parser.tool_parser, message, tools=TOOLS) == LAYOUTS[layout]
    for other in LAYOUTS.values():
        if other != LAYOUTS[layout]:
            assert strands(read_every_way(parser, other)) == (None, other, [])


@pytest.mark.parametrize(
    ("names", "kwargs", "allowed"),
    [
        ({"reasoning_parser": "k2_horizon"}, {"reasoning_effort": "none"}, "high, medium, low"),
        ({"reasoning_parser": "k2_horizon"}, {"reasoning_effort": 3}, "high, medium, low"),
        ({"tool_parser": "k2_horizon"}, {"tool_call_format": "yaml"}, "xml, xml_typed, json"),
    ],
)
def test_another_word_is_refused_with_the_allowed_ones(names: Any, kwargs: Any, allowed: str) -> None:
    with pytest.raises(InvalidRequest, match=f"must be one of {allowed}") as caught:
        Parser(**names, chat_template_kwargs=kwargs)
    assert caught.value.param == f"chat_template_kwargs.{next(iter(kwargs))}"


def test_a_gate_refuses_what_another_variant_s_gate_must_answer() -> None:
    gate = Gate("k2_horizon", tokenizer=table(""))
    assert not gate.thinking_ended("<|ifm|im_start|>assistant\n<ifm|think>")
    with pytest.raises(InvalidRequest, match="a gate of k2_horizon_low"):
        gate.begin(None, {"reasoning_effort": "low"})
    with pytest.raises(InvalidRequest, match="a gate of k2_horizon_medium"):
        gate.begin("<|ifm|im_start|>assistant\n<ifm|think_fast>\n")


def test_null_is_the_default() -> None:
    assert Parser("k2_horizon", chat_template_kwargs={"reasoning_effort": None}).thinking
