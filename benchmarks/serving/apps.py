"""The two apps that are compared: unbraid's server, and one that only forwards.

Both are served as a user would, by uvicorn with httptools and uvloop; ``/cpu`` tells the process's time.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import uvicorn
import uvloop
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from benchmarks.serving.source import PacedEngine, paced
from unbraid.server.app import create_app
from unbraid.server.options import Options
from unbraid.server.startup import prepare
from unbraid.wire.chat import ChatCompletionChunk, ChunkChoice, Delta

__all__ = ["bare", "unbraid_app"]


def bare(seconds: float) -> Starlette:
    """Encodes each piece as a chat chunk and sends it: the least that any such server does."""
    encode = msgspec.json.Encoder().encode

    async def events() -> AsyncIterator[bytes]:
        async for chunk in paced(seconds):
            choice = ChunkChoice(0, Delta(content=chunk.text), finish_reason=chunk.finish_reason)
            made = ChatCompletionChunk("chatcmpl-1", 1, "paced", [choice])
            yield b"data: " + encode(made) + b"\n\n"
        yield b"data: [DONE]\n\n"

    async def complete(request: Request) -> Response:
        json.loads(await request.body())
        return StreamingResponse(events(), media_type="text/event-stream")

    return Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])


def unbraid_app(seconds: float, limit: int) -> ASGIApp:
    """unbraid's server over the same pieces, which takes ``limit`` requests at once."""
    engine = PacedEngine(seconds)
    options = Options(reasoning_parser="qwen3", tool_call_parser="hermes", max_running=limit)
    return create_app(prepare(engine, options), engine)  # type: ignore[arg-type]


async def _memory(_: Request) -> Response:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Response(str(pages * os.sysconf("SC_PAGE_SIZE")))


class _Beside:
    """An app with a few pages beside it, which cost its own requests nothing."""

    def __init__(self, pages: ASGIApp, app: ASGIApp) -> None:
        self._pages = pages
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._pages if scope["type"] == "http" and scope["method"] == "GET" else self._app
        await app(scope, receive, send)


async def _cpu(_: Request) -> Response:
    return Response(str(time.process_time()))


def main() -> None:
    """Serve one app on a free port, which is printed: arguments NAME SECONDS LIMIT."""
    name, seconds, limit = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
    inner = bare(seconds) if name == "bare" else unbraid_app(seconds, limit)
    looks = [Route("/cpu", _cpu), Route("/memory", _memory)]
    app = _Beside(Starlette(routes=looks), inner)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="on", loop="uvloop", http="httptools"
    )
    server = uvicorn.Server(config)

    async def serve() -> None:
        task = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        print(server.servers[0].sockets[0].getsockname()[1], flush=True)
        await task

    config.port = 0
    uvloop.run(serve())


if __name__ == "__main__":
    main()
