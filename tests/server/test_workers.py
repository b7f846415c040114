"""The server as processes: several on one port, keys read again, an orderly end."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

WORDS = [f"word{n} " for n in range(20)]
SLOW = 0.05
PLUGIN = """
from unbraid.formats import register
from unbraid.syntax import Calls, Json, Name, Tools, Ws, lit
register("hermes", Tools(call=Calls((lit("@call"), Ws(" "), Name(), Ws(" "), Json(), lit("@end")))))
"""


class Served:
    """A running ``unbraid serve``."""

    def __init__(self, process: subprocess.Popen[str], uds: Path | None = None) -> None:
        self.process = process
        self.lines: list[str] = []
        self.uds = uds
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    @property
    def log(self) -> str:
        return "".join(self.lines)

    @property
    def pids(self) -> list[int]:
        """The processes that began to serve, the first ones first."""
        return [int(pid) for pid in re.findall(r"Started server process \[(\d+)\]", self.log)]

    def started(self) -> int:
        return self.log.count("Application startup complete")

    def until(self, true: Callable[[], Any]) -> None:
        """Wait for something that must come."""
        for _ in range(3000):
            if true():
                return
            assert self.process.poll() is None or true(), self.log
            time.sleep(0.02)
        raise AssertionError(self.log)

    def connection(self) -> http.client.HTTPConnection:
        if self.uds is not None:
            connection = http.client.HTTPConnection("localhost", timeout=60)
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(self.uds))
            return connection
        self.until(lambda: "running on http://" in self.log)
        port = re.findall(r"running on http://127\.0\.0\.1:(\d+)", self.log)[0]
        return http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)

    def ask(self, key: str = "first-key", **body: Any) -> http.client.HTTPResponse:
        connection = self.connection()
        connection.request(
            "POST",
            "/v1/chat/completions",
            json.dumps({"messages": [{"role": "user", "content": "x"}], **body}),
            {"content-type": "application/json", "authorization": f"Bearer {key}"},
        )
        return connection.getresponse()

    def content(self, **options: Any) -> str:
        answer = self.ask(**options)
        body = json.loads(answer.read())
        assert answer.status == 200, body
        return str(body["choices"][0]["message"]["content"])

    def stream(self) -> tuple[http.client.HTTPResponse, str]:
        """A stream of the slow answer that has begun, and its beginning."""
        answer = self.ask(stream=True)
        assert answer.status == 200
        return answer, answer.read(10).decode()

    def ended(self) -> int:
        code = self.process.wait(60)
        self._reader.join(60)
        return code


def text_of(stream: str) -> str:
    chunks = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    return "".join(
        choice["delta"].get("content") or "" for chunk in chunks for choice in chunk.get("choices", ())
    )


@contextmanager
def served(folder: Path, *flags: str, words: list[str] = WORDS, delay: float = SLOW) -> Iterator[Served]:
    recordings = folder / "outputs.jsonl"
    output = {"text": words, "delay": delay}
    recordings.write_text(f"{json.dumps({'model': 'm'})}\n{json.dumps(output)}\n", encoding="utf-8")
    uds = Path(flags[flags.index("--uds") + 1]) if "--uds" in flags else None
    process = subprocess.Popen(
        [sys.executable, "-m", "unbraid", "serve", "--engine", f"replay:{recordings}", "--port", "0", *flags],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    running = Served(process, uds)
    try:
        yield running
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def test_workers_from_start_to_end(tmp_path: Path) -> None:
    """Keys are read again while a stream runs, a worker that is killed is replaced, the end is drained."""
    keys = tmp_path / "keys"
    keys.write_text("first-key\n", encoding="utf-8")
    with served(tmp_path, "--workers", "2", "--api-key-file", str(keys)) as server:
        server.until(lambda: server.started() == 2)
        assert server.log.count("model: m") == 1, "the report comes once"
        assert server.ask("second-key").status == 401

        running, begun = server.stream()
        keys.write_text("second-key\n", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda: server.log.count("API keys that are allowed now: 1") == 2)
        assert {server.ask("first-key").status for _ in range(6)} == {401}
        assert {server.ask("second-key", max_tokens=1).status for _ in range(6)} == {200}
        assert text_of(begun + running.read().decode()) == "".join(WORDS)
        assert server.process.poll() is None

        os.kill(server.pids[0], signal.SIGKILL)
        server.until(lambda: server.started() == 3)
        assert len(set(server.pids)) == 3
        assert server.content(key="second-key") == "".join(WORDS)

        keys.write_text("first-key\n", encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        server.until(lambda: server.log.count("API keys that are allowed now: 1") == 4)
        running, begun = server.stream()
        server.process.send_signal(signal.SIGTERM)
        assert text_of(begun + running.read().decode()) == "".join(WORDS)
        assert server.ended() == 0
        with pytest.raises(ConnectionRefusedError):
            server.ask("second-key")
        assert "-key" not in server.log.replace("--api-key", "")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_second_signal_ends_at_once(tmp_path: Path, workers: str) -> None:
    """The stream would take minutes; its client is told, or at least let go."""
    with served(tmp_path, "--workers", workers, delay=10.0, words=["a", *WORDS]) as server:
        server.until(lambda: server.started() == int(workers))
        outcome: list[object] = []

        def ask() -> None:
            try:
                outcome.append(server.ask(stream=True).status)
            except (http.client.HTTPException, OSError) as error:
                outcome.append(error)

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        server.until(lambda: "Shutting down" in server.log)
        assert server.process.poll() is None
        server.process.send_signal(signal.SIGTERM)
        assert server.ended() == 0
        asking.join(10)
        assert outcome
        assert outcome != [200]


def test_a_unix_socket_and_a_plugin_in_every_worker(tmp_path: Path) -> None:
    plugin, uds = tmp_path / "plugin_of_mine.py", tmp_path / "socket"
    plugin.write_text(PLUGIN, encoding="utf-8")
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(uds))
    config = tmp_path / "unbraid.toml"
    config.write_text(
        f'workers = 2\ntool-call-parser = "hermes"\n[plugins]\ntool-parser-plugin = "{plugin}"\n'
        "allow-format-override = true\n",
        encoding="utf-8",
    )
    tools = [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]
    flags = ("--config", str(config), "--uds", str(uds))
    with served(tmp_path, *flags, words=['@call f {"a": 1}@end'], delay=0.0) as server:
        server.until(lambda: server.started() == 2)
        for _ in range(6):
            answer = json.loads(server.ask(tools=tools).read())
            assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "f"
        server.process.send_signal(signal.SIGINT)
        assert server.ended() == 0
    assert not uds.exists()


def test_what_is_wrong_is_told_once_and_before_there_are_workers(tmp_path: Path) -> None:
    plugin = tmp_path / "plugin_of_mine.py"
    plugin.write_text(PLUGIN, encoding="utf-8")
    with served(tmp_path, "--workers", "2", "--tool-parser-plugin", str(plugin)) as server:
        assert server.ended() == 2
    assert server.log.count("--allow-format-override") == 1
    assert "Traceback" not in server.log
