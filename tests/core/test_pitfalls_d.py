"""Traps between grammar and parser: the D items of the list of known pitfalls that a parser alone decides."""

from __future__ import annotations

import pytest

from tests.laws.reading import read, read_every_way, strands
from tests.support.hostile import (
    REASONING,
    TOOLS,
    WEATHER,
    Pair,
    halves,
    markers,
    matched_pairs,
    native_call,
    native_calls,
    open_prompt,
    thought,
    tokens_of,
    tools_of,
    turn_prompt,
)
from unbraid import Parser, TokenTable
from unbraid.formats import reasoning_format, tool_format
from unbraid.prompts import prompt_state
from unbraid.syntax import Joint, PythonCalls, Reasoning

TAGS = [one for one in matched_pairs() if isinstance(halves(one)[0], Reasoning)]
ALONE = [Pair(None, name) for name in TOOLS]
ARGUMENTS = {"city": "Oslo", "days": 3}
CALL = ("get_weather", '{"city": "Oslo", "days": 3}')

every_tools = pytest.mark.parametrize("pair", ALONE, ids=str)
every_tag_pair = pytest.mark.parametrize("pair", TAGS, ids=str)
every_tag_reasoning = pytest.mark.parametrize(
    "name", [one for one in REASONING if isinstance(reasoning_format(one), Reasoning)]
)


def spelled_out(text: str) -> tuple[TokenTable, list[tuple[str, list[int] | None]]]:
    """The text as ordinary tokens of one character, in a vocabulary that also holds every marker as one."""
    return TokenTable({ord(char): char for char in text}), [(char, [ord(char)]) for char in text]


def with_markers(pair: Pair, table: TokenTable, text: str) -> TokenTable:
    pieces: dict[int, bytes | str] = {ord(char): char for char in text}
    special = {
        1_200_000 + n: marker for n, marker in enumerate(dict.fromkeys([*tokens_of(pair), *markers(pair)]))
    }
    return TokenTable({**pieces, **special}, special)


# -- D-2 and D-3: the boundary in one batch, in several, at the end of one ----------------


@pytest.mark.parametrize("sizes", [(6,), (1, 1, 1, 1, 1, 1), (2, 4), (3, 3), (1, 5), (5, 1)], ids=str)
@pytest.mark.parametrize("name", ["glm45", "glm47"])
@pytest.mark.parametrize("explicit", [True, False], ids=["end", "implicit"])
def test_D2_D3_boundary_in_any_batch(name: str, explicit: bool, sizes: tuple[int, ...]) -> None:
    tokens = [".", "</think>", "<tool_call>", "web", "_search", "<arg_key>"]
    table = TokenTable(dict(enumerate(tokens)), [1, 2, 5])
    parser = Parser(name, name, prompt="<|assistant|><think>", tokenizer=table, tool_choice="required")
    stream = parser.stream()
    at = 0
    for size in sizes:
        batch = [n for n in range(at, at + size) if explicit or n != 1]
        stream.feed("".join(tokens[n] for n in batch), batch)
        at += size
    stream.finish("length")
    message = stream.message
    assert message.reasoning == "."
    assert [(call.name, call.complete) for call in message.tool_calls] == [("web_search", False)]


# -- D-4: white space between thinking, content and calls -----------------------------------


@every_tag_pair
@pytest.mark.parametrize("space", ["", "\n", "\n\n"])
def test_D4_white_space_behind_thinking(pair: Pair, space: str) -> None:
    half, _ = halves(pair)
    text = f"need{half.close.text}{space}{native_call(pair, 'get_weather', ARGUMENTS)}{space}"
    message = read_every_way(pair.parser(tools=WEATHER, prompt=open_prompt(half)), text)
    assert strands(message) == ("need", None, [CALL])


# -- D-7: a marker spelled with ordinary tokens ------------------------------------------------


@every_tools
def test_D7_text_grammar_spells_markers(pair: Pair) -> None:
    """With ``markers="text"`` the parser finds the call that a text grammar spelled out."""
    text = native_call(pair, "get_weather", ARGUMENTS)
    table, pieces = spelled_out(text)
    table = with_markers(pair, table, text)
    parser = pair.parser(tools=WEATHER, tokenizer=table, markers="text")
    assert strands(read_every_way(parser, text, ids=pieces)) == (None, None, [CALL])


TAGS_ALONE = [one for one in ALONE if not isinstance(tool_format(one.tools or ""), Joint)]


@pytest.mark.parametrize("pair", [one for one in TAGS_ALONE if tokens_of(one)[:1]], ids=str)
def test_D7_otherwise_ordinary_tokens_are_text(pair: Pair) -> None:
    """A first marker that is one token in the vocabulary counts only as that token."""
    text = native_call(pair, "get_weather", ARGUMENTS)
    half = tool_format(pair.tools or "")
    assert not isinstance(half, Joint)
    if half.call.anchor:
        return
    table, pieces = spelled_out(text)
    parser = pair.parser(tools=WEATHER, tokenizer=with_markers(pair, table, text))
    message = read_every_way(parser, text, ids=pieces)
    assert strands(message) == (None, text, [])


@every_tag_reasoning
def test_D7_end_of_thinking_spelled_out(name: str) -> None:
    pair = Pair(name, None)
    half = reasoning_format(name)
    assert isinstance(half, Reasoning)
    text = thought(half, "need", opener=False) + "Hi"
    table, pieces = spelled_out(text)
    table = with_markers(pair, table, text)
    prompt = open_prompt(half)
    spelled = pair.parser(prompt=prompt, tokenizer=table, markers="text")
    assert strands(read_every_way(spelled, text, ids=pieces)) == ("need", "Hi", [])
    by_id = pair.parser(prompt=prompt, tokenizer=table)
    assert strands(read_every_way(by_id, text, ids=pieces)) == (text, None, [])


# -- D-8: the model keeps calling ---------------------------------------------------------------


@every_tools
@pytest.mark.parametrize("limit", [0, 1, 2])
def test_D8_calls_beyond_the_bound_are_dropped(pair: Pair, limit: int) -> None:
    calls = [("get_weather", {"city": city}) for city in ("Oslo", "Bergen", "Bodø")]
    message = read_every_way(
        pair.parser(tools=WEATHER, max_calls=limit, spans=True), native_calls(pair, *calls)
    )
    assert [call.complete for call in message.tool_calls] == [True] * limit
    assert message.content is None
    assert [one.code for one in message.diagnostics] == ["too_many_calls"] * (3 - limit)
    assert any(span.kind == "dropped" for span in message.spans or [])


@every_tools
def test_D8_one_call_without_parallel_calls(pair: Pair) -> None:
    calls = [("get_weather", {"city": city}) for city in ("Oslo", "Bergen")]
    parser = pair.parser(tools=WEATHER, parallel_tool_calls=False)
    message = read_every_way(parser, native_calls(pair, *calls))
    assert strands(message) == (None, None, [("get_weather", '{"city": "Oslo"}')])
    assert message.finish_reason == "tool_calls"


# -- D-10: half a trigger ------------------------------------------------------------------------


@every_tools
def test_D10_half_a_trigger_is_no_broken_call(pair: Pair) -> None:
    opener = native_call(pair, "get_weather", ARGUMENTS).partition("get_weather")[0]
    message = read_every_way(pair.parser(tools=WEATHER, spans=True), f"{opener}!! foo bar")
    assert message.tool_calls == []
    assert message.finish_reason == "stop"


# -- D-12: the prompt's earlier turns --------------------------------------------------------------


@every_tag_reasoning
def test_D12_end_marker_of_an_earlier_turn_decides_nothing(name: str) -> None:
    half = reasoning_format(name)
    assert isinstance(half, Reasoning)
    old = f"{turn_prompt(half)}{thought(half, 'old')}Hi"
    assert prompt_state(half, old + turn_prompt(half)).thinking == "absent"
    assert prompt_state(half, f"Why {half.close.text}?{turn_prompt(half)}").thinking == "absent"
    assert prompt_state(half, old + open_prompt(half)).thinking == "open"
    assert prompt_state(half, f"{half.open.text} typed by a user{turn_prompt(half)}").thinking == "absent"


@every_tag_reasoning
def test_D12_an_old_end_marker_does_not_end_new_thinking(name: str) -> None:
    half = reasoning_format(name)
    assert isinstance(half, Reasoning)
    prompt = f"{turn_prompt(half)}{thought(half, 'old')}Hi{open_prompt(half)}"
    parser = Parser(name, prompt=prompt)
    assert parser.thinking
    assert strands(read_every_way(parser, "new")) == ("new", None, [])


# -- D-16: names that a grammar or a parser may trip over -------------------------------------------

NAMES = ["root", "ws", "tool", "get-weather", "a.b", "get", "get_weather", "1a", "null", "name"]


@every_tools
@pytest.mark.parametrize("name", NAMES)
def test_D16_odd_tool_names(pair: Pair, name: str) -> None:
    half = tool_format(pair.tools or "")
    text = native_call(pair, name, {"city": "Oslo"})
    message = read_every_way(pair.parser(tools=tools_of(*NAMES)), text)
    python = not isinstance(half, Joint) and any(isinstance(one, PythonCalls) for one in half.call.parts)
    if python and name == "1a":
        assert strands(message) == (None, text, []), "no name in Python's notation"
    else:
        assert strands(message) == (None, None, [(name, '{"city": "Oslo"}')])


@every_tools
def test_D16_no_name_is_no_call(pair: Pair) -> None:
    text = native_call(pair, "NAME", {"city": "Oslo"}).replace("NAME", "")
    message = read(pair.parser(tools=WEATHER), [text])[0]
    assert message.tool_calls == []
