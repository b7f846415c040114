"""Every difference is as its line says, and the page is made from the lines."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.corpus.files import Line

from .differences import PAGE, code, faults, files, page, wrong_results

LINES = [line for every in files().values() for line in every]


@pytest.mark.parametrize("line", LINES, ids=lambda line: line.place)
def test_difference(line: Line) -> None:
    assert not list(faults(line))
    assert not wrong_results(line)


def test_ids_are_unique() -> None:
    ids = [line.value()["id"] for line in LINES]
    assert len(set(ids)) == len(ids)


def test_the_page_is_made_from_the_lines() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.conformance.differences --write"


GOOD: dict[str, Any] = {
    "id": "hermes/x",
    "tool_parser": "hermes",
    "text": "a",
    "vllm": "b",
    "unbraid": {"reasoning": None, "content": "a", "tool_calls": []},
    "reason": "c",
}
SERVING: dict[str, Any] = {"id": "serving/x", "what": "a", "vllm": "b", "unbraid": "c", "reason": "d"}


def line_of(value: object, file: str = "hermes.jsonl") -> Line:
    return Line(file, 1, json.dumps(value))


def test_good_lines() -> None:
    assert not list(faults(line_of(GOOD)))
    assert not wrong_results(line_of(GOOD))
    assert not list(faults(line_of(SERVING, "serving.jsonl")))


@pytest.mark.parametrize(
    "change",
    [
        {"vllm": ""},
        {"reason": ""},
        {"unbraid": "a"},
        {"defect": 3},
        {"recorded": "v33"},
        {"tool_parser": None},
        {"extra": 1},
    ],
    ids=str,
)
def test_a_wrong_line_is_a_fault(change: dict[str, Any]) -> None:
    assert list(faults(line_of({**GOOD, **change})))


@pytest.mark.parametrize("change", [{"what": ""}, {"text": "x"}, {"unbraid": {}}], ids=str)
def test_a_wrong_line_about_servers_is_a_fault(change: dict[str, Any]) -> None:
    assert list(faults(line_of({**SERVING, **change}, "serving.jsonl")))


def test_a_wrong_result_is_found() -> None:
    wrong = {**GOOD, "unbraid": {"reasoning": None, "content": "b", "tool_calls": []}}
    assert wrong_results(line_of(wrong))


def test_code_within_a_table() -> None:
    assert code("a|b\n") == "`a\\|b⏎`"
    assert code("`x`") == "`` `x` ``"
    assert code("") == "(empty)"
    assert len(code("x" * 1000)) < 300
