"""The requests: each way of asking, with thinking and without, as a stream and whole, cold and warm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from ..forced.cases import OTHER, QUESTIONS, TOOLS

Choice = Literal["named", "required", "strict", "auto", "schema"]

CHOICES: tuple[Choice, ...] = ("named", "required", "strict", "auto", "schema")
FORCED: tuple[Choice, ...] = ("named", "required")
TEMPERATURES = (0.0, 1.0)
BUDGET = 48
"""Tokens of thinking."""

EXAMPLES: dict[str, dict[str, Any]] = {
    "get_weather": {"city": "Bergen"},
    "book_room": {"guest": {"name": "Bo", "address": {"street": "Hill", "number": 2}}, "nights": 1},
    "set_mode": {"mode": "boost", "level": 3},
    "add_tags": {"tags": ["snow"]},
    "find_user": {"name": "Eva", "age": 31},
    "draw_line": {"start": {"x": 1, "y": 1}, "end": {"x": 2, "y": 5}},
    "list-files": {"path": "/home"},
    "math.sqrt": {"value": 9},
    "send": {"to": ["bob"], "flags": {"urgent": False, "copy": True}},
}
"""Calls in the history of the requests that leave the call to the model: a small model does as before."""

LENGTH = 1024
FREE_LENGTH = 192
"""Tokens of an answer that nothing need end."""


@dataclass(frozen=True)
class Case:
    """One request: what it is about, what it demands, whether it thinks, how it is asked."""

    tool: str
    choice: Choice
    thinking: bool
    stream: bool
    temperature: float
    seed: int
    budget: int = BUDGET

    @property
    def name(self) -> str:
        """A short name."""
        thinks, how = "thinks" if self.thinking else "direct", "stream" if self.stream else "whole"
        return f"{self.choice}-{thinks}-{how}-{self.temperature:g}-{self.tool}"

    @property
    def forced(self) -> bool:
        """Whether there must be a call."""
        return self.choice in FORCED

    @property
    def schema(self) -> dict[str, Any]:
        """What the arguments, or the answer, must be."""
        return TOOLS[self.tool] or {}

    @property
    def body(self) -> dict[str, Any]:
        """The arguments of ``chat.completions.create``."""
        return {
            "messages": [*self._history(), {"role": "user", "content": QUESTIONS[self.tool]}],
            **self._demand(),
            "temperature": self.temperature,
            "top_p": 0.95,
            "seed": self.seed,
            "max_tokens": FREE_LENGTH if self.choice in ("auto", "strict") else LENGTH,
            "stream": self.stream,
            "extra_body": {
                "chat_template_kwargs": {"enable_thinking": self.thinking},
                "thinking_token_budget": self.budget,
            },
        }

    def _history(self) -> list[dict[str, Any]]:
        if self.choice not in ("auto", "strict"):
            return []
        function = {"name": self.tool, "arguments": json.dumps(EXAMPLES[self.tool])}
        call = {"id": "call_1", "type": "function", "function": function}
        return [
            {"role": "user", "content": QUESTIONS[self.tool]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": "done"},
        ]

    def _demand(self) -> dict[str, Any]:
        if self.choice == "schema":
            wanted = {"name": "answer", "schema": self.schema, "strict": True}
            return {"response_format": {"type": "json_schema", "json_schema": wanted}}
        function: dict[str, Any] = {"name": self.tool, "description": QUESTIONS[self.tool]}
        function["parameters"] = self.schema
        if self.choice != "auto":
            function["strict"] = True
        tools = [OTHER, {"type": "function", "function": function}]
        choice: Any = {"named": {"type": "function", "function": {"name": self.tool}}}.get(
            self.choice, "required" if self.choice == "required" else "auto"
        )
        return {"tools": tools, "tool_choice": choice, "parallel_tool_calls": False}


def cases(rounds: int) -> Iterator[Case]:
    """40 requests a round, no two of them alike; the tools take turns."""
    names = list(EXAMPLES)
    n = 0
    for seed in range(rounds):
        for choice in CHOICES:
            for thinking in (True, False):
                for temperature in TEMPERATURES:
                    for stream in (True, False):
                        yield Case(names[n % len(names)], choice, thinking, stream, temperature, seed)
                        n += 1
