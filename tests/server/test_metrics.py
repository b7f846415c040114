"""Metrics: what is counted, that workers add up, and that the page in the docs names them all."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from unbraid.engines.fleet import Fleet
from unbraid.engines.replay import Recording
from unbraid.errors import EngineError
from unbraid.server.metrics import Metrics
from unbraid.server.metrics_folder import forget_the_dead, metrics_folder, shared_metrics
from unbraid.server.record import GAP_BOUNDS

from .faults import CHAT, PATHS, Hang, Scripted, body, listening, request_bytes, until
from .helpers import CALL, NOT_THINKING, TIME, USER, WEATHER, make_app, raw, replay
from .test_workers import served

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"
PLAIN: Any = {"default_chat_template_kwargs": {"enable_thinking": False}}


def values(page: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """The samples of a page."""
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
    }


class Seen:
    """A page of metrics, to be asked for sums."""

    def __init__(self, page: str) -> None:
        self._values = values(page)

    def sum(self, name: str, **labels: str) -> float:
        """The sum of all samples of a name that have these labels."""
        return sum(
            value
            for (found, of), value in self._values.items()
            if found == f"unbraid_{name}" and labels.items() <= dict(of).items()
        )


async def after(engine: Any, *bodies: tuple[str, dict[str, Any]], **options: Any) -> Seen:
    """The metrics after some requests."""
    async with raw(engine, **{**PLAIN, **options}) as http:
        for path, sent in bodies:
            await http.post(path, json=sent)
        page = await http.get("/metrics")
        assert page.headers["content-type"].startswith("text/plain")
        return Seen(page.text)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_an_answer(path: str, stream: bool) -> None:
    seen = asyncio.run(after(replay(Recording(["so ", "it ", "is"])), (path, body(path, stream))))
    assert seen.sum("requests_total", api=path, model="replay", status="200", outcome="done") == 1
    assert seen.sum("requests_total") == 1
    assert seen.sum("completion_tokens_total", api=path) == 8
    assert seen.sum("prompt_tokens_total", api=path) > 8
    assert seen.sum("reasoning_tokens_total") == 0
    assert seen.sum("choices_total", finish_reason="stop") == 1
    assert seen.sum("request_seconds_count", api=path) == 1
    assert seen.sum("first_chunk_seconds_count", api=path) == 1
    assert seen.sum("chunk_gap_seconds_count", api=path) == 3
    assert seen.sum("chunk_gap_seconds_bucket", le="+Inf") == 3
    assert seen.sum("enforcement_total", by="none", result="held") == 1
    assert seen.sum("engine_up", engine="replay") == 1
    assert seen.sum("requests_running") == 0


def test_how_answers_were_read() -> None:
    asked = {"messages": USER, "tools": [WEATHER], **NOT_THINKING}
    texts = [
        f"{CALL}{CALL}",
        '<tool_call>\n{"name": "get_time", "arguments": {}}\n</tool_call>',
        Recording('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Os', "length"),
    ]
    seen = asyncio.run(after(replay(*texts), *[(CHAT, asked)] * 3))
    pair = {"reasoning_parser": "qwen3", "tool_parser": "hermes"}
    assert seen.sum("tool_calls_total", complete="true", **pair) == 3
    assert seen.sum("tool_calls_total", complete="false", **pair) == 1
    assert seen.sum("diagnostics_total", code="unknown_tool", **pair) == 1
    assert seen.sum("diagnostics_total", code="cut_call", **pair) == 1
    assert seen.sum("choices_total", finish_reason="tool_calls") == 2
    assert seen.sum("choices_total", finish_reason="length") == 1


def test_thinking_is_counted() -> None:
    asked = {"messages": USER, "chat_template_kwargs": {"enable_thinking": True}}
    seen = asyncio.run(after(replay("hmm\n</think>\n\nfine"), (CHAT, asked)))
    assert seen.sum("reasoning_tokens_total") == 3


def test_demands_that_are_held_and_broken() -> None:
    asked = {"messages": USER, "tools": [WEATHER, TIME], "tool_choice": "required", **NOT_THINKING}
    engine = replay(CALL, "no call", dialects=("llguidance",))
    seen = asyncio.run(after(engine, (CHAT, asked), (CHAT, asked)))
    assert seen.sum("enforcement_total", by="grammar", result="held") == 1
    assert seen.sum("enforcement_total", by="grammar", result="violated") == 1
    assert seen.sum("requests_total", status="502", outcome="failed") == 1


def test_refusals_failures_and_what_is_shed() -> None:
    async def run() -> Seen:
        engine = Scripted([EngineError("gone")], ["a", EngineError("gone")], [Hang()])
        async with raw(engine, max_running=1, engine_timeout=60, **PLAIN) as http:
            for sent in ({}, body(CHAT, False), body(CHAT)):
                await http.post(CHAT, json=sent)
            hanging = asyncio.ensure_future(http.post(CHAT, json=body(CHAT)))
            await until(lambda: engine.running == 1)
            assert (await http.post(CHAT, json=body(CHAT))).status_code == 429
            page = Seen((await http.get("/metrics")).text)
            hanging.cancel()
            return page

    seen = asyncio.run(run())
    assert seen.sum("requests_total", status="400", outcome="refused", model="") == 1
    assert seen.sum("requests_total", status="500", outcome="failed", model="replay") == 1
    assert seen.sum("requests_total", status="200", outcome="failed") == 1
    assert seen.sum("shed_requests_total", status="429") == 1
    assert seen.sum("requests_running") == 1


def test_clients_that_leave() -> None:
    async def run() -> Seen:
        engine = Scripted([Hang()])
        app = make_app(engine, **PLAIN)
        async with listening(app) as port:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request_bytes(CHAT, body(CHAT)))
            await until(lambda: engine.running == 1)
            writer.close()
            await until(lambda: engine.running == 0)
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /metrics HTTP/1.0\r\n\r\n")
            page = (await reader.read()).decode().split("\r\n\r\n")[1]
            writer.close()
            return Seen(page)

    seen = asyncio.run(run())
    assert seen.sum("client_disconnects_total", api=CHAT) == 1
    assert seen.sum("requests_total", status="499", outcome="left") == 1


def test_the_engines_of_a_fleet() -> None:
    good, bad = replay("fine"), replay(Recording((), fault=EngineError("gone")))
    fleet = Fleet({"http://bad": bad, "http://good": good})
    asked = [{**body(CHAT), "messages": [{"role": "user", "content": f"number {n}"}]} for n in range(8)]
    seen = asyncio.run(after(fleet, *((CHAT, one) for one in asked)))
    assert seen.sum("engine_failures_total", engine="http://bad") >= 1
    assert seen.sum("engine_failures_total", engine="http://good") == 0
    assert seen.sum("engine_up", engine="http://good") == 1
    assert seen.sum("requests_total", outcome="done") == 8


def test_metrics_need_no_key() -> None:
    async def run() -> int:
        async with raw(replay("x"), api_keys=("secret",)) as http:
            return (await http.get("/metrics")).status_code

    assert asyncio.run(run()) == 200


def test_counted_buckets_are_what_single_observations_are() -> None:
    one, other = Metrics(), Metrics()
    gaps = [0.001, 0.005, 0.02, 0.3, 9.0, 11.0]
    counts = [0] * (len(GAP_BOUNDS) + 1)
    for gap in gaps:
        one._gaps.labels("a", "m").observe(gap)
        counts[next((at for at, bound in enumerate(GAP_BOUNDS) if gap <= bound), len(GAP_BOUNDS))] += 1
    other._gaps.labels("a", "m").add(counts, sum(gaps))

    def samples(metrics: Metrics) -> dict[Any, float]:
        found = values(metrics.page().decode())
        return {key: value for key, value in found.items() if not key[0].endswith("_created")}

    assert samples(one) == pytest.approx(samples(other))


def test_the_page_names_every_metric_with_its_labels() -> None:
    rows = re.findall(r"^\| `(unbraid_\w+)` \| (\w+) \| ([^|]*)\|", PAGE.read_text(encoding="utf-8"), re.M)
    told = {name: (kind, re.findall(r"`(\w+)`", labels)) for name, kind, labels in rows}
    metrics = [
        one for one in vars(Metrics()).values() if hasattr(one, "describe") and hasattr(one, "_labelnames")
    ]
    assert told == {one._name: (one._type, list(one._labelnames)) for one in metrics}
    assert len(told) == len(rows) > 10


# -- workers -------------------------------------------------------------------------

WORKER = """
import os, sys, time
from unbraid.server.metrics import Metrics
from unbraid.server.admission import Admission
from unbraid.server.lag import Lag
from unbraid.server.record import Record
metrics = Metrics()
record = Record("/v1/x", "id")
metrics.finished(record)
metrics.note(Admission(1), Lag(), [])
metrics._running.set(2)
print(metrics.page().decode(), flush=True)
sys.stdin.read()
"""


def test_workers_add_up() -> None:
    pages = []
    with shared_metrics():
        folder = metrics_folder()
        assert folder is not None
        workers = []
        for _ in range(2):
            worker = subprocess.Popen(
                [sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            workers.append(worker)
            assert worker.stdout is not None
            lines = []
            for line in worker.stdout:
                lines.append(line)
                if not line.strip():
                    break
            pages.append("".join(lines))
        workers[0].communicate()
        forget_the_dead(folder)
        live = {file.name for file in folder.glob("gauge_live*.db")}
        assert live
        assert all(str(workers[1].pid) in name for name in live)
        workers[1].communicate()
        assert os.listdir(folder)
    assert metrics_folder() is None
    assert not folder.exists()
    first, second = map(Seen, pages)
    assert (first.sum("requests_total"), second.sum("requests_total")) == (1, 2)
    assert (first.sum("requests_running"), second.sum("requests_running")) == (2, 4)


def test_any_worker_of_a_server_answers_for_all(tmp_path: Path) -> None:
    with served(tmp_path, "--workers", "2", delay=0.0) as server:
        server.until(lambda: server.started() == 2)
        for _ in range(10):
            server.content()
        for _ in range(4):
            connection = server.connection()
            connection.request("GET", "/metrics")
            seen = Seen(connection.getresponse().read().decode())
            assert seen.sum("requests_total", model="m", outcome="done") == 10
            assert seen.sum("engine_up", engine="m") == 1
