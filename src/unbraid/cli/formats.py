"""``unbraid formats``: every format, and what is known of it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from unbraid.explain import describe
from unbraid.explaining.data import ENFORCED
from unbraid.formats import preset, preset_names, reasoning_names, tool_names

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "formats",
        help="list the formats",
        description="List every format: names, models, markers, who opens thinking, its switch; "
        "or every model family with its usual pair.",
    )
    parser.add_argument("--presets", action="store_true", help="the model families that --format takes")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--json", action="store_true", help="everything, as JSON")
    output.add_argument("--markdown", action="store_true", help="families and names as a page of tables")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    if args.markdown:
        print("\n".join(page()))
        return 0
    if args.presets:
        return _presets(args.json)
    names = sorted({*tool_names(), *reasoning_names()})
    formats = {name: describe(name) for name in names}
    if args.json:
        print(json.dumps(formats, ensure_ascii=False, indent=2))
        return 0
    for name, half in formats.items():
        for line in _lines(name, half):
            print(line)
    print("\nEvery tool parser enforces")
    for choice, enforced in ENFORCED.items():
        print(f"    tool_choice {choice}: {enforced}")
    return 0


def page() -> Iterator[str]:
    """The lines of a page: every family with its pair, every name with its models."""
    yield from (
        "# Formats",
        "",
        "Made by `unbraid formats --markdown`.",
        "",
        "## Model families",
        "",
        "The switch is the variable in `chat_template_kwargs` that turns thinking on or off; "
        "`unbraid explain NAME` says which values do.",
        "",
    )
    columns = ("`format=`", "models", "reasoning parser", "tool parser", "thinks by default", "switch")
    yield from _table(*columns)
    for name in preset_names():
        family = preset(name)
        half = describe(format=name)["reasoning"] if family.reasoning else None
        default = half and half["default"]
        named = _switch(half) if half else []
        switch = ", ".join(f"`{one}`" for one in named)
        yield _row(f"`{name}`", ", ".join(family.models), family.reasoning, family.tools, default, switch)
    for kind, names in (("reasoning", reasoning_names()), ("tools", tool_names())):
        parser = "Reasoning parsers" if kind == "reasoning" else "Tool parsers"
        yield from ("", f"## {parser}", "")
        yield from _table("name", "the same format", "SGLang's names", "models")
        for name in names:
            half = describe(name)[kind]
            same = ", ".join(sorted(set(half["names"]) - {name}))
            yield _row(f"`{name}`", same, ", ".join(sorted(half["sglang"])), ", ".join(half["models"]))


def _table(*columns: str) -> tuple[str, str]:
    return _row(*columns), "|" + "---|" * len(columns)


def _row(*cells: str | None) -> str:
    return f"| {' | '.join(cell or '' for cell in cells)} |"


def _presets(as_json: bool) -> int:
    """Print every model family."""
    families = {name: asdict(preset(name)) for name in preset_names()}
    if as_json:
        print(json.dumps(families, ensure_ascii=False, indent=2))
        return 0
    for name, family in families.items():
        flags = (("--reasoning-parser", family["reasoning"]), ("--tool-call-parser", family["tools"]))
        given = " ".join(f"{flag} {half}" for flag, half in flags if half)
        switch = family["switch"]
        default = f", thinking by default {'on' if switch['default'] else 'off'}" if switch else ""
        print(f"{name:<18} {given}{default}")
        print(f"    models: {', '.join(family['models'])}")
    return 0


def _switch(half: dict[str, Any]) -> list[str]:
    """The template's variables that turn thinking on or off."""
    names = list(half["switch"]["names"]) if half["switch"] else []
    return list(dict.fromkeys([*names, half["level"]["name"]] if half["level"] else names))


def _lines(name: str, format_: dict[str, Any]) -> Iterator[str]:
    """What a person wants to know of a format, a few lines."""
    reasoning, tools = format_["reasoning"], format_["tools"]
    halves = (("--reasoning-parser", reasoning), ("--tool-call-parser", tools))
    yield f"{name:<16} {' '.join(flag for flag, half in halves if half)}"
    parts = [half for _, half in halves if half]
    aliases = sorted({one for part in parts for one in part["names"]} - {name})
    theirs = sorted({f"sglang:{one}" for part in parts for one in part["sglang"]})
    if aliases or theirs:
        yield f"    also: {', '.join([*aliases, *theirs])}"
    yield f"    models: {', '.join(sorted({model for part in parts for model in part['models']}))}"
    markers = dict.fromkeys(marker["text"] for part in parts for marker in part["markers"])
    yield f"    markers: {' '.join(map(repr, markers))}"
    if reasoning and reasoning.get("opened_by"):
        names = _switch(reasoning)
        yield f"    thinking: opened by {reasoning['opened_by']}, default {reasoning['default']}"
        yield f"    switch: {', '.join(names) or 'none'}"
        ends = reasoning["ends_early"]
        yield f"    a call in open thinking: {' '.join([ends['tools_inside'], *map(repr, ends['ends_at'])])}"
