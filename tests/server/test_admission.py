"""Requests that are let in and requests that are not: too many, a late loop, a server that ends."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest

from unbraid.engines.base import Chunk, Generation
from unbraid.engines.replay import Recording
from unbraid.server.admission import Admission, Stopped
from unbraid.server.lag import Lag, watch_lag
from unbraid.wire.errors import ApiError

from .helpers import NOT_THINKING, USER, raw, replay

ASKED = {"messages": USER, **NOT_THINKING}


class Gate:
    """An engine that waits for ``open`` before its only piece; delegates the rest to a replay."""

    def __init__(self) -> None:
        self._inner = replay("x")
        self.open = asyncio.Event()
        self.running = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def generate(self, generation: Generation) -> Any:
        self.running += 1
        try:
            await self.open.wait()
            yield Chunk(text="fine")
            yield Chunk(finish_reason="stop", prompt_tokens=1, completion_tokens=1)
        finally:
            self.running -= 1


async def until(reached: Any) -> None:
    """Let the loop run until something is so; for five seconds at most."""
    deadline = time.monotonic() + 5
    while not reached():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("stream", [False, True])
def test_one_request_too_many_is_refused_at_once(stream: bool) -> None:
    async def run() -> None:
        engine = Gate()
        body = {**ASKED, "stream": stream}
        async with raw(engine, max_running=2) as http:

            async def ask() -> httpx.Response:
                return await http.post("/v1/chat/completions", json=body)

            first = [asyncio.ensure_future(ask()) for _ in range(2)]
            await until(lambda: engine.running == 2)
            refused = await ask()
            assert refused.status_code == 429
            assert refused.headers["retry-after"] == "1"
            assert refused.headers["x-request-id"]
            assert refused.json()["error"]["code"] == "overloaded"
            assert refused.json()["error"]["type"] == "rate_limit_error"
            assert engine.running == 2
            engine.open.set()
            assert [(await one).status_code for one in first] == [200, 200]
            assert (await ask()).status_code == 200

    asyncio.run(run())


def test_a_request_that_is_refused_or_fails_makes_room_again() -> None:
    async def run() -> None:
        async with raw(replay(Recording("", fault=RuntimeError("gone")), "x"), max_running=1) as http:
            for _ in range(3):
                assert (await http.post("/v1/chat/completions", content="{")).status_code == 400
            assert (await http.post("/v1/chat/completions", json=ASKED)).status_code == 500
            assert (await http.post("/v1/chat/completions", json=ASKED)).status_code == 200

    asyncio.run(run())


def test_admission_counts() -> None:
    async def run() -> None:
        admission = Admission(2)
        with admission.entered(), admission.entered():
            assert admission.running == 2
            with pytest.raises(ApiError) as refused, admission.entered():
                pass
            assert (refused.value.status, refused.value.code) == (429, "overloaded")
        assert admission.running == 0
        admission.lagging = True
        with pytest.raises(ApiError) as refused, admission.entered():
            pass
        assert (refused.value.status, refused.value.code) == (503, "overloaded")
        admission.lagging = False
        with admission.entered() as stopped:
            admission.drain()
            assert not stopped.done()
            with pytest.raises(ApiError) as refused, admission.entered():
                pass
            assert (refused.value.status, refused.value.code) == (503, "shutting_down")
            assert refused.value.headers["connection"] == "close"
            admission.stop()
            assert stopped.done()
        assert Stopped().status == 503

    asyncio.run(run())


def test_the_lag_is_high_when_it_lasts() -> None:
    lag = Lag(limit=0.5)
    lag.add(3.0)
    assert not lag.high, "one late wake-up is no overload"
    for _ in range(20):
        lag.add(0.4)
    assert not lag.high
    for _ in range(20):
        lag.add(0.9)
    assert lag.high
    lag.add(0.0)
    assert lag.high, "it ends at half of the limit"
    for _ in range(20):
        lag.add(0.0)
    assert not lag.high


def test_a_loop_that_is_held_up_lets_nobody_in_until_it_is_free() -> None:
    async def run() -> None:
        admission = Admission(5)
        watch = asyncio.ensure_future(watch_lag(Lag(limit=0.01), admission, interval=0.001))
        for _ in range(20):
            time.sleep(0.02)
            await asyncio.sleep(0.001)
        assert admission.lagging
        await until(lambda: not admission.lagging)
        with admission.entered():
            pass
        watch.cancel()

    asyncio.run(run())
