"""A client that costs little: raw sockets that count events and note when they came."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field

__all__ = ["Seen", "get", "post"]

EVENT = b"data: "
BODY = {
    "model": "paced",
    "stream": True,
    "messages": [{"role": "user", "content": "When does the tide turn?"}],
    "tools": [{"type": "function", "function": {"name": "write", "parameters": {"type": "object"}}}],
}


@dataclass
class Seen:
    """One answer: its status, its events, the seconds to the first and between two, and if it ended well."""

    status: int = 0
    events: int = 0
    first: float | None = None
    gaps: list[float] = field(default_factory=list)
    done: bool = False


async def post(port: int, until: float = float("inf")) -> Seen:
    """Stream one answer, to its end or to the loop's time ``until``."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    clock = asyncio.get_running_loop().time
    body = json.dumps(BODY).encode()
    lines = (
        "POST /v1/chat/completions HTTP/1.1",
        "host: x",
        "connection: close",
        f"content-length: {len(body)}",
    )
    head = "\r\n".join((*lines, "", ""))
    began = last = clock()
    writer.write(head.encode() + body)
    seen = Seen()
    try:
        while data := await reader.read(1 << 16):
            now = clock()
            if not seen.status:
                seen.status = int(data.split(b" ", 2)[1])
            count = data.count(EVENT)
            if count:
                if seen.first is None:
                    seen.first = now - began
                else:
                    seen.gaps.append(now - last)
                last = now
                seen.events += count
            seen.done = seen.done or b"[DONE]" in data
            if now >= until:
                break
    finally:
        writer.close()
    return seen


async def get(port: int, path: str) -> str:
    """The body of a GET."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".encode())
    answer = await reader.read()
    writer.close()
    return answer.partition(b"\r\n\r\n")[2].decode()
