"""How unbraid and vLLM 0.33 differ on the inputs of vLLM's own parser tests, for information.

``python -m tests.conformance.recorded`` reads ``vllm_recorded.jsonl`` from the folder
``shared/cases`` beside the repository. vLLM's result is not always right, so nothing
here fails: differences are printed by parser, those of white space alone apart.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from unbraid import Message, Parser

from .cases import CASES, rows
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
    ).parse(row["text"])


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


def main(argv: Sequence[str] | None = None) -> int:
    """Print the differences by parser; always 0."""
    options = argparse.ArgumentParser(prog="python -m tests.conformance.recorded", description=__doc__)
    options.add_argument("--only", default="", help="parsers whose name holds this text")
    options.add_argument("--width", type=int, default=400, help="characters of each value that are printed")
    options.add_argument("--white-space", action="store_true", help="print differences of white space too")
    chosen = options.parse_args(argv)
    if not CASES.is_dir():
        print(f"there is no {CASES}: nothing was run")
        return 0
    score: dict[str, Counter[str]] = defaultdict(Counter)
    printed: dict[str, list[str]] = defaultdict(list)
    skipped = 0
    for row in rows("vllm_recorded"):
        tool, reasoning = halves(row)
        group = f"{tool or '-'} + {reasoning or '-'}"
        if not declared(tool, reasoning) or chosen.only not in group:
            skipped += 1
            continue
        every = found(row)
        real = [one for one in every if "white space" not in one[0]]
        score[group]["differ" if real else "white space" if every else "equal"] += 1
        shown = every if chosen.white_space else real
        if shown:
            printed[group].append(f"{row['id']} {row['kind']} {row['test'].partition('::')[2]}")
            printed[group].append(f"    text {row['text']!r}"[: chosen.width])
            printed[group].append(f"    {request(row)}"[: chosen.width])
            printed[group] += [f"    {kind}: {what}"[: chosen.width] for kind, what in shown]
    for group in sorted(printed):
        print(f"\n== {group}")
        print(*printed[group], sep="\n")
    print(f"\n{'tool + reasoning parser':40}{'equal':>8}{'white space':>14}{'differ':>8}")
    for group, counts in [*sorted(score.items()), ("all", sum(score.values(), Counter[str]()))]:
        print(f"{group:40}{counts['equal']:8d}{counts['white space']:14d}{counts['differ']:8d}")
    print(f"{skipped} rows not run")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
