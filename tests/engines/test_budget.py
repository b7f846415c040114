"""The thinking budget with a scripted engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import pytest

from unbraid.engines.base import Capabilities, Chunk, Constraint, Generation, Sampling
from unbraid.engines.budget import with_thinking_budget
from unbraid.errors import EngineError
from unbraid.tokens import TokenTable

from .helpers import ids_of, text_of

PIECES = {n: bytes([n]) for n in range(256)}
TABLE = TokenTable({**PIECES, 256: "<think>", 257: "</think>", 258: "é"}, special=[256, 257])
END = "\n</think>\n"
AFTER = Constraint("llguidance", "start: /.*/")


@dataclass
class Scripted:
    """Plays one list of chunks per generation."""

    plays: list[list[Chunk]]
    model: str = "scripted"
    capabilities: Capabilities = field(default_factory=Capabilities)
    asked: list[Generation] = field(default_factory=list)
    closed: int = 0
    tokenizer: TokenTable = TABLE
    chat_template: str | None = None
    template_variables: dict[str, Any] = field(default_factory=dict)

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        self.asked.append(generation)
        try:
            for chunk in self.plays.pop(0):
                yield chunk
        finally:
            self.closed += 1

    async def health(self) -> bool:
        return True

    async def close(self) -> None:
        pass


def chunks(*pieces: str, completion: int | None = None, finish: str = "stop") -> list[Chunk]:
    made = [Chunk(text=piece, token_ids=tuple(TABLE.encode(piece))) for piece in pieces]
    return [*made, Chunk(finish_reason=finish, prompt_tokens=99, completion_tokens=completion)]


def run(
    engine: Scripted, budget: int, prompt: str | list[int] = "p<think>", opened: bool = True, **sampling: Any
) -> list[Chunk]:
    """Drive as a server does: the parser reads each chunk before the next is asked for."""
    got: list[Chunk] = []

    def thinking_open() -> bool:
        text = ("<think>" if opened else "") + text_of(got)
        return text.count("<think>") > text.count("</think>")

    async def drive() -> None:
        generation = Generation(prompt, Sampling(**sampling))
        async for chunk in with_thinking_budget(engine, generation, budget, thinking_open, END, AFTER):
            got.append(chunk)

    asyncio.run(drive())
    assert engine.closed == len(engine.asked)
    return got


def test_thinking_that_closes_in_time_is_left_alone() -> None:
    play = chunks("a", "b", "</think>", "c", "d", "e", completion=6)
    engine = Scripted([play])
    assert run(engine, 3) == play
    assert engine.asked[0].prompt == "p<think>"


def test_a_spent_budget_closes_the_thinking() -> None:
    engine = Scripted([chunks("a", "b", "c", "d", "e"), chunks("x", "y", completion=3)])
    got = run(engine, 3, max_tokens=20)
    assert text_of(got) == f"abc{END}xy"
    assert ids_of(got) == TABLE.encode(f"abc{END}xy")
    assert got[3] == Chunk(text=END, token_ids=(10, 257, 10))
    assert engine.asked[1].prompt == TABLE.encode(f"p<think>abc{END}")
    assert engine.asked[1].constraint == AFTER
    assert engine.asked[1].sampling.max_tokens == 20 - 3 - 3
    assert got[-1] == Chunk(finish_reason="stop", prompt_tokens=2, completion_tokens=3 + 3 + 3)


def test_budget_zero_does_not_even_start() -> None:
    engine = Scripted([chunks("x")])
    assert text_of(run(engine, 0, [1, 256])) == END + "x"
    assert engine.asked[0].prompt == [1, 256, 10, 257, 10]


def test_thinking_that_the_output_opens() -> None:
    for budget, kept in ((0, "<think>"), (2, "<think>ab")):
        engine = Scripted([chunks("<think>", "a", "b", "c"), chunks("x")])
        assert text_of(run(engine, budget, "p", opened=False)) == f"{kept}{END}x"
    engine = Scripted([chunks("a", "b", "c")])
    assert text_of(run(engine, 0, "p", opened=False)) == "abc"


def test_content_is_never_counted() -> None:
    engine = Scripted([chunks("a", "</think>", *"content that goes on and on")])
    assert text_of(run(engine, 2)).endswith("on and on")


def test_a_chunk_of_many_tokens_is_cut() -> None:
    engine = Scripted([chunks("abcdef", "g"), chunks("x")])
    assert text_of(run(engine, 4)) == f"abcd{END}x"
    engine = Scripted([chunks("abc</think>def", "g")])
    assert text_of(run(engine, 4)) == "abc</think>defg"


def test_cuts_are_at_whole_characters() -> None:
    emoji = Chunk(text="😀b", token_ids=tuple("😀b".encode()))
    engine = Scripted([[emoji, *chunks()], chunks("x")])
    assert text_of(run(engine, 2)) == f"😀{END}x"
    assert engine.asked[1].prompt == TABLE.encode(f"p<think>😀{END}")


def test_text_without_ids_is_encoded_again() -> None:
    play = [Chunk(text="a", token_ids=(97,)), Chunk(text="é"), *chunks("c")]
    engine = Scripted([play, chunks("x")])
    assert text_of(run(engine, 2)) == f"aé{END}x"
    assert engine.asked[1].prompt == TABLE.encode(f"p<think>aé{END}")


@pytest.mark.parametrize(("limit", "text"), [(2, "ab"), (3, f"ab{END}"), (5, f"ab{END}")])
def test_max_tokens_ends_the_stream_with_length(limit: int, text: str) -> None:
    engine = Scripted([chunks(*"abcdef"[:limit], finish="length", completion=limit)])
    got = run(engine, 2, max_tokens=limit)
    assert text_of(got) == text
    assert got[-1].finish_reason == "length"
    assert len(engine.asked) == 1


def test_closing_aborts_either_generation() -> None:
    async def take(count: int) -> Scripted:
        engine = Scripted([chunks(*"abc"), chunks(*"xyz")])
        stream = with_thinking_budget(engine, Generation("p"), 2, lambda: True, END)
        for _ in range(count):
            await anext(stream)
        await stream.aclose()
        return engine

    assert [asyncio.run(take(count)).closed for count in (1, 3, 4)] == [1, 1, 2]


def test_errors_pass() -> None:
    class Failing(Scripted):
        async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
            yield Chunk(text="a", token_ids=(97,))
            raise EngineError("gone")

    with pytest.raises(EngineError, match="gone"):
        run(Failing([]), 5)
