"""The parts of the end-to-end job that need no vLLM: its requests, its judgement, its installer."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from .cases import CHOICES, TEMPERATURES, Case, cases
from .drive import Answer, astray, invalid, without_a_call
from .install import KEPT, LOST, REPAIRED, repair, requirements
from .run import Result

FORCED = Case("get_weather", "required", True, False, 0.0, 0)
CALL = {"name": "get_weather", "arguments": '{"city": "Oslo"}'}
GOOD = Answer("Hm.", "", [CALL], "tool_calls")


def test_a_round_holds_every_combination_once() -> None:
    asked = [(one.choice, one.thinking, one.stream, one.temperature) for one in cases(1)]
    assert sorted(asked) == sorted(product(CHOICES, (True, False), (True, False), TEMPERATURES))
    assert len({one.name for one in cases(3)}) > len({one.tool for one in cases(3)}) > 8


@pytest.mark.parametrize(
    ("changed", "kind", "said"),
    [
        ({}, None, ""),
        ({"broken": "HTTP 500"}, "failed", "HTTP 500"),
        ({"calls": []}, "without a call", "tool_calls"),
        ({"calls": [{**CALL, "arguments": '{"town": "Oslo"}'}]}, "not valid", "town"),
        ({"calls": [{**CALL, "arguments": '{"city": "Os'}]}, "not valid", "Os"),
        ({"calls": [{**CALL, "name": "get_time"}]}, "not valid", "get_time"),
        ({"reasoning": ""}, "astray", "thinking"),
        ({"content": "</think>"}, "astray", "</think>"),
        ({"finish": "stop"}, "astray", "finish reason stop"),
        ({"calls": [CALL, CALL]}, "astray", "2 calls"),
    ],
)
def test_what_is_wrong_with_a_forced_call(changed: dict[str, Any], kind: str | None, said: str) -> None:
    result = Result("unbraid")
    result.add(FORCED, replace(GOOD, **changed))
    faults = result.tallies["required"].faults
    assert {one for one, count in faults.items() if count} >= ({kind} if kind else set())
    assert bool(result.wrong) == (kind is not None)
    assert kind is None or any(f": {kind}: " in one and said in one for one in result.problems)


def test_what_nothing_holds_may_be_anything() -> None:
    free = replace(FORCED, choice="auto")
    answer = Answer("", "</think> so", [{**CALL, "arguments": "{}"}], "tool_calls")
    assert not without_a_call(free, Answer(finish="stop"))
    assert not astray(free, answer)
    result = Result("unbraid")
    result.add(free, answer)
    assert result.tallies["auto"].faults["not valid"] == 1
    assert result.problems
    assert not result.wrong


def test_an_answer_by_a_schema() -> None:
    case = replace(FORCED, choice="schema", thinking=False)
    assert not invalid(case, Answer("", '{"city": "Oslo"}', [], "stop"))
    assert invalid(case, Answer("", "Oslo", [], "stop"))


def test_the_requirements_of_a_wheel(tmp_path: Path) -> None:
    wheel = tmp_path / "x-1.whl"
    wanted = ("torch==2", "torchaudio", 'numpy; python_version > "3"', 'tensorizer; extra == "tensorizer"')
    with zipfile.ZipFile(wheel, "w") as archive:
        lines = "".join(f"Requires-Dist: {one}\n" for one in wanted)
        archive.writestr("x-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: x\n{lines}\ntext")
    assert requirements(wheel) == ["torch==2", 'numpy; python_version > "3"']


def test_the_repair(tmp_path: Path) -> None:
    path = tmp_path / "lib" / "python3.11" / "site-packages" / REPAIRED
    path.parent.mkdir(parents=True)
    path.write_text(f"def f():\n{LOST}\n")
    for _ in range(2):
        repair(tmp_path)
        assert path.read_text() == f"def f():\n{KEPT}\n"
    path.write_text("another\n")
    with pytest.raises(RuntimeError, match="not that of"):
        repair(tmp_path)
