"""A thinking budget for engines that have none: stop the generation, close the thinking, go on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace

from unbraid.engines.base import Chunk, Constraint, Engine, Generation
from unbraid.errors import EngineError
from unbraid.tokens import Tokenizer

__all__ = ["with_thinking_budget"]


async def with_thinking_budget(
    engine: Engine,
    generation: Generation,
    budget: int,
    thinking_open: Callable[[], bool],
    end_text: str,
    continue_constraint: Constraint | None = None,
) -> AsyncGenerator[Chunk, None]:
    """Generate with at most ``budget`` tokens of thinking, as one stream.

    The consumer feeds each chunk to its parser before it asks for the next one;
    ``thinking_open`` then says whether that parser is inside the thinking. When
    the budget is spent there, the generation is stopped, ``end_text`` (such as
    ``"\\n</think>\\n\\n"``) comes as a chunk, and a new generation goes on behind it
    under ``continue_constraint``. The tokens of ``end_text`` count as generated ones.

    A token counts when the thinking was open before and after its chunk; a budget
    of 0 ends the thinking as soon as it is open. Nothing is forced while it is
    closed, or when ``max_tokens`` is used up. Raises what the engine raises;
    closing the iterator aborts the generation.
    """
    sent = _Sent(engine.tokenizer, generation)
    meter = _Meter(budget, thinking_open)
    if not (meter.spent and sent.may_go_on):
        async with aclosing(_until_spent(engine, generation, meter, sent)) as chunks:
            async for chunk in chunks:
                yield chunk
        if not (meter.spent and sent.may_go_on):
            return
    prompt_tokens, ending, following = await asyncio.to_thread(sent.followed_by, end_text)
    yield ending
    forced = sent.count + _tokens(ending)
    limit = generation.sampling.max_tokens
    if limit is not None and forced >= limit:
        yield Chunk(finish_reason="length", prompt_tokens=prompt_tokens, completion_tokens=forced)
        return
    sampling = replace(generation.sampling, max_tokens=None if limit is None else limit - forced)
    rest = replace(generation, prompt=following, sampling=sampling, constraint=continue_constraint)
    more = 0
    async with aclosing(engine.generate(rest)) as chunks:
        async for chunk in chunks:
            more += _tokens(chunk)
            if chunk.finish_reason is not None:
                total = forced + (more if chunk.completion_tokens is None else chunk.completion_tokens)
                chunk = replace(chunk, prompt_tokens=prompt_tokens, completion_tokens=total)
            yield chunk


async def _until_spent(
    engine: Engine, generation: Generation, meter: _Meter, sent: _Sent
) -> AsyncGenerator[Chunk, None]:
    """The chunks of a generation until it ends or the budget is spent; then it is aborted."""
    async with aclosing(engine.generate(generation)) as chunks:
        async for chunk in chunks:
            for part in _parts(chunk, meter, engine.tokenizer):
                yield part
                if part.finish_reason is not None:
                    meter.spent = False
                    return
                sent.add(part)
                meter.count(_tokens(part))
                if meter.spent and sent.may_go_on:
                    return


class _Meter:
    """Counts the tokens of thinking; ``spent`` while the thinking is open beyond the budget."""

    def __init__(self, budget: int, thinking_open: Callable[[], bool]) -> None:
        self._open = thinking_open
        self._inside = thinking_open()
        self.left = budget
        self.spent = self._inside and budget <= 0

    def count(self, tokens: int) -> None:
        """Count a chunk that the consumer has read meanwhile."""
        before, self._inside = self._inside, self._open()
        if before and self._inside:
            self.left -= tokens
        self.spent = self._inside and self.left <= 0


class _Sent:
    """What the consumer was given so far, as text and as ids; ``count`` is its tokens."""

    def __init__(self, tokenizer: Tokenizer | None, generation: Generation) -> None:
        self._tokenizer = tokenizer
        self._prompt = generation.prompt
        self._limit = generation.sampling.max_tokens
        self._text: list[str] = []
        self._ids: list[int] = []
        self._exact = True
        self.count = 0

    @property
    def may_go_on(self) -> bool:
        """Whether ``max_tokens`` leaves room for more."""
        return self._limit is None or self.count < self._limit

    def add(self, chunk: Chunk) -> None:
        """Note a chunk that was given."""
        self.count += _tokens(chunk)
        self._text.append(chunk.text)
        self._ids.extend(chunk.token_ids)
        if self._tokenizer is not None:
            self._exact = self._exact and _bytes(self._tokenizer, chunk.token_ids) == chunk.text.encode()

    def followed_by(self, end_text: str) -> tuple[int | None, Chunk, str | list[int]]:
        """The prompt's length in tokens, the chunk of ``end_text``, and what to go on from.

        Without a tokenizer that is text, and no length is known.
        """
        if self._tokenizer is None:
            if not isinstance(self._prompt, str):
                raise EngineError("a thinking budget needs the model's vocabulary for a prompt of ids")
            return None, Chunk(text=end_text), "".join([self._prompt, *self._text, end_text])
        encode = self._tokenizer.encode
        prompt = encode(self._prompt) if isinstance(self._prompt, str) else self._prompt
        ending = encode(end_text)
        sent = self._ids if self._exact else encode("".join(self._text))
        return len(prompt), Chunk(text=end_text, token_ids=tuple(ending)), [*prompt, *sent, *ending]


def _tokens(chunk: Chunk) -> int:
    """The tokens of a chunk; text whose ids are not known counts as one."""
    return len(chunk.token_ids) or int(bool(chunk.text))


def _bytes(tokenizer: Tokenizer, ids: tuple[int, ...]) -> bytes:
    return b"".join(map(tokenizer.token_bytes, ids))


def _parts(chunk: Chunk, meter: _Meter, tokenizer: Tokenizer | None) -> Iterator[Chunk]:
    """A chunk cut where the budget ends, at whole characters, as far as its ids allow."""
    while tokenizer is not None and len(chunk.token_ids) > max(1, meter.left):
        cut = _cut(chunk, max(1, meter.left), tokenizer)
        if cut is None:
            break
        first, chunk = cut
        yield first
    yield chunk


def _cut(chunk: Chunk, keep: int, tokenizer: Tokenizer) -> tuple[Chunk, Chunk] | None:
    """Cut a chunk behind ``keep`` tokens, or the first whole character after them."""
    for count in range(keep, len(chunk.token_ids)):
        try:
            text = _bytes(tokenizer, chunk.token_ids[:count]).decode()
        except UnicodeDecodeError:
            continue
        if not chunk.text.startswith(text):
            return None
        logprobs = count if len(chunk.logprobs) == len(chunk.token_ids) else len(chunk.logprobs)
        first = Chunk(text=text, token_ids=chunk.token_ids[:count], logprobs=chunk.logprobs[:logprobs])
        rest = replace(
            chunk,
            text=chunk.text[len(text) :],
            token_ids=chunk.token_ids[count:],
            logprobs=chunk.logprobs[logprobs:],
        )
        return first, rest
    return None
