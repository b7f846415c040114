"""``unbraid demo``: a small model, forced to think and to call, with every promise checked."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from unbraid.cli.chat import Printer
from unbraid.cli.serve import require_extra

if TYPE_CHECKING:
    from unbraid.server.client import Answer, ChatClient

__all__ = ["add_parser", "run"]

MARKERS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>", "<|endoftext|>")
BUDGET = 48
ATTEMPTS = 10
UNITS = ("celsius", "fahrenheit")
TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city",
        "strict": True,
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "unit": {"enum": list(UNITS)}},
            "required": ["city", "unit"],
            "additionalProperties": False,
        },
    },
}
TURNS = ("<|im_start|>", "<|im_end|>", "<|endoftext|>")
QUESTION = [
    {"role": "system", "content": "Think step by step, then answer."},
    {"role": "user", "content": "What is 2 + 2? Think first."},
]
WEATHER = [{"role": "user", "content": "What is the weather in Oslo, in celsius?"}]
THINKING = {"chat_template_kwargs": {"enable_thinking": True}, "temperature": 0.0}


def add_parser(commands: argparse._SubParsersAction[Any]) -> None:
    """Add the command."""
    commands.add_parser(
        "demo",
        help="watch a small model think and call a tool, whole and streamed, with checks",
        description="Runs a model of 135 million parameters in this process (100 MB, fetched on first use), "
        "asks it over HTTP and checks what comes. Exits with 0 when every check passes.",
    )


class _Checks:
    """Prints each check as it is made and remembers whether one failed."""

    def __init__(self, printer: Printer) -> None:
        self._printer = printer
        self.failed = 0

    def __call__(self, passed: bool, what: str) -> None:
        self.failed += not passed
        self._printer.note(f"  {'ok' if passed else 'FAILED'}: {what}")


def run(args: argparse.Namespace) -> int:
    """Run the demo; 0 when all checks pass."""
    require_extra()
    start = time.monotonic()
    printer = Printer()
    check = _Checks(printer)
    with _client(printer) as (client, bias):
        _question(client, printer, check, bias)
        streamed = _forced(client, printer, check, stream=True)
        whole = _forced(client, printer, check, stream=False)
        same = [call["function"] for call in streamed.calls] == [call["function"] for call in whole.calls]
        check(same, "the stream and the whole answer hold the same call")
        _unforced(client, printer)
    seconds = time.monotonic() - start
    printer.note(
        f"{check.failed} checks failed, {seconds:.0f} s" if check.failed else f"all is well, {seconds:.0f} s"
    )
    return 1 if check.failed else 0


def _question(client: ChatClient, printer: Printer, check: _Checks, bias: dict[str, float]) -> None:
    printer.note(
        "\nA question; the prompt opens the thinking. So small a model would often end its turn at once,"
    )
    printer.note("so it may not end it; the answer is cut instead. Streamed:")
    body = {"messages": QUESTION, "max_tokens": BUDGET + 60, "logit_bias": bias, **THINKING}
    answer = client.stream(body, printer.show)
    printer.end()
    check(bool(answer.reasoning), "there is thinking")
    check(bool(answer.content), "there is an answer behind it")
    check(not answer.calls, "there is no call")
    check(not _leaks(answer), "no marker is in any field")


def _forced(client: ChatClient, printer: Printer, check: _Checks, stream: bool) -> Answer:
    printer.note(
        f"\nThe same model must call get_weather, and thinks first. {'Streamed' if stream else 'Whole'}:"
    )
    body = {"messages": WEATHER, "tools": [TOOL], "tool_choice": "required", "parallel_tool_calls": False}
    body |= {"max_tokens": 400, **THINKING}
    if stream:
        client.whole({**body, "max_tokens": 1})  # an engine computes a prompt it remembers a little otherwise
        answer = client.stream(body, printer.show)
    else:
        answer = client.whole(body)
        if answer.reasoning:
            printer.show("reasoning", answer.reasoning)
        if answer.content:
            printer.show("content", answer.content)
        for call in answer.calls:
            printer.show("name", call["function"]["name"])
            printer.show("arguments", call["function"]["arguments"])
    printer.end()
    check(
        answer.order == ["reasoning", "name", "arguments"],
        "thinking came first, then one call, and nothing else",
    )
    check(len(answer.calls) == 1 and all(map(_valid, answer.calls)), "the arguments are valid")
    check(answer.finish_reason == "tool_calls", "the finish reason is tool_calls")
    check(not _leaks(answer), "no marker is in any field")
    return answer


def _unforced(client: ChatClient, printer: Printer) -> None:
    printer.note(f"\nBeside that, {ATTEMPTS} answers that nothing forces:")
    tool = {"type": "function", "function": {**TOOL["function"], "strict": False}}  # type: ignore[dict-item]
    good = 0
    for seed in range(ATTEMPTS):
        body = {"messages": WEATHER, "tools": [tool], "temperature": 0.7, "seed": seed, "max_tokens": 60}
        answer = client.whole({**body, "chat_template_kwargs": {"enable_thinking": False}})
        good += bool(answer.calls) and all(map(_valid, answer.calls))
    printer.note(f"  {good} of {ATTEMPTS} hold a valid call")


def _valid(call: dict[str, Any]) -> bool:
    """Whether a call is what the tool's schema allows."""
    try:
        arguments = json.loads(call["function"]["arguments"])
    except ValueError:
        return False
    if call["function"]["name"] != "get_weather" or not isinstance(arguments, dict):
        return False
    return (
        set(arguments) == {"city", "unit"}
        and isinstance(arguments["city"], str)
        and arguments["unit"] in UNITS
    )


def _leaks(answer: Answer) -> bool:
    text = json.dumps(answer.message, ensure_ascii=False)
    return any(marker in text for marker in MARKERS)


@contextmanager
def _client(printer: Printer) -> Iterator[tuple[ChatClient, dict[str, float]]]:
    """A client of a server in this process with a model that thinks, and the bias that forbids turn ends."""
    from unbraid.engines.embedded import EmbeddedEngine
    from unbraid.engines.gguf import make_thinking_model
    from unbraid.engines.models import fetch_model
    from unbraid.server.app import create_app
    from unbraid.server.background import serving
    from unbraid.server.client import ChatClient
    from unbraid.server.options import Options
    from unbraid.server.startup import prepare

    engine = EmbeddedEngine(make_thinking_model(fetch_model()), n_ctx=1024, slots=1)
    options = Options(
        reasoning_parser="qwen3",
        tool_call_parser="hermes",
        chat_template="unbraid",
        thinking_token_budget=BUDGET,
        max_string_length=64,
    )
    setup = prepare(engine, options)
    for line in setup.report:
        printer.note(line)
    with serving(create_app(setup, engine)) as url:
        client = ChatClient(url)
        bias = {str(engine.tokenizer.token_id(text)): -100.0 for text in TURNS}
        try:
            yield client, bias
        finally:
            client.close()
