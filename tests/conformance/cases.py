"""Cases from public reports and round trips through real chat templates, in both modes and every split.

``python -m tests.conformance.cases`` reads ``reports.jsonl`` and ``templates.jsonl``
from the folder ``shared/cases`` beside the repository, prints each miss with its
details and exits with 1 if there is one. The rules of comparison are those of that
folder's README. Every split of a case must give the same message, diagnostics and
spans included, and the events of each must fold to it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from unbraid import Message, Parser
from unbraid.formats import reasoning_names, tool_names

from .replay import CountedIds, declared, same_json, splits, stream

CASES = Path(__file__).resolve().parents[2].parent / "shared" / "cases"
FILES = ("reports", "templates")
Mode = Literal["complete", "incremental"]
MODES: tuple[Mode, ...] = ("complete", "incremental")

# Cases that are missed on purpose, with the reason.
KNOWN: dict[str, str] = {}


@dataclass(frozen=True)
class Miss:
    """One way in which one case went wrong."""

    case: str
    mode: str
    split: str
    what: str

    def __str__(self) -> str:
        return f"{self.case} [{self.mode}, {self.split}]: {self.what}"


def rows(name: str) -> list[dict[str, Any]]:
    """The rows of one file, of declared parsers or not; none when the folder is absent."""
    path = CASES / f"{name}.jsonl"
    if not path.is_file():
        return []
    with path.open(encoding="utf-8") as lines:
        return [with_own_names(json.loads(line)) for line in lines]


def with_own_names(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a model that no pair of vLLM's reads, under the name that its family has here."""
    family = row.get("proposed_family")
    if family is None:
        return row
    tool = family if family in tool_names() else row["tool_parser"]
    reasoning = family if family in reasoning_names() else row["reasoning_parser"]
    return {**row, "tool_parser": tool, "reasoning_parser": reasoning}


def declared_rows(name: str) -> list[dict[str, Any]]:
    """The rows whose parsers are declared."""
    return [row for row in rows(name) if declared(row["tool_parser"], row["reasoning_parser"])]


def case_parser(row: Mapping[str, Any], mode: Mode, make_id: CountedIds) -> Parser:
    """The parser of a row's request."""
    return Parser(
        row["reasoning_parser"],
        row["tool_parser"],
        tools=row.get("tools"),
        tool_choice=row.get("tool_choice", "auto"),
        chat_template_kwargs=row.get("chat_template_kwargs"),
        prompt=row.get("prompt_suffix"),
        arguments=mode,
        make_id=make_id,
        spans=True,
    )


def check(row: Mapping[str, Any], seeds: int = 6) -> Iterator[Miss]:
    """Every miss of one case."""
    name = row["id"]
    finish = row.get("engine_finish", "stop")
    whole_spans: dict[str, Any] = {}
    for mode in MODES:
        make_id = CountedIds()
        parser = case_parser(row, mode, make_id)
        message = parser.parse(row["text"], finish_reason=finish)
        whole_spans[mode] = message.spans
        for what in compare(row, message):
            yield Miss(name, mode, "whole", what)
        for what in conserved(row["text"], message):
            yield Miss(name, mode, "whole", what)
        for way, pieces in splits(row["text"], row.get("chunks"), seeds).items():
            make_id.reset()
            try:
                streamed, folded = stream(parser, pieces, finish)
            except AssertionError as error:
                yield Miss(name, mode, way, f"events contradict each other: {error}")
                continue
            for what in differences(message.as_dict(), streamed.as_dict()):
                yield Miss(name, mode, way, f"split: {what}")
            plain = {key: message.as_dict()[key] for key in folded}
            for what in differences(plain, folded):
                yield Miss(name, mode, way, f"events: {what}")
    if whole_spans["complete"] != whole_spans["incremental"]:
        yield Miss(name, "both", "whole", "the spans of the two modes differ")


def differences(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[str]:
    """The fields that differ."""
    for key, value in wanted.items():
        if got[key] != value:
            yield f"{key}: expected {value!r}, got {got[key]!r}"


def conserved(text: str, message: Message) -> Iterator[str]:
    """Whether the spans cover the text in order, each character once."""
    at = 0
    for span in message.spans or ():
        if span.start != at or span.end <= span.start:
            yield f"spans: {span} at {at}"
            return
        at = span.end
    if at != len(text):
        yield f"spans: they end at {at} of {len(text)}"


def compare(row: Mapping[str, Any], message: Message) -> Iterator[str]:
    """What differs from the expected result; incremental mode's cut calls are not calls here."""
    expect = row["expect"]
    exact = row.get("ws") == "exact"
    for strand in ("reasoning", "content"):
        if strand == "content" and row.get("content_any"):
            continue
        collapse = strand == "content" and row.get("content_ws") == "collapse"
        wanted = normal(expect[strand], exact=exact, collapse=collapse)
        got = normal(getattr(message, strand), exact=exact, collapse=collapse)
        if wanted != got:
            yield f"{strand}: expected {wanted!r}, got {got!r}"
    calls = [call for call in message.tool_calls if call.complete]
    names = [call["name"] for call in expect["tool_calls"]]
    if [call.name for call in calls] != names:
        yield f"tool_calls: expected {names}, got {[(call.name, call.arguments) for call in calls]}"
    else:
        for n, (call, wanted) in enumerate(zip(calls, expect["tool_calls"], strict=True)):
            if not same_json(call.arguments, wanted["arguments"]):
                yield f"tool_calls[{n}]: expected {json.dumps(wanted['arguments'])}, got {call.arguments}"
    if row.get("distinct_ids") and len({call.id for call in calls}) < len(calls):
        yield "tool_calls: ids repeat"
    if "indexes" in row and list(range(len(calls))) != row["indexes"]:
        yield f"tool_calls: expected indexes {row['indexes']}, got {len(calls)} calls"
    if "finish" in expect and message.finish_reason != expect["finish"]:
        yield f"finish: expected {expect['finish']}, got {message.finish_reason}"


def normal(text: str | None, *, exact: bool, collapse: bool) -> str:
    """A strand as the rules compare it."""
    if text is None:
        return ""
    if collapse:
        return " ".join(text.split())
    return text if exact else text.strip()


def main(argv: Sequence[str] | None = None) -> int:
    """Print the misses and the score; 1 when a case misses that is not known to."""
    options = argparse.ArgumentParser(prog="python -m tests.conformance.cases", description=__doc__)
    options.add_argument("--only", default="", help="cases whose id holds this text")
    options.add_argument("--width", type=int, default=600, help="characters of each miss that are printed")
    options.add_argument("--seeds", type=int, default=6, help="random splits of each case")
    chosen = options.parse_args(argv)
    if not CASES.is_dir():
        print(f"there is no {CASES}: nothing was run")
        return 0
    unknown = 0
    for name in FILES:
        every = rows(name)
        ours = [row for row in declared_rows(name) if chosen.only in row["id"]]
        missed = 0
        kinds: Counter[str] = Counter()
        for row in ours:
            misses = list(check(row, chosen.seeds))
            if not misses:
                continue
            missed += 1
            unknown += row["id"] not in KNOWN
            whats = dict.fromkeys(miss.what for miss in misses)
            kinds.update({what.partition(":")[0] for what in whats})
            print(f"miss: {row['id']} ({row['tool_parser']} + {row['reasoning_parser']})")
            if row["id"] in KNOWN:
                print(f"    known: {KNOWN[row['id']]}")
            for what in whats:
                where = [f"{miss.mode}/{miss.split}" for miss in misses if miss.what == what]
                print(f"    {what}"[: chosen.width], f"({', '.join(where[:3] + ['…'] * (len(where) > 3))})")
        print(f"{name}: {len(ours) - missed} of {len(ours)} right, {len(every) - len(ours)} not run")
        print(
            *(f"    {kind}: {count}" for kind, count in kinds.most_common()),
            sep="\n" if kinds else "",
            end="",
        )
    return 1 if unknown else 0


if __name__ == "__main__":
    raise SystemExit(main())
