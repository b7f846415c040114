"""An engine that writes what a script says of the prompt, in a pair's format, a few characters a piece."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import unbraid
from unbraid.engines.base import Generation
from unbraid.engines.replay import Recording, ReplayEngine, byte_tokenizer
from unbraid.engines.template import TOOL_TEMPLATE

__all__ = ["ScriptedEngine", "written"]

PIECE = 5
Script = Callable[[str], str]


class ScriptedEngine(ReplayEngine):
    """Answers each prompt with the text that ``script`` makes of it."""

    def __init__(self, script: Script, **options: Any) -> None:
        given = {"tokenizer": byte_tokenizer(), "chat_template": TOOL_TEMPLATE, "dialects": ("llguidance",)}
        self._options = {**given, **options}
        super().__init__("", **self._options)
        self._script = script

    async def generate(self, generation: Generation) -> Any:
        """Play the script's text."""
        text = self._script(str(generation.prompt))
        recording = Recording([text[at : at + PIECE] for at in range(0, len(text), PIECE)])
        async for chunk in ReplayEngine(recording, **self._options).generate(generation):
            yield chunk


def written(
    pair: tuple[str, str],
    calls: list[tuple[str, str]],
    content: str | None = None,
    reasoning: str | None = None,
    thinking: str = "closed",
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> str:
    """A turn as the pair's model writes it; ``calls`` are names and arguments."""
    made = [unbraid.ToolCall(f"functions.{name}:{n}", name, text) for n, (name, text) in enumerate(calls)]
    message = unbraid.Message(reasoning=reasoning, content=content, tool_calls=made)
    return unbraid.write(*pair, message=message, thinking=thinking, tools=tools)  # type: ignore[arg-type]
