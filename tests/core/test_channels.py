"""Formats of channels: what the routing table says, and the parts that only they use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.laws.reading import read_every_way, strands
from tests.support.channels import begin, end, head
from tests.support.pairing import REASONING
from unbraid import Inexpressible, InvalidRequest, Message, Parser, ToolCall
from unbraid.declared import check_declaration
from unbraid.formats import reasoning_format, tool_format
from unbraid.literals import decode_entities, encode_entities
from unbraid.machine.frames import Place, place_in
from unbraid.machine.headers import Header, parse_header, route_of, write_header, written_route
from unbraid.syntax import ANY, ATTRIBUTE, Calls, Channels, Envelope, Json, Lit, Route, Tools, lit, token
from unbraid.writer import write

END = ("<end>",)
ROUTES = (
    Route("dropped", to=("system",), ends=END),
    Route("call", to=("tools.{name}",), ends=END, write={}),
    Route("reasoning", channel="inner", ends=END, write={"channel": "inner"}),
    Route("dropped", to=(ANY,), ends=END),
    Route("content", ends=END, write={}),
)
MADE_UP = Channels(
    start=token("<msg>"),
    role="bot",
    body=token("<body>"),
    channel=token("<in>"),
    ends=(token("<end>"),),
    to=" @",
    routes=ROUTES,
)


@pytest.mark.parametrize(
    ("header", "strand", "name"),
    [
        (" @system", "dropped", None),
        (" @system.log", "dropped", None),
        (" @tools.find", "call", "find"),
        (" @find", "call", "find"),
        (" @a.b<in>inner", "call", "a.b"),
        ("<in>inner", "reasoning", None),
        ("<in>inner @<x>", "reasoning", None),
        (" @<x>", "dropped", None),
        ("<in>other", "content", None),
        ("", "content", None),
        ("<msg>bot @tools.find", "call", "find"),
        ("tools.find", "call", "find"),
        ("known", "call", "known"),
        ("unknown", "content", None),
    ],
)
def test_the_first_route_whose_conditions_hold(header: str, strand: str, name: str | None) -> None:
    route, found = route_of(MADE_UP, parse_header(MADE_UP, header, frozenset({"known"})))
    assert (route.strand, found) == (strand, name)


def test_the_marker_behind_a_header_may_choose() -> None:
    inkling = tool_format("inkling")
    assert isinstance(inkling, Channels)
    for marker, strand in (("<|content_thinking|>", "reasoning"), ("<|content_tool_error|>", "content")):
        assert route_of(inkling, Header(body=marker))[0].strand == strand


def test_headers_are_written_from_the_routes() -> None:
    assert write_header(MADE_UP, ROUTES[1], "find") == " @tools.find<body>"
    assert write_header(MADE_UP, ROUTES[2]) == "<in>inner<body>"
    assert written_route(MADE_UP, "dropped") is None
    assert written_route(MADE_UP, "content", last=True) is ROUTES[4]


@pytest.mark.parametrize(
    ("prompt", "place"),
    [
        (None, Place("bot")),
        ("no message", Place("bot")),
        ("x<msg>bot", Place("bot")),
        ("<msg>bot<in>inner<body>so", Place("bot<in>inner", "<body>")),
        ("<msg>bot<in>inner<body>so<end>", Place("bot<in>inner", "<body>", True)),
    ],
)
def test_where_a_prompt_leaves_the_output(prompt: str | None, place: Place) -> None:
    assert place_in(MADE_UP, prompt) == place


def tools(*names: str) -> list[dict[str, Any]]:
    return [{"type": "function", "function": {"name": name, "parameters": {}}} for name in names]


@pytest.mark.parametrize(
    ("text", "content", "calls"),
    [
        ("all\na >>> b\n>>>c\nd", "a >>> b\n>>>c\nd", []),
        ("all\na>>>f\n{}", "a", ["f"]),
        ("all\na>>>>f\n{}", "a>", ["f"]),
        ("f\nno object", "f\nno object", []),
        ("g\n{}", "g\n{}", []),
    ],
)
def test_a_header_of_ordinary_text_names_somebody(text: str, content: str, calls: list[str]) -> None:
    message = read_every_way(Parser(None, "functionary_v32", tools=tools("f")), text)
    assert strands(message)[1] == content
    assert [one.name for one in message.tool_calls] == calls


def thinking_channels() -> list[str]:
    found = {name: reasoning_format(name) for name in REASONING}
    return [n for n, half in found.items() if isinstance(half, Channels) and written_route(half, "reasoning")]


@pytest.mark.parametrize("name", thinking_channels())
def test_an_answer_without_a_header_is_an_answer(name: str) -> None:
    half = reasoning_format(name)
    assert isinstance(half, Channels)
    parser = Parser(name, None, prompt=begin(half))
    text = f"{head(half, 'reasoning')}Easy.{end(half, 'reasoning')}It is 4."
    message = read_every_way(parser, text)
    assert strands(message) == ("Easy.", "It is 4.", [])
    assert [one.code for one in message.diagnostics] == ["missing_marker"]
    more = f"{end(half, 'content')}And more"
    assert strands(read_every_way(parser, text + more)) == ("Easy.", "It is 4.", [])


def test_a_header_may_stand_alone() -> None:
    parser = Parser("muse", "muse", prompt="<|start|>assistant")
    message = read_every_way(parser, " to=self<|message|>go to=x to=user<|message|>Hi<|eot|>")
    assert strands(message) == ("go to=x ", "Hi", [])


def atem(name: str) -> str:
    inner = f'<atem:invoke name="{name}">\n</atem:invoke>'
    return f" to={name}<|message|><atem:function_calls>\n{inner}\n</atem:function_calls><|eot|>"


@pytest.mark.parametrize(
    ("written", "declared", "read"),
    [
        ("f.f", ("f",), "f"),
        ("f.f", ("f", "f.f"), "f.f"),
        ("a.b.a.b", ("a.b",), "a.b"),
        ("a.b", ("b",), "a.b"),
        ("f.f", None, "f.f"),
    ],
)
def test_a_declared_name_that_is_written_twice(written: str, declared: Any, read: str) -> None:
    offered = None if declared is None else tools(*declared)
    message = read_every_way(Parser(None, "muse", tools=offered, unknown_tools="forward"), atem(written))
    assert [one.name for one in message.tool_calls] == [read]


def test_the_writer_refuses_a_name_that_is_read_as_another() -> None:
    message = Message(tool_calls=[ToolCall("", "f.f", "{}")])
    with pytest.raises(Inexpressible, match="written twice"):
        write(None, "muse", message, tools=tools("f"))
    assert "f.f" in write(None, "muse", message, tools=tools("f", "f.f"))


@pytest.mark.parametrize("text", ["", "a&b", 'say "hi"', "&amp;", "&quot;", '&&quot;"', "<&>"])
def test_entities_come_back(text: str) -> None:
    written = encode_entities(text, ATTRIBUTE)
    assert '"' not in written
    assert decode_entities(written, ATTRIBUTE) == text


def test_calls_are_numbered_and_an_empty_answer_has_its_markers() -> None:
    calls = [ToolCall("", 'a&"b', '{"k&": "v&"}'), ToolCall("", "f", "{}")]
    text = write("kimi_k3", "kimi_k3", Message("r", None, calls), thinking="open")
    assert text == (
        "r<|close|>think<|sep|><|open|>response<|sep|><|close|>response<|sep|><|open|>tools<|sep|>"
        '<|open|>call tool="a&amp;&quot;b" index="1"<|sep|>'
        '<|open|>argument key="k&amp;" type="string"<|sep|>v&<|close|>argument<|sep|><|close|>call<|sep|>'
        '<|open|>call tool="f" index="2"<|sep|><|close|>call<|sep|>'
        "<|close|>tools<|sep|><|close|>message<|sep|>"
    )


def test_an_id_of_another_shape_is_made() -> None:
    message = Message(tool_calls=[ToolCall("own-1", "f", "{}"), ToolCall("", "f", "{}")])
    text = write(None, "solar_open", message)
    assert "<|tool_call:begin|>own-1<|" in text
    assert "<|tool_call:begin|>call_1<|" in text


def changed(**fields: Any) -> Channels:
    return Channels(
        **{"start": lit("<"), "role": "", "ends": (), "routes": ROUTES, "body": lit("|"), "to": "", **fields}
    )


@pytest.mark.parametrize(
    ("half", "field"),
    [
        (changed(start="<"), "Channels.start"),
        (changed(ends=("<end>",)), "Channels.ends"),
        (changed(routes=()), "Channels.routes"),
        (changed(body=None), r"Channels.routes\[0\].body"),
        (changed(routes=(Route("talk", ends=()),)), r"Channels.routes\[0\].strand"),  # type: ignore[arg-type]
        (changed(routes=(Route("call", ends=()),)), r"Channels.routes\[0\].to"),
        (changed(routes=(Route("content", ends=(), body=Lit(())),)), r"Channels.routes\[0\].body"),
        (changed(routes=(Route("reasoning", ends=(), write={}),)), "Channels.routes"),
        (
            changed(routes=(Route("call", ends=(), calls=Tools(Calls((Json(),)))), *ROUTES)),
            r"Channels.routes\[0\].calls.call.parts",
        ),
    ],
)
def test_a_wrong_declaration_is_refused(half: Channels, field: str) -> None:
    with pytest.raises(InvalidRequest, match=field):
        check_declaration(half)


def test_a_body_of_calls_needs_no_marker() -> None:
    route = Route("call", ends=(), calls=Tools(Calls((Envelope(),))))
    check_declaration(changed(routes=(route, *ROUTES)))
