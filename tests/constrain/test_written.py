"""Law 6, the other way: what the writer writes for a message is an output of the grammar."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.constrain.cases import PAIRS, TOOLS, halves, markers, states
from tests.constrain.helpers import accepts, vocabulary
from unbraid.constrain import constrain
from unbraid.formats import tool_format
from unbraid.message import Message, ToolCall
from unbraid.syntax import Channels, ResponseTemplate, Tools
from unbraid.writer import write

CITY = {"city": "Bærum, \"x\" 'y' \\ z", "days": 3}
CALLS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "small": [("weather", {"city": "Oslo", "days": 3})],
    "none": [("ping", {})],
    "loose": [("weather_now", {"zone": "CET", "b": "two\nlines"})],
    "rich": [
        (
            "weather",
            {
                **CITY,
                "unit": "f",
                "note": None,
                "tags": ["a", "b c"],
                "place": {"x": 1.5, "name": "n"},
                "flag": True,
            },
        )
    ],
    "several": [("weather", CITY), ("ping", {}), ("weather", {"city": "a\nb", "days": 1})],
}
REQUESTS: tuple[dict[str, Any], ...] = (
    {"tool_choice": "required"},
    {"tool_choice": "auto"},
    {"tool_choice": "required", "strict_level": "function"},
)
WRITER_STATES = {"open": "open", "output": "absent", "optional": "absent", "off": "closed"}


def rendered(reasoning: str | None, tool: str, state: str, calls: str, content: str | None = None) -> str:
    """The canonical text of a message with these calls."""
    _, half = halves(reasoning, tool)
    ids = [f"functions.{name}:{n}" for n, (name, _) in enumerate(CALLS[calls])]
    written = [
        ToolCall(ids[n] if tool == "kimi_k2" else f"call{n}", name, json.dumps(arguments, ensure_ascii=False))
        for n, (name, arguments) in enumerate(CALLS[calls])
    ]
    if isinstance(half, Channels) or half.calls_per_turn == 1:
        written = written[:1]
    thought = "so\nit is" if reasoning is not None and state != "off" else None
    message = Message(reasoning=thought, content=content, tool_calls=written)
    return write(reasoning, tool, message, tools=TOOLS, thinking=WRITER_STATES[state])


@pytest.mark.parametrize("by", ["text", "tokens"])
@pytest.mark.parametrize("calls", sorted(CALLS))
@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_written_messages_are_accepted(reasoning: str | None, tool: str, calls: str, by: str) -> None:
    words = vocabulary(markers(reasoning, tool, special=True) if by == "tokens" else ())
    tokenizer = words.table if by == "tokens" else None
    for state in states(reasoning):
        text = rendered(reasoning, tool, state, calls)
        for options in REQUESTS:
            found = constrain(reasoning, tool, tools=TOOLS, thinking=state, tokenizer=tokenizer, **options)
            assert found is not None
            assert accepts(found.lark(), text, words), (state, options, text)


def answers_before_calls(tool: str) -> bool:
    """Whether one output may answer and call; a template with a region for answers has either."""
    half = tool_format(tool)
    return not isinstance(half, ResponseTemplate) or any(one.open is None for one in half.fields)


@pytest.mark.parametrize(("reasoning", "tool"), [one for one in PAIRS if answers_before_calls(one[1])])
def test_content_before_calls_is_accepted_under_auto(reasoning: str | None, tool: str) -> None:
    _, half = halves(reasoning, tool)
    bare = isinstance(half, Tools) and half.call.anchor and not half.before.any
    content = "Let me look.\n" if bare else "Let me look."
    for state in states(reasoning):
        text = rendered(reasoning, tool, state, "small", content)
        found = constrain(reasoning, tool, tools=TOOLS, thinking=state)
        assert found is not None
        assert accepts(found.lark(), text), text
