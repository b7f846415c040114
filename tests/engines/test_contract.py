"""What every driver does alike: the same output through each of them, as its engine sends it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

import pytest

from unbraid.engines.base import Chunk, Engine, Generation, Sampling
from unbraid.engines.replay import Recording, ReplayEngine
from unbraid.errors import EngineError, EngineUnavailable, InvalidRequest

from .helpers import collect, ids_of, text_of
from .wires import END, PROMPT, TABLE, WIRES, SocketServer, Step, Wire, served

ALL = pytest.mark.parametrize("wire", WIRES, ids=lambda wire: wire.name)
STEPS: list[Step] = [(1,), (3,), (4,), (5, 2), (6, 3), (4, 5), (1,), (END,)]
TEXT = "a😀b é😀a<end>"
IDS = [token for step in STEPS for token in step]

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a test's work; what hangs fails."""
    return asyncio.run(asyncio.wait_for(work, 20))


async def played(
    wire: Wire, answer: Sequence[bytes], generation: Generation | None = None, **options: Any
) -> tuple[list[Chunk], SocketServer]:
    async with served(answer, **options) as server:
        engine = wire.engine(server.url)
        try:
            return await collect(engine.generate(generation or Generation(PROMPT))), server
        finally:
            await engine.close()


def whole(chunks: Sequence[Chunk], wire: Wire) -> None:
    assert text_of(chunks) == TEXT
    assert ids_of(chunks) == (IDS if wire.ids else [])
    for chunk in chunks if wire.local and wire.ids else ():
        assert b"".join(map(TABLE.token_bytes, chunk.token_ids)).decode() == chunk.text
    assert [chunk.finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)


@ALL
@pytest.mark.parametrize("reason", ["stop", "length"])
def test_an_output(wire: Wire, reason: str) -> None:
    chunks, server = run(played(wire, list(wire.play(STEPS, reason))))
    whole(chunks, wire)
    assert chunks[-1] == Chunk(finish_reason=reason, prompt_tokens=3, completion_tokens=len(IDS))
    ((_, headers, body),) = server.generations
    assert headers["authorization"] == "bearer key"
    assert body.get("prompt", body.get("input_ids")) == PROMPT


@ALL
@pytest.mark.parametrize("size", [1, 3, 7])
def test_an_output_in_any_pieces(wire: Wire, size: int) -> None:
    data = b"".join(wire.play(STEPS, "stop"))
    chunks, _ = run(played(wire, [data[at : at + size] for at in range(0, len(data), size)]))
    whole(chunks, wire)


@ALL
def test_a_replay_says_the_same(wire: Wire) -> None:
    texts = [chunk.text for chunk in run(played(wire, list(wire.play(STEPS, "stop"))))[0]]
    replay = ReplayEngine(Recording("".join(texts), ids=wire.ids), tokenizer=TABLE)
    chunks = run(collect(replay.generate(Generation(PROMPT))))
    whole(chunks, wire)
    assert chunks[-1] == Chunk(finish_reason="stop", prompt_tokens=3, completion_tokens=len(IDS))


@ALL
@pytest.mark.parametrize(
    ("stop", "kept"), [("b", "a😀"), ("<end>", "a😀b é😀a"), ("é😀a", "a😀b "), ("nope", TEXT)]
)
def test_stop_strings(wire: Wire, stop: str, kept: str) -> None:
    generation = Generation(PROMPT, Sampling(stop=("", stop)))
    chunks, _ = run(played(wire, list(wire.play(STEPS, "stop")), generation))
    assert text_of(chunks) == kept
    assert chunks[-1].finish_reason == "stop"
    assert chunks[-1].stop_reason == (None if kept == TEXT else stop)


@ALL
def test_a_stop_string_ends_the_generation_at_the_engine(wire: Wire) -> None:
    async def work() -> None:
        async with served(list(wire.play(STEPS, "stop"))[:-1], hold=True) as server:
            engine = wire.engine(server.url)
            chunks = await collect(engine.generate(Generation(PROMPT, Sampling(stop=("b",)))))
            assert text_of(chunks) == "a😀"
            await server.gone.wait()
            await engine.close()

    run(work())


@ALL
def test_half_a_character_at_the_end_is_not_shown(wire: Wire) -> None:
    steps: list[Step] = [(1,), (3,), (4,)]
    chunks, _ = run(played(wire, list(wire.play(steps, "length"))))
    assert text_of(chunks) == "a"
    assert chunks[-1] == Chunk(finish_reason="length", prompt_tokens=3, completion_tokens=3)


@ALL
def test_an_empty_output(wire: Wire) -> None:
    chunks, _ = run(played(wire, list(wire.play([(END,)], "stop"))))
    assert text_of(chunks) == "<end>"
    assert chunks[-1].completion_tokens == 1


@ALL
@pytest.mark.parametrize("prompt", [PROMPT, "aba"])
def test_no_tokens_wanted(wire: Wire, prompt: Any) -> None:
    chunks, server = run(played(wire, [], Generation(prompt, Sampling(max_tokens=0))))
    count = 3 if wire.local or prompt == PROMPT or wire.name.startswith("llamacpp") else None
    assert chunks == [Chunk(finish_reason="length", prompt_tokens=count, completion_tokens=0)]
    assert server.generations == []


# -- aborts -----------------------------------------------------------------------


async def _first(wire: Wire, server: SocketServer) -> tuple[Engine, Any]:
    engine = wire.engine(server.url)
    chunks: Any = engine.generate(Generation(PROMPT, request_id="r-1"))
    assert (await anext(chunks)).text
    return engine, chunks


@ALL
def test_closing_the_iterator_is_seen_at_the_engine(wire: Wire) -> None:
    async def work() -> None:
        async with served(list(wire.play(STEPS, "stop"))[:1], hold=True) as server:
            engine, chunks = await _first(wire, server)
            await chunks.aclose()
            await server.gone.wait()
            await engine.close()
            told = [body["rid"] for path, _, body in server.requests if path == "/abort_request"]
            if wire.name.startswith("sglang"):
                assert told == [server.generations[0][2]["rid"]]

    run(work())


@ALL
@pytest.mark.parametrize("sent", [0, 1])
def test_an_engine_that_hangs_can_be_left(wire: Wire, sent: int) -> None:
    async def work() -> None:
        async with served(list(wire.play(STEPS, "stop"))[:sent], hold=True) as server:
            engine = wire.engine(server.url)

            async def reads() -> None:
                await collect(engine.generate(Generation(PROMPT)))

            task = asyncio.create_task(reads())
            while not server.generations:
                await asyncio.sleep(0.001)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            assert task.cancelled()
            await server.gone.wait()
            await engine.close()

    run(work())


@ALL
def test_one_generation_does_not_touch_another(wire: Wire) -> None:
    async def work() -> None:
        answer = list(wire.play(STEPS, "stop"))
        async with served(answer) as server, served(answer[:1], hold=True) as hanging:
            engine, stuck = wire.engine(server.url), wire.engine(hanging.url)
            left: Any = stuck.generate(Generation(PROMPT))
            await anext(left)
            found = await asyncio.gather(
                *(collect(engine.generate(Generation(PROMPT))) for _ in range(20)), left.aclose()
            )
            for chunks in found[:-1]:
                whole(chunks, wire)
            await hanging.gone.wait()
            await engine.close()
            await stuck.close()

    run(work())


@ALL
def test_connections_are_used_again_where_that_is_safe(wire: Wire) -> None:
    async def work() -> int:
        async with served(list(wire.play(STEPS, "stop"))) as server:
            engine = wire.engine(server.url)
            for _ in range(5):
                whole(await collect(engine.generate(Generation(PROMPT))), wire)
            await engine.close()
            asked = sum(path in ("/tokenize", "/detokenize") for path, _, _ in server.requests)
            return server.connections - asked

    assert run(work()) == (5 if wire.name.startswith("llamacpp") else 1)


@ALL
def test_an_engine_is_used_in_one_loop_after_another(wire: Wire) -> None:
    engine: list[Engine] = []

    async def work() -> None:
        async with served(list(wire.play(STEPS, "stop"))) as server:
            if not engine:
                engine.append(wire.engine(server.url))
            else:
                engine[0].base_url = server.url  # type: ignore[attr-defined]
            whole(await collect(engine[0].generate(Generation(PROMPT))), wire)

    run(work())
    if not wire.name.startswith("llamacpp"):
        run(work())


# -- faults -----------------------------------------------------------------------


@ALL
@pytest.mark.parametrize("sent", [0, 1, 4])
@pytest.mark.parametrize("cut", [False, True])
def test_an_engine_that_breaks_off(wire: Wire, sent: int, cut: bool) -> None:
    with pytest.raises(EngineError, match=r"broke|ended before"):
        run(played(wire, list(wire.play(STEPS, "stop"))[:sent], cut=cut))


@ALL
@pytest.mark.parametrize(
    ("garbage", "said"),
    [
        (b"data: {nope\n\n", "no JSON"),
        (b"data: 7\n\n", "no object"),
        (b'data: {"x": 1}\n\n', "unknown shape"),
        (b"data: \xf0\x9f\n\n", "no JSON"),
        (b'data: {"error": {"message": "out of memory", "code": 500}}\n\n', "out of memory"),
    ],
)
def test_garbage_and_errors_in_the_stream(wire: Wire, garbage: bytes, said: str) -> None:
    seen = []

    async def work() -> None:
        async with served([*list(wire.play(STEPS, "stop"))[:1], garbage]) as server:
            engine = wire.engine(server.url)
            async for chunk in engine.generate(Generation(PROMPT)):
                seen.append(chunk)

    with pytest.raises(EngineError, match=said):
        run(work())
    assert text_of(seen) == "a"


@ALL
@pytest.mark.parametrize(
    ("status", "message", "kind", "said"),
    [
        ("500 Oops", "out of memory", EngineError, "HTTP 500.*out of memory"),
        ("401 Unauthorized", "wrong key", EngineError, "refused the API key: wrong key"),
        ("503 Service Unavailable", "queue is full", EngineUnavailable, "no room now.*queue is full"),
        ("429 Too Many Requests", "slow down", EngineUnavailable, "no room now.*slow down"),
        ("400 Bad Request", "exceeds the maximum context length", InvalidRequest, "the prompt is too long"),
    ],
)
def test_refusals(wire: Wire, status: str, message: str, kind: type[Exception], said: str) -> None:
    body = json.dumps({"error": {"message": message, "type": "x"}}).encode()
    with pytest.raises(kind, match=said) as caught:
        run(played(wire, [body], status=status))
    if kind is InvalidRequest:
        assert getattr(caught.value, "code", None) == "context_length_exceeded"


@ALL
def test_an_engine_that_is_not_there(wire: Wire) -> None:
    async def work() -> None:
        async with served([]) as server:
            url = server.url
        engine = wire.engine(url)
        assert not await engine.health()
        with pytest.raises(EngineUnavailable, match="can't be reached"):
            await collect(engine.generate(Generation(PROMPT)))
        await engine.close()

    run(work())


# -- texts that are none ----------------------------------------------------------------


def _with_text(wire: Wire, written: bytes) -> list[bytes]:
    """An output with ``written`` for each text that is an a."""
    answer = b"".join(wire.play(STEPS, "stop"))
    for name in (b'"text": ', b'"content": '):
        answer = answer.replace(name + b'"a"', name + written)
    assert written in answer
    return [answer]


@ALL
def test_a_byte_order_mark_hides_no_event(wire: Wire) -> None:
    answer = b"\xef\xbb\xbf" + b"".join(wire.play(STEPS, "stop"))
    for pieces in ([answer], [answer[at : at + 1] for at in range(len(answer))]):
        whole(run(played(wire, pieces))[0], wire)


@ALL
@pytest.mark.parametrize("written", [b"5", b'["x"]', b"{}", b"true"])
def test_what_is_no_text_is_an_error_of_the_engine(wire: Wire, written: bytes) -> None:
    with pytest.raises(EngineError, match="unknown shape"):
        run(played(wire, _with_text(wire, written)))


@ALL
def test_half_a_character_as_an_escape_is_replaced(wire: Wire) -> None:
    chunks, _ = run(played(wire, _with_text(wire, b'"\\ud83d"')))
    assert text_of(chunks) in (TEXT, TEXT.replace("a", "\ufffd"))
