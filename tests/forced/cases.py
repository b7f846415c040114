"""Tools and requests for generations that must end in a call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

TEMPERATURES = (0.0, 0.7, 1.0)
COORDINATE = {"type": "integer", "minimum": -100, "maximum": 100}
POINT = {
    "type": "object",
    "properties": {"x": COORDINATE, "y": COORDINATE},
    "required": ["x", "y"],
    "additionalProperties": False,
}


def _object(required: list[str] | None = None, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties) if required is None else required,
        "additionalProperties": False,
    }


TOOLS: dict[str, dict[str, Any] | None] = {
    "get_weather": _object(city={"type": "string"}),
    "book_room": _object(
        guest=_object(
            name={"type": "string"},
            address=_object(
                street={"type": "string"}, number={"type": "integer", "minimum": 1, "maximum": 999}
            ),
        ),
        nights={"type": "integer", "minimum": 1, "maximum": 30},
    ),
    "set_mode": _object(mode={"enum": ["eco", "boost", "off"]}, level={"enum": [1, 2, 3]}),
    "add_tags": _object(tags={"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3}),
    "find_user": _object(
        ["name"],
        name={"type": "string"},
        age={"anyOf": [{"type": "integer", "minimum": 0, "maximum": 150}, {"type": "null"}]},
    ),
    "draw_line": {
        **_object(start={"$ref": "#/$defs/point"}, end={"$ref": "#/$defs/point"}),
        "$defs": {"point": POINT},
    },
    "get_time": None,
    "list-files": _object(["path"], path={"type": "string"}, hidden={"type": "boolean"}),
    "math.sqrt": _object(
        value={"anyOf": [{"type": "integer", "minimum": 0, "maximum": 1000}, {"enum": [0.5, 2.25]}]}
    ),
    "send": _object(
        to={
            "type": "array",
            "items": {"type": "string", "enum": ["ann", "bob"]},
            "minItems": 1,
            "maxItems": 2,
        },
        flags=_object(urgent={"type": "boolean"}, copy={"type": "boolean"}),
    ),
}
QUESTIONS = {
    "get_weather": "What is the weather in Oslo?",
    "book_room": "Book a room for Ann Lee, 5 Main Street, for three nights.",
    "set_mode": "Set the heater to eco on level 2.",
    "add_tags": "Tag this photo with sea and sun.",
    "find_user": "Find the user Tom, 40 years old.",
    "draw_line": "Draw a line from (0, 0) to (3, 4).",
    "get_time": "What time is it?",
    "list-files": "List the files in /tmp.",
    "math.sqrt": "What is the square root of 2?",
    "send": "Send it to Ann and Bob, urgently.",
}
OTHER = {"type": "function", "function": {"name": "do_nothing", "strict": True}}


@dataclass(frozen=True)
class Case:
    """One request: the tool it is about, how a call is demanded, whether it thinks, how it is sampled."""

    tool: str
    choice: str
    thinking: bool
    stream: bool
    temperature: float
    strict: bool = True

    @property
    def name(self) -> str:
        """A short name."""
        thinks, how = "thinks" if self.thinking else "direct", "stream" if self.stream else "whole"
        return f"{self.tool}-{self.choice}-{thinks}-{how}-{self.temperature}"

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools of the request; with a named choice there is a second one."""
        function: dict[str, Any] = {"name": self.tool, "description": QUESTIONS[self.tool]}
        if TOOLS[self.tool] is not None:
            function["parameters"] = TOOLS[self.tool]
        if self.strict:
            function["strict"] = True
        tool = {"type": "function", "function": function}
        return [OTHER, tool] if self.choice == "named" else [tool]

    @property
    def body(self) -> dict[str, Any]:
        """The request."""
        choice: Any = self.choice
        if self.choice == "named":
            choice = {"type": "function", "function": {"name": self.tool}}
        return {
            "messages": [{"role": "user", "content": QUESTIONS[self.tool]}],
            "tools": self.tools,
            "tool_choice": choice,
            "chat_template_kwargs": {"enable_thinking": self.thinking},
            "temperature": self.temperature,
            "top_p": 0.95,
            "seed": 7,
            "max_tokens": 160 if self.choice == "auto" else 1024,
            "parallel_tool_calls": False,
            "stream": self.stream,
        }


def forced() -> Iterator[Case]:
    """240 requests that must end in a call."""
    for tool in TOOLS:
        for choice in ("named", "required"):
            for thinking in (True, False):
                for temperature in TEMPERATURES:
                    for stream in (True, False):
                        yield Case(tool, choice, thinking, stream, temperature)


def sample() -> list[Case]:
    """24 of them, in pairs of stream and whole; every tool and every value of everything else is there."""
    cases = list(forced())
    return [case for n in range(0, 240, 20) for case in cases[n : n + 2]]


def free(count: int, strict: bool) -> Iterator[Case]:
    """Requests that leave the call to the model, with strict tools or without any constraint."""
    names = list(TOOLS)
    for n in range(count):
        yield Case(names[n % len(names)], "auto", n % 2 == 0, n % 3 == 0, TEMPERATURES[n // 10 % 3], strict)
