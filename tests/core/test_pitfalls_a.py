"""The traps of thinking, A1 to A13 of the list of known pitfalls, for every family that can show them.

A14 and A15 (old flags, old field names) are the server's and are tested there.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.laws.reading import Fold, read, read_every_way, strands
from tests.support import channels, templates
from tests.support.hostile import (
    CITY,
    REASONING,
    TOOLS,
    WEATHER,
    First,
    Pair,
    answer,
    end_of_thinking,
    halves,
    matched_pairs,
    native_call,
    open_prompt,
    thought,
    tools_of,
    turn_prompt,
    write_call,
)
from unbraid import Parser, TokenTable
from unbraid.formats import reasoning_format
from unbraid.syntax import ANY, Channels, Reasoning, ResponseTemplate, Switch

PAIRS = matched_pairs()
TAGS = [one for one in PAIRS if isinstance(halves(one)[0], Reasoning)]
ARGUMENTS = {"city": "Oslo", "days": 3}
CALL = ("get_weather", '{"city": "Oslo", "days": 3}')

every_reasoning = pytest.mark.parametrize("name", REASONING)
every_pair = pytest.mark.parametrize("pair", PAIRS, ids=str)


def half_of(name: str) -> Any:
    return reasoning_format(name)


def tags() -> list[str]:
    """The reasoning halves that are tags."""
    return [name for name in REASONING if isinstance(half_of(name), Reasoning)]


def switched() -> list[str]:
    """The reasoning halves that a request can switch."""
    return [name for name in tags() if half_of(name).switch.names]


# -- A1: the opening marker is in the prompt -------------------------------------


@every_reasoning
def test_A1_prompt_opens_thinking(name: str) -> None:
    half = half_of(name)
    text = thought(half, "Two plus two.", opener=False) + answer(half, "It is 4.")
    parser = Parser(name, prompt=open_prompt(half))
    assert parser.thinking
    assert strands(read_every_way(parser, text)) == ("Two plus two.", "It is 4.", [])


@pytest.mark.parametrize("name", tags())
def test_A1_output_repeats_the_opener(name: str) -> None:
    half = half_of(name)
    text = thought(half, "Two plus two.") + answer(half, "It is 4.")
    parser = Parser(name, prompt=open_prompt(half))
    assert strands(read_every_way(parser, text)) == ("Two plus two.", "It is 4.", [])


@every_reasoning
def test_A1_output_opens_thinking(name: str) -> None:
    half = half_of(name)
    text = thought(half, "Two plus two.") + answer(half, "It is 4.")
    parser = Parser(name, prompt=turn_prompt(half))
    assert strands(read_every_way(parser, text)) == ("Two plus two.", "It is 4.", [])


@pytest.mark.parametrize("name", tags())
def test_A1_prompt_of_ids(name: str) -> None:
    half = half_of(name)
    prompt = open_prompt(half)
    table = TokenTable({ord(char): char for char in prompt})
    parser = Parser(name, prompt=[ord(char) for char in prompt], tokenizer=table)
    text = thought(half, "Two plus two.", opener=False) + "It is 4."
    assert strands(read_every_way(parser, text)) == ("Two plus two.", "It is 4.", [])


def turned_on(switch: Switch) -> dict[str, Any]:
    """Template variables that turn thinking on."""
    word = next(("high" if one is ANY else one for one in switch.on_words), None)
    return dict.fromkeys(switch.names[:1], True) or ({switch.level: word} if word else {})


@pytest.mark.parametrize("name", [one for one in tags() if half_of(one).opened_by != "output"])
def test_A1_without_a_prompt_the_switch_decides(name: str) -> None:
    half = half_of(name)
    parser = Parser(name, chat_template_kwargs=turned_on(half.switch))
    text = thought(half, "Two plus two.", opener=False) + "It is 4."
    assert strands(read_every_way(parser, text)) == ("Two plus two.", "It is 4.", [])


# -- A2: thinking is off -----------------------------------------------------------


@pytest.mark.parametrize("name", switched())
def test_A2_off_is_content(name: str) -> None:
    half = half_of(name)
    parser = Parser(name, chat_template_kwargs={half.switch.names[0]: False})
    assert not parser.thinking
    assert strands(read_every_way(parser, "Hello.")) == (None, "Hello.", [])


@pytest.mark.parametrize("name", switched())
def test_A2_off_but_the_model_thinks(name: str) -> None:
    half = half_of(name)
    parser = Parser(name, chat_template_kwargs={half.switch.names[0]: False})
    assert strands(read_every_way(parser, thought(half, "x") + "y")) == ("x", "y", [])


@pytest.mark.parametrize(
    ("name", "default"),
    [
        ("deepseek_v3", False),
        ("gemma4", False),
        ("granite", False),
        ("glm45", True),
        ("glm47", True),
        ("kimi_k2", True),
        ("qwen3", True),
        ("deepseek_r1", True),
        ("openai_gptoss", True),
    ],
)
def test_A2_default(name: str, default: bool) -> None:
    assert Parser(name).thinking is default


@pytest.mark.parametrize("name", [one for one in tags() if half_of(one).empty_when_off])
def test_A2_prompt_that_closes_thinking(name: str) -> None:
    """The template writes an empty block when thinking is off; the prompt beats the switch."""
    half = half_of(name)
    kwargs = dict.fromkeys(half.switch.names[:1], True)
    parser = Parser(name, prompt=turn_prompt(half) + half.empty_when_off, chat_template_kwargs=kwargs)
    assert not parser.thinking
    assert strands(read_every_way(parser, "Hello.")) == (None, "Hello.", [])


# -- A3: a constraint with thinking off ----------------------------------------------


@pytest.mark.parametrize("name", switched())
def test_A3_constrained_with_thinking_off(name: str) -> None:
    """Whether the template writes an empty block or nothing, the plan says: from the first token."""
    half = half_of(name)
    for prompt in (turn_prompt(half) + half.empty_when_off, turn_prompt(half)):
        kwargs = {half.switch.names[0]: False}
        parser = Parser(
            name, prompt=prompt, chat_template_kwargs=kwargs, tools=WEATHER, tool_choice="required"
        )
        assert parser.plan.constrained
        assert parser.plan.thinking in ("closed", "off")


# -- A4: cut in the middle of thinking -----------------------------------------------


@every_reasoning
@pytest.mark.parametrize("beginning", ["", "cut closer"])
def test_A4_cut_in_thinking(name: str, beginning: str) -> None:
    half = half_of(name)
    cut = end_of_thinking(half)[:-2] if beginning else ""
    message = read_every_way(Parser(name, prompt=open_prompt(half)), "I should first" + cut, "length")
    text = "" if cut.startswith(tuple(getattr(half, "stems", ()))) else cut
    assert strands(message) == ("I should first" + text, None, [])
    assert message.finish_reason == "length"


@pytest.mark.parametrize("name", switched())
def test_A4_cut_with_thinking_off_is_content(name: str) -> None:
    parser = Parser(name, chat_template_kwargs={half_of(name).switch.names[0]: False})
    message = read_every_way(parser, "I should first", "length")
    assert strands(message) == (None, "I should first", [])
    assert message.finish_reason == "length"


# -- A5: marker text inside thinking -------------------------------------------------


@pytest.mark.parametrize("name", tags())
def test_A5_nested_markers_without_ids(name: str) -> None:
    """Without ids the first end marker ends thinking; nothing is lost."""
    half = half_of(name)
    opening, closing = half.open.text, half.close.text
    text = f"a {opening}b{closing} c{closing}d"
    message = read_every_way(Parser(name, prompt=open_prompt(half), spans=True), text)
    assert message.reasoning == f"a {opening}b"
    assert message.content is not None
    assert message.content.endswith(f"c{closing}d")


@pytest.mark.parametrize("name", tags())
def test_A5_quoted_marker_with_ids(name: str) -> None:
    """With ids, the same characters made of ordinary tokens are text."""
    half = half_of(name)
    closing = half.close.text
    letters = {chr(one) for one in range(32, 127)} | {*closing, *half.open.text}
    table = TokenTable({1: closing, 2: half.open.text, **{100 + ord(one): one for one in letters}}, [1, 2])

    def spelled(text: str) -> list[tuple[str, list[int] | None]]:
        return [(char, [100 + ord(char)]) for char in text]

    pieces = [*spelled(f'write "{closing}" and "{half.open.text}" literally'), (closing, [1]), *spelled("ok")]
    text = "".join(piece for piece, _ in pieces)
    parser = Parser(name, prompt=open_prompt(half), tokenizer=table)
    message = read_every_way(parser, text, ids=pieces)
    assert strands(message) == (f'write "{closing}" and "{half.open.text}" literally', "ok", [])


@pytest.mark.parametrize("name", tags())
def test_A5_nested_opener_with_ids(name: str) -> None:
    """An opener inside open thinking that is the real token is markup, noted, in no strand."""
    half = half_of(name)
    table = TokenTable({1: half.close.text, 2: half.open.text, 3: "a", 4: "b"}, [1, 2])
    pieces = [("a", [3]), (half.open.text, [2]), ("b", [4]), (half.close.text, [1]), ("b", [4])]
    text = "".join(piece for piece, _ in pieces)
    message = read_every_way(Parser(name, prompt=open_prompt(half), tokenizer=table), text, ids=pieces)
    assert strands(message) == ("ab", "b", [])
    assert [one.code for one in message.diagnostics] == ["stray_marker"]


# -- A6: tools with thinking -----------------------------------------------------------


@every_pair
def test_A6_call_behind_thinking(pair: Pair) -> None:
    half, _ = halves(pair)
    text = thought(half, "need data", opener=False) + native_call(pair, "get_weather", ARGUMENTS)
    parser = pair.parser(tools=WEATHER, prompt=open_prompt(half))
    assert strands(read_every_way(parser, text)) == ("need data", None, [CALL])


def counts_inside(pair: Pair) -> bool:
    """Whether a call may count in open thinking: its half says so, and a marker proves it."""
    half, tools = halves(pair)
    return half.tools_inside != "text" and not tools.call.anchor


@pytest.mark.parametrize("pair", TAGS, ids=str)
def test_A6_call_in_open_thinking(pair: Pair) -> None:
    half, _ = halves(pair)
    text = "need data" + native_call(pair, "get_weather", ARGUMENTS)
    parser = pair.parser(tools=WEATHER, prompt=open_prompt(half))
    called = ("need data", None, [CALL])
    assert strands(read_every_way(parser, text)) == (called if counts_inside(pair) else (text, None, []))


@pytest.mark.parametrize("pair", TAGS, ids=str)
def test_A6_example_in_thinking(pair: Pair) -> None:
    """A call that only illustrates a thought stays thought, except where an opener begins a call at once."""
    half, _ = halves(pair)
    example = native_call(pair, "get_weather", ARGUMENTS)
    text = f"say {example} then" + thought(half, "", opener=False) + "Hi"
    message = read_every_way(pair.parser(tools=WEATHER, prompt=open_prompt(half)), text)
    if not counts_inside(pair) or half.tools_inside == "draft":
        assert strands(message) == (f"say {example} then", "Hi", [])
    elif half.tools_inside == "stay":
        assert strands(message) == ("say  then", "Hi", [CALL])
    else:
        assert strands(message)[2] == [CALL]
        assert message.reasoning in ("say", "say ")


@pytest.mark.parametrize("pair", [one for one in TAGS if halves(one)[0].tools_inside == "draft"], ids=str)
def test_A6_draft_that_is_cut_by_length_is_thinking(pair: Pair) -> None:
    half, _ = halves(pair)
    call = native_call(pair, "get_weather", ARGUMENTS)
    message = read_every_way(pair.parser(tools=WEATHER, prompt=open_prompt(half)), f"say {call}", "length")
    assert strands(message) == (f"say {call}", None, [])


@pytest.mark.parametrize("pair", TAGS, ids=str)
def test_A6_constraint_makes_every_opener_end_thinking(pair: Pair) -> None:
    half, _ = halves(pair)
    call = native_call(pair, "get_weather", ARGUMENTS)
    parser = pair.parser(tools=WEATHER, prompt=open_prompt(half), tool_choice="required")
    message = read_every_way(parser, f"say{call} then", "length")
    if counts_inside(pair):
        assert (message.reasoning, strands(message)[2]) == ("say", [CALL])
    else:
        assert strands(message) == (f"say{call} then", None, [])


# -- A7: state shared between requests ---------------------------------------------------


@every_pair
def test_A7_two_interleaved_streams(pair: Pair) -> None:
    half, _ = halves(pair)
    parser = pair.parser(tools=WEATHER, prompt=open_prompt(half))
    texts = [
        thought(half, "need data", opener=False) + native_call(pair, "get_weather", ARGUMENTS),
        thought(half, "no need", opener=False) + answer(half, "It is 4."),
        "still think",
    ]
    streams = [parser.stream() for _ in texts]
    for n in range(max(map(len, texts))):
        for stream, text in zip(streams, texts, strict=True):
            stream.feed(text[n : n + 1])
    for stream in streams:
        stream.finish("stop")
    assert [strands(stream.message) for stream in streams] == [
        ("need data", None, [CALL]),
        ("no need", "It is 4.", []),
        ("still think", None, []),
    ]


# -- A8: markers that are several tokens -------------------------------------------------


@every_pair
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_A8_markers_of_several_tokens(pair: Pair, size: int) -> None:
    """A tokenizer without the markers: nothing is special, the text decides."""
    half, _ = halves(pair)
    text = thought(half, "need data", opener=False) + native_call(pair, "get_weather", ARGUMENTS)
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    table = TokenTable(dict(enumerate(chunks)))
    parser = pair.parser(tools=WEATHER, prompt=open_prompt(half), tokenizer=table)
    pieces = [(chunk, [n]) for n, chunk in enumerate(chunks)]
    assert strands(read_every_way(parser, text, ids=pieces)) == ("need data", None, [CALL])


# -- A9: empty deltas ---------------------------------------------------------------------


def headed(half: Channels, strand: str) -> list[str]:
    """A header, its last marker a piece of its own."""
    head = channels.head(half, strand)
    body = (channels.route(half, strand).body or half.body or half.start).text
    return [head.removesuffix(body), body]


@every_reasoning
def test_A9_delta_that_is_exactly_a_marker(name: str) -> None:
    half = half_of(name)
    if isinstance(half, Channels):
        pieces = [
            *headed(half, "reasoning"),
            "r",
            channels.end(half, "reasoning"),
            half.start.text,
            half.role,
        ]
        pieces += [*headed(half, "content"), "c", channels.end(half, "content")]
    elif isinstance(half, ResponseTemplate):
        pieces = [templates.head(half, "reasoning"), "r", templates.close(half, "reasoning")]
        pieces += [templates.head(half, "content"), "c", templates.close(half, "content")]
    else:
        pieces = [half.open.text, half.label, "", "r", half.close.text, "", "c", ""]
    stream = Parser(name, prompt=turn_prompt(half)).stream()
    fold = Fold()
    for piece in pieces:
        events = stream.feed(piece)
        assert bool(events) <= (piece in ("r", "c")), "a chunk without information"
        fold.add(events)
    fold.add(stream.finish())
    assert (fold.reasoning, fold.content) == ("r", "c")


# -- A10: channels -------------------------------------------------------------------------


def test_A10_channels_by_the_generic_entry_point() -> None:
    text = "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Hi<|return|>"
    parser = Parser("openai_gptoss", "openai")
    assert strands(read_every_way(parser, text)) == ("hm", "Hi", [])
    assert parser.thinking
    assert parser.plan.thinking == "optional"
    assert parser.stream().thinking is False


@pytest.mark.parametrize("tools", [one for one in TOOLS if one != "openai"])
def test_A10_foreign_pairs_are_refused_by_name(tools: str) -> None:
    with pytest.raises(TypeError, match=rf"openai_gptoss.*{tools}"):
        Parser("openai_gptoss", tools)


# -- A11: ids of nine alphanumerics ---------------------------------------------------------


def test_A11_mistral_ids() -> None:
    calls = "".join(f'[TOOL_CALLS]f{n}[ARGS]{{"a": {n}}}' for n in range(20))
    ids = [call.id for call in Parser(None, "mistral").parse(calls).tool_calls]
    assert len(set(ids)) == 20
    assert all(len(one) == 9 and one.isascii() and one.isalnum() for one in ids)


# -- A12: phrases as markers ----------------------------------------------------------------


@pytest.mark.parametrize("start", ["Here is", "Here's"])
@pytest.mark.parametrize("end", ["Here is", "Here's"])
def test_A12_phrases_cut_anywhere(start: str, end: str) -> None:
    text = f"{start} my thought process: x. {end} my response: y."
    parser = Parser("granite")
    for cut in range(len(text)):
        assert strands(read(parser, [text[:cut], text[cut:]])[0]) == ("x.", "y.", [])


def test_A12_text_that_looks_like_a_phrase() -> None:
    text = "Here is my thoughtful plan. Here is my thought process"
    assert strands(read_every_way(Parser("granite"), text)) == (None, text, [])


# -- A13: implicit end, and families whose start is not written --------------------------------


@pytest.mark.parametrize("pair", TAGS, ids=str)
def test_A13_implicit_end(pair: Pair) -> None:
    """The opener of a call that may count there ends thinking without its end marker."""
    half, _ = halves(pair)
    said = "need data" + native_call(pair, "get_weather", ARGUMENTS)
    text = thought(half, "HERE").partition("HERE")[0] + said
    for choice in ("auto", "required"):
        parser = pair.parser(tools=WEATHER, prompt=turn_prompt(half), tool_choice=choice)
        message = read_every_way(parser, text)
        if counts_inside(pair):
            assert strands(message) == ("need data", None, [CALL])
            assert message.finish_reason == "tool_calls"
        else:
            assert strands(message) == (said, None, [])


@pytest.mark.parametrize("name", [one for one in tags() if half_of(one).tools_inside == "end"])
def test_A13_implicit_end_counts_without_a_tool_parser(name: str) -> None:
    half = half_of(name)
    text = f"need data{half.ends_at[0]}rest"
    message = read_every_way(Parser(name, prompt=open_prompt(half)), text)
    assert strands(message) == ("need data", f"{half.ends_at[0]}rest", [])


@pytest.mark.parametrize("pair", TAGS, ids=str)
def test_A13_drafts_under_a_constraint(pair: Pair) -> None:
    """Under a constraint the first opener that may count is the end, whatever stands around it."""
    half, tools = halves(pair)
    call = write_call(tools, "get_weather", ARGUMENTS, First())
    parser = pair.parser(tools=tools_of("get_weather", **CITY), prompt=open_prompt(half), constrained=True)
    message = read_every_way(parser, f"need{call}")
    called = ("need", None, [CALL])
    assert strands(message) == (called if counts_inside(pair) else (f"need{call}", None, []))
