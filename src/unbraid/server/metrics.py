"""Metrics in Prometheus' text format: what became of requests, how fast, and how the server is."""

from __future__ import annotations

from collections import Counter as Counts
from collections.abc import Iterable, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

from unbraid.engines.fleet import EngineState
from unbraid.errors import NotEnforced
from unbraid.server.admission import Admission
from unbraid.server.choice import Result
from unbraid.server.lag import Lag
from unbraid.server.metrics_folder import forget_the_dead, metrics_folder
from unbraid.server.plan import Job
from unbraid.server.record import GAP_BOUNDS, Record

__all__ = ["Metrics"]

_FIRST_BOUNDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 600.0)
_PAIR = ("reasoning_parser", "tool_parser")


class _Counted(Histogram):
    """A histogram that takes observations already counted by its buckets."""

    def add(self, counts: Sequence[int], total: float) -> None:
        """``counts`` of each bucket, that of longer ones last, and the sum of all that was observed."""
        for bucket, count in zip(self._buckets, counts, strict=True):
            if count:
                bucket.inc(count)
        self._sum.inc(total)


class Metrics:
    """Counts what became of requests, once each when it is over.

    With several workers, each writes to files in a folder that all of them share
    (PROMETHEUS_MULTIPROC_DIR), and whichever is asked adds them up.
    """

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._failures: Counts[str] = Counts()
        asked = ("api", "model")
        self._requests = self._counter("requests", "Requests that are over", (*asked, "status", "outcome"))
        self._shed = self._counter("shed_requests", "Requests refused because of others", ("api", "status"))
        self._left = self._counter("client_disconnects", "Clients that left before the end", ("api",))
        self._seconds = self._histogram(
            "request_seconds", "From a request's arrival to the end of its answer", asked, _FIRST_BOUNDS
        )
        self._first = self._histogram(
            "first_chunk_seconds",
            "From a request's arrival to the engine's first piece",
            asked,
            _FIRST_BOUNDS,
        )
        self._gaps = self._histogram("chunk_gap_seconds", "Between two pieces of a choice", asked, GAP_BOUNDS)
        self._prompt = self._counter("prompt_tokens", "Tokens of the prompts", asked)
        self._completion = self._counter("completion_tokens", "Tokens generated", asked)
        self._reasoning = self._counter("reasoning_tokens", "Those of them that are thinking", asked)
        self._choices = self._counter("choices", "Choices by their finish reason", ("api", "finish_reason"))
        self._calls = self._counter("tool_calls", "Calls in answers", (*_PAIR, "complete"))
        self._diagnostics = self._counter("diagnostics", "Diagnostics of answers", (*_PAIR, "code"))
        self._enforced = self._counter(
            "enforcement", "Requests by what held their output to what was demanded", ("by", "result")
        )
        self._running = self._gauge("requests_running", "Requests that run now", "livesum")
        self._lag = self._gauge("loop_lag_seconds", "How late the event loop is, a running mean", "livemax")
        self._draining = self._gauge("draining", "1 when the server is told to end", "livemax")
        self._up = self._gauge("engine_up", "1 when the engine is well", "livemin", ("engine",))
        self._load = self._gauge("engine_running", "Generations open on it", "livesum", ("engine",))
        self._failed = self._counter(
            "engine_failures", "Generations that failed before their first token", ("engine",)
        )

    def _counter(self, name: str, about: str, labels: Sequence[str]) -> Counter:
        return Counter(f"unbraid_{name}", about, labels, registry=self.registry)

    def _histogram(self, name: str, about: str, labels: Sequence[str], bounds: Sequence[float]) -> _Counted:
        return _Counted(f"unbraid_{name}", about, labels, buckets=bounds, registry=self.registry)

    def _gauge(self, name: str, about: str, mode: Any, labels: Sequence[str] = ()) -> Gauge:
        return Gauge(f"unbraid_{name}", about, labels, multiprocess_mode=mode, registry=self.registry)

    def finished(self, record: Record) -> None:
        """Count a request."""
        job = record.job
        model = "" if job is None else job.model
        self._requests.labels(record.api, model, record.status, record.outcome).inc()
        if record.shed:
            self._shed.labels(record.api, record.status).inc()
        if record.outcome == "left":
            self._left.labels(record.api).inc()
        if record.outcome == "done":
            self._seconds.labels(record.api, model).observe(record.seconds)
        if job is not None:
            self._answered(record, job)

    def _answered(self, record: Record, job: Job) -> None:
        """Count what came of a request that went to the engine."""
        asked = record.api, job.model
        if record.first is not None:
            self._first.labels(*asked).observe(record.first)
        if any(record.gaps):
            self._gaps.labels(*asked).add(record.gaps, record.gap_seconds)
        held = "held" if record.outcome == "done" else "unfinished"
        self._enforced.labels(
            job.enforced, "violated" if isinstance(record.error, NotEnforced) else held
        ).inc()
        results = record.results
        self._prompt.labels(*asked).inc(max((one.prompt_tokens for one in results), default=0))
        self._completion.labels(*asked).inc(sum(one.completion_tokens for one in results))
        self._reasoning.labels(*asked).inc(sum(one.reasoning_tokens for one in results))
        for one in results:
            self._choices.labels(record.api, one.finish_reason).inc()
        self._parsed(job, results)

    def _parsed(self, job: Job, results: Sequence[Result]) -> None:
        """Count how answers were read."""
        pair = job.parser.reasoning_parser or "none", job.parser.tool_parser or "none"
        calls = Counts(call.complete for one in results for call in one.message.tool_calls)
        for complete, count in calls.items():
            self._calls.labels(*pair, str(complete).lower()).inc(count)
        codes = Counts(found.code for one in results for found in one.message.diagnostics)
        for code, count in codes.items():
            self._diagnostics.labels(*pair, code).inc(count)

    def note(self, admission: Admission, lag: Lag, engines: Iterable[EngineState]) -> None:
        """Note how the server and its engines are now."""
        self._running.set(admission.running)
        self._draining.set(admission.draining)
        self._lag.set(lag.mean)
        for one in engines:
            self._up.labels(one.url).set(one.healthy)
            self._load.labels(one.url).set(one.running)
            self._failed.labels(one.url).inc(one.failures - self._failures[one.url])
            self._failures[one.url] = one.failures

    def page(self) -> bytes:
        """All of it as text, that of other workers too."""
        folder = metrics_folder()
        if folder is None:
            return generate_latest(self.registry)
        forget_the_dead(folder)
        together = CollectorRegistry()
        MultiProcessCollector(together, str(folder))  # type: ignore[no-untyped-call]
        return generate_latest(together)
