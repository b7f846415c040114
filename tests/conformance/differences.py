"""Where unbraid differs from vLLM on purpose: data, its check, and the page made of it.

``docs/differences/*.jsonl`` hold one difference a line. A line about an output is a case of
the corpus (``corpus/README.md``) with ``vllm`` (what vLLM gives, in words or as JSON),
``unbraid`` (what unbraid gives, checked in every split) and ``reason`` in the place of
``expect`` and ``why``; ``defect`` is the difference's number in the catalogue of formats and
``recorded`` lists recorded results of vLLM that it explains. A line of ``serving.jsonl`` is
about a server: ``what`` it is about, and ``vllm`` and ``unbraid`` in words.

``python -m tests.conformance.differences`` checks every line; ``--write`` also makes
``docs/differences.md`` anew.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.corpus.files import Line, lines
from tests.corpus.lint import faults_of
from tests.corpus.run import misses

DOCS = Path(__file__).resolve().parents[2] / "docs"
FOLDER = DOCS / "differences"
PAGE = DOCS / "differences.md"
SERVING = "serving.jsonl"
OWN = {"vllm", "unbraid", "reason", "defect", "recorded"}
LONGEST = 240

INTRO = """\
# Differences from vLLM

unbraid reads the formats that vLLM reads, under the same names. Where the two give different results, the
difference is meant, and it is here with its reason. vLLM is version 0.33. Behind an output stand the
parsers that read it (tool parser + reasoning parser); "whole" and "streamed" are vLLM's two ways, "cut" is
an output that ended at the limit of tokens. The last column is the number in a list of vLLM's defects that
was made for unbraid: rows with the same number in one table have one cause. This page is made from
`docs/differences/*.jsonl` by `python -m tests.conformance.differences --write`; what it says of unbraid's
results is tested in every split.
Line ends are shown as `⏎`, and what is left out as `…`.
"""


def files() -> dict[str, list[Line]]:
    """The lines of each file, in the order of the page."""
    found: dict[str, list[Line]] = {}
    for line in lines(FOLDER):
        found.setdefault(line.file, []).append(line)
    return found


def as_case(value: Mapping[str, Any]) -> dict[str, Any]:
    """A difference about an output as a case of the corpus."""
    request = {key: one for key, one in value.items() if key not in OWN}
    return {**request, "expect": value.get("unbraid"), "why": value.get("reason")}


def faults(line: Line) -> Iterator[str]:
    """What is wrong with a line's form."""
    try:
        value = line.value()
    except ValueError as error:
        yield f"{line.place}: {error}"
        return
    if not isinstance(value, dict):
        yield f"{line.place}: no object"
        return
    for what in serving_faults(value) if line.file == SERVING else output_faults(value):
        yield f"{line.place}: {value.get('id')}: {what}"


def serving_faults(value: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a difference between servers."""
    for key in ("id", "what", "vllm", "unbraid", "reason"):
        if not isinstance(value.get(key), str) or not value[key]:
            yield f"{key} must be a text"
    yield from (f"unknown field {key}" for key in sorted(set(value) - OWN - {"id", "what"}))
    yield from other_faults(value)


def output_faults(value: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a difference about an output."""
    if not value.get("vllm"):
        yield "vllm must say what vLLM gives"
    yield from other_faults(value)
    yield from faults_of(as_case(value))


def other_faults(value: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the fields that every line may have."""
    if not isinstance(value.get("defect"), str | None):
        yield "defect must be a text"
    recorded = value.get("recorded", [])
    if not isinstance(recorded, list) or not all(isinstance(one, str) for one in recorded):
        yield "recorded must be a list of row ids"


def explained() -> dict[str, str]:
    """For each recorded row that a line explains the line's id."""
    values = [line.value() for every in files().values() for line in every]
    return {row: value["id"] for value in values for row in value.get("recorded", ())}


def wrong_results(line: Line) -> list[str]:
    """How unbraid's result differs from what a line says of it; nothing for servers."""
    return [] if line.file == SERVING else list(misses(as_case(line.value())))


# -- the page ---------------------------------------------------------------------


def page() -> str:
    """The whole page."""
    every = files()
    serving = every.pop(SERVING, [])
    parts = [INTRO]
    for name, found in every.items():
        parts.append(section(name.removesuffix(".jsonl"), [line.value() for line in found]))
    if serving:
        parts.append(serving_section([line.value() for line in serving]))
    return "\n".join(parts)


def section(name: str, values: Sequence[Mapping[str, Any]]) -> str:
    """The table of one file."""
    rows = [
        (output(value), told(value["vllm"]), told(value["unbraid"]), cell(value["reason"]), number(value))
        for value in values
    ]
    return table(name, ("output", "vLLM", "unbraid", "why", "defect"), rows)


def serving_section(values: Sequence[Mapping[str, Any]]) -> str:
    """The table of servers."""
    rows = [
        (
            cell(value["what"]),
            cell(value["vllm"]),
            cell(value["unbraid"]),
            cell(value["reason"]),
            number(value),
        )
        for value in values
    ]
    return table("serving", ("about", "vLLM", "unbraid", "why", "defect"), rows)


def table(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A heading and a table."""
    head = [f"## {name}", "", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in rows), ""])


def number(value: Mapping[str, Any]) -> str:
    """A difference's number in the catalogue."""
    return cell(value.get("defect") or "")


def output(value: Mapping[str, Any]) -> str:
    """An output with what matters of its request."""
    text = value.get("text")
    if text is None:
        text = "".join(piece for _, piece, _ in value["ids"])
    facts = [code(text)]
    pair = [str(value[key]) for key in ("tool_parser", "reasoning_parser") if value.get(key)]
    facts.append(f"({' + '.join(pair)})")
    if value.get("prompt") is not None:
        facts.append(f"prompt {code(value['prompt'])}")
    if value.get("chat_template_kwargs"):
        facts.append(code(json.dumps(value["chat_template_kwargs"])))
    if value.get("tools") == []:
        facts.append("no tools")
    if value.get("tool_choice") not in (None, "auto"):
        facts.append(f"tool_choice {code(json.dumps(value['tool_choice']))}")
    if value.get("engine_finish", "stop") != "stop":
        facts.append("cut")
    return ", ".join(facts[:1] + facts[2:]) + " " + facts[1]


def told(result: Any) -> str:
    """A result in words or as data."""
    if isinstance(result, str):
        return cell(result)
    facts = [f"{key} {code(result[key])}" for key in ("reasoning", "content") if result.get(key)]
    for call in result.get("tool_calls") or ():
        arguments = call.get("arguments")
        shown = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        cut = "" if call.get("complete", True) else " (incomplete)"
        name = call.get("name")
        facts.append(f"call {code(f'{name}: {shown}')}{cut}")
    return ", ".join(facts) or "nothing"


def code(text: str) -> str:
    """A text as code within a table."""
    shown = text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}…{text[-LONGEST // 2 :]}"
    shown = shown.replace("\n", "⏎").replace("\t", "⇥").replace("\r", "␍").replace("|", "\\|")
    if not shown.strip():
        return "(empty)" if not shown else f"({len(shown)} blank)"
    fence = "``" if "`" in shown else "`"
    space = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{fence}{space}{shown}{space}{fence}"


def cell(text: str) -> str:
    """A text in words within a table."""
    return " ".join(text.split()).replace("|", "\\|")


def main(argv: Sequence[str] | None = None) -> int:
    """Check the lines, and write the page when asked to; 1 when a line is wrong."""
    options = argparse.ArgumentParser(prog="python -m tests.conformance.differences", description=__doc__)
    options.add_argument("--write", action="store_true", help="make docs/differences.md anew")
    options.add_argument("--only", default="", help="files whose name holds this text")
    chosen = options.parse_args(argv)
    count = wrong = 0
    for name, found in files().items():
        if chosen.only not in name:
            continue
        for line in found:
            count += 1
            every = list(faults(line)) or [f"{line.place}: {one}" for one in wrong_results(line)]
            wrong += bool(every)
            print(*every, sep="\n", end="\n" if every else "")
    print(f"{count} differences, {wrong} wrong")
    if chosen.write and not wrong:
        PAGE.write_text(page(), encoding="utf-8")
    return int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
