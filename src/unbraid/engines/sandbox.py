"""Chat templates in a process of their own: whatever a template does, it ends there.

Jinja's sandbox keeps a template from Python's insides, but not from loops without end, texts
without end, or values that hold themselves many times over. So Jinja runs in a worker that has
limits of the operating system, none of this process's environment variables, no files to write
and no children. It stays warm, and what it answers is read as text alone. One that spends too
much is ended, and the next request gets another.
"""

from __future__ import annotations

import atexit
import marshal
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any

from unbraid.engines.frames import (
    MEMORY,
    MESSAGES,
    READY,
    TEMPLATE,
    TEXT,
    Closed,
    TooLong,
    receive,
    send,
)
from unbraid.errors import EngineError, EngineUnavailable, InvalidRequest

__all__ = ["OWN", "REQUESTED", "Sandbox", "TemplateLimits"]

_START = 60.0  # seconds
_PLAIN = 2  # the version of marshal's format that writes trees without references
_BYTES = 4  # of a character, at most


@dataclass(frozen=True)
class TemplateLimits:
    """What one use of a template may spend.

    ``cpu_seconds`` of processor time; ``wall_seconds`` in all, which only a machine that
    has no time for the worker reaches; ``memory_bytes`` of the worker's whole address space;
    ``source_chars`` of the template, ``output_chars`` of the prompt; ``most_waiting`` uses at once,
    of which one runs.
    """

    cpu_seconds: float = 2.0
    wall_seconds: float = 20.0
    memory_bytes: int = 1 << 30
    source_chars: int = 1 << 18
    output_chars: int = 1 << 24
    most_waiting: int = 64


class Sandbox:
    """A worker that compiles and renders templates, started at its first use. Safe for threads."""

    def __init__(self, limits: TemplateLimits | None = None) -> None:
        self.limits = limits or TemplateLimits()
        self._places = threading.BoundedSemaphore(self.limits.most_waiting)
        self._lock = threading.Lock()
        self._worker: _Worker | None = None

    def ask(self, operation: str, source: str, *arguments: Any) -> str:
        """What the worker makes of a template: see ``template_worker.OPERATIONS``.

        ``arguments`` are plain data. Raises InvalidRequest for what the template refuses or can't
        do, or for what it spends too much of; EngineError when there is no worker to be had.
        """
        if len(source) > self.limits.source_chars:
            most = self.limits.source_chars
            raise InvalidRequest(f"the chat template is longer than {most} characters", param="chat_template")
        try:
            request = marshal.dumps((operation, (source, *arguments)), _PLAIN)
        except ValueError as error:
            problem = "what the chat template is given nests too deeply, or is no plain data"
            raise InvalidRequest(problem, param="messages") from error
        if not self._places.acquire(blocking=False):
            raise EngineUnavailable("too many chat templates wait to be rendered: try again later")
        try:
            with self._lock:
                answer = self._exchanged(request)
        finally:
            self._places.release()
        kind, text = answer[:1], str(memoryview(answer)[1:], "utf-8", "surrogatepass")
        if kind == TEXT and len(text) <= self.limits.output_chars:
            return text
        if kind == TEXT:
            raise self._too_long()
        raise InvalidRequest(text, param="messages" if kind == MESSAGES else "chat_template")

    @property
    def pid(self) -> int | None:
        """The worker's process id; None while there is no worker."""
        worker = self._worker
        return None if worker is None else worker.pid

    def close(self) -> None:
        """End the worker; another one starts when it is needed."""
        with self._lock:
            self._end()

    def _exchanged(self, request: bytes) -> bytearray:
        """The worker's answer."""
        deadline = monotonic() + self.limits.wall_seconds
        try:
            answer = self._answered(request, deadline)
        except TimeoutError:
            self._end()
            raise _spent(f"took more than {self.limits.wall_seconds:g} s") from None
        except TooLong:
            self._end()
            raise self._too_long() from None
        except BaseException:
            self._end()
            raise
        if answer[:1] == MEMORY:
            self._end()
            raise _spent("needs too much memory")
        if answer[:1] not in (TEXT, MESSAGES, TEMPLATE):
            self._end()
            raise EngineError("the process of chat templates answers nonsense")
        return answer

    def _answered(self, request: bytes, deadline: float) -> bytearray:
        """What a worker answers; one that ends for no reason of its own has one successor."""
        for last in (False, True):
            worker = self._ready()
            try:
                send(worker.channel, request, deadline)
                return receive(worker.channel, deadline, _BYTES * self.limits.output_chars + 1)
            except Closed:
                if self._end() == -signal.SIGPROF:
                    seconds = f"{self.limits.cpu_seconds:g} s of processor time"
                    raise _spent(f"took more than {seconds}") from None
                if last:
                    raise _spent("ends the process that it runs in") from None
        raise AssertionError("unreachable")

    def _too_long(self) -> InvalidRequest:
        return _spent(f"makes more than {self.limits.output_chars} characters")

    def _ready(self) -> _Worker:
        if self._worker is not None and not self._worker.usable():
            self._end()
        if self._worker is None:
            self._worker = _Worker(self.limits)
        return self._worker

    def _end(self) -> int | None:
        worker, self._worker = self._worker, None
        return None if worker is None else worker.end()


def _spent(what: str) -> InvalidRequest:
    return InvalidRequest(f"the chat template {what}", param="chat_template")


class _Worker:
    """One process and the socket to it."""

    def __init__(self, limits: TemplateLimits) -> None:
        self._owner = os.getpid()
        self.channel, theirs = socket.socketpair()
        module = "unbraid.engines.template_worker"
        try:
            with theirs:
                self._process: subprocess.Popen[bytes] = subprocess.Popen(
                    [sys.executable, "-m", module, str(limits.cpu_seconds), str(limits.memory_bytes)],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    env=worker_environment(),
                    start_new_session=True,
                )
            self.pid = self._process.pid
            atexit.register(self.end)
            if receive(self.channel, monotonic() + _START, 1) != READY:
                raise Closed
        except (OSError, Closed, TooLong) as error:
            self.channel.close()
            raise EngineError(
                "the process of chat templates can't be started: its output says why"
            ) from error

    def usable(self) -> bool:
        """Whether it runs, and belongs to this process, which may have been forked since."""
        return self._owner == os.getpid() and self._process.poll() is None

    def end(self) -> int | None:
        """End it, unless a forked parent still needs it. How it ended."""
        atexit.unregister(self.end)
        self.channel.close()
        if self._owner != os.getpid():
            return None
        with suppress(subprocess.TimeoutExpired):
            return self._process.wait(0.05)
        self._process.kill()
        return self._process.wait()


def worker_environment() -> dict[str, str]:
    """Where to find modules, and the time zone; no secret of this process."""
    kept = {name: os.environ[name] for name in ("TZ", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path)}


OWN = Sandbox()
"""The sandbox of templates that the server or its model has."""
REQUESTED = Sandbox(TemplateLimits(cpu_seconds=1.0, wall_seconds=10.0, most_waiting=3))
"""The sandbox of templates from requests: what they break, no other prompt waits for."""
