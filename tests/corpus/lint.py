"""Whether the corpus is what ``corpus/README.md`` says.

``python -m tests.corpus.lint`` checks every line against ``corpus/case.schema.json``,
that ids of cases are unique, that token texts join to the text, that expected calls
were offered or written, and that each family of ``corpus/coverage.json`` has all the
numbers that are declared for it. It prints each fault and exits with 1 if there is one.
"""

from __future__ import annotations

import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from .files import CORPUS, Line, lines

NUMBERED = re.compile(r"(?P<family>[^/]+)/(?P<kind>edge|example)-(?P<number>\d+)(?:[a-z]|$|[-_.])")


@cache
def schema() -> Mapping[str, Any]:
    """The schema of a line."""
    found: Mapping[str, Any] = json.loads((CORPUS / "case.schema.json").read_text(encoding="utf-8"))
    return found


@cache
def coverage() -> dict[str, dict[str, int]]:
    """For each family how many numbers of each kind there must be."""
    found: dict[str, dict[str, int]] = json.loads((CORPUS / "coverage.json").read_text(encoding="utf-8"))
    return found


def faults(every: Iterable[Line]) -> Iterator[str]:
    """Every fault of the lines."""
    places: dict[str, str] = {}
    for line in every:
        try:
            value = line.value()
        except ValueError as error:
            yield f"{line.place}: {error}"
            continue
        for what in faults_of(value):
            yield f"{line.place}: {value.get('id', '') if isinstance(value, dict) else ''}: {what}"
        name = value.get("id") if isinstance(value, dict) else None
        if isinstance(name, str) and places.setdefault(name, line.place) != line.place:
            yield f"{line.place}: {name} is at {places[name]} already"
    yield from gaps(places)


def faults_of(value: Any) -> Iterator[str]:
    """Every fault of one line's value."""
    branch = "gap" if isinstance(value, Mapping) and "not_a_case" in value else "case"
    found = Draft202012Validator({**schema(), "oneOf": [{"$ref": f"#/$defs/{branch}"}]})
    wrong = list(found.iter_errors(value))
    for error in wrong:
        for one in error.context or [error]:
            yield f"{one.json_path}: {one.message}"[:300]
    if wrong or branch == "gap":
        return
    text = value.get("text")
    joined = "".join(piece for _, piece, _ in value["ids"]) if "ids" in value else None
    if text is not None and joined is not None and text != joined:
        yield f"ids join to {joined!r}, text is {text!r}"
    output: str = text if text is not None else joined or ""
    if "chunks" in value and "".join(value["chunks"]) != output:
        yield "chunks don't join to the text"
    if value.get("tool_parser") is None and value.get("reasoning_parser") is None:
        yield "neither parser is named"
    yield from unheard(value, output)
    yield from misquoted(value)


def unheard(case: Mapping[str, Any], output: str) -> Iterator[str]:
    """Expected calls whose name was neither offered nor written, or was offered to nobody."""
    offered = {tool["function"]["name"] for tool in case.get("tools") or ()}
    for call in case["expect"]["tool_calls"]:
        if call["name"] not in offered and call["name"] not in output:
            yield f"no tool and no text is named {call['name']!r}"
    if case["expect"]["tool_calls"] and (case.get("tools") == [] or case.get("tool_choice") == "none"):
        yield "a call is expected although no tool was offered"


def misquoted(case: Mapping[str, Any]) -> Iterator[str]:
    """Expected argument texts that are no text of the expected arguments."""
    for call in case["expect"]["tool_calls"]:
        if "arguments_text" not in call:
            continue
        try:
            same = json.loads(call["arguments_text"]) == call["arguments"]
        except ValueError:
            same = False
        if not same:
            yield f"arguments_text of {call['name']!r} is no text of its arguments"


def gaps(ids: Iterable[str]) -> Iterator[str]:
    """Numbers of families that have lines, but not all of them; families that nobody declared."""
    numbers: dict[tuple[str, str], set[int]] = defaultdict(set)
    families = set()
    for one in ids:
        families.add(one.partition("/")[0])
        if match := NUMBERED.match(one):
            numbers[match["family"], match["kind"]].add(int(match["number"]))
    for family, kinds in coverage().items():
        if family not in families:
            yield f"coverage.json: {family} has no case"
            continue
        for kind, count in kinds.items():
            missing = set(range(1, count + 1)) - numbers.get((family, kind), set())
            yield from (f"coverage.json: there is no {family}/{kind}-{number}" for number in sorted(missing))
    for (family, kind), found in sorted(numbers.items()):
        if max(found) > coverage().get(family, {}).get(kind, 0):
            yield f"coverage.json: {family}/{kind}-{max(found)} is beyond what is declared"


def main(folder: Path = CORPUS) -> int:
    """Print the faults; 1 when there is one."""
    every = list(lines(folder))
    count = 0
    for fault in faults(every):
        count += 1
        print(fault)
    print(f"{len(every)} lines, {count} faults")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main())
