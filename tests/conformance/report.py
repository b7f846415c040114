"""Every suite in one run: a table on the terminal, and ``docs/conformance.md``.

``python -m tests.conformance.report`` runs CanIToolCall (whole calls and incremental
arguments), the cases from public reports, the round trips through chat templates (parsed,
and written), vLLM's recorded results and the corpus. It exits with 1 when a number falls
short of its target. ``--write`` makes the page anew.
"""

from __future__ import annotations

import argparse
import datetime
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import unbraid
from tests.corpus.files import CORPUS, lines
from tests.corpus.lint import coverage, gaps
from tests.corpus.run import misses

from . import recorded, templates_writer
from .cases import CASES, check, declared_rows, rows
from .citc import ADAPTERS, fixtures, run

PAGE = Path(__file__).resolve().parents[2] / "docs" / "conformance.md"
COLUMNS = ("pass", "soft_pass", "fail", "error", "unsupported")


@dataclass
class Suite:
    """One suite's result: a line of summary, what is missing to the target, and a table."""

    title: str
    about: str
    summary: str
    short: str | None = None
    columns: Sequence[str] = ()
    rows: list[tuple[str, ...]] = field(default_factory=list)


def canitoolcall(arguments: str, target: int) -> Suite:
    """CanIToolCall in one mode of arguments."""
    adapter = ADAPTERS[arguments, False]()
    score: dict[str, Counter[str]] = {}
    for fixture in fixtures():
        score.setdefault(fixture.family, Counter())[run(adapter, fixture).status.value] += 1
    total = sum(score.values(), Counter[str]())
    count = sum(total.values())
    table = [(name, *counted(counts, COLUMNS)) for name, counts in [*score.items(), ("all", total)]]
    return Suite(
        f"CanIToolCall, {arguments} arguments",
        f"The fixtures of `canitoolcall` {version('canitoolcall')}: each whole and in the eight streams "
        f"that count, by the suite's own rules (target: {target}).",
        f"{total['pass']} of {count} pass strictly, {total['soft_pass']} softly",
        None if total["pass"] >= target else f"{target} should pass strictly",
        ("family", "pass", "soft pass", "fail", "error", "unsupported"),
        table,
    )


def counted(counts: Mapping[str, int], columns: Iterable[str]) -> tuple[str, ...]:
    """Counts as cells."""
    return tuple(str(counts.get(column, 0)) for column in columns)


def reports() -> Suite:
    """Cases from public reports."""
    every, missed = judged("reports")
    right = sum(every.values()) - sum(missed.values())
    return Suite(
        "Public reports",
        "Inputs made after public bug reports: both modes of arguments, every split (target: all).",
        f"{right} of {sum(every.values())} right, {len(rows('reports')) - sum(every.values())} not declared",
        None if not missed else "all should be right",
    )


def templates() -> Suite:
    """Round trips through chat templates, and what the writer makes of them."""
    every, missed = judged("templates")
    same = templates_writer.shares()
    total, wrong = sum(every.values()), sum(missed.values())
    written = sum(same.values())
    table = [
        (pair, str(count), percent(count - missed[pair], count), percent(same[pair], count))
        for pair, count in sorted(every.items())
    ]
    short = []
    if total and (total - wrong) / total < 0.98:
        short.append("98 % should be right")
    if total and written / total < 0.95:
        short.append("95 % should be written alike")
    return Suite(
        "Chat templates",
        "Messages rendered by real chat templates, byte for byte: parsed in every split (target: 98 %), and "
        "written by unbraid's writer (target: 95 %).",
        f"{total - wrong} of {total} right ({percent(total - wrong, total)}), {written} written alike "
        f"({percent(written, total)}), {len(rows('templates')) - total} not declared",
        ", ".join(short) or None,
        ("tool + reasoning parser", "messages", "right", "written alike"),
        table,
    )


def judged(name: str) -> tuple[Counter[str], Counter[str]]:
    """How many rows of a file there are for each pair of parsers, and how many of them miss."""
    every: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for row in declared_rows(name):
        pair = f"{row['tool_parser'] or '-'} + {row['reasoning_parser'] or '-'}"
        every[pair] += 1
        missed[pair] += any(True for _ in check(row, seeds=3))
    return every, +missed


def percent(part: int, whole: int) -> str:
    """A share; never rounded up to all."""
    share = 100 * part / whole if whole else 100.0
    return f"{int(share * 10) / 10:g} %"


def vllm() -> Suite:
    """vLLM's recorded results."""
    every = list(recorded.judged())
    score = recorded.table(every)
    total = sum(score.values(), Counter[str]())
    table = [(pair, *counted(counts, recorded.KINDS)) for pair, counts in [*score.items(), ("all", total)]]
    return Suite(
        "vLLM's recorded results",
        "What vLLM 0.33 gave on inputs of its own tests. Where unbraid differs, in white space alone too, "
        "[differences](differences.md) says why (target: nothing unexplained).",
        f"{total['equal']} of {len(every)} equal, {total['white space']} but for white space, "
        f"{total['explained']} explained, {total['unexplained']} unexplained, "
        f"{len(rows('vllm_recorded')) - len(every)} not declared",
        None if not total["unexplained"] else "nothing should be unexplained",
        ("tool + reasoning parser", *recorded.KINDS),
        table,
    )


def corpus() -> Suite:
    """The repository's own corpus."""
    table = []
    total: Counter[str] = Counter()
    ids = []
    for path in sorted(CORPUS.glob("*.jsonl")):
        values = [line.value() for line in lines() if line.file == path.name]
        ids += [value["id"] for value in values]
        found = [value for value in values if "not_a_case" not in value]
        right = sum(not any(True for _ in misses(case)) for case in found)
        total.update(cases=len(found), right=right)
        table.append((path.stem, str(len(found)), str(right)))
    absent = list(gaps(ids))
    short = [f"{total['cases'] - total['right']} cases miss"] if total["right"] < total["cases"] else []
    short += [f"{len(absent)} numbers have no case"] if absent else []
    return Suite(
        "Corpus",
        "The cases of [corpus](../corpus/README.md): both modes of arguments, every split (target: all "
        f"right, all numbers of {len(coverage())} families there).",
        f"{total['right']} of {total['cases']} right",
        ", ".join(short) or None,
        ("file", "cases", "right"),
        table,
    )


SUITES: dict[str, Callable[[], Suite]] = {
    "canitoolcall": lambda: canitoolcall("complete", 467),
    "canitoolcall-incremental": lambda: canitoolcall("incremental", 441),
    "reports": reports,
    "templates": templates,
    "recorded": vllm,
    "corpus": corpus,
}


def page(suites: Sequence[Suite], day: str) -> str:
    """The page of a run."""
    parts = [
        "# Conformance",
        "",
        f"unbraid {unbraid.__version__} on suites that others wrote, and on its own corpus; run on {day} "
        "with `make conformance`.",
        "",
        "`make round-trips` fetches 67 models' own chat templates and reads back what they render;",
        "`make conformance-tags` checks every structural tag with xgrammar's own matcher.",
        "",
        markdown(("suite", "result"), [(one.title, one.summary) for one in suites]),
    ]
    for one in suites:
        parts += ["", f"## {one.title}", "", one.about]
        if one.rows:
            parts += ["", markdown(one.columns, one.rows)]
    return "\n".join(parts) + "\n"


def markdown(columns: Sequence[str], table: Iterable[Sequence[str]]) -> str:
    """A table."""
    head = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    return "\n".join([*head, *(f"| {' | '.join(row)} |" for row in table)])


def shown(suite: Suite) -> str:
    """A suite for the terminal."""
    table = [tuple(suite.columns), *suite.rows] if suite.rows else []
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    body = [
        "  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
    return "\n".join([f"\n== {suite.title}", *body])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the suites; 1 when one falls short."""
    options = argparse.ArgumentParser(prog="python -m tests.conformance.report", description=__doc__)
    options.add_argument("--write", action="store_true", help="make docs/conformance.md anew")
    options.add_argument("--only", nargs="+", choices=SUITES, default=list(SUITES), help="suites to run")
    chosen = options.parse_args(argv)
    if not CASES.is_dir():
        print(f"there is no {CASES}: its files count as empty")
    found = []
    for name in chosen.only:
        one = SUITES[name]()
        print(shown(one), flush=True)
        found.append(one)
    print()
    for one in found:
        print(f"{one.title}: {one.summary}{f' (SHORT: {one.short})' if one.short else ''}")
    if chosen.write and chosen.only == list(SUITES):
        PAGE.write_text(page(found, datetime.date.today().isoformat()), encoding="utf-8")
    return int(any(one.short for one in found))


if __name__ == "__main__":
    raise SystemExit(main())
