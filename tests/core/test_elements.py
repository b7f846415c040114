"""Calls as elements: names in any quotes, the type beside the value, sections that are text, early ends."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.laws.reading import read_every_way
from unbraid import InvalidRequest, Message, Parser, ToolCall
from unbraid.expressible import expressible
from unbraid.formats import register
from unbraid.formats.registry import TOOL_PARSERS
from unbraid.schema import Slot
from unbraid.syntax import Calls, Choice, Json, Name, Nothing, Section, Tools, TypeTag, invoke, lit

WORDED = TypeTag(
    lit(" type="),
    tuple((kind, kind) for kind in ("string", "number", "boolean", "null", "object", "array")),
    lit(";"),
    absent="string",
)
PROPERTIES = {
    "s": {"type": "string"},
    "i": {"type": "integer"},
    "n": {"type": "number"},
    "u": {"type": ["integer", "string"]},
    "e": {"enum": ["1", 1]},
    "o": {"type": "object"},
    "any": {},
}
TOOLS = [
    {"type": "function", "function": {"name": "f", "parameters": {"properties": PROPERTIES}}},
    {"type": "function", "function": {"name": "g"}},
]


def calls(tool: str, text: str, tools: Any = TOOLS) -> list[tuple[str, Any]]:
    """The calls of an output, the same in every split."""
    message = read_every_way(Parser(None, tool, tools=tools, spans=True), text)
    assert all(one.complete for one in message.tool_calls)
    return [(one.name, json.loads(one.arguments)) for one in message.tool_calls]


def content(tool: str, text: str, tools: Any = TOOLS) -> str | None:
    """The content of an output, the same in every split."""
    return read_every_way(Parser(None, tool, tools=tools, spans=True), text).content


@pytest.fixture
def quoted() -> Any:
    register("quoted", Tools(call=invoke(any_quote=True), section=Section(lit("<calls>"), lit("</calls>"))))
    yield "quoted"
    TOOL_PARSERS.pop("quoted")


@pytest.mark.parametrize("quote", ['"', "'", ""])
@pytest.mark.parametrize("inner", ['"', "'", ""])
def test_names_and_keys_stand_in_any_quotes(quoted: str, quote: str, inner: str) -> None:
    pair = f"<parameter name={inner}s{inner}>a > b</parameter>\n"
    text = f"<calls>\n<invoke name={quote}f{quote}>\n{pair}</invoke>\n</calls>"
    assert calls(quoted, text) == [("f", {"s": "a > b"})]


@pytest.mark.parametrize("quote", ['"', "'", ""])
@pytest.mark.parametrize("white", ["", " "])
def test_an_element_that_closes_itself_has_no_arguments(quoted: str, quote: str, white: str) -> None:
    text = f"<calls><invoke name={quote}g{quote}{white}/>\n<invoke name='g'></invoke></calls>"
    assert calls(quoted, text) == [("g", {}), ("g", {})]


def test_the_longest_spelling_is_read_in_every_split() -> None:
    half = Tools(
        call=Calls(
            (lit("<c", "<c:"), Name(), Choice(((lit(">"), Json()), (lit(">>"), Nothing())))),
        )
    )
    register("growing", half)
    try:
        assert calls("growing", '<c:g>{"a": 1}<cg>>') == [("g", {"a": 1}), ("g", {})]
    finally:
        TOOL_PARSERS.pop("growing")


# -- the type beside the value ----------------------------------------------------------------

DSML = '<｜DSML｜function_calls>\n<｜DSML｜invoke name="f">\n{}</｜DSML｜invoke>\n</｜DSML｜function_calls>'
TYPED = [
    ("s", "true", "3", "3"),
    ("s", "false", "3", "3"),
    ("s", "false", '"3"', "3"),
    ("s", None, "x", "x"),
    ("i", "true", "3", 3),
    ("i", "false", "3", 3),
    ("i", "false", '"3"', 3),
    ("i", "false", "x", "x"),
    ("n", "false", "3", 3),
    ("u", "true", "3", "3"),
    ("u", "false", "3", 3),
    ("u", None, "3", 3),
    ("e", "true", "1", "1"),
    ("e", "false", "1", 1),
    ("o", "false", '{"a": [1]}', {"a": [1]}),
    ("any", "true", "[1]", "[1]"),
    ("any", "false", "[1]", [1]),
    ("any", "maybe", "[1]", [1]),
    ("any", None, "[1]", [1]),
    ("any", "false", "{bad", "{bad"),
]


@pytest.mark.parametrize(("key", "word", "text", "value"), TYPED, ids=map(str, range(len(TYPED))))
def test_the_written_type_counts_where_the_schema_allows_it(
    key: str, word: str | None, text: str, value: Any
) -> None:
    tag = "" if word is None else f' string="{word}"'
    pair = f'<｜DSML｜parameter name="{key}"{tag}>{text}</｜DSML｜parameter>\n'
    ((_, arguments),) = calls("deepseek_v32", DSML.format(pair))
    assert arguments == {key: value}
    assert type(arguments[key]) is type(value)


def test_words_for_types() -> None:
    assert [WORDED.word(kind) for kind in ("string", "integer", "number", "array")] == [
        "string",
        "number",
        "number",
        "array",
    ]
    assert WORDED.type_of("Array[string]") == "json"
    assert WORDED.type_of("str") == "string"
    assert TypeTag(lit("<"), (("string", "s"), ("json", "j")), lit(">")).type_of("x") is None


@pytest.mark.parametrize("words", [(), (("string", "s"),), (("number", "n"), ("string", "s")), ("s",)])
def test_a_type_tag_needs_a_word_for_every_type(words: Any) -> None:
    with pytest.raises(InvalidRequest, match="words"):
        register("wordless", Tools(call=invoke(tag=TypeTag(lit(" t="), words, lit(" ")))))


def test_json_that_the_schema_does_not_allow_is_coerced() -> None:
    assert Slot(None, {"type": "boolean"}).coerce_json("x") == ('"x"', "value_does_not_fit")
    assert Slot(None, {"type": "integer"}).coerce_json("3.0") == ("3", None)
    assert Slot(None, {"type": "number"}).coerce_json(" 3 ") == ("3", None)


# -- sections of plain text -------------------------------------------------------------------

OPEN, CLOSE = "<｜DSML｜function_calls>", "</｜DSML｜function_calls>"
CALL = '<｜DSML｜invoke name="g">\n</｜DSML｜invoke>'


def test_a_section_s_opener_in_prose_is_text() -> None:
    text = f"Write {OPEN} first.\n\n{OPEN}\n{CALL}\n{CLOSE}"
    assert content("deepseek_v32", text) == f"Write {OPEN} first."
    assert calls("deepseek_v32", text) == [("g", {})]


def test_a_call_counts_without_the_section() -> None:
    assert calls("deepseek_v32", f"So:\n{CALL}\n{CALL}") == [("g", {}), ("g", {})]
    assert content("deepseek_v32", f"So:\n{CALL}\n{CLOSE}\nBye {CLOSE}") == f"So:\nBye {CLOSE}"


def test_text_ends_a_section_behind_a_call() -> None:
    text = f"{OPEN}\n{CALL}\nBye.\n{CALL}\n{CLOSE}"
    assert content("deepseek_v32", text) == "Bye."
    assert calls("deepseek_v32", text) == [("g", {}), ("g", {})]


@pytest.mark.parametrize("end", ["", "\n", f"\n{CLOSE[:5]}", f"\n{CALL[:9]}"])
def test_a_section_is_cut_behind_a_call(end: str) -> None:
    assert calls("deepseek_v32", f"{OPEN}\n{CALL}{end}") == [("g", {})]
    assert content("deepseek_v32", f"{OPEN}\n{CALL}{end}") is None


def test_a_body_of_json() -> None:
    text = f'{OPEN}<｜DSML｜invoke name="f">\n{{"s": "</｜DSML｜invoke>"}}\n</｜DSML｜invoke>{CLOSE}'
    assert calls("deepseek_v32", text) == [("f", {"s": "</｜DSML｜invoke>"})]


def test_the_next_call_proves_the_end_of_one_without_parameters() -> None:
    assert calls("deepseek_v32", f'{OPEN}\n<｜DSML｜invoke name="f">\n{CALL}\n{CLOSE}') == [
        ("f", {}),
        ("g", {}),
    ]


# -- arguments inside one parameter -----------------------------------------------------------

WRAPPED = [
    ("arguments", "false", '{"s": "x"}', {"s": "x"}),
    ("input", "true", '{"s":"x", "i": 3}', {"s": "x", "i": 3}),
    ("input", "false", '"{\\"s\\": \\"x\\"}"', {"s": "x"}),
    ("arguments", "false", "{}", {}),
    ("arguments", "false", '{"other": 1}', {"arguments": {"other": 1}}),
    ("arguments", "false", "[1]", {"arguments": [1]}),
    ("arguments", "true", "x", {"arguments": "x"}),
    ("arguments", "true", '{"s"', {"arguments": '{"s"'}),
    ("o", "false", '{"s": "x"}', {"o": {"s": "x"}}),
]


@pytest.mark.parametrize(("key", "word", "text", "arguments"), WRAPPED, ids=map(str, range(len(WRAPPED))))
def test_arguments_inside_one_parameter(key: str, word: str, text: str, arguments: Any) -> None:
    pair = f'<｜DSML｜parameter name="{key}" string="{word}">{text}</｜DSML｜parameter>\n'
    assert calls("deepseek_v32", DSML.format(pair)) == [("f", arguments)]


def test_a_parameter_beside_others_holds_only_its_own_value() -> None:
    one = '<｜DSML｜parameter name="arguments" string="false">{"s": "x"}</｜DSML｜parameter>\n'
    two = '<｜DSML｜parameter name="s" string="true">y</｜DSML｜parameter>\n'
    assert calls("deepseek_v32", DSML.format(one + two)) == [("f", {"arguments": {"s": "x"}, "s": "y"})]
    assert calls("deepseek_v32", DSML.format(two + one)) == [("f", {"s": "y", "arguments": {"s": "x"}})]
    assert calls("deepseek_v32", DSML.format(one), None) == [("f", {"arguments": {"s": "x"}})]


def test_what_would_be_unwrapped_is_not_written() -> None:
    call = ToolCall("", "f", '{"arguments": {"s": "x"}}')
    reason = expressible(None, "deepseek_v32", Message(None, None, [call]), tools=TOOLS)
    assert reason is not None
    assert "all arguments" in reason
