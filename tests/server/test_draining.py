"""A server that is told to end: what runs ends whole, or is told why it doesn't."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from unbraid.server.admission import Admission

from .faults import CHAT, PATHS, Hang, Scripted, body, read_stream, until
from .helpers import raw, replay
from .test_workers import WORDS, served

PLAIN: Any = {"default_chat_template_kwargs": {"enable_thinking": False}}
TEXT = "".join(WORDS)


@pytest.fixture
def admission(monkeypatch: pytest.MonkeyPatch) -> Admission:
    """The admission of the apps that a test makes."""
    made = Admission(10)
    monkeypatch.setattr("unbraid.server.app.Admission", lambda _: made)
    return made


@pytest.mark.parametrize("path", PATHS)
def test_no_more_requests_are_let_in(path: str, admission: Admission) -> None:
    async def run() -> None:
        async with raw(replay("fine"), **PLAIN) as http:
            assert (await http.get("/health")).status_code == 200
            admission.drain()
            answer = await http.post(path, json=body(path))
            assert answer.status_code == 503
            assert answer.headers["connection"] == "close"
            assert answer.headers["retry-after"] == "1"
            assert "shutting down" in answer.json()["error"]["message"]
            for health in ("/health", "/health/ready"):
                answer = await http.get(health)
                assert (answer.status_code, answer.json()) == (503, {"status": "draining"})
            assert (await http.get("/health/live")).status_code == 200

    asyncio.run(run())


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("begun", [True, False], ids=["begun", "not-begun"])
def test_what_is_stopped_is_told(path: str, stream: bool, begun: bool, admission: Admission) -> None:
    async def run() -> httpx.Response:
        engine = Scripted([*(["Once "] if begun else []), "upon" if begun else Hang(), Hang()])
        async with raw(engine, **PLAIN) as http:
            asked = asyncio.ensure_future(http.post(path, json=body(path, stream)))
            await until(lambda: engine.running == 1 and engine.pieces == 2 * begun)
            admission.stop()
            answer = await asked
            assert (engine.running, engine.aborted) == (0, 1)
            return answer

    answer = asyncio.run(run())
    if stream and begun:
        read = read_stream(path, answer.text)
        assert read.content == "Once upon"
        assert read.ended
        error = read.error
    else:
        assert answer.status_code == 503
        error = answer.json()["error"]["message"]
    assert error is not None
    assert "stopped before the answer was complete" in error


class Clients:
    """Requests to a server in another process, each in a thread."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self.answers: dict[tuple[str, int], httpx.Response] = {}

    def ask(self, url: str, path: str, n: int, stream: bool) -> None:
        """Begin a request."""
        thread = threading.Thread(target=self._ask, args=(url, path, n, stream), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _ask(self, url: str, path: str, n: int, stream: bool) -> None:
        sent = {**body(path, stream), "model": "m"}
        self.answers[path, n] = httpx.post(url + path, json=sent, timeout=60)

    def join(self) -> None:
        """Wait for all."""
        for thread in self._threads:
            thread.join(60)


def running(url: str) -> float:
    """How many requests a server runs."""
    page = httpx.get(f"{url}/metrics").text
    return float(page.split("\nunbraid_requests_running ")[1].split("\n")[0])


def test_what_runs_ends_whole(tmp_path: Path) -> None:
    with served(tmp_path, "--log-format", "json") as server:
        server.until(lambda: "running on http" in server.log)
        connection = server.connection()
        url = f"http://{connection.host}:{connection.port}"
        clients = Clients()
        for path in PATHS:
            for n in range(4):
                clients.ask(url, path, n, stream=n > 0)
        server.until(lambda: running(url) == 4 * len(PATHS))
        server.process.send_signal(signal.SIGTERM)
        clients.join()
        assert server.ended() == 0
    assert len(clients.answers) == 4 * len(PATHS)
    for (path, n), answer in clients.answers.items():
        assert answer.status_code == 200
        if n:
            read = read_stream(path, answer.text)
            assert (read.content, read.error, read.ended) == (TEXT, None, True)
        else:
            assert TEXT.strip() in answer.text
    lines = [json.loads(line) for line in server.lines if line.startswith("{")]
    requests = [line for line in lines if line["message"] == "request"]
    assert [line["outcome"] for line in requests] == ["done"] * 4 * len(PATHS)
    assert {line["level"] for line in lines} == {"INFO"}


def test_the_drain_time_is_over(tmp_path: Path) -> None:
    with served(tmp_path, "--drain-seconds", "0.5", words=["word "] * 2000) as server:
        server.until(lambda: "running on http" in server.log)
        connection = server.connection()
        url = f"http://{connection.host}:{connection.port}"
        clients = Clients()
        clients.ask(url, CHAT, 0, stream=True)
        clients.ask(url, CHAT, 1, stream=False)
        server.until(lambda: running(url) == 2)
        server.process.send_signal(signal.SIGTERM)
        clients.join()
        assert server.ended() == 0
    read = read_stream(CHAT, clients.answers[CHAT, 0].text)
    assert "word" in read.content
    assert read.error is not None
    assert "stopped" in read.error
    assert read.ended
    assert clients.answers[CHAT, 1].status_code == 503
    assert "Traceback" not in server.log
