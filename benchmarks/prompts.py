"""What the sandbox costs: rendering a prompt in its process, beside rendering it here."""

from __future__ import annotations

import copy
from collections.abc import Callable
from time import perf_counter, thread_time
from typing import Any

from benchmarks.constraining import tool
from benchmarks.report import Figure, Table
from benchmarks.shapes import PROSE, body
from benchmarks.timing import no_collector
from unbraid.engines.jinja import render
from unbraid.engines.template import TOOL_TEMPLATE, ChatTemplate

RUNS = 200


def conversation(rounds: int) -> list[dict[str, Any]]:
    """A system message, and rounds of a question, a call, its result and an answer."""
    text = body(PROSE, 500)
    call = {"name": "tool_1", "arguments": '{"city": "Oslo", "days": 3}'}
    one = [
        {"role": "user", "content": text},
        {"role": "assistant", "content": None, "tool_calls": [{"type": "function", "function": call}]},
        {"role": "tool", "content": text},
        {"role": "assistant", "content": text},
    ]
    return [{"role": "system", "content": text}, *one * rounds, {"role": "user", "content": "And now?"}]


CASES: dict[str, tuple[list[dict[str, Any]], int, float | None]] = {
    "a greeting, no tools": ([{"role": "user", "content": "Hello"}], 0, None),
    "10 messages, 5 tools": (conversation(2), 5, 1.3),
    "82 messages, 20 tools": (conversation(20), 20, 1.3),
    "one message of 400 kB": ([{"role": "user", "content": body(PROSE, 400_000)}], 0, None),
}


def prompts() -> Table:
    """Rendering in the sandbox, and here from copies that the template may change."""
    table = Table(
        "Prompts",
        "The built-in template with tools. Wall time, the least of 200: in the sandbox's process, and "
        "in this one. Target: 1.3 times for conversations with tools. What the sandbox adds is a "
        "message to another process and back, and copies of long texts. Last, the processor time that "
        "is left for this process, in which the streams run.",
        ("prompt", "sandbox µs", "here µs", "ratio", "own processor µs"),
    )
    template = ChatTemplate(TOOL_TEMPLATE)
    for name, (messages, count, target) in CASES.items():
        tools = [tool(n) for n in range(count)] or None
        names = {"tools": tools, "add_generation_prompt": True, "documents": None}

        def here(messages: Any = messages, names: Any = names) -> str:
            return render(TOOL_TEMPLATE, copy.deepcopy(names), copy.deepcopy(messages), False)

        def there(messages: Any = messages, tools: Any = tools) -> str:
            return template.render(messages, tools)

        assert here() == there()
        (sandbox, own), (plain, _) = fastest(there), fastest(here)
        table.rows.append(
            (
                name,
                Figure(sandbox * 1e6, 0),
                Figure(plain * 1e6, 0),
                Figure(sandbox / plain, 2, target),
                Figure(own * 1e6, 0),
            )
        )
    return table


def fastest(work: Callable[[], object]) -> tuple[float, float]:
    """The least wall time and the least processor time of this thread, in seconds."""
    wall = own = float("inf")
    with no_collector():
        for _ in range(RUNS):
            start, spent = perf_counter(), thread_time()
            work()
            wall, own = min(wall, perf_counter() - start), min(own, thread_time() - spent)
    return wall, own
