"""What every runner here shares: splits of an output, events folded back, JSON compared with types."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from unbraid import Message, Parser
from unbraid.events import ContentDelta, Event, ReasoningDelta, ToolCallArguments, ToolCallEnd, ToolCallStart
from unbraid.formats import reasoning_names, tool_names


class CountedIds:
    """Makes call ids that are the same in every replay; ``reset`` before each."""

    def __init__(self) -> None:
        self._given = 0

    def reset(self) -> None:
        """Count from the beginning again."""
        self._given = 0

    def __call__(self) -> str:
        """The next id, nine characters long."""
        self._given += 1
        return f"call{self._given:05d}"


def declared(tool_parser: str | None, reasoning_parser: str | None) -> bool:
    """Whether unbraid declares every half that is named, and one at least is."""
    if tool_parser is None and reasoning_parser is None:
        return False
    return (tool_parser is None or tool_parser in tool_names()) and (
        reasoning_parser is None or reasoning_parser in reasoning_names()
    )


def random_split(text: str, seed: int, longest: int = 8) -> list[str]:
    """The text in pieces of 1 to ``longest`` characters, empty ones between them now and then."""
    rng = random.Random(seed)
    pieces: list[str] = []
    at = 0
    while at < len(text):
        length = rng.randint(0, longest)
        pieces.append(text[at : at + length])
        at += length
    return pieces


def splits(text: str, chunks: Sequence[str] | None = None, seeds: int = 6) -> dict[str, list[str]]:
    """The ways in which an output is fed: whole, by characters, as reported, at random."""
    ways = {"whole": [text], "characters": list(text)}
    if chunks:
        ways["chunks"] = list(chunks)
    for seed in range(seeds):
        ways[f"random {seed}"] = random_split(text, seed, (2, 5, 8, 16, 40, 200)[seed % 6])
    return ways


def fold(events: Iterable[Event]) -> dict[str, Any]:
    """The strands that the events make; raises AssertionError where they contradict each other."""
    reasoning: list[str] = []
    content: list[str] = []
    calls: list[dict[str, Any]] = []
    for event in events:
        if isinstance(event, ReasoningDelta):
            reasoning.append(event.text)
        elif isinstance(event, ContentDelta):
            content.append(event.text)
        elif isinstance(event, ToolCallStart):
            assert event.index == len(calls), f"call {event.index} announced after {len(calls)} calls"
            calls.append({"id": event.id, "name": event.name, "arguments": "", "complete": None})
        elif isinstance(event, ToolCallArguments):
            assert calls[event.index]["complete"] is None, f"arguments behind the end of call {event.index}"
            calls[event.index]["arguments"] += event.text
        elif isinstance(event, ToolCallEnd):
            assert calls[event.index]["complete"] is None, f"call {event.index} ended twice"
            calls[event.index]["complete"] = event.complete
    return {"reasoning": "".join(reasoning) or None, "content": "".join(content) or None, "tool_calls": calls}


def stream(parser: Parser, pieces: Iterable[str], finish: str | None) -> tuple[Message, dict[str, Any]]:
    """Feed the pieces; the message, and the events folded."""
    reader = parser.stream()
    events: list[Event] = []
    for piece in pieces:
        events += reader.feed(piece)
    events += reader.finish(finish)
    return reader.message, fold(events)


def typed(value: Any) -> Any:
    """A JSON value made comparable: ``true`` is not ``1``, while ``1`` is ``1.0``."""
    if isinstance(value, bool) or value is None:
        return ("constant", repr(value))
    if isinstance(value, dict):
        return ("object", {key: typed(item) for key, item in value.items()})
    if isinstance(value, list):
        return ("array", [typed(item) for item in value])
    return (type(value).__name__.replace("int", "number").replace("float", "number"), value)


def same_json(text: str, expected: Any) -> bool:
    """Whether ``text`` is JSON for ``expected``."""
    try:
        return bool(typed(json.loads(text)) == typed(expected))
    except ValueError:
        return False
