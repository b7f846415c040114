"""Every structural tag under test: formats, choices, thinking states, strictness, markers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.constrain.cases import WEATHER, function, markers, states
from unbraid.constrain import Constraint, constrain
from unbraid.formats import REASONING_PARSERS, TOOL_PARSERS
from unbraid.tokens import TokenTable

PARTNERS = {
    "deepseek_v3": "deepseek_r1",
    "deepseek_v31": "deepseek_v3",
    "deepseek_v32": "deepseek_v3",
    "dots": "qwen3",
    "gemma4": "gemma4",
    "glm45": "glm45",
    "glm47": "glm47",
    "hermes": "qwen3",
    "hy_v3": "hy_v3",
    "hy_v4": "hy_v4",
    "iquest_q1": "iquest_q1",
    "k2_horizon": "k2_horizon",
    "k2_horizon_json": "k2_horizon_low",
    "k2_horizon_xml_typed": "k2_horizon_medium",
    "kimi_k2": "kimi_k2",
    "ling3": "ling3",
    "llama3_json": "granite",
    "llama4_pythonic": None,
    "mistral": "mistral",
    "openai": "openai_gptoss",
    "poolside_laguna_s": "poolside_laguna_s",
    "poolside_v1": "poolside_v1",
    "pythonic": None,
    "qwen3_coder": "qwen3",
}
OWN = {name: name for name in REASONING_PARSERS}
PAIRS = [({**OWN, **PARTNERS}.get(name), name) for name in sorted(TOOL_PARSERS)]

WEATHER_TAG = {
    **WEATHER,
    "properties": {
        **WEATHER["properties"],
        "any_of": {"anyOf": [{"type": "integer", "minimum": 10}, {"type": "null"}]},
    },
}
TOOLS = {
    strict: [
        function("weather", WEATHER_TAG, strict),
        function("weather_now", {"type": "object", "properties": {"zone": {"type": "string"}, "b": {}}}),
        function("ping", None, strict),
    ]
    for strict in (True, False)
}
NOTE = 40
ANSWER = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "note": {"type": "string", "maxLength": NOTE}},
    "required": ["ok"],
    "additionalProperties": False,
}
CHOICES: dict[str, dict[str, Any]] = {
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
    "auto": {"tool_choice": "auto", "strict_level": "function"},
    "single": {"tool_choice": "required", "parallel_tool_calls": False},
    "schema": {"tool_choice": "auto", "response_schema": ANSWER},
}


@dataclass(frozen=True)
class Tag:
    """One tag, and what it was made of."""

    key: str
    reasoning: str | None
    tool: str
    choice: str
    state: str
    strict: bool
    by: str
    special: tuple[str, ...]
    constraint: Constraint


def vocabulary(special: tuple[str, ...]) -> list[bytes]:
    """The bytes, the special tokens, and an end of sequence."""
    return [bytes([byte]) for byte in range(256)] + [one.encode() for one in special] + [b"<|EOS|>"]


def tags() -> Iterator[Tag]:
    """All of them."""
    for reasoning, tool in PAIRS:
        for choice, options in CHOICES.items():
            for state in states(reasoning):
                for strict in (True, False):
                    for by in ("text", "tokens"):
                        special = markers(reasoning, tool, special=True) if by == "tokens" else ()
                        if by == "tokens" and not special:
                            continue
                        pieces = vocabulary(special)
                        table = TokenTable(dict(enumerate(pieces)), special=range(256, len(pieces)))
                        made = constrain(
                            reasoning,
                            tool,
                            tools=TOOLS[strict],
                            thinking=state,
                            tokenizer=table if special else None,
                            **options,
                        )
                        assert made is not None
                        key = f"{tool}/{choice}/{state}/{'strict' if strict else 'loose'}/{by}"
                        yield Tag(key, reasoning, tool, choice, state, strict, by, special, made)
