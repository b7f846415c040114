"""Several asynchronous sources as one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TypeVar

__all__ = ["merged"]

T = TypeVar("T")
_WAITING = 16


async def merged(
    sources: Sequence[AsyncGenerator[T, None]],
) -> AsyncGenerator[tuple[int, T | Exception], None]:
    """The items of all sources as they come, each with its source's place.

    An exception ends its own source and is given as an item. Closing this generator closes the sources.
    """
    if len(sources) == 1:
        async with aclosing(sources[0]) as only:
            try:
                async for item in only:
                    yield 0, item
            except Exception as error:
                yield 0, error
        return
    queue: asyncio.Queue[tuple[int, T | Exception] | None] = asyncio.Queue(_WAITING)
    tasks = [asyncio.ensure_future(_pump(index, source, queue)) for index, source in enumerate(sources)]
    open_sources = len(tasks)
    try:
        while open_sources:
            got = await queue.get()
            if got is None:
                open_sources -= 1
            else:
                yield got
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _pump(
    index: int, source: AsyncGenerator[T, None], queue: asyncio.Queue[tuple[int, T | Exception] | None]
) -> None:
    async with aclosing(source) as items:
        try:
            async for item in items:
                await queue.put((index, item))
        except Exception as error:
            await queue.put((index, error))
    await queue.put(None)
