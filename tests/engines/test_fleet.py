"""Several engines as one: choice, affinity, failures before and after the first token, health."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from functools import partial
from typing import Any

import pytest

from unbraid.engines.base import Chunk, Generation
from unbraid.engines.fleet import Fleet
from unbraid.engines.replay import Recording, ReplayEngine, byte_tokenizer
from unbraid.errors import EngineError, EngineUnavailable, InvalidRequest, Unsupported

TEXT = "one two three"
LONG = Recording("a" * 50, delay=0.001)
Check = Callable[[], Awaitable[bool]]


class Sick(ReplayEngine):
    """A replay engine whose health is told by a list of answers, the last one again and again."""

    def __init__(self, *recordings: Recording | str, health: tuple[bool, ...] = (True,), **options: Any):
        super().__init__(*recordings, **options)
        self.answers = list(health)
        self.checks = 0
        self.closed = 0

    async def health(self) -> bool:
        self.checks += 1
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def close(self) -> None:
        self.closed += 1


def dies_at_once() -> Recording:
    return Recording((), fault=EngineError("the connection broke"))


def fleet(*engines: ReplayEngine, check_seconds: float = 60.0, **options: Any) -> Fleet:
    named = {f"http://engine-{n}": engine for n, engine in enumerate(engines)}
    return Fleet(named, check_seconds=check_seconds, **options)


async def text(of: Fleet, generation: Generation | None = None) -> str:
    async with aclosing(of.generate(generation or Generation("x"))) as chunks:
        return "".join([chunk.text async for chunk in chunks])


async def opened(of: Fleet, affinity: str | None = None) -> AsyncGenerator[Chunk, None]:
    """A generation that has its first chunk."""
    chunks = of.generate(Generation("x", affinity=affinity))
    await anext(chunks)
    return chunks


def running(of: Fleet) -> list[int]:
    return [engine.running for engine in of.engines]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that tasks bring about; bounded by the test's own limit."""
    while not true():
        await asyncio.sleep(0.001)


# -- choice -----------------------------------------------------------------------


def test_the_least_loaded_engine_generates() -> None:
    async def work() -> None:
        of = fleet(*(ReplayEngine(LONG) for _ in range(3)))
        streams = [await opened(of) for _ in range(7)]
        assert sorted(running(of)) == [2, 2, 3]
        busy = running(of).index(3)
        for stream in streams:
            await stream.aclose()
        assert running(of) == [0, 0, 0]
        held = [await opened(of) for _ in range(3)]
        await held[busy].aclose()
        assert sorted(running(of)) == [0, 1, 1]
        free = running(of).index(0)
        again = await opened(of)
        assert running(of)[free] == 1
        for stream in (*held, again):
            await stream.aclose()
        await of.close()

    run(work())


def test_engines_with_nothing_to_do_take_turns() -> None:
    async def work() -> None:
        engines = [ReplayEngine(TEXT) for _ in range(3)]
        of = fleet(*engines)
        for _ in range(9):
            assert await text(of) == TEXT
        assert [len(engine.requests) for engine in engines] == [3, 3, 3]
        await of.close()

    run(work())


def test_a_conversation_stays_on_its_engine() -> None:
    async def work() -> None:
        engines = [ReplayEngine(TEXT) for _ in range(4)]
        of = fleet(*engines)
        homes: dict[str, Counter[int]] = {}
        for _ in range(3):
            for n in range(60):
                before = [len(engine.requests) for engine in engines]
                await text(of, Generation("x", affinity=f"conversation {n}"))
                after = [len(engine.requests) for engine in engines]
                home = next(i for i in range(4) if after[i] > before[i])
                homes.setdefault(f"conversation {n}", Counter())[home] += 1
        assert all(len(home) == 1 for home in homes.values())
        spread = Counter(next(iter(home)) for home in homes.values())
        assert min(spread[n] for n in range(4)) >= 5, "each engine is home to some"
        await of.close()

    run(work())


def test_an_engine_that_is_gone_moves_only_its_own_conversations() -> None:
    async def homes(of: Fleet, engines: list[Sick]) -> dict[int, int]:
        found = {}
        for n in range(40):
            before = [len(engine.requests) for engine in engines]
            await text(of, Generation("x", affinity=str(n)))
            found[n] = next(i for i, engine in enumerate(engines) if len(engine.requests) > before[i])
        return found

    async def work() -> None:
        engines = [Sick(TEXT) for _ in range(3)]
        of = fleet(*engines, check_seconds=0.005)
        before = await homes(of, engines)
        engines[1].answers = [False]
        await until(lambda: not of.engines[1].healthy)
        after = await homes(of, engines)
        assert 1 in before.values()
        assert 1 not in after.values()
        assert {n: home for n, home in before.items() if home != 1} == {
            n: after[n] for n, home in before.items() if home != 1
        }
        engines[1].answers = [True]
        await until(lambda: of.engines[1].healthy)
        assert await homes(of, engines) == before
        await of.close()

    run(work())


def test_load_overrides_affinity() -> None:
    async def work() -> None:
        of = fleet(ReplayEngine(LONG), ReplayEngine(LONG))
        streams = [await opened(of, "one") for _ in range(5)]
        home = running(of).index(5)
        other = 1 - home
        streams.append(await opened(of, "one"))
        assert running(of)[other] == 1, "5 is more than 0 * 1.5 + 4"
        streams.append(await opened(of, "one"))
        assert running(of)[home] == 6, "5 is not more than 1 * 1.5 + 4"
        for stream in streams:
            await stream.aclose()
        assert running(of) == [0, 0]
        await of.close()

    run(work())


# -- failures ---------------------------------------------------------------------


def test_an_engine_that_dies_before_the_first_token_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        bad, good = ReplayEngine(dies_at_once()), ReplayEngine(TEXT)
        of = fleet(bad, good)
        generation = Generation("secret prompt", request_id="req-7")
        for _ in range(4):
            assert await text(of, generation) == TEXT
        assert len(good.requests) == 4
        assert of.engines[0].failures == len(bad.requests) >= 1
        assert of.engines[1].failures == 0
        assert running(of) == [0, 0]
        await of.close()

    caplog.set_level(logging.WARNING)
    run(work())
    assert "http://engine-0 failed before its first token" in caplog.text
    assert "req-7" in caplog.text
    assert "secret" not in caplog.text


def test_after_the_first_token_nothing_is_tried_again() -> None:
    async def work() -> None:
        dying = Recording(("one ", "two "), fault=EngineError("the connection broke"))
        engines = [ReplayEngine(dying), ReplayEngine(dying)]
        of = fleet(*engines)
        seen = ""

        async def read() -> None:
            nonlocal seen
            async for chunk in of.generate(Generation("x")):
                seen += chunk.text

        with pytest.raises(EngineError, match="broke"):
            await read()
        assert seen == "one two "
        assert [len(engine.requests) for engine in engines] == [1, 0]
        assert [engine.failures for engine in of.engines] == [0, 0]
        assert running(of) == [0, 0]
        await of.close()

    run(work())


@pytest.mark.parametrize(
    "fault", [InvalidRequest("too long"), Unsupported("no grammar"), RuntimeError("bug")]
)
def test_a_fault_of_the_request_is_not_tried_again(fault: Exception) -> None:
    async def work() -> None:
        engines = [ReplayEngine(Recording((), fault=fault)) for _ in range(2)]
        of = fleet(*engines)
        with pytest.raises(type(fault), match=str(fault)):
            await text(of)
        assert sum(len(engine.requests) for engine in engines) == 1
        assert running(of) == [0, 0]
        assert all(engine.healthy for engine in of.engines)
        await of.close()

    run(work())


def test_when_each_engine_failed_the_last_error_is_told() -> None:
    async def work() -> None:
        engines = [Sick(Recording((), fault=EngineError(f"fault {n}"))) for n in range(3)]
        of = fleet(*engines)
        with pytest.raises(EngineError, match="fault 2"):
            await text(of)
        assert [len(engine.requests) for engine in engines] == [1, 1, 1]
        await of.close()

    run(work())


def _all_asked(engines: list[Sick], before: list[int]) -> bool:
    return all(engine.checks > then for engine, then in zip(engines, before, strict=True))


def test_a_request_that_breaks_engines_takes_none_away() -> None:
    async def work() -> None:
        engines = [Sick(*[dies_at_once()] * 20, TEXT) for _ in range(2)]
        of = fleet(*engines)
        for _ in range(20):
            checks = [engine.checks for engine in engines]
            with pytest.raises(EngineError):
                await text(of)
            await until(partial(_all_asked, engines, checks))
        assert all(engine.healthy for engine in of.engines)
        assert await text(of) == TEXT
        await of.close()

    run(work())


# -- health -----------------------------------------------------------------------


def test_a_failed_generation_and_a_failed_check_take_an_engine_down() -> None:
    async def work() -> None:
        bad, good = Sick(dies_at_once(), health=(True, False)), Sick(TEXT)
        of = fleet(bad, good)
        assert await of.health()
        await until(lambda: bad.checks == 1)
        assert await text(of) == TEXT
        await until(lambda: not of.engines[0].healthy)
        assert of.engines[0].checks_failed == 1, "one failed check after a failed generation is enough"
        for _ in range(5):
            assert await text(of) == TEXT
        assert len(bad.requests) == 1
        await of.close()

    run(work())


def test_flapping_health(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        flapping = Sick(TEXT, health=(True, False) * 4 + (False,))
        steady = Sick(TEXT)
        of = fleet(flapping, steady, check_seconds=0.002)
        assert await of.health()
        await until(lambda: flapping.checks >= 8)
        assert of.engines[0].healthy, "one failed check alone is no reason"
        await until(lambda: not of.engines[0].healthy)
        for _ in range(4):
            assert await text(of) == TEXT
        assert len(steady.requests) == 4
        flapping.answers = [True]
        await until(lambda: of.engines[0].healthy)
        await text(of)
        await text(of)
        assert len(flapping.requests) >= 1
        await of.close()

    caplog.set_level(logging.WARNING)
    run(work())
    assert "http://engine-0 is down" in caplog.text
    assert "http://engine-0 answers again" in caplog.text


def test_when_all_are_down_nothing_is_tried() -> None:
    async def work() -> None:
        engines = [Sick(TEXT, health=(False,)) for _ in range(2)]
        of = fleet(*engines, check_seconds=0.002)
        await of.health()
        await until(lambda: not any(engine.healthy for engine in of.engines))
        assert not await of.health()
        with pytest.raises(EngineUnavailable, match=r"engine-0.*engine-1") as refused:
            await text(of)
        assert refused.value.code == "engine_unavailable"
        assert [len(engine.requests) for engine in engines] == [0, 0]
        engines[1].answers = [True]
        await until(lambda: of.engines[1].healthy)
        assert await of.health()
        assert await text(of) == TEXT
        await of.close()

    run(work())


def test_an_engine_that_hangs_before_its_first_token_is_replaced_once_it_is_found_down() -> None:
    async def work() -> None:
        hung = Sick(Recording("never", delay=600), health=(True,))
        other = Sick(TEXT)
        of = fleet(hung, other, check_seconds=0.005)
        waiting = [asyncio.create_task(text(of)) for _ in range(2)]
        await until(lambda: hung.running == 1)
        hung.answers = [False]
        assert await asyncio.gather(*waiting) == [TEXT, TEXT]
        assert (len(hung.requests), len(other.requests)) == (1, 2)
        assert (hung.running, hung.aborted) == (0, 1)
        assert of.engines[0].failures == 1
        await of.close()

    run(work())


def test_an_engine_that_goes_down_in_the_middle_is_waited_for() -> None:
    async def work() -> None:
        slow = Sick(Recording(("one ", "two ", "three "), delay=0.02))
        of = fleet(slow, Sick(TEXT), check_seconds=0.002)
        seen = ""
        async with aclosing(of.generate(Generation("x"))) as chunks:
            async for chunk in chunks:
                seen += chunk.text
                slow.answers = [False]
        assert seen == "one two three "
        assert not of.engines[0].healthy
        await of.close()

    run(work())


def test_an_engine_without_any_output() -> None:
    class Silent(ReplayEngine):
        async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
            for _ in ():
                yield Chunk()

    async def work() -> None:
        of = fleet(Silent("x"), Silent("x"))
        assert await text(of) == ""
        assert running(of) == [0, 0]
        await of.close()

    run(work())


def test_a_check_that_hangs_or_fails_is_a_bad_one() -> None:
    async def hangs() -> bool:
        await asyncio.Event().wait()
        return True

    async def fails() -> bool:
        raise RuntimeError("no")

    async def work(check: Check) -> None:
        engine = Sick(TEXT)
        engine.health = check  # type: ignore[method-assign, assignment]
        of = fleet(engine, Sick(TEXT), check_seconds=0.005)
        await of.health()
        await until(lambda: not of.engines[0].healthy)
        assert of.engines[1].healthy
        await of.close()

    run(work(hangs))
    run(work(fails))


def test_closing_ends_the_checks_and_the_engines() -> None:
    async def work() -> None:
        engines = [Sick(TEXT), Sick(TEXT)]
        of = fleet(*engines, check_seconds=0.001)
        before = asyncio.all_tasks()
        await of.health()
        await until(lambda: engines[0].checks > 2)
        await of.close()
        assert asyncio.all_tasks() == before
        assert [engine.closed for engine in engines] == [1, 1]

    run(work())


def test_the_checks_go_on_in_another_loop() -> None:
    engine = Sick(TEXT)
    of = fleet(engine, Sick(TEXT), check_seconds=0.001)

    async def work() -> None:
        before = engine.checks
        assert await of.health()
        await until(lambda: engine.checks > before + 2)

    run(work())
    run(work())


# -- what all share -----------------------------------------------------------------


def test_a_fleet_can_do_what_all_can() -> None:
    one = ReplayEngine(TEXT, dialects=("llguidance", "gbnf", "json_schema"))
    two = ReplayEngine(TEXT, dialects=("json_schema", "structural_tag", "gbnf"))
    two.capabilities = type(two.capabilities)(two.capabilities.dialects, False, True, 0, True)
    made = fleet(one, two).capabilities
    assert made.dialects == ("gbnf", "json_schema")
    assert (made.token_ids, made.logprobs, made.context_length, made.drafts) == (False, True, 4096, True)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"model": "other"}, r"models differ: http://engine-0 has replay, http://engine-1 has other"),
        ({"tokenizer": byte_tokenizer("<think>")}, "vocabularies differ"),
        ({"chat_template": "{{ messages }}"}, "chat templates differ: .*has none, .*14 characters"),
    ],
)
def test_engines_that_differ_are_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(EngineError, match=what):
        fleet(ReplayEngine(TEXT), ReplayEngine(TEXT, **options))
    with pytest.raises(InvalidRequest, match="at least one"):
        Fleet({})


def test_the_tokenizer_is_of_an_engine_that_is_well() -> None:
    async def work() -> None:
        bad, good = Sick(TEXT, health=(False,)), Sick(TEXT)
        of = fleet(bad, good, check_seconds=0.002)
        assert of.tokenizer is bad.tokenizer
        await of.health()
        await until(lambda: not of.engines[0].healthy)
        assert of.tokenizer is good.tokenizer
        assert of.chat_template is None
        assert of.template_variables == {}
        await of.close()

    run(work())


# -- engines that are absent at first ------------------------------------------------


class Door:
    """Opens an engine once it is let."""

    def __init__(self, engine: ReplayEngine) -> None:
        self.engine = engine
        self.open = False
        self.tries = 0

    async def __call__(self) -> ReplayEngine:
        self.tries += 1
        if not self.open:
            raise EngineUnavailable("nobody answers")
        return self.engine


def test_an_engine_that_is_absent_at_first_is_taken_in(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        here, late = Door(Sick(TEXT)), Door(Sick(TEXT))
        here.open = True
        of = await Fleet.open({"http://here": here, "http://late": late})
        of._check_seconds = 0.002
        assert [engine.healthy for engine in of.engines] == [True, False]
        assert await text(of) == TEXT
        await until(lambda: late.tries >= 4)
        assert not late.engine.requests
        late.open = True
        await until(lambda: of.engines[1].healthy)
        await text(of)
        await text(of)
        assert late.engine.requests
        await of.close()
        assert isinstance(late.engine, Sick)
        assert late.engine.closed == 1

    caplog.set_level(logging.WARNING)
    run(work())
    assert caplog.text.count("engine http://late can't be reached yet: nobody answers") == 1
    assert caplog.text.count("engine http://late can't be used yet: nobody answers") == 1
    assert "http://late answers again" in caplog.text


@pytest.mark.parametrize(
    ("other", "why"),
    [
        (ReplayEngine(TEXT, model="other", dialects=("gbnf",)), "models differ"),
        (ReplayEngine(TEXT), "can do less"),
    ],
)
def test_an_absent_engine_that_differs_stays_out(
    other: ReplayEngine, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        here, late = Door(ReplayEngine(TEXT, dialects=("gbnf",))), Door(other)
        here.open = True
        of = await Fleet.open({"http://here": here, "http://late": late})
        of._check_seconds = 0.002
        late.open = True
        await of.health()
        await until(lambda: late.tries >= 4)
        assert not of.engines[1].healthy
        assert of.capabilities.dialects == ("gbnf",)
        await of.close()

    caplog.set_level(logging.WARNING)
    run(work())
    assert caplog.text.count(why) == 1


def test_a_fleet_needs_one_engine_that_answers() -> None:
    async def work() -> None:
        with pytest.raises(EngineUnavailable, match="nobody answers"):
            await Fleet.open({"http://one": Door(Sick(TEXT)), "http://two": Door(Sick(TEXT))})

    run(work())


def test_an_engine_that_can_not_be_used_is_refused() -> None:
    async def broken() -> ReplayEngine:
        raise EngineError("drop --reasoning-parser")

    async def work() -> None:
        here = Door(Sick(TEXT))
        here.open = True
        with pytest.raises(EngineError, match=r"http://two can't be used: drop --reasoning-parser"):
            await Fleet.open({"http://one": here, "http://two": broken})

    run(work())


# -- cancellation -------------------------------------------------------------------


def test_a_thousand_cancelled_generations_leave_nothing_running() -> None:
    async def work() -> None:
        choice = random.Random(7)
        hangs, plays = Recording("abcdef", delay=30), Recording("abcdef")
        engines = [
            ReplayEngine(*choice.choices([hangs, plays, dies_at_once()], k=400), plays) for _ in range(3)
        ]
        of = fleet(*engines)

        async def one(n: int) -> None:
            """Read some chunks, then stand still."""
            affinity = None if n % 2 else str(n % 5)
            async with aclosing(of.generate(Generation("x", affinity=affinity))) as chunks:
                for _ in range(n % 5):
                    await anext(chunks)
                await asyncio.Event().wait()

        tasks = []
        for n in range(1000):
            tasks.append(asyncio.create_task(one(n)))
            if n % 10 == 0:
                await asyncio.sleep(0)
            choice.choice(tasks).cancel()
        await until(lambda: running(of) == [engine.running for engine in engines])
        assert sum(running(of)) > 100
        for task in choice.sample(tasks, len(tasks)):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert sum(task.cancelled() for task in tasks) > 900
        assert running(of) == [0, 0, 0]
        assert [engine.running for engine in engines] == [0, 0, 0]
        assert sum(engine.failures for engine in of.engines) > 50
        await of.close()

    run(work())
