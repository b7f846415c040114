"""What must hold for any output: no exception, no lost character, equal splits, bounded work and stack."""

from __future__ import annotations

import sys
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

from tests.conformance.cases import conserved
from tests.laws.reading import read
from tests.support.hostile import Pair, splits, token_splits, tokenise
from unbraid import Parser
from unbraid.machine.core import Machine

LOOK_AHEAD = 4096
STACK = 150


def sound(parser: Parser, text: str, finish: str | None, seed: int) -> None:
    """A text is read whole and in splits: every character once, and the same each time."""
    whole = parser.parse(text, finish_reason=finish)
    lost = list(conserved(text, whole))
    assert not lost, lost
    for pieces in splits(text, seed):
        assert read(parser, pieces, finish)[0] == whole, pieces


def sound_with_ids(pair: Pair, options: dict[str, Any], text: str, finish: str | None, seed: int) -> None:
    """The same for a text with token ids, its markers special tokens or not."""
    tokens = tokenise(text, pair, seed)
    parser = pair.parser(**{**options, "tokenizer": tokens.tokenizer})
    whole = parser.parse(text, token_ids=tokens.ids, finish_reason=finish)
    lost = list(conserved(text, whole))
    assert not lost, lost
    for pieces in token_splits(tokens, seed):
        assert read(parser, pieces, finish)[0] == whole, pieces


@dataclass(frozen=True)
class Work:
    """What reading a text in pieces took.

    ``steps`` counts Python calls and resumed generators, ``waiting`` is the most text that a
    look-ahead could see again, ``memory`` the most bytes held at once, None when not measured.
    """

    steps: int
    waiting: int
    memory: int | None = None


def machine_of(stream: Any) -> Machine:
    """The machine behind the streams that only change what it gives."""
    while not isinstance(stream, Machine):
        stream = stream._stream
    return stream


def work(parser: Parser, text: str, size: int, *, memory: bool = False) -> Work:
    """Count what a text takes in pieces of ``size`` characters, in a stack of bounded depth."""
    stream = parser.stream()
    machine = machine_of(stream)
    waiting = steps = 0

    def count(_: FrameType, event: str, __: object) -> None:
        nonlocal steps
        steps += event == "call"

    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    if memory:
        tracemalloc.start()
    with shallow():
        if not memory:
            sys.setprofile(count)
        try:
            for piece in pieces:
                stream.feed(piece)
                waiting = max(waiting, len(machine.buf) - machine.i)
            stream.finish("length")
            message = stream.message
        finally:
            sys.setprofile(None)
            peak = tracemalloc.get_traced_memory()[1] if memory else None
            if memory:
                tracemalloc.stop()
    lost = list(conserved(text, message))
    assert not lost, lost
    assert waiting <= LOOK_AHEAD + size, f"{waiting} characters wait"
    return Work(steps, waiting, peak)


@contextmanager
def shallow() -> Iterator[None]:
    """A stack that has room for ``STACK`` more frames only."""
    before = sys.getrecursionlimit()
    depth = 0
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        depth += 1
        frame = frame.f_back
    sys.setrecursionlimit(depth + STACK)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def linear(parser: Parser, short: str, long: str, size: int) -> None:
    """Work grows with the text: of ``n`` times the length, at most 1.3 n times the steps."""
    first, second = work(parser, short, size), work(parser, long, size)
    most = 1.3 * len(long) / len(short) * first.steps + 2000
    assert second.steps <= most, f"{first.steps} steps for {len(short)}, {second.steps} for {len(long)}"


def seconds(parser: Parser, text: str, size: int) -> float:
    """The time that a text takes in pieces of ``size`` characters."""
    stream = parser.stream()
    begun = time.process_time()
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
    stream.finish("length")
    assert stream.message is not None
    return time.process_time() - begun


def slower_than_linear(parser: Parser, text: str, size: int, *, tries: int = 3) -> str | None:
    """What the clock says against linear time, None when nothing: asked again before it is believed."""
    quarter = text[: len(text) // 4]
    for _ in range(tries):
        short, long = seconds(parser, quarter, size), seconds(parser, text, size)
        if long < 8 * short + 0.05:
            return None
    return f"{short:.3f} s for {len(quarter)} characters, {long:.3f} s for {len(text)}"
