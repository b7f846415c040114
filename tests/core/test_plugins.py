"""Formats from files and modules that a command line names."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import unbraid
from unbraid.errors import InvalidRequest
from unbraid.formats import registry
from unbraid.plugins import load_plugins

FLAG = "--tool-parser-plugin"
GOOD = """
from unbraid.formats import register
from unbraid.syntax import Calls, Json, Name, Tools, Ws, lit
register({name!r}, Tools(call=Calls((lit("@call"), Ws(" "), Name(), Ws(" "), Json(), lit("@end")))))
"""


@pytest.fixture(autouse=True)
def _registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A registry, and modules, that forget what a test loads."""
    names = ("TOOL_PARSERS", "TOOL_ALIASES", "REASONING_PARSERS", "REASONING_ALIASES", "_tools", "_reasoning")
    for name in names:
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "plugin" in name:
            del sys.modules[name]


def write(folder: Path, text: str, name: str = "plugin_one.py") -> str:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def called(parser: str) -> str:
    return unbraid.Parser(tool_parser=parser).parse('@call f {"a": 1}@end').tool_calls[0].name


def refusal(place: str, **options: bool) -> str:
    with pytest.raises(InvalidRequest) as refused:
        load_plugins([(FLAG, place)], **options)
    assert refused.value.param == FLAG
    assert str(refused.value).startswith(f"{FLAG} {place}: ")
    return str(refused.value)


def test_C20_a_good_file(tmp_path: Path) -> None:
    place = write(tmp_path, GOOD.format(name="parrot"))
    load_plugins([(FLAG, place), ("--reasoning-parser-plugin", place)])
    assert called("parrot") == "f"
    load_plugins([(FLAG, place)])


def test_C20_a_good_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, GOOD.format(name="parrot"), "some_plugin.py")
    monkeypatch.syspath_prepend(str(tmp_path))
    load_plugins([(FLAG, "some_plugin")])
    assert called("parrot") == "f"


def test_C20_a_missing_file_or_module(tmp_path: Path) -> None:
    assert "there is no such file" in refusal(str(tmp_path / "nowhere.py"))
    for module in ("no_such_plugin", "no_such_plugin.inner"):
        assert "there is no such module" in refusal(module)
        assert "PYTHONPATH" in refusal(module)


def test_C20_a_syntax_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = write(tmp_path, "x = 1\nif x\n    pass\n", "bad_plugin.py")
    assert "bad_plugin.py, line 2" in refusal(place)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "bad_plugin.py, line 2" in refusal("bad_plugin")


@pytest.mark.parametrize("as_module", [False, True])
def test_C20_a_missing_dependency(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, as_module: bool) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for text, part in (
        ("import no_such_dependency", "No module named 'no_such_dependency'"),
        ("from json import no_such_name", "cannot import name 'no_such_name'"),
        ("from vllm.tool_parsers import ToolParser", "docs/add-a-family.md"),
        ("1 / 0", "ZeroDivisionError"),
    ):
        place = write(tmp_path, text, f"needy_plugin_{len(text)}.py")
        told = refusal(Path(place).stem if as_module else place)
        assert part in told
        assert "no such file" not in told


def test_C20_a_built_in_name_needs_the_flag(tmp_path: Path) -> None:
    place = write(tmp_path, GOOD.format(name="hermes"))
    assert "--allow-format-override" in refusal(place)
    loud = write(
        tmp_path, GOOD.format(name="hermes").replace(")))))", ")))), override=True)"), "loud_plugin.py"
    )
    assert "--allow-format-override" in refusal(loud)
    with pytest.raises(IndexError):
        called("hermes")
    load_plugins([(FLAG, place)], override=True)
    assert called("hermes") == "f"


def test_C20_an_alias_is_a_built_in_name(tmp_path: Path) -> None:
    place = write(tmp_path, GOOD.format(name="qwen3_json"))
    assert "--allow-format-override" in refusal(place)
    load_plugins([(FLAG, place)], override=True)
    assert called("qwen3_json") == "f"


def test_C20_the_same_stem_twice(tmp_path: Path) -> None:
    one = write(tmp_path / "one", GOOD.format(name="parrot"))
    two = write(tmp_path / "two", GOOD.format(name="cockatoo"))
    load_plugins([(FLAG, one), (FLAG, two)])
    assert called("parrot") == called("cockatoo") == "f"


def test_C20_a_name_that_another_plugin_took(tmp_path: Path) -> None:
    one = write(tmp_path / "one", GOOD.format(name="parrot"))
    two = write(tmp_path / "two", GOOD.format(name="parrot"))
    load_plugins([(FLAG, one)])
    assert "'parrot' is taken" in refusal(two)


def test_C20_a_plugin_that_registers_nothing(tmp_path: Path) -> None:
    place = write(tmp_path, "x = 1\n")
    for _ in range(2):
        assert "registers no format" in refusal(place)
    assert "ends in .py" in refusal(write(tmp_path, "x = 1\n", "plugin.txt"))


def test_outside_of_plugins_override_is_enough(tmp_path: Path) -> None:
    half = registry.tool_format("hermes")
    registry.register("hermes", half, override=True)
    with pytest.raises(InvalidRequest, match="override=True"):
        registry.register("hermes", half)
