"""Several engines of one model as one engine: which of them generates, and what happens when one fails."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from itertools import count
from typing import Any

from unbraid.engines.alike import check_alike, common
from unbraid.engines.base import Chunk, Engine, Generation
from unbraid.errors import EngineError, EngineUnavailable, InvalidRequest
from unbraid.tokens import Tokenizer

__all__ = ["EngineState", "Fleet", "Opener"]

logger = logging.getLogger("unbraid.engines")

CHECK_SECONDS = 5.0
FAILURES_UNTIL_DOWN = 2
LOAD_RATIO = 1.5
LOAD_SLACK = 4
Opener = Callable[[], Awaitable[Engine]]
"""Connects to an engine; raises EngineError."""


@dataclass(frozen=True)
class EngineState:
    """One engine of a fleet at this moment. ``kind`` is what it is, for people.

    ``running`` is how many generations are open on it; ``failures`` how many generations have
    failed on it before their first token, in all, and ``checks_failed`` how many health checks.
    """

    url: str
    kind: str
    healthy: bool
    running: int
    failures: int
    checks_failed: int


class Fleet:
    """Spreads generations over engines that run the same model.

    **Which one.** The healthy engine with the fewest open generations, of several such the one
    that has waited longest. A generation with an ``affinity`` prefers the same engine each time
    (rendezvous hashing over the healthy ones, so that all processes agree and a failure moves
    only what was on the failed one), unless that engine has more than 1.5 times as many open
    generations as the least loaded one, plus 4; then the next in its order that has not.

    **What if one fails.** An engine that raises EngineError before its first chunk, or is found to be
    down while that is waited for, is replaced by another; after a chunk was given the error is
    the request's. InvalidRequest and Unsupported would come from any engine and are never
    retried. Each engine is tried once.

    **Health.** Every ``check_seconds`` each engine's ``health`` is asked. It is down once a check
    failed and at least ``failures_until_down`` things failed in a row, checks and generations
    together; one good check brings it back. A generation that failed alone takes no engine down,
    it only has the health asked at once: a request that breaks engines must not take all away.
    The checks run in the loop of the first generation or ``health`` and end with ``close``.
    """

    def __init__(
        self,
        engines: Mapping[str, Engine],
        absent: Mapping[str, Opener] | None = None,
        *,
        check_seconds: float = CHECK_SECONDS,
        failures_until_down: int = FAILURES_UNTIL_DOWN,
    ) -> None:
        """``engines`` by the names that are shown of them, such as their URLs without credentials.

        ``absent`` are engines that could not be reached yet: each check tries to open them, and one
        that is found to run the same model is taken in. Raises EngineError when the engines
        differ in model, vocabulary or template.
        """
        if not engines:
            raise InvalidRequest("a fleet needs at least one engine", param="engines")
        check_alike(engines)
        self._first = next(iter(engines.items()))
        self._members = [_Member(url, engine, failures_until_down) for url, engine in engines.items()]
        for url, opener in (absent or {}).items():
            admitted = partial(self._admitted, url, opener)
            self._members.append(_Member(url, None, failures_until_down, admitted))
        self._check_seconds = check_seconds
        self._turns = count(1)
        self._watches: list[asyncio.Task[None]] = []
        self.model = self._first[1].model
        self.capabilities = common([engine.capabilities for engine in engines.values()])

    @classmethod
    async def open(cls, openers: Mapping[str, Opener]) -> Fleet:
        """A fleet of those engines that can be reached now; the others are taken in once they can be.

        Raises EngineUnavailable when none can be reached, EngineError for one that is reached and
        can't be used, and for those that differ.
        """
        results = await asyncio.gather(*(opener() for opener in openers.values()), return_exceptions=True)
        engines: dict[str, Engine] = {}
        absent: dict[str, Opener] = {}
        for (url, opener), result in zip(openers.items(), results, strict=True):
            if isinstance(result, EngineUnavailable):
                logger.warning("engine %s can't be reached yet: %s", url, result)
                absent[url] = opener
            elif isinstance(result, EngineError):
                raise EngineError(f"the engine {url} can't be used: {result}") from result
            elif isinstance(result, BaseException):
                raise result
            else:
                engines[url] = result
        if not engines:
            raise next(result for result in results if isinstance(result, EngineUnavailable))
        return cls(engines, absent)

    @property
    def engines(self) -> tuple[EngineState, ...]:
        """Each engine as it is now, in the order in which they were given."""
        return tuple(member.state for member in self._members)

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The tokenizer of an engine that is well."""
        return self._any.tokenizer

    @property
    def chat_template(self) -> str | None:
        """The chat template, the same on every engine."""
        return self._any.chat_template

    @property
    def template_variables(self) -> dict[str, Any]:
        """The names for the template."""
        return self._any.template_variables

    @property
    def _any(self) -> Engine:
        return next((one.engine for one in self._members if one.healthy and one.engine), self._first[1])

    async def health(self) -> bool:
        """Whether at least one engine is well."""
        self._watch()
        return any(member.healthy for member in self._members)

    async def close(self) -> None:
        """End the checks and close every engine; may be called twice."""
        watches, self._watches = self._watches, []
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        await asyncio.gather(*(one.engine.close() for one in self._members if one.engine is not None))

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Generate on one engine, on another if that one fails before its first chunk.

        Raises EngineUnavailable when every engine is down, else what the last engine raised.
        """
        self._watch()
        failed: list[_Member] = []
        while True:
            member = self._choose(generation.affinity, failed)
            started = False
            with member.generating(next(self._turns)):
                chunks = member.well.generate(generation)
                try:
                    first = await member.first(chunks)
                    started = True
                    if first is not None:
                        yield member.signed(first)
                    async for chunk in chunks:
                        yield member.signed(chunk)
                    return
                except EngineError as error:
                    member.failed(started)
                    failed.append(member)
                    if started or not self._others(failed):
                        raise
                    _note_retry(member, generation, error)
                finally:
                    await chunks.aclose()

    def _others(self, failed: Sequence[_Member]) -> list[_Member]:
        return [member for member in self._members if member.healthy and member not in failed]

    def _choose(self, affinity: str | None, failed: Sequence[_Member]) -> _Member:
        """The engine for a generation that failed on some."""
        members = self._others(failed)
        if not members:
            names = ", ".join(member.url for member in self._members)
            raise EngineUnavailable(f"no engine can be reached now: {names}")
        members.sort(key=lambda member: (member.running, member.last_turn))
        if affinity is None:
            return members[0]
        most = members[0].running * LOAD_RATIO + LOAD_SLACK
        return max((one for one in members if one.running <= most), key=lambda one: one.weight(affinity))

    async def _admitted(self, url: str, opener: Opener) -> Engine:
        """An engine that was absent, opened. Raises EngineError when it is not like the others."""
        engine = await opener()
        try:
            await asyncio.to_thread(check_alike, {self._first[0]: self._any, url: engine})
            if common([self.capabilities, engine.capabilities]) != self.capabilities:
                raise EngineError("it can do less than the engines that are there")
        except BaseException:
            await engine.close()
            raise
        return engine

    def _watch(self) -> None:
        """Have the health of all checked from now on, if that isn't done already."""
        if self._watches and not all(watch.done() for watch in self._watches):
            return
        for member in self._members:
            member.begin()
        self._watches = [
            asyncio.get_running_loop().create_task(member.watch(self._check_seconds), name=member.url)
            for member in self._members
        ]


class _Member:
    """One engine, how much it has to do, and how it is."""

    def __init__(
        self, url: str, engine: Engine | None, failures_until_down: int, opener: Opener | None = None
    ) -> None:
        self.url = url
        self.engine = engine
        self.healthy = engine is not None
        self._opener = opener
        self._refusal = ""
        self.running = 0
        self.last_turn = 0
        self._in_a_row = 0
        self._until_down = failures_until_down
        self._failures = 0
        self._checks_failed = 0
        self._doubt: asyncio.Event | None = None
        self._down: asyncio.Event | None = None

    @property
    def state(self) -> EngineState:
        """What is shown of it."""
        kind = getattr(self.engine, "kind", "engine")
        return EngineState(self.url, kind, self.healthy, self.running, self._failures, self._checks_failed)

    @property
    def well(self) -> Engine:
        """The engine, which is there when it is healthy."""
        assert self.engine is not None
        return self.engine

    def weight(self, key: str) -> bytes:
        """How much a key prefers this engine; equal in every process."""
        return blake2b(self.url.encode(), key=blake2b(key.encode()).digest(), digest_size=8).digest()

    @contextmanager
    def generating(self, turn: int) -> Iterator[None]:
        """Count a generation while it runs."""
        self.running += 1
        self.last_turn = turn
        try:
            yield
        finally:
            self.running -= 1

    def signed(self, chunk: Chunk) -> Chunk:
        """A chunk, the last one with the name of the engine."""
        return chunk if chunk.finish_reason is None else replace(chunk, engine=self.url)

    def failed(self, started: bool) -> None:
        """Note that a generation failed, and have the health asked."""
        self._failures += not started
        self._in_a_row += 1
        if self._doubt is not None:
            self._doubt.set()

    def begin(self) -> None:
        """Be ready to be watched in the running loop."""
        self._doubt, self._down = asyncio.Event(), asyncio.Event()
        if not self.healthy:
            self._down.set()

    async def first(self, chunks: AsyncIterator[Chunk]) -> Chunk | None:
        """The first chunk, None for an engine that ends without any.

        Raises EngineUnavailable when the engine is found to be down before that comes: it would
        never come from an engine that hangs.
        """
        assert self._down is not None
        reading = asyncio.ensure_future(anext(chunks, None))
        down = asyncio.ensure_future(self._down.wait())
        try:
            await asyncio.wait((reading, down), return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                return reading.result()
            raise EngineUnavailable(f"the engine {self.url} went down before it wrote anything")
        finally:
            down.cancel()
            await _ended(reading)

    async def watch(self, seconds: float) -> None:
        """Check the health every so many seconds, and at once when a generation failed."""
        assert self._doubt is not None
        while True:
            await self._check(seconds)
            timer = asyncio.get_running_loop().call_later(seconds, self._doubt.set)
            try:
                await self._doubt.wait()
            finally:
                timer.cancel()
            self._doubt.clear()

    async def _check(self, seconds: float) -> None:
        """Ask the engine how it is; no answer within ``seconds`` is a bad one."""
        assert self._down is not None
        if self.engine is None and not await self._opened():
            return
        if await self._answers(seconds):
            if not self.healthy:
                logger.warning("engine %s answers again", self.url)
            self._in_a_row, self.healthy = 0, True
            self._down.clear()
            return
        self._in_a_row += 1
        self._checks_failed += 1
        if self.healthy and self._in_a_row >= self._until_down:
            self.healthy = False
            self._down.set()
            logger.warning("engine %s is down: its health check failed", self.url)

    async def _answers(self, seconds: float) -> bool:
        asking = asyncio.ensure_future(self.well.health())
        try:
            await asyncio.wait((asking,), timeout=seconds)
            return asking.done() and asking.exception() is None and asking.result()
        finally:
            asking.cancel()

    async def _opened(self) -> bool:
        """Try to open an engine that is absent; each new reason is logged once."""
        assert self._opener is not None
        try:
            self.engine = await self._opener()
        except Exception as error:
            self._checks_failed += 1
            if str(error) != self._refusal:
                self._refusal = str(error)
                logger.warning("engine %s can't be used yet: %s", self.url, error)
            return False
        return True


def _note_retry(member: _Member, generation: Generation, error: EngineError) -> None:
    logger.warning(
        "engine %s failed before its first token, another is tried: %s (request %s)",
        member.url,
        error,
        generation.request_id or "without id",
    )


async def _ended(task: asyncio.Future[Chunk | None]) -> None:
    """Cancel a task and wait for its end, also when the waiting itself is cancelled meanwhile."""
    interrupted = False
    while not task.done():
        task.cancel()
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            interrupted = True
    if not task.cancelled():
        task.exception()
    if interrupted:
        raise asyncio.CancelledError
