"""Halves that a request or the model's vocabulary chooses, on a server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from unbraid.engines.replay import Recording
from unbraid.server.options import Options
from unbraid.server.startup import prepare

from .helpers import USER, WEATHER, raw, replay

WORDS = ("think", "tool_calls", "tool_call", "arg_key", "arg_value")
HY = tuple(f"<{slash}{word}:own>" for word in WORDS for slash in ("", "/"))
TEMPLATE = (
    "{% for m in messages %}<|ifm|im_start|>{{ m.role }}\n{{ m.content }}<|ifm|im_end|>{% endfor %}"
    "<|ifm|im_start|>assistant\n{{ {'high': '<ifm|think>', 'medium': '<ifm|think_fast>'}"
    "[reasoning_effort or 'high'] }}\n{# tools #}"
)
HY_TEMPLATE = "<｜hy_Assistant:own｜><think:own>{# tools #}"


def ask(engine: Any, options: dict[str, Any], **body: Any) -> Any:
    async def run() -> Any:
        async with raw(engine, **options) as http:
            request = {"model": engine.model, "messages": USER, **body}
            return await http.post("/v1/chat/completions", json=request)

    return asyncio.run(run())


def test_the_vocabulary_tells_a_checkpoint_s_ending() -> None:
    text = (
        "plan</think:own><tool_calls:own><tool_call:own>get_weather<arg_key:own>city</arg_key:own>"
        "<arg_value:own>Oslo</arg_value:own></tool_call:own></tool_calls:own>"
    )
    options = {"reasoning_parser": "hy_v4", "tool_call_parser": "hy_v4", "chat_template": HY_TEMPLATE}
    engine = replay(Recording(text), special=(*HY, "<｜hy_eos:own｜>"))
    message = ask(engine, options, tools=[WEATHER]).json()["choices"][0]["message"]
    assert message["reasoning"] == "plan"
    assert message["tool_calls"][0]["function"] == {"name": "get_weather", "arguments": '{"city": "Oslo"}'}


def test_a_known_ending_is_settled_at_the_start() -> None:
    special = [f"<{slash}{word}:opensource>" for word in WORDS for slash in ("", "/")]
    engine = replay("x", special=special)
    setup = prepare(engine, Options(reasoning_parser="hy_v3", tool_call_parser="hy_v3"))
    assert (setup.reasoning_parser, setup.tool_parser) == ("hy_v3:opensource", "hy_v3:opensource")
    assert setup.end_text == "</think:opensource>"


K2: dict[str, Any] = {
    "reasoning_parser": "k2_horizon",
    "tool_call_parser": "k2_horizon",
    "chat_template": TEMPLATE,
}


@pytest.mark.parametrize(("effort", "tag"), [(None, "think"), ("medium", "think_fast")])
def test_the_effort_chooses_for_reading_and_for_the_grammar(effort: str | None, tag: str) -> None:
    call = '\n<ifm|tool_calls>\n<ifm|tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n'
    text = f"plan\n</ifm|{tag}>{call}</ifm|tool_call>\n</ifm|tool_calls>"
    engine = replay(Recording(text), special=(), dialects=("llguidance",))
    kwargs = {"tool_call_format": "json", "reasoning_effort": effort}
    answer = ask(engine, K2, tools=[WEATHER], tool_choice="required", chat_template_kwargs=kwargs).json()[
        "choices"
    ][0]["message"]
    assert answer["reasoning"] == "plan"
    assert answer["tool_calls"][0]["function"] == {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
    constraint = engine.requests[0].constraint
    assert f"</ifm|{tag}>" in constraint.grammar
    assert "arg_key" not in constraint.grammar


def test_a_wrong_word_is_the_request_s_fault() -> None:
    answer = ask(replay("x", special=()), K2, chat_template_kwargs={"tool_call_format": "yaml"})
    assert answer.status_code == 400
    assert "xml, xml_typed, json" in answer.json()["error"]["message"]
