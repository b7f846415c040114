"""Recorded outputs in a file."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from unbraid.engines.base import Generation
from unbraid.engines.connect import open_engine
from unbraid.engines.replay import ReplayEngine
from unbraid.errors import EngineError

from .helpers import collect, ids_of, text_of

FILE = """
{"model": "demo", "special_tokens": ["<think>", "</think>"], "dialects": ["llguidance"]}

{"text": "<think>hm</think>fine"}
{"text": ["a b", " c"], "finish_reason": "length", "ids": false}
{"text": "so", "fault": "the engine is gone"}
"""


def load(path: Path, text: str) -> ReplayEngine:
    """The engine behind the address of a file that holds ``text``."""
    file = path / "outputs.jsonl"
    file.write_text(text, encoding="utf-8")
    engine = asyncio.run(open_engine(f"replay:{file}"))
    assert isinstance(engine, ReplayEngine)
    return engine


def test_outputs_are_played_in_turn(tmp_path: Path) -> None:
    engine = load(tmp_path, FILE)
    assert engine.model == "demo"
    assert engine.capabilities.dialects == ("llguidance",)
    assert engine.chat_template is not None
    first = asyncio.run(collect(engine.generate(Generation("x"))))
    assert text_of(first) == "<think>hm</think>fine"
    assert ids_of(first) == [256, *b"hm", 257, *b"fine"]
    assert first[-1].finish_reason == "stop"
    second = asyncio.run(collect(engine.generate(Generation("x"))))
    assert [chunk.text for chunk in second] == ["a b", " c", ""]
    assert ids_of(second) == []
    assert second[-1].finish_reason == "length"
    for _ in range(2):
        with pytest.raises(EngineError, match="gone"):
            asyncio.run(collect(engine.generate(Generation("x"))))
    assert (engine.started, engine.running, engine.aborted) == (4, 0, 0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "needs a line about the model"),
        ("{}", "at least one output"),
        ('{}\n{"text": "a"}\n{"text": 1}', "line 3: Expected"),
        ('{}\n{"txt": "a"}', "line 2: Object contains unknown field `txt`"),
        ('{"model": 1}\n{"text": "a"}', "line 1: Expected `str`"),
        ('{}\n{"text": "a", "finish_reason": "x"}', "line 2: Invalid enum value"),
        ("{}\n{", "line 2: "),
    ],
)
def test_a_file_that_says_something_else(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(EngineError, match=problem):
        load(tmp_path, text)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="can't be read"):
        asyncio.run(open_engine(f"replay:{tmp_path / 'none'}"))
