"""The corpus is well formed, and every case of it is right in both modes and every split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from unbraid.cli.cases import parser_of
from unbraid.formats import REASONING_PARSERS, TOOL_PARSERS, reasoning_format, tool_format
from unbraid.formats.registry import INLINE_PARSERS

from .files import CORPUS, Line, cases, lines
from .lint import faults, faults_of
from .run import misses

CASES = cases()


def test_the_corpus_is_well_formed() -> None:
    assert not list(faults(lines()))


def test_every_half_has_a_case() -> None:
    """Variants too, which a request chooses; halves that others register are theirs to show."""
    parsers = [parser_of(case) for case in CASES]
    tools = [tool_format(one) for one in {made.tool_parser for made in parsers} if one]
    reasoning = [reasoning_format(one) for one in {made.reasoning_parser for made in parsers} if one]
    assert not [name for name, (file, _) in TOOL_PARSERS.items() if file and tool_format(name) not in tools]
    ours = {**REASONING_PARSERS, **INLINE_PARSERS}
    assert not [name for name, (file, _) in ours.items() if file and reasoning_format(name) not in reasoning]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    assert not list(misses(case))


GOOD: dict[str, Any] = {
    "id": "hermes/one",
    "tool_parser": "hermes",
    "text": '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>',
    "expect": {"reasoning": None, "content": None, "tool_calls": [{"name": "f", "arguments": {"a": 1}}]},
    "why": "a call",
}
NOTHING = {"reasoning": None, "content": None, "tool_calls": []}


def test_a_good_line() -> None:
    assert not list(faults_of(GOOD))
    assert not list(misses(GOOD))
    assert not list(faults_of({"id": "a/edge-1", "not_a_case": "about a start-up"}))


@pytest.mark.parametrize(
    "change",
    [
        {"id": "nothing"},
        {"why": ""},
        {"txt": "x"},
        {"tool_parser": 1},
        {"tool_parser": None},
        {"tools": [{"name": "f"}]},
        {"tools": [{"type": "function", "function": {"name": "g"}}], "text": "x"},
        {"tools": []},
        {"tool_choice": "sometimes"},
        {"ids": [[1, "x", False]]},
        {"ids": [[1, "x"]]},
        {"chunks": ["x"]},
        {"expect": {**NOTHING, "content": ""}},
        {"expect": {**NOTHING, "tool_calls": [{"name": "f", "arguments": "{}"}]}},
        {"expect": {**NOTHING, "tool_calls": [{"name": "f", "arguments": {}, "complete": False}]}},
        {"expect": {"content": "x"}},
        {"expect": {**NOTHING, "tool_calls": [{"name": "f", "arguments": {}, "arguments_text": "{"}]}},
        {"not_a_case": "why"},
    ],
    ids=str,
)
def test_a_wrong_line_is_a_fault(change: dict[str, Any]) -> None:
    assert list(faults_of({**GOOD, **change}))


@pytest.mark.parametrize(
    "change",
    [
        {"expect": {**GOOD["expect"], "content": "x"}},
        {"expect": {**GOOD["expect"], "reasoning": "x"}},
        {"expect": NOTHING},
        {"expect": {**NOTHING, "tool_calls": [{"name": "g", "arguments": {"a": 1}}]}},
        {"expect": {**NOTHING, "tool_calls": [{"name": "f", "arguments": {"a": True}}]}},
        {"expect": {**NOTHING, "tool_calls": [{"name": "f", "arguments": {"a": 1}, "id": "x"}]}},
        {
            "expect": {
                **NOTHING,
                "tool_calls": [{"name": "f", "arguments": {"a": 1}, "arguments_text": '{"a":1}'}],
            }
        },
        {"expect": {**GOOD["expect"], "finish_reason": "stop"}},
        {"expect": {**GOOD["expect"], "diagnostics": ["not_a_call"]}},
        {"tool_parser": "nobody"},
    ],
    ids=str,
)
def test_a_case_can_miss(change: dict[str, Any]) -> None:
    assert list(misses({**GOOD, **change}))


def test_ids_are_unique_and_numbers_complete(tmp_path: Path) -> None:
    twice = [Line("a.jsonl", n, '{"id": "hermes/edge-1", "not_a_case": "x"}') for n in (1, 2)]
    found = list(faults(twice))
    assert "a.jsonl:2: hermes/edge-1 is at a.jsonl:1 already" in found
    assert "coverage.json: there is no hermes/edge-2" in found
    assert "coverage.json: there is no hermes/edge-1" not in found
    beyond = [Line("a.jsonl", 1, '{"id": "hermes/edge-99", "not_a_case": "x"}')]
    assert "coverage.json: hermes/edge-99 is beyond what is declared" in list(faults(beyond))


def test_every_file_is_told_in_the_specification() -> None:
    page = (CORPUS / "README.md").read_text(encoding="utf-8")
    assert "case.schema.json" in page
    assert "coverage.json" in page
