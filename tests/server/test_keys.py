"""Several keys, from the command line and from a file."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from unbraid.errors import InvalidRequest
from unbraid.server.keys import Keys
from unbraid.server.options import Options
from unbraid.server.startup import prepare

from .helpers import make_app, raw, replay

FILE = "# the keys of two teams\nteam-one\n\n  team-two  # not a comment\n\t# one more\nschlüssel\n"
WRONG = (b"", b"team", b"team-one ", b"# the keys of two teams", b"TEAM-ONE", b"\xff")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_text(FILE, encoding="utf-8")
    return path


def test_a_file_of_keys(file: Path) -> None:
    keys = Keys(["fixed"], file)
    assert len(keys) == 4
    for key in ("fixed", "team-one", "team-two  # not a comment", "schlüssel"):
        assert keys.allows(key.encode())
    assert not any(map(keys.allows, WRONG))


def test_every_key_is_compared(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    """Which key it is, and how much of one, takes no time of its own: digests of one length, all of them."""
    seen: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        seen.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr("unbraid.server.keys.hmac.compare_digest", compare)
    keys = Keys((), file)
    for key in (b"team-one", b"team", b""):
        seen.clear()
        keys.allows(key)
        assert seen == [(32, 32)] * 3


def test_no_keys_at_all(tmp_path: Path) -> None:
    empty = tmp_path / "keys"
    empty.write_text("# none yet\n", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="no API key"):
        Keys((), empty)
    with pytest.raises(InvalidRequest, match="can't be read"):
        Keys(("key",), tmp_path / "nowhere")


@pytest.mark.parametrize("key", ["", " "])
def test_an_empty_key_is_refused(key: str) -> None:
    with pytest.raises(InvalidRequest, match="--api-key is empty"):
        Keys(("key", key))


def test_the_file_is_read_again(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    keys = Keys(["fixed"], file)
    file.write_text("team-three\n", encoding="utf-8")
    assert not keys.allows(b"team-three")
    keys.reload()
    assert keys.allows(b"team-three")
    assert keys.allows(b"fixed")
    assert not keys.allows(b"team-one")
    file.unlink()
    keys.reload()
    assert keys.allows(b"team-three")
    alone = tmp_keys(file, "team-four")
    file.write_text("", encoding="utf-8")
    alone.reload()
    assert alone.allows(b"team-four")
    assert "stay as they are" in caplog.text
    assert "team-" not in caplog.text.replace(str(file), "")


def tmp_keys(file: Path, key: str) -> Keys:
    file.write_text(key, encoding="utf-8")
    return Keys((), file)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"authorization": "Bearer team-one"}, 200),
        ({"authorization": "bearer fixed"}, 200),
        ({"x-api-key": "team-one"}, 200),
        ({"authorization": "Bearer nothing", "x-api-key": "team-one"}, 401),
        ({"x-api-key": "nothing"}, 401),
        ({"authorization": "Basic fixed"}, 401),
        ({}, 401),
    ],
)
def test_where_a_key_is_shown(file: Path, headers: dict[str, str], status: int) -> None:
    async def get() -> httpx.Response:
        async with raw(replay("x"), api_keys=("fixed",), api_key_file=file) as http:
            return await http.get("/v1/models", headers=headers)

    assert asyncio.run(get()).status_code == status


@pytest.mark.parametrize("root", ["", "/llm", "/v1", "/health"])
def test_what_is_open_without_a_key(root: str) -> None:
    """Also below the path of a reverse proxy, which the server puts in front of each request's own."""

    async def statuses(*paths: str) -> list[int]:
        app = make_app(replay("x"), api_keys=("fixed",))
        transport = httpx.ASGITransport(app, root_path=root)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as http:
            return [(await http.get(root + path)).status_code for path in paths]

    assert asyncio.run(statuses("/health", "/health/ready", "/docs", "/openapi.json")) == [200] * 4
    guarded = (
        "/v1/models",
        "/v1/chat/completions",
        "/v1/responses/x",
        "/nothing",
        "/health/../v1/models",
        "",
    )
    assert asyncio.run(statuses(*guarded)) == [401] * 6


def test_keys_are_not_shown(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = Options(api_keys=("fixed-key",), api_key_file=file)
    setup = prepare(replay("x"), options)
    shown: list[Any] = [repr(options), repr(setup), *setup.report]
    assert "fixed-key" not in "\n".join(shown)
    assert "team-" not in "\n".join(shown)
