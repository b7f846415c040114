"""How unbraid and vLLM 0.33 differ on the inputs of vLLM's own parser tests.

``python -m tests.conformance.recorded`` reads ``vllm_recorded.jsonl`` from the folder
``shared/cases`` beside the repository and counts by parser the rows whose results are
equal, differ in white space alone, or differ. vLLM's result is not always right, but
every difference, of white space too, must be explained: by a line of ``docs/differences``
that names the row.
The others are printed, and the command exits with 1 if there is one, or if a line names
a row that does not differ.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from tests.corpus.files import cases
from unbraid import Message, Parser

from .cases import CASES, rows
from .differences import explained
from .replay import CountedIds, declared, same_json


def halves(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The tool and the reasoning parser that a row is about; a half's row has no other."""
    tool, reasoning = row.get("tool_parser"), row.get("reasoning_parser")
    if row["kind"] == "tool_calls":
        return tool, None
    if row["kind"] == "reasoning":
        return None, reasoning
    return tool, reasoning


def parse(row: Mapping[str, Any], tool_choice: Literal["auto", "none"]) -> Message:
    """unbraid's reading of a row."""
    tool, reasoning = halves(row)
    return Parser(
        reasoning,
        tool,
        tools=row.get("tools"),
        tool_choice=tool_choice,
        chat_template_kwargs=row.get("chat_template_kwargs"),
        prompt=row.get("prompt_text") or None,
        include_reasoning=row.get("include_reasoning", True),
        make_id=CountedIds(),
        response_template=template_of(row) if "hf" in (tool, reasoning) else None,
    ).parse(row["text"])


@cache
def gemma_template() -> dict[str, Any]:
    """Gemma's response template, as the corpus has it."""
    case = next(one for one in cases() if one["id"] == "hf/gemma")
    template: dict[str, Any] = case["response_template"]
    return template


def template_of(row: Mapping[str, Any]) -> Any:
    """The response template that a row's markers are those of: rows don't carry theirs."""
    template = gemma_template()
    markers = (template["start_anchor"], template["fields"]["tool_calls"]["close"])
    return template if any(one in str(row.get("prompt_text")) + row["text"] for one in markers) else None


def found(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The differences of a row.

    A choice of ``none`` is what a test's request without tools held; most of vLLM's
    parsers were asked all the same, so the reading that is nearer counts.
    """
    readings = [list(compare(row, parse(row, "auto")))]
    if row.get("tool_choice") == "none" and row["kind"] in ("parse", "stream"):
        readings.append(list(compare(row, parse(row, "none"))))
    return min(readings, key=lambda kinds: sum("white space" not in kind for kind, _ in kinds))


def compare(row: Mapping[str, Any], message: Message) -> Iterator[tuple[str, str]]:
    """What differs: a kind (a strand, or a strand's white space) and the two values."""
    result = row["result"]
    strands = ["content"] if row["kind"] == "tool_calls" else ["reasoning", "content"]
    for strand in strands:
        theirs, ours = result[strand] or "", getattr(message, strand) or ""
        if theirs.strip() != ours.strip():
            yield strand, f"vLLM {theirs!r}, unbraid {ours!r}"
        elif theirs != ours:
            yield f"{strand} white space", f"vLLM {theirs!r}, unbraid {ours!r}"
    if row["kind"] == "reasoning":
        return
    theirs_calls = [(call["name"], call["arguments"]) for call in result["tool_calls"] or ()]
    ours_calls = [(call.name, call.arguments) for call in message.tool_calls]
    if len(theirs_calls) != len(ours_calls) or any(
        name != own_name or not same_arguments(arguments, own)
        for (name, arguments), (own_name, own) in zip(theirs_calls, ours_calls, strict=True)
    ):
        yield "tool_calls", f"vLLM {theirs_calls}, unbraid {ours_calls}"


def same_arguments(theirs: str | None, ours: str) -> bool:
    """Whether two argument texts are equal, as JSON or as text."""
    if (theirs or "") == ours:
        return True
    try:
        return same_json(ours, json.loads(theirs or ""))
    except ValueError:
        return False


def request(row: Mapping[str, Any]) -> dict[str, Any]:
    """What the row's request held beside the text."""
    given = {key: row[key] for key in ("tool_choice", "chat_template_kwargs", "prompt_text") if row.get(key)}
    tools = row.get("tools")
    return {**given, "tools": tools and [tool.get("function", tool).get("name") for tool in tools]}


KINDS = ("equal", "white space", "explained", "unexplained")


@dataclass(frozen=True)
class Row:
    """A row's parsers, what differs in it, and what kind of row that makes it."""

    row: Mapping[str, Any]
    pair: str
    differences: tuple[tuple[str, str], ...]
    kind: str


def judged(only: str = "") -> Iterator[Row]:
    """Every row of declared parsers whose names hold a text."""
    reasons = explained()
    for row in rows("vllm_recorded"):
        tool, reasoning = halves(row)
        pair = f"{tool or '-'} + {reasoning or '-'}"
        if not declared(tool, reasoning) or only not in pair:
            continue
        every = tuple(found(row))
        if not every:
            kind = "equal"
        elif row["id"] not in reasons:
            kind = "unexplained"
        else:
            kind = "white space" if all("white space" in what for what, _ in every) else "explained"
        yield Row(row, pair, every, kind)


def table(every: Iterable[Row]) -> dict[str, Counter[str]]:
    """How many rows of each kind there are for each pair of parsers."""
    score: dict[str, Counter[str]] = defaultdict(Counter)
    for one in every:
        score[one.pair][one.kind] += 1
    return dict(sorted(score.items()))


def stale(every: Iterable[Row]) -> Iterator[str]:
    """Lines that explain a row which needs no explanation, or which is not there."""
    kinds = {one.row["id"]: one.kind for one in every}
    known = {row["id"] for row in rows("vllm_recorded")}
    for row, line in explained().items():
        if row not in known:
            yield f"{line} explains {row}, which is not recorded"
        elif kinds.get(row) == "equal":
            yield f"{line} explains {row}, which is equal"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the differences that nothing explains, and the counts; 1 when there is one."""
    options = argparse.ArgumentParser(prog="python -m tests.conformance.recorded", description=__doc__)
    options.add_argument("--only", default="", help="parsers whose name holds this text")
    options.add_argument("--width", type=int, default=400, help="characters of each value that are printed")
    options.add_argument("--white-space", action="store_true", help="print differences of white space too")
    options.add_argument("--explained", action="store_true", help="print explained differences too")
    chosen = options.parse_args(argv)
    if not CASES.is_dir():
        print(f"there is no {CASES}: nothing was run")
        return 0
    shown = {"unexplained"}
    shown |= {"white space"} if chosen.white_space else set()
    shown |= {"explained"} if chosen.explained else set()
    every = list(judged(chosen.only))
    for one in sorted(every, key=lambda one: one.pair):
        if one.kind in shown:
            print(f"{one.kind}: {one.row['id']} ({one.pair}) {one.row['kind']} {one.row['test']}")
            print(f"    text {one.row['text']!r}"[: chosen.width])
            print(f"    {request(one.row)}"[: chosen.width])
            print(*(f"    {kind}: {what}"[: chosen.width] for kind, what in one.differences), sep="\n")
    old = list(stale(every))
    print(*old, sep="\n", end="\n" if old else "")
    score = table(every)
    print(f"{'tool + reasoning parser':40}", *(f"{kind:>12}" for kind in KINDS))
    for pair, counts in [*score.items(), ("all", sum(score.values(), Counter[str]()))]:
        print(f"{pair:40}", *(f"{counts[kind]:12d}" for kind in KINDS))
    print(f"{len(rows('vllm_recorded')) - len(every)} rows not run")
    return int(bool(old) or any(counts["unexplained"] for counts in score.values()))


if __name__ == "__main__":
    raise SystemExit(main())
