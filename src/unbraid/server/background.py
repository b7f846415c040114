"""The server in a thread of this process, on a free port."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from unbraid.errors import EngineError

__all__ = ["serving"]

_START_SECONDS = 30.0
_POLL_SECONDS = 0.01


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """Serve ``app`` on a free local port while the block runs; gives the base URL."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_SECONDS
    while not server.started:
        if not thread.is_alive() or time.monotonic() > deadline:
            raise EngineError("the HTTP server did not start")
        time.sleep(_POLL_SECONDS)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(_START_SECONDS)
        listener.close()
