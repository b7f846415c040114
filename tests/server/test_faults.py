"""Faults of the engine, of clients and of the server: each ends its own request and no other."""

from __future__ import annotations

import asyncio
import gc
import random
import socket
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import httpx
import pytest

from unbraid.engines.base import Generation
from unbraid.errors import EngineError
from unbraid.server.admission import Admission
from unbraid.server.silence import Patience

from .faults import CHAT, LONG, PATHS, Hang, Scripted, body, listening, read_stream, request_bytes, until
from .helpers import make_app, raw, replay

THINKS: Any = {"default_chat_template_kwargs": {"enable_thinking": True}}
PLAIN: Any = {"default_chat_template_kwargs": {"enable_thinking": False}}
GONE = EngineError("the engine is gone")

api = pytest.mark.parametrize("path", PATHS)

CALL_SO_FAR = (
    "Well.\n</think>\n\n",
    "Look:\n",
    '<tool_call>\n{"name": "get_weather", ',
    '"arguments": {"city": "Os',
)
PLACES: dict[str, tuple[tuple[str, ...], tuple[str, str, str]]] = {
    "before-the-first-token": ((), ("", "", "")),
    "in-mid-reasoning": (("I think ", "that"), ("I think that", "", "")),
    "in-mid-content": (("Well.\n</think>\n\n", "Hel"), ("Well.", "Hel", "")),
    "in-mid-call": (CALL_SO_FAR, ("Well.", "Look:", '{"city": "Os')),
}
places = pytest.mark.parametrize("place", PLACES)


async def ask(engine: Any, path: str, stream: bool, **options: Any) -> httpx.Response:
    async with raw(engine, **options) as http:
        return await http.post(path, json=body(path, stream))


def check_broken(path: str, place: str, stream: bool, answer: httpx.Response, status: int, text: str) -> None:
    """The answer of a request that failed at a place: all that came before, then the error."""
    pieces, strands = PLACES[place]
    if not stream or not pieces:
        assert answer.status_code == status
        assert text in answer.json()["error"]["message"]
        assert answer.headers["content-type"] == "application/json"
        return
    read = read_stream(path, answer.text)
    assert (read.reasoning, read.content, read.arguments) == strands
    assert read.error is not None
    assert text in read.error
    assert read.ended


# -- the engine dies -------------------------------------------------------------------


@api
@places
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_the_engine_dies(path: str, place: str, stream: bool) -> None:
    engine = Scripted([*PLACES[place][0], GONE])
    answer = asyncio.run(ask(engine, path, stream, **THINKS))
    check_broken(path, place, stream, answer, 500, "the engine is gone")
    assert engine.running == 0


@api
@places
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_driver_has_a_bug(path: str, place: str, stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    engine = Scripted([*PLACES[place][0], KeyError("secret")])
    answer = asyncio.run(ask(engine, path, stream, **THINKS))
    check_broken(path, place, stream, answer, 500, "the server failed")
    assert "secret" not in answer.text
    assert "KeyError" in caplog.text


@api
@places
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_the_engine_ends_without_an_end(path: str, place: str, stream: bool) -> None:
    class Cut(Scripted):
        async def generate(self, generation: Any) -> Any:
            async for chunk in super().generate(generation):
                if chunk.finish_reason is None:
                    yield chunk

    answer = asyncio.run(ask(Cut(PLACES[place][0]), path, stream, **THINKS))
    check_broken(path, place, stream, answer, 500, "ended without saying why")


# -- the engine hangs ------------------------------------------------------------------


@api
@places
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_the_engine_hangs(path: str, place: str, stream: bool) -> None:
    engine = Scripted([*PLACES[place][0], Hang()])
    answer = asyncio.run(ask(engine, path, stream, engine_timeout=0.05, **THINKS))
    check_broken(path, place, stream, answer, 504, "the engine was silent for 0.05 seconds")
    assert (engine.running, engine.aborted) == (0, 1)


def test_time_in_which_nobody_asks_is_no_silence() -> None:
    async def run() -> int:
        engine = Scripted(["a", "b", "c"])
        count = 0
        with Patience(0.02, GONE) as patience:
            async for _ in engine.generate(Generation("x")):
                patience.heard()
                await asyncio.sleep(0.05)
                count += 1
                patience.waits()
        return count

    assert asyncio.run(run()) == 4


def test_a_wait_that_is_cancelled_from_outside_is_no_silence() -> None:
    async def wait(engine: Scripted) -> None:
        with Patience(60, GONE):
            async for _ in engine.generate(Generation("x")):
                pass

    async def run() -> None:
        engine = Scripted([Hang()])
        task = asyncio.ensure_future(wait(engine))
        await until(lambda: engine.running == 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert engine.running == 0

    asyncio.run(run())


# -- the client leaves -------------------------------------------------------------------


async def leave(port: int, sent: bytes, when: Any) -> None:
    """Send some bytes, read what comes, and hang up when something is so."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    await until(when)
    writer.close()
    del reader


@api
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_the_client_leaves(path: str, stream: bool) -> None:
    async def run() -> None:
        scripts = [[*pieces, Hang()] for pieces, _ in PLACES.values()]
        engine = Scripted(*scripts, ["\n</think>\n\nfine"])
        sent = request_bytes(path, body(path, stream))
        async with listening(make_app(engine, **THINKS)) as port:
            given = 0
            for n, (pieces, _) in enumerate(PLACES.values(), 1):
                given += len(pieces)
                await leave(port, sent, partial(_reached, engine, n, given))
                await until(partial(_aborted, engine, n))
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                assert (await http.post(path, json=body(path, stream))).status_code == 200

    asyncio.run(run())


def _reached(engine: Scripted, started: int, pieces: int) -> bool:
    return (engine.started, engine.pieces) == (started, pieces)


def _aborted(engine: Scripted, count: int) -> bool:
    return (engine.running, engine.aborted) == (0, count)


@api
def test_the_client_leaves_within_its_body(path: str) -> None:
    async def run() -> None:
        engine = replay("fine")
        async with listening(make_app(engine, max_running=1, **PLAIN)) as port:
            seen: list[int] = []
            sent = request_bytes(path, body(path))[:-5]
            await leave(port, sent, lambda: bool(seen) or seen.append(1) is not None)
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                await until_ok(http, path)
            assert engine.started == 1

    asyncio.run(run())


async def until_ok(http: httpx.AsyncClient, path: str) -> None:
    """Ask until there is room."""
    for _ in range(200):
        answer = await http.post(path, json=body(path))
        if answer.status_code == 200:
            return
        assert answer.status_code == 429
        await asyncio.sleep(0.01)
    raise AssertionError("no room was made")


@api
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_the_client_leaves_while_the_prompt_is_made(
    path: str, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unbraid.engines.template import ChatTemplate

    planning, go_on = threading.Event(), threading.Event()
    render = ChatTemplate.render
    admission = Admission(10)
    monkeypatch.setattr("unbraid.server.app.Admission", lambda _: admission)
    engine = replay("fine")
    app = make_app(engine, **PLAIN)

    def slow(*args: Any, **kwargs: Any) -> str:
        planning.set()
        assert go_on.wait(10)
        return render(*args, **kwargs)

    monkeypatch.setattr(ChatTemplate, "render", slow)

    async def run() -> None:
        async with listening(app) as port:
            await leave(port, request_bytes(path, body(path, stream)), planning.is_set)
            await until(lambda: admission.running == 0)
            go_on.set()
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                assert (await http.post(path, json=body(path, stream))).status_code == 200
            assert engine.started == 1

    asyncio.run(run())


@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_the_client_leaves_between_choices(stream: bool) -> None:
    async def run() -> None:
        engine = Scripted(["short"], ["long ", Hang()], [Hang()])
        async with listening(make_app(engine, **PLAIN)) as port:
            sent = request_bytes(CHAT, {**body(CHAT, stream), "n": 3})
            await leave(port, sent, lambda: engine.pieces == 2 and engine.running == 2)
            await until(lambda: engine.running == 0)
        assert (engine.started, engine.aborted) == (3, 2)

    asyncio.run(run())


# -- the client reads slowly ---------------------------------------------------------------


@api
def test_a_client_that_reads_nothing_holds_up_the_engine(path: str) -> None:
    most = 1 << 20

    async def run() -> None:
        engine = Scripted([LONG] * 10_000)
        async with listening(make_app(engine, **PLAIN)) as port:
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", port))
                client.sendall(request_bytes(path, body(path)))
                given = -1
                while given != engine.pieces or not given:
                    given = engine.pieces
                    await asyncio.sleep(0.2)
                assert len(LONG) * given < most, "no more than the buffers of two sockets"
                async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                    assert (await http.get("/health")).status_code == 200
                client.setblocking(False)
                while engine.pieces == given:
                    await asyncio.get_running_loop().sock_recv(client, 65536)
                assert engine.running == 1
            await until(lambda: engine.running == 0)
            assert engine.aborted == 1

    asyncio.run(run())


@api
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_an_engine_that_never_waits_leaves_room_for_others(path: str, stream: bool) -> None:
    enough: list[bool] = []

    def words() -> Iterator[str]:
        for _ in range(300_000):
            if enough:
                return
            yield "word "

    async def run() -> None:
        engine = Scripted(words(), ["fine"])
        async with raw(engine, **PLAIN) as http:
            long = asyncio.ensure_future(http.post(path, json=body(path, stream)))
            await until(lambda: engine.running == 1)
            assert "fine" in (await http.post(path, json=body(path, False))).text
            assert engine.running == 1, "the long answer goes on meanwhile"
            enough.append(True)
            assert (await long).status_code == 200

    asyncio.run(run())


@api
def test_a_client_that_reads_nothing_for_too_long_is_gone(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unbraid.server.connection.READING_SECONDS", 0.3)

    async def run() -> None:
        engine = Scripted([LONG] * 10_000)
        async with listening(make_app(engine, **PLAIN)) as port:
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", port))
                client.sendall(request_bytes(path, body(path)))
                await until(lambda: engine.aborted == 1)
        assert engine.running == 0

    asyncio.run(run())


@api
def test_a_body_that_does_not_come(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unbraid.server.connection.BODY_SECONDS", 0.1)

    async def run() -> bytes:
        async with listening(make_app(replay("fine"), **PLAIN)) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(request_bytes(path, body(path))[:-5])
            answer = await reader.read()
            writer.close()
            return answer

    answer = asyncio.run(run())
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"the body did not come within 0.1 seconds" in answer


# -- many at once ------------------------------------------------------------------------


def test_a_thousand_requests_cancelled_at_random_leave_nothing(caplog: pytest.LogCaptureFixture) -> None:
    choose = random.Random(11)
    engine = replay(*_recordings(choose))

    async def one(port: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            path = choose.choice(PATHS)
            sent = request_bytes(path, body(path, choose.random() < 0.7))
            cut = choose.choice([len(sent), len(sent), len(sent), choose.randrange(len(sent))])
            writer.write(sent[:cut])
            for _ in range(choose.randrange(4) if cut == len(sent) else 0):
                if not await reader.read(choose.choice([1, 100, 5000])):
                    break
            await asyncio.sleep(choose.choice([0, 0, 0.001, 0.01]))
        finally:
            writer.transport.abort()

    async def run() -> None:
        async with listening(make_app(engine, **PLAIN)) as port:
            before = len(asyncio.all_tasks())
            room = asyncio.Semaphore(50)

            async def limited() -> None:
                async with room:
                    await one(port)

            await asyncio.gather(*(limited() for _ in range(1000)))
            await until(lambda: engine.running == 0 and len(asyncio.all_tasks()) <= before)
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
                assert [(await http.post(one, json=body(one))).status_code for one in PATHS] == [200] * 3
        assert engine.started > 300
        assert engine.aborted > 100

    asyncio.run(run())
    gc.collect()
    loud = [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")]
    lost = "socket.send() raised exception."  # asyncio's own, of what was written to a client that had left
    assert [record for record in loud if record.getMessage() != lost] == []


def _recordings(choose: random.Random) -> list[Any]:
    from unbraid.engines.replay import Recording

    slow = Recording(["word "] * 50, delay=0.002)
    quick = Recording(["word "] * 20)
    return [choose.choice([slow, quick]) for _ in range(1001)]


@api
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_one_fault_never_touches_another_request(path: str, stream: bool) -> None:
    faults = ([GONE], ["half ", "of ", KeyError("bug")], ["so ", Hang()])

    class Mixed(Scripted):
        """The first word of the prompt's last line says what is generated."""

        async def generate(self, generation: Any) -> Any:
            n = int(generation.prompt.split("number ")[1].split()[0])
            script = faults[n % 9 // 3] if n % 3 == 0 else [f"{n} ", *(f"word{i} " for i in range(30)), "end"]
            async for chunk in Scripted(script).generate(generation):
                await asyncio.sleep(0)
                yield chunk

    async def run() -> list[httpx.Response]:
        async with raw(Mixed([]), engine_timeout=0.5, **PLAIN) as http:

            async def one(n: int) -> httpx.Response:
                sent = body(path, stream)
                key = "input" if "input" in sent else "messages"
                text = f"number {n} please"
                sent[key] = text if key == "input" else [{"role": "user", "content": text}]
                return await http.post(path, json=sent)

            return await asyncio.gather(*map(one, range(100)))

    answers = asyncio.run(run())
    for n, answer in enumerate(answers):
        expected = f"{n} " + "".join(f"word{i} " for i in range(30)) + "end"
        if n % 3:
            assert answer.status_code == 200
            if stream:
                read = read_stream(path, answer.text)
                assert (read.content, read.error, read.ended) == (expected, None, True)
            else:
                assert expected in answer.text
        elif stream and n % 9:
            read = read_stream(path, answer.text)
            assert read.error is not None
            assert read.ended
        else:
            assert answer.status_code in (500, 504)
