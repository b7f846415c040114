"""The corpus's files, read line by line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CORPUS = Path(__file__).resolve().parents[2] / "corpus"


@dataclass(frozen=True)
class Line:
    """One line of a file of JSON Lines."""

    file: str
    number: int
    text: str

    @property
    def place(self) -> str:
        """Where the line is."""
        return f"{self.file}:{self.number}"

    def value(self) -> Any:
        """What the line says; raises ValueError when it is no JSON."""
        return json.loads(self.text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"a key is there twice: {[key for key, _ in pairs]}")
    return found


def lines(folder: Path = CORPUS) -> Iterator[Line]:
    """Every line of every ``.jsonl`` file of a folder."""
    for path in sorted(folder.glob("*.jsonl")):
        for number, text in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            if text:
                yield Line(path.name, number, text)


def cases(folder: Path = CORPUS) -> list[dict[str, Any]]:
    """The cases of a folder, without the lines that say why a number is none."""
    every = [line.value() for line in lines(folder)]
    return [one for one in every if "not_a_case" not in one]
