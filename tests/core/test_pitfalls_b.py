"""What can go wrong, B1 to B6 of the list of known pitfalls, as far as a parser can show it.

B2, B4 and B5 are about servers and start-up and are tested there.
"""

from __future__ import annotations

import json

import pytest

from tests.laws.reading import read, read_every_way, strands
from tests.support.hostile import (
    CITY,
    TOOLS,
    WEATHER,
    Pair,
    answer,
    halves,
    has_thinking,
    native_call,
    native_calls,
    thought,
    tools_of,
)
from unbraid import Parser
from unbraid.formats import tool_format
from unbraid.syntax import Joint, PythonCalls, ResponseTemplate, Tools

ALONE = [Pair(None, name) for name in TOOLS]
every_tools = pytest.mark.parametrize("pair", ALONE, ids=str)

ARGUMENTS = {"city": 'Oslo "C:\\dir"\n', "days": 3}


def is_channels(pair: Pair) -> bool:
    assert pair.tools is not None
    return isinstance(tool_format(pair.tools), Joint)


def calls_share_brackets(pair: Pair) -> bool:
    """Whether the calls of a turn stand in one Python list, so that the last one ends before a bracket."""
    assert pair.tools is not None
    half = tool_format(pair.tools)
    return not isinstance(half, Joint) and any(isinstance(one, PythonCalls) for one in half.call.parts)


@every_tools
def test_B1_no_tool_parser_leaves_the_call_as_text(pair: Pair) -> None:
    text = native_call(pair, "get_weather", ARGUMENTS)
    assert strands(read_every_way(Parser(), text)) == (None, text, [])


@pytest.mark.parametrize("name", ["pythonic", "hermes", "mistral", "gemma4", "kimi_k2"])
def test_B1_wrong_tool_parser_leaves_the_call_as_text(name: str) -> None:
    other = Pair(None, "deepseek_v31" if name != "deepseek_v31" else "hermes")
    text = native_call(other, "get_weather", {"city": "Oslo"})
    message = read_every_way(Parser(None, name, tools=WEATHER), text)
    assert strands(message) == (None, text, [])


@every_tools
def test_B3_thinking_without_a_reasoning_parser_is_content(pair: Pair) -> None:
    """Tag formats leave the tags in; a format of channels leaves its frames out."""
    if is_channels(pair):
        half = halves(pair)[1]
        text = (thought(half, "hm") if has_thinking(half) else "") + answer(half, " Hi")
        content = "hm Hi" if has_thinking(half) else " Hi"
        assert strands(read_every_way(pair.parser(), text)) == (None, content, [])
    else:
        assert strands(read_every_way(pair.parser(), "<think>hm</think>Hi")) == (
            None,
            "<think>hm</think>Hi",
            [],
        )


@every_tools
def test_B6_cut_call(pair: Pair) -> None:
    """Cut anywhere: no exception, the finish reason stays, arguments are a beginning of the whole."""
    text = native_call(pair, "get_weather", ARGUMENTS)
    parser = pair.parser(tools=WEATHER, spans=True)
    whole = parser.parse(text).tool_calls[0]
    assert json.loads(whole.arguments) == ARGUMENTS
    announced = False
    for cut in range(1, len(text)):
        message, _ = read(parser, [text[:cut]], "length")
        assert strands(message) == strands(read(parser, list(text[:cut]), "length")[0])
        assert message.finish_reason == "length"
        assert len(message.tool_calls) <= 1
        assert announced <= bool(message.tool_calls), "a call that was there is gone"
        spans = message.spans or []
        assert spans[-1].end == cut
        if message.tool_calls:
            announced = True
            call = message.tool_calls[0]
            assert call.name == whole.name
            assert whole.arguments.startswith(call.arguments)
            assert not call.complete or call.arguments == whole.arguments
            assert message.content is None
        else:
            assert message.content is None or text.startswith(message.content)
            assert message.content or any(one.kind in ("unfinished", "markup", "framing") for one in spans)
    half = tool_format(pair.tools or "")
    atomic = isinstance(half, ResponseTemplate) or (isinstance(half, Tools) and half.call.atomic)
    assert announced or atomic


@every_tools
def test_B6_cut_after_a_complete_call_keeps_it(pair: Pair) -> None:
    """The first call is over; the second is cut anywhere: the first stays as it is."""
    calls = (("get_weather", {"city": "Oslo"}), ("get_time", {"city": "Bergen"}))
    text = native_calls(pair, *calls)
    first = len(native_calls(pair, calls[0]))
    parser = pair.parser(tools=WEATHER)
    in_one_list = calls_share_brackets(pair)
    for cut in range(first - in_one_list, len(text)):
        message = read(parser, [text[:cut]], "length")[0]
        assert message.tool_calls[0].arguments == '{"city": "Oslo"}'
        assert message.tool_calls[0].complete
        assert message.finish_reason == "length"
        assert all(call.name == "get_time" for call in message.tool_calls[1:])


@every_tools
@pytest.mark.parametrize("value", ["\\u00e9", "\\ud83d", "\\", '"', "1e", "tru", "\n</", "  "])
def test_B6_cut_inside_an_awkward_value(pair: Pair, value: str) -> None:
    """Inside an escape, a quote or something like a closer nothing half leaks out."""
    text = native_call(pair, "get_weather", {"city": value + "|", "days": 3})
    parser = pair.parser(tools=WEATHER)
    whole = parser.parse(text).tool_calls[0]
    assert json.loads(whole.arguments)["city"] == value + "|"
    for cut in range(1, len(text)):
        for call in parser.parse(text[:cut], finish_reason="length").tool_calls:
            assert whole.arguments.startswith(call.arguments)


@every_tools
def test_B6_complete_mode_leaves_a_cut_call_out(pair: Pair) -> None:
    text = native_call(pair, "get_weather", ARGUMENTS)
    parser = pair.parser(tools=tools_of("get_weather", **CITY), arguments="complete")
    cut = text.index("Oslo") + 2
    message = read_every_way(parser, text[:cut], "length")
    assert message.tool_calls == []
    assert message.content is None
    assert message.finish_reason == "length"
    assert len(read_every_way(parser, text).tool_calls) == 1
