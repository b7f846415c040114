"""Asking with the official client, and judging what comes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jsonschema
import openai

from .cases import Case
from .processes import AT_ONCE, SERVED

MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>")
TIMEOUT_SECONDS = 600.0


@dataclass
class Answer:
    """What came: ``broken`` says how the request failed, None when it did not."""

    reasoning: str = ""
    content: str = ""
    calls: list[dict[str, str]] = field(default_factory=list)
    finish: str | None = None
    broken: str | None = None
    seconds: float = 0.0

    def take(self, message: Any) -> None:
        """Add a message, or a delta."""
        self.reasoning += getattr(message, "reasoning", None) or ""
        self.content += message.content or ""
        for n, call in enumerate(message.tool_calls or ()):
            at = getattr(call, "index", n)
            while len(self.calls) <= at:
                self.calls.append({"name": "", "arguments": ""})
            self.calls[at]["name"] += call.function.name or ""
            self.calls[at]["arguments"] += call.function.arguments or ""


async def ask(client: openai.AsyncOpenAI, case: Case) -> Answer:
    """The answer to a case; a failure is an answer too."""
    answer, start = Answer(), time.monotonic()
    try:
        found = await client.chat.completions.create(model=SERVED, **case.body)
        choices = _choices(found) if case.stream else _whole(found)
        async for choice in choices:
            answer.take(choice.delta if case.stream else choice.message)
            answer.finish = choice.finish_reason or answer.finish
    except openai.APIError as error:
        status = getattr(error, "status_code", None)
        answer.broken = f"HTTP {status}: {error}" if status else f"the stream broke: {error}"
    if answer.broken is None and answer.finish is None:
        answer.broken = "the answer has no end"
    answer.seconds = time.monotonic() - start
    return answer


async def _choices(stream: Any) -> AsyncIterator[Any]:
    async for chunk in stream:
        for choice in chunk.choices:
            yield choice


async def _whole(found: Any) -> AsyncIterator[Any]:
    for choice in found.choices:
        yield choice


async def ask_all(url: str, cases: Sequence[Case], seen: Callable[[Case, Answer], None]) -> list[Answer]:
    """All answers, as many requests at once as the engine runs."""
    turn = asyncio.Semaphore(AT_ONCE)
    client = openai.AsyncOpenAI(base_url=url + "/v1", api_key="none", max_retries=0, timeout=TIMEOUT_SECONDS)

    async def one(case: Case) -> Answer:
        async with turn:
            answer = await ask(client, case)
        seen(case, answer)
        return answer

    async with client:
        return list(await asyncio.gather(*map(one, cases)))


# -- judging --------------------------------------------------------------------


def without_a_call(case: Case, answer: Answer) -> bool:
    """Whether a call was demanded and there is none."""
    return case.forced and answer.broken is None and not answer.calls


def invalid(case: Case, answer: Answer) -> list[str]:
    """What is wrong with the calls, or with an answer by a schema, as far as they are there and whole."""
    if answer.broken is not None or (answer.finish == "length" and not case.forced):
        return []
    found = []
    for call in answer.calls:
        if call["name"] != case.tool and not (call["name"] == "do_nothing" and case.choice != "named"):
            found.append(f"a call of {call['name']!r}")
        elif call["name"] == case.tool:
            found += _unlike(case.schema, call["arguments"])
    if case.choice == "schema":
        found += _unlike(case.schema, answer.content)
    return found


def astray(case: Case, answer: Answer) -> list[str]:
    """What else is not as it must be where a grammar holds the whole output."""
    if answer.broken is not None or case.choice == "auto":
        return []
    texts = (answer.reasoning, answer.content)
    found = [f"{mark} in {text!r}" for text in texts for mark in MARKERS if mark in text]
    if bool(answer.reasoning) != case.thinking:
        found.append(f"thinking is {answer.reasoning!r}")
    if case.forced and answer.content.strip():
        found.append(f"content {answer.content!r}")
    if case.forced and len(answer.calls) > 1:
        found.append(f"{len(answer.calls)} calls")
    wanted = {"named": "stop", "required": "tool_calls", "schema": "stop"}.get(case.choice)
    if wanted is not None and answer.finish != wanted:
        found.append(f"finish reason {answer.finish}")
    return found


def _unlike(schema: dict[str, Any], text: str) -> list[str]:
    try:
        jsonschema.validate(json.loads(text), schema)
    except (ValueError, jsonschema.ValidationError) as error:
        return [f"{text!r}: {str(error).splitlines()[0]}"]
    return []
