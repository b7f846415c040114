"""Grammars of response templates: what is refused by name, and what a template demands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.constrain.cases import TOOLS, function
from tests.constrain.helpers import accepts
from unbraid import InvalidRequest, Parser
from unbraid.errors import Unsupported

from .test_load import TEMPLATE, changed

START = "<|start|>assistant"
THOUGHT = "<|channel|>analysis<|message|>plan<|end|><|start|>assistant"
CALL = " to=ping<|channel|>analysis <|constrain|>xml<|message|><|call|>"


def lark(**options: Any) -> str:
    found = Parser("beam", "beam", prompt=START, **{"tools": TOOLS, "tool_choice": "required", **options})
    constraint = found.constraint()
    assert constraint is not None
    return constraint.lark()


def test_a_name_that_no_opener_holds() -> None:
    with pytest.raises(InvalidRequest, match="a b") as caught:
        lark(tools=[function("a b")])
    assert (caught.value.param or "").startswith("tools[0]")


def test_beam_demands_thinking_unless_it_is_off() -> None:
    assert accepts(lark(), THOUGHT + CALL)
    assert not accepts(lark(), CALL)
    assert not accepts(lark(), THOUGHT.replace("plan", "") + CALL)
    off = lark(chat_template_kwargs={"enable_thinking": False})
    assert accepts(off, CALL)
    assert accepts(off, THOUGHT + CALL)


def test_one_call_without_parallel_calls() -> None:
    two = THOUGHT + CALL.replace("<|call|>", "<|end|><|start|>assistant") + CALL
    assert accepts(lark(), two)
    assert not accepts(lark(parallel_tool_calls=False), two)


@pytest.mark.parametrize(
    ("change", "value"),
    [
        ("fields.tool_calls.content", "kv-lines"),
        ("fields.tool_calls.transform", {"function": {"name": "f", "arguments": {"x": "{content}"}}}),
        ("fields.tool_calls.close", "]"),
    ],
)
def test_what_can_not_be_derived_is_refused(change: str, value: Any) -> None:
    parser = Parser("hf", "hf", tools=TOOLS, tool_choice="required", response_template=changed(change, value))
    with pytest.raises(Unsupported, match="no grammar here can say"):
        parser.constraint()


def test_a_given_template_is_what_is_held() -> None:
    template = changed("fields.tool_calls.open", "[CALL]")
    parser = Parser("hf", "hf", tools=TOOLS, tool_choice="required", response_template=template)
    constraint = parser.constraint()
    assert constraint is not None
    assert accepts(constraint.lark(), '[CALL]{"name": "ping", "arguments": {}}</tool_call>')
    assert not accepts(constraint.lark(), '<tool_call>{"name": "ping", "arguments": {}}</tool_call>')
    assert TEMPLATE["fields"]["tool_calls"]["open"] == "<tool_call>"
