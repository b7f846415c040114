"""A wrong declaration is refused by the name of its field."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from unbraid import InvalidRequest
from unbraid.declared import check_declaration
from unbraid.formats import reasoning_format, reasoning_names, registry, tool_format, tool_names
from unbraid.syntax import (
    Answer,
    Calls,
    Channels,
    Choice,
    Envelope,
    Envelopes,
    Id,
    IdMember,
    Json,
    Lit,
    Name,
    Pairs,
    Reasoning,
    Section,
    Tools,
    Variants,
    Ws,
    any_space,
    lit,
    space,
    token,
)

PAIRS = Pairs(open=lit("<k>"), middle=(lit("</k>"),), close=lit("</v>"))
GOOD = (lit("<c>"), Name(), Ws(" "), Json(), lit("</c>"))


@pytest.mark.parametrize("name", tool_names())
def test_every_tools_half_is_well_declared(name: str) -> None:
    check_declaration(tool_format(name))


@pytest.mark.parametrize("name", reasoning_names())
def test_every_reasoning_half_is_well_declared(name: str) -> None:
    check_declaration(reasoning_format(name))


def tools(*parts: Any, **fields: Any) -> Tools:
    return Tools(call=Calls(parts or GOOD), **fields)


def reasoning(**fields: Any) -> Reasoning:
    return Reasoning(**{"open": lit("<p>"), "close": lit("</p>"), **fields})


HARMONY = tool_format("openai")
assert isinstance(HARMONY, Channels)


WRONG = [
    (tools(Name(), Json()), "Tools.call.parts[0]"),
    (tools("<c>", Name(), Json()), "Tools.call.parts[0]"),
    (Tools(call=Calls([lit("<c>"), Name(), Json()])), "Tools.call.parts"),  # type: ignore[arg-type]
    (tools(Lit(()), Name(), Json()), "Tools.call.parts[0]"),
    (tools(lit(""), Name(), Json()), "Tools.call.parts[0]"),
    (tools(lit("<c>"), Json()), "Tools.call.parts"),
    (tools(lit("<c>"), Name()), "Tools.call.parts"),
    (tools(lit("<c>"), Name(), Ws(" "), Json(), lit(","), Json()), "Tools.call.parts"),
    (tools(lit("<c>"), Envelope(), Choice(((lit(","), Json()), (lit(";"),)))), "Tools.call.parts"),
    (tools(lit("<c>"), Name(), lit("end"), Json()), "Tools.call.parts[2]"),
    (tools(lit("<c>"), Name("(["), Json()), "Tools.call.parts[1].chars"),
    (tools(lit("<c>"), Name(), Ws("\n"), PAIRS, lit("/c>")), "Tools.call.parts[2]"),
    (tools(lit("<c>"), Name(), Ws(" "), replace(PAIRS, open=lit("k="))), "Tools.call.parts[2]"),
    (
        tools(lit("<c>"), Name(), lit(">"), replace(PAIRS, middle=(lit("'>"),))),
        "Tools.call.parts[3].middle[0]",
    ),
    (tools(lit("<c>"), Id("{name}#{index}"), Json()), "Tools.call.parts[1].pattern"),
    (
        tools(lit("<c>"), Name(), Id("[a-z]{3}", name=False, made="{index}"), Json()),
        "Tools.call.parts[2].made",
    ),
    (tools(lit("<c>"), Envelope(id="id")), "Tools.call.parts[1].id"),  # type: ignore[arg-type]
    (tools(lit("<c>"), Envelope(id=IdMember("id", Id("x", name=False)))), "Tools.call.parts[1].id.id"),
    (
        tools(lit("<c>"), Envelopes(Envelope(id=IdMember("id", Id("x", name=False, made="{n}"))))),
        "Tools.call.parts[1].item.id.id.made",
    ),
    (tools(section=Section("<a>", "</a>")), "Tools.section.open"),  # type: ignore[arg-type]
    (tools(before="\n"), "Tools.before"),
    (tools(dropped="</s>"), "Tools.dropped"),
    (tools(ids="short"), "Tools.ids"),
    (reasoning(open="<p>"), "Reasoning.open"),
    (reasoning(close=lit("<p>")), "Reasoning.close"),
    (reasoning(lead="\n"), "Reasoning.lead"),
    (reasoning(opened_by="model"), "Reasoning.opened_by"),
    (reasoning(tools_inside="x"), "Reasoning.tools_inside"),
    (reasoning(ends_at="<c>"), "Reasoning.ends_at"),
    (reasoning(tools_inside="end"), "Reasoning.ends_at"),
    (reasoning(begin="\n"), "Reasoning.begin"),
    (reasoning(end="\n"), "Reasoning.end"),
    (reasoning(answer=Answer(lit("<a>"), lit("</a>"), end="</m>")), "Reasoning.answer.end"),  # type: ignore[arg-type]
    (Tools(Calls(GOOD, behind="x")), "Tools.call.behind"),  # type: ignore[arg-type]
    (reasoning(suffixes=("opensource",)), "Reasoning.suffixes"),
    (tools(suffixes=":opensource"), "Tools.suffixes"),
    (tools(variants="json"), "Tools.variants"),
    (replace(HARMONY, to=" to "), "Channels.to"),
    (replace(HARMONY, to=None, role=None), "Channels.role"),
    (tools(variants=Variants("layout", ())), "Tools.variants.names"),
    (tools(variants=Variants("layout", ("xml", "json"))), "Tools.variants.names"),  # type: ignore[arg-type]
]


SAID: list[tuple[Any, str]] = [
    (
        reasoning(open=token("<p>", "<q>", optional=True), close=lit("<q>")),
        "Reasoning.close must be another marker than Reasoning.open, not lit('<q>')",
    ),
    (reasoning(switch=lit("<p>")), "Reasoning.switch must be a Switch, not lit('<p>')"),
    (
        reasoning(ends_at=(token("<p>", optional=True),)),
        "Reasoning.ends_at must be a tuple of str, not (token('<p>', optional=True),)",
    ),
    (tools(dropped=["</s>"]), "Tools.dropped must be a tuple of str, not ['</s>']"),
    (tools(answer=space("\n")), "Tools.answer must be an Answer, not space('\\n')"),
    (
        tools(lit("<c>"), Json(), lit("</c>")),
        "Tools.call.parts must be parts that hold the function's name, not (lit('<c>'), Json(), lit('</c>'))",
    ),
    (
        tools(lit("<c>"), Name("[a-z]"), Ws(" ")),
        "Tools.call.parts must be parts that hold the arguments, not (lit('<c>'), Name('[a-z]'), Ws(' '))",
    ),
    (tools(ids=Reasoning(lit("<p>"), lit("</p>"), label="l", lead=any_space("\n"))),
     "Tools.ids must be one of random, nine, not "
     "Reasoning(lit('<p>'), lit('</p>'), label='l', lead=any_space('\\n'))"),
]  # fmt: skip


@pytest.mark.parametrize(("half", "message"), SAID)
def test_the_message_says_the_value_as_it_is_written(half: Any, message: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        check_declaration(half)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "name", ["hermes", "deepseek_v32", "k2_horizon", "gemma4", "openai", "cohere_command4"]
)
def test_no_message_is_long(name: str) -> None:
    """A whole declaration in the place of a field is said in a few words."""
    with pytest.raises(InvalidRequest) as refused:
        check_declaration(tools(ids=(tool_format(name),) * 9))
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(("half", "field"), WRONG, ids=[field for _, field in WRONG])
def test_a_wrong_field_is_named(half: Any, field: str) -> None:
    """Nothing is registered, and the message begins with the field."""
    with pytest.raises(InvalidRequest) as refused:
        registry.register("a-wrong-one", half)
    assert refused.value.param == field
    assert str(refused.value).startswith(field)
    assert "a-wrong-one" not in tool_names() + reasoning_names()
