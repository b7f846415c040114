"""A server over an engine that sends text alone and whose vocabulary nobody knows."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from unbraid.engines.replay import Recording, ReplayEngine, byte_tokenizer
from unbraid.engines.template import TOOL_TEMPLATE
from unbraid.server.options import Options
from unbraid.server.startup import prepare

from .helpers import CALL, MARKERS, THINKING, WEATHER, both, whole


class TextOnly(ReplayEngine):
    """Plays text without ids, and has no tokenizer to show."""

    def __init__(self, *texts: str) -> None:
        pieces = [Recording(tuple(text), ids=False) for text in texts]
        super().__init__(*pieces, tokenizer=byte_tokenizer(*MARKERS), chat_template=TOOL_TEMPLATE)
        self.capabilities = replace(self.capabilities, token_ids=False)

    @property
    def tokenizer(self) -> None:  # type: ignore[override]
        return None


def test_markers_are_read_as_text() -> None:
    output = f"<think>\nIs it 😀?\n</think>\n\n{CALL}<|im_end|>"
    body = {"tools": [WEATHER], "return_token_ids": True, **THINKING}
    full, streamed, _ = asyncio.run(both(lambda: TextOnly(output), body))
    assert whole(full["choices"][0]) == streamed[0].message
    message = full["choices"][0]["message"]
    assert message["reasoning"].strip() == "Is it 😀?"
    assert message["tool_calls"][0]["function"]["name"] == "get_weather"
    assert "prompt_token_ids" not in full
    assert full["usage"]["completion_tokens"] == len(output.encode()) - sum(
        len(one) - 1 for one in MARKERS[1:]
    )


def test_the_report_says_so() -> None:
    lines = prepare(TextOnly("x"), Options(reasoning_parser="qwen3", tool_call_parser="hermes")).report
    (line,) = (one for one in lines if one.startswith("markers"))
    assert line.startswith("markers: read as text, for the model's vocabulary is not known, <think> </think>")
    assert line.endswith("--tokenizer FOLDER tells it")


def test_a_budget_goes_on_from_text() -> None:
    engines: list[TextOnly] = []

    def make() -> TextOnly:
        engines.append(TextOnly("<think>\nabcdefgh", "Hello<|im_end|>"))
        return engines[-1]

    body: dict[str, Any] = {"thinking_token_budget": 4, **THINKING}
    full, streamed, _ = asyncio.run(both(make, body))
    assert whole(full["choices"][0]) == streamed[0].message
    message = full["choices"][0]["message"]
    assert message["content"] == "Hello"
    assert "abcdefgh".startswith(message["reasoning"].strip())
    first, second = engines[0].requests
    assert isinstance(second.prompt, str)
    assert second.prompt.startswith(f"{first.prompt}<think>\nab")
    assert second.prompt.endswith("</think>\n\n")
