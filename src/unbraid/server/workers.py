"""The HTTP server's processes: one, or several on one port, with an orderly end."""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from socket import socket, socketpair
from types import FrameType
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from unbraid.errors import UnbraidError
from unbraid.server.metrics_folder import shared_metrics

__all__ = ["Listening", "Make", "serve_here", "serve_workers"]

logger = logging.getLogger("unbraid.server")

STARTUP_FAILURE = 3
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
AT_ONCE = 1.0
GRACE = 5.0
HANGUP: int | None = getattr(signal, "SIGHUP", None)

Make = Callable[[], tuple[ASGIApp, Callable[[], None]]]
"""Makes an app, and what reads its files again."""


@dataclass(frozen=True)
class Listening:
    """Where a server listens, and how long running streams may go on when it is to end.

    ``uds`` is the path of a Unix socket, which takes the place of ``host`` and ``port``.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    uds: str | None = None
    ssl_keyfile: str | None = None
    ssl_certfile: str | None = None
    root_path: str = ""
    drain_seconds: float = 30.0

    @property
    def url(self) -> str:
        """The address for a person to open."""
        if self.uds is not None:
            return f"unix:{self.uds}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.ssl_certfile else 'http'}://{host}:{self.port}"

    def config(self, app: Any) -> uvicorn.Config:
        """It as uvicorn takes it."""
        return uvicorn.Config(
            app,
            host=self.host,
            port=self.port,
            uds=self.uds,
            ssl_keyfile=self.ssl_keyfile,
            ssl_certfile=self.ssl_certfile,
            root_path=self.root_path,
            timeout_graceful_shutdown=math.ceil(self.drain_seconds + GRACE),
            log_level="info",
            log_config=None,
            access_log=False,
        )


def serve_here(make: Make, listening: Listening) -> int:
    """Serve in this process until it is told to end; the exit code.

    SIGTERM and SIGINT let running streams end within ``drain_seconds``, a second one ends at
    once; SIGHUP has files read again.
    """
    _ignore(HANGUP)
    app, reload = make()
    _Server(listening.config(app), reload, (signal.SIGTERM, signal.SIGINT)).run()
    return 0


def serve_workers(make: Make, count: int, listening: Listening) -> int:
    """Serve in ``count`` processes that share one socket; the exit code.

    ``make`` is called in each of them, so it must be picklable. Signals are those of
    ``serve_here``, passed on to all. A worker that ends by itself is replaced; when one of the
    first can't start, all end.
    """
    with shared_metrics():
        return _Crew(make, count, listening).run()


class _Server(uvicorn.Server):
    """Uvicorn's server with unbraid's signals."""

    def __init__(
        self, config: uvicorn.Config, reload: Callable[[], None], ends_on: tuple[signal.Signals, ...]
    ) -> None:
        super().__init__(config)
        self._reload = reload
        self._ends_on = ends_on

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals while the server runs."""
        before = {one: signal.signal(one, self.handle_exit) for one in self._ends_on}
        if HANGUP is not None:
            before[signal.Signals(HANGUP)] = signal.signal(HANGUP, lambda *_: self._reload())
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to end; the second time the app stops what runs, and no client is waited for."""
        if self.should_exit:
            timer = threading.Timer(AT_ONCE, setattr, (self, "force_exit", True))
            timer.daemon = True
            timer.start()
        self.should_exit = True


class _Crew:
    """The workers and what watches over them."""

    def __init__(self, make: Make, count: int, listening: Listening) -> None:
        self._make = make
        self._listening = listening
        self._count = count
        self._context = multiprocessing.get_context("spawn")
        self._running: dict[BaseProcess, float] = {}
        self._first: set[BaseProcess] = set()
        self._socket: socket | None = None
        self._signals, self._signal = socketpair()
        self._due: list[float] = []
        self._pause = FIRST_PAUSE
        self._kill_at: float | None = None
        self._code = 0

    def run(self) -> int:
        """Start, watch, end."""
        self._socket = _bound(self._listening)
        with self._signals, self._signal, self._heard():
            try:
                for _ in range(self._count):
                    self._first.add(self._start())
                while self._running or self._due:
                    self._watch()
            finally:
                self._kill()
        if self._listening.uds is not None:
            with suppress(OSError):
                os.unlink(self._listening.uds)
        return self._code

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Within the block signals come as bytes out of a socket, so that none meets work half done."""
        self._signal.setblocking(False)
        heard = [signal.SIGTERM, signal.SIGINT, *([] if HANGUP is None else [signal.Signals(HANGUP)])]
        before = {one: signal.signal(one, lambda *_: None) for one in heard}
        wakeup = signal.set_wakeup_fd(self._signal.fileno())
        try:
            yield
        finally:
            signal.set_wakeup_fd(wakeup)
            for one, handler in before.items():
                signal.signal(one, handler)

    def _start(self) -> BaseProcess:
        process = self._context.Process(
            target=_work, args=(self._make, self._listening, self._socket), name="unbraid-worker"
        )
        process.start()
        self._running[process] = time.monotonic()
        return process

    def _watch(self) -> None:
        """Wait for what comes next: a signal, a worker's end, the time to replace one or to kill all."""
        times = [*self._due, *([] if self._kill_at is None else [self._kill_at])]
        timeout = max(0.0, min(times) - time.monotonic()) if times else None
        ready = wait([self._signals, *(process.sentinel for process in self._running)], timeout)
        if self._signals in ready:
            for number in self._signals.recv(64):
                if number == HANGUP:
                    self._pass_on(number)
                else:
                    self._end()
        for process in [one for one in self._running if not one.is_alive()]:
            self._ended(process, self._running.pop(process))
        now = time.monotonic()
        if self._kill_at is not None and now >= self._kill_at:
            self._kill()
        for due in [one for one in self._due if one <= now]:
            self._due.remove(due)
            self._start()

    def _ended(self, process: BaseProcess, started: float) -> None:
        """Replace a worker that ended unasked, after a pause that grows while none lives long."""
        if self._socket is None:
            return
        if process.exitcode == STARTUP_FAILURE and process in self._first:
            self._code = STARTUP_FAILURE
            self._end()
            return
        now = time.monotonic()
        self._pause = FIRST_PAUSE if now - started > LONGEST_PAUSE else self._pause
        logger.error("worker %s ended (%s), another one takes its place", process.pid, process.exitcode)
        self._due.append(now + self._pause)
        self._pause = min(LONGEST_PAUSE, self._pause * 2)

    def _end(self) -> None:
        """Have all end: no new connections, what runs is drained; the second time at once."""
        seconds = GRACE if self._socket is None else self._listening.drain_seconds + 2 * GRACE
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._due.clear()
        self._pass_on(signal.SIGTERM)
        self._kill_at = time.monotonic() + seconds

    def _pass_on(self, number: int) -> None:
        for process in self._running:
            if process.pid is not None and process.is_alive():
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)

    def _kill(self) -> None:
        for process in self._running:
            process.kill()
        for process in self._running:
            process.join()
        self._running.clear()


def _bound(listening: Listening) -> socket:
    """The socket that all workers share; a Unix socket that was left behind makes room."""
    if listening.uds is not None:
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.stat(listening.uds).st_mode):
                os.unlink(listening.uds)
    return listening.config(None).bind_socket()


def _work(make: Make, listening: Listening, shared: socket) -> None:
    """What a worker does. It ends by its parent's word alone, and with it."""
    _ignore(signal.SIGINT)
    _ignore(HANGUP)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        app, reload = make()
    except UnbraidError as error:
        print(f"unbraid serve: a worker can't start: {error}", file=sys.stderr, flush=True)
        sys.exit(STARTUP_FAILURE)
    _Server(listening.config(app), reload, (signal.SIGTERM,)).run([shared])


def _ignore(number: int | None) -> None:
    """Let a signal wait until somebody hears it."""
    if number is not None:
        signal.signal(number, signal.SIG_IGN)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
