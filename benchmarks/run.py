"""Run the benchmarks: ``python -m benchmarks.run [--only strings …] [--write]``.

Prints Markdown tables and the figures that miss their target. ``--write`` stores the
page as docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.constraining import constraints, gates
from benchmarks.prompts import prompts
from benchmarks.report import Figure, Report, Table
from benchmarks.shapes import TEXTS, TOOLS, Shape, around, body, formats, is_json, shapes
from benchmarks.timing import least, per_delta, steps
from unbraid import Parser
from unbraid.stream import Stream

PAGE = Path(__file__).parent.parent / "docs" / "benchmarks.md"
FLOORS = {"prose": 3.0, "code": 4.0}
STEP = 60.0


def started(parser: Parser, before: str) -> Callable[[], Stream]:
    """Makes streams that have read ``before``."""

    def start() -> Stream:
        stream = parser.stream()
        stream.feed(before)
        return stream

    return start


def checked(parser: Parser, text: str, wanted: str) -> None:
    """The argument must come out as it was."""
    message = parser.parse(text)
    assert json.loads(message.tool_calls[0].arguments)["content"] == wanted, parser.tool_parser


def strings() -> Table:
    """String arguments of every format."""
    table = Table(
        "String arguments",
        "Cost of a delta in an argument of 10 kB, 100 kB and 1 MB, its growth, the longest single step "
        "and the whole parse of 100 kB. Targets: 3 floors for prose, 4 for code, 1 MB at most 1.3 times "
        "10 kB, a step 60 µs, whole 0.5 ms where arguments are JSON and 1.5 ms elsewhere.",
        (
            *("format, text", "10 kB µs", "100 kB µs", "1 MB µs", "floors 10 kB", "100 kB", "1 MB"),
            *("1 MB : 10 kB", "longest step µs", "whole ms", "json.loads ms"),
        ),
    )
    table.rows += [string_row(tool, name) for tool in formats() for name in TEXTS]
    table.worst = ("100 kB", "whole ms")
    return table


def string_row(tool: str, name: str) -> tuple[str | Figure, ...]:
    """The figures of one format with one text."""
    parser = Parser(None, tool, tools=TOOLS)
    costs = []
    for length in (10_000, 100_000, 1_000_000):
        text = body(TEXTS[name], length)
        before, written, after = around(tool, text)
        checked(parser, before + written + after, text)
        costs.append(per_delta(started(parser, before), written, 9 if length < 1_000_000 else 3))
    whole = "".join(around(tool, body(TEXTS[name], 100_000)))
    arguments = parser.parse(whole).tool_calls[0].arguments
    return (
        f"{tool}, {name}",
        *(Figure(cost.stream * 1e6, 2) for cost in costs),
        *(Figure(cost.floors, 1, FLOORS[name]) for cost in costs),
        Figure(costs[2].floors / costs[0].floors, 2, 1.3),
        Figure(max(steps(parser, whole)) * 1e6, 0, STEP),
        Figure(least(lambda: parser.parse(whole)) * 1e3, 2, 0.5 if is_json(tool) else 1.5),
        Figure(least(lambda: json.loads(arguments)) * 1e3, 2),
    )


def others() -> Table:
    """Everything that is no long string."""
    table = Table(
        "Other shapes",
        "About 100 kB each. Targets: 15 floors (python literals 20), a step 60 µs except to hand out a "
        "held value (typed values between tags), 1,000 calls whole in 25 ms.",
        ("shape, format", "kB", "delta µs", "floors", "longest step µs", "whole ms"),
    )
    for shape in shapes():
        table.rows.append(measured(shape))
    table.worst = ("floors", "whole ms")
    return table


def measured(shape: Shape) -> tuple[str | Figure, ...]:
    """One row of the other shapes."""
    parser = Parser(shape.thinking, shape.tool, tools=TOOLS)
    message = parser.parse(shape.text)
    if shape.calls is not None:
        assert sum(call.complete for call in message.tool_calls) == shape.calls, (shape.name, shape.tool)
    cost = per_delta(parser.stream, shape.text)
    return (
        f"{shape.name}, {shape.tool}",
        Figure(len(shape.text) / 1e3, 0),
        Figure(cost.stream * 1e6, 2),
        Figure(cost.floors, 1, shape.floors),
        Figure(max(steps(parser, shape.text)) * 1e6, 0, None if shape.held else STEP),
        Figure(least(lambda: parser.parse(shape.text)) * 1e3, 1, shape.whole),
    )


def start_up() -> Table:
    """The time to import the library, to make a parser and a stream."""
    table = Table("Start", "Target: import 30 ms.", ("what", "time"))
    table.rows.append(("import unbraid, ms", Figure(import_time("import unbraid") * 1e3, 1, 30.0)))
    first = import_time("from unbraid import Parser; Parser('qwen3', 'qwen3_coder')")
    table.rows.append(("import unbraid and make the first parser, ms", Figure(first * 1e3, 1)))
    parser = Parser("qwen3", "qwen3_coder")
    making = least(lambda: [Parser("qwen3", "qwen3_coder") for _ in range(100)]) * 1e4
    table.rows.append(("a parser, µs", Figure(making, 1)))
    table.rows.append(("a stream, µs", Figure(least(lambda: [parser.stream() for _ in range(100)]) * 1e4, 1)))
    return table


def import_time(statement: str) -> float:
    """Seconds for a statement in a fresh interpreter, with bytecode as it is when installed."""
    code = f"from time import thread_time as t; s = t(); {statement}; print(t() - s)"
    with TemporaryDirectory() as cache:
        settings = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        settings["PYTHONPYCACHEPREFIX"] = cache
        command = [sys.executable, "-c", code]
        runs = [subprocess.run(command, capture_output=True, check=True, env=settings) for _ in range(10)]
    return min(float(one.stdout) for one in runs)


SECTIONS: dict[str, Callable[[], Table]] = {
    "strings": strings,
    "shapes": others,
    "gate": gates,
    "constraints": constraints,
    "prompts": prompts,
    "start": start_up,
}


def main(arguments: list[str] | None = None) -> int:
    """Measure, print, and store if asked; the exit code tells whether every target was met."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    options.add_argument("--only", nargs="+", choices=SECTIONS, help="measure these parts alone")
    options.add_argument("--write", action="store_true", help="store the page in docs/benchmarks.md")
    given = options.parse_args(arguments)
    report = Report([SECTIONS[name]() for name in given.only or SECTIONS])
    print(report.markdown())
    missed = report.missed()
    print("\n".join(["Over target:", *missed]) if missed else "Every target is met.")
    if given.write:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(report.markdown(), encoding="utf-8")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
