"""The tables: Markdown, for the terminal and for docs/benchmarks.md."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Figure", "Report", "Table", "machine"]

INTRODUCTION = """# Benchmarks

`make bench` measures this page, `python -m benchmarks.run --write` renews it. A **floor** is what
any streaming parser in Python must pay for a delta: a method with one `str.find` that returns a
list of one new event. It is measured in turns with the parser, so that a busy machine slows both.
Deltas have four characters. Every figure is processor time and the least of nine runs (1 MB: of
three, steps: of five at each position), without the garbage collector. A figure over its target is
**bold**.
"""


def machine() -> str:
    """The processor and the Python that measured."""
    model = platform.machine()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    return f"{model}, {platform.python_implementation()} {platform.python_version()}"


@dataclass(frozen=True)
class Figure:
    """A measured value with its digits, and the target it must not exceed."""

    value: float
    digits: int = 1
    target: float | None = None

    @property
    def missed(self) -> bool:
        """Whether the figure as it is printed is over the target."""
        return self.target is not None and round(self.value, self.digits) > self.target

    def __str__(self) -> str:
        text = f"{self.value:.{self.digits}f}"
        return f"**{text}**" if self.missed else text


@dataclass
class Table:
    """A titled table; cells are text or figures. The row that is worst in a ``worst`` column is named."""

    title: str
    note: str
    columns: Sequence[str]
    rows: list[Sequence[str | Figure]] = field(default_factory=list)
    worst: Sequence[str] = ()

    def markdown(self) -> str:
        """The table as Markdown."""
        lines = [f"## {self.title}", "", self.note, ""]
        lines.append("| " + " | ".join(self.columns) + " |")
        lines.append("|" + "|".join(["---", *["---:"] * (len(self.columns) - 1)]) + "|")
        lines += ["| " + " | ".join(map(str, row)) + " |" for row in self.rows]
        lines += [f"\nWorst in {column}: {self.worst_row(column)}." for column in self.worst]
        return "\n".join(lines) + "\n"

    def worst_row(self, column: str) -> str:
        """The row with the largest figure of a column, and that."""
        at = list(self.columns).index(column)
        figures = [(cell.value, str(row[0])) for row in self.rows if isinstance(cell := row[at], Figure)]
        value, name = max(figures)
        return f"{name} ({value:.1f})"

    def missed(self) -> list[str]:
        """The figures over their target, named by row and column."""
        return [
            f"{self.title}: {row[0]}, {column}: {cell.value:.{cell.digits}f} > {cell.target:g}"
            for row in self.rows
            for column, cell in zip(self.columns, row, strict=True)
            if isinstance(cell, Figure) and cell.missed and cell.target is not None
        ]


@dataclass
class Report:
    """The tables of one run."""

    tables: list[Table] = field(default_factory=list)

    def markdown(self) -> str:
        """The page."""
        parts = [INTRODUCTION, f"Measured on {machine()}.\n", *(table.markdown() for table in self.tables)]
        return "\n".join(parts)

    def missed(self) -> list[str]:
        """Every figure over its target."""
        return [line for table in self.tables for line in table.missed()]
