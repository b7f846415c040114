"""The server's template variables under a request's: what each switch makes of both."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from tests.core.test_switches import ABSENT, SWITCHES, VALUES, given
from unbraid import Parser
from unbraid.engines.template import ChatTemplate
from unbraid.server.normal import Ask, normalise
from unbraid.server.plan import template_kwargs
from unbraid.server.requests import decode
from unbraid.server.setup import Setup
from unbraid.syntax import Switch


def ask(kwargs: dict[str, Any], **fields: Any) -> Ask:
    body = {"messages": [{"role": "user", "content": "x"}], "chat_template_kwargs": kwargs, **fields}
    return normalise(*decode(json.dumps(body).encode()))


@pytest.mark.parametrize(
    ("name", "variable"), [(name, one) for name, variables in SWITCHES.items() for one in variables], ids=str
)
def test_a_request_s_value_stands_for_the_server_s(name: str, variable: str) -> None:
    """Under each default of the server: a request's own value decides, null among them; else the default."""
    columns = SWITCHES[name][variable]
    for (default, own), (by_default, by_own) in zip(
        product(VALUES, VALUES), product(columns, columns), strict=True
    ):
        setup = Setup(ChatTemplate(""), ("m",), name, template_kwargs=given(variable, default))
        kwargs = template_kwargs(ask(given(variable, own)), setup)
        decides = by_default if own == ABSENT else by_own
        assert Parser(name, chat_template_kwargs=kwargs).thinking is (decides == "+"), (default, own)


@pytest.mark.parametrize("effort", ["none", "low", "high"])
def test_an_effort_switches_unless_the_request_does(effort: str) -> None:
    setup = Setup(
        ChatTemplate(""),
        ("m",),
        "qwen3",
        template_kwargs={"enable_thinking": True},
        switch=Switch(("enable_thinking",)),
    )
    kwargs = template_kwargs(ask({}, reasoning_effort=effort), setup)
    assert Parser("qwen3", chat_template_kwargs=kwargs).thinking is (effort != "none")
    kwargs = template_kwargs(ask({"enable_thinking": False}, reasoning_effort=effort), setup)
    assert not Parser("qwen3", chat_template_kwargs=kwargs).thinking
