"""Which packages know which: the arrows of docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import unbraid

SOURCE = Path(unbraid.__file__).parent
OUTSIDE = ("engines", "wire", "server", "cli")
KNOWS = {
    "engines": {"engines", "errors", "tokens"},
    "wire": {"wire", "errors", "events", "message"},
}


def modules(package: str) -> list[Path]:
    found = sorted((SOURCE / package).rglob("*.py"))
    assert found
    return found


def imported(file: Path) -> Iterator[str]:
    """The modules and packages of unbraid that a file imports, by the first name below unbraid."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            top, _, rest = name.partition(".")
            if top == "unbraid" and rest:
                yield rest.split(".")[0]


@pytest.mark.parametrize("package", KNOWS)
def test_engines_and_wire_know_little(package: str) -> None:
    known = {name for file in modules(package) for name in imported(file)}
    assert known <= KNOWS[package]


def test_the_server_is_started_from_outside() -> None:
    above = [file.name for file in modules("server") if "cli" in imported(file)]
    assert above == ["asgi.py"]


def test_the_core_knows_nothing_of_what_stands_around_it() -> None:
    files = [one for one in SOURCE.rglob("*.py") if one.relative_to(SOURCE).parts[0] not in OUTSIDE]
    assert len(files) > 100
    known = {one.name: set(imported(one)) & set(OUTSIDE) for one in files if one.name != "__main__.py"}
    assert {name: names for name, names in known.items() if names} == {}
