"""An engine that plays recorded outputs: for tests, and for looking at a server without a model."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from unbraid.engines.base import Capabilities, Chunk, Dialect, Generation, TokenLogprob
from unbraid.engines.stream import Assembler, StopFilter
from unbraid.tokens import Tokenizer, TokenTable

__all__ = ["Recording", "ReplayEngine", "byte_tokenizer"]

_KEPT = 1000
_Piece = tuple[str, tuple[int, ...]]


def byte_tokenizer(*special: str) -> TokenTable:
    """A tokenizer whose tokens are single bytes and the ``special`` texts, numbered from 256."""
    pieces: dict[int, bytes | str] = {byte: bytes([byte]) for byte in range(256)}
    pieces.update(enumerate(special, 256))
    return TokenTable(pieces, range(256, 256 + len(special)))


@dataclass(frozen=True)
class Recording:
    """One output as it comes: its text in one string or in pieces, and how it ends.

    A single string is cut into its tokens; pieces come as they are, but for tokens that
    a cut runs through. ``delay`` are seconds before each piece; ``fault`` is raised
    behind the last one, in place of the end. ``ids`` False leaves the token ids out.
    """

    text: str | Sequence[str]
    finish_reason: str = "stop"
    delay: float = 0.0
    fault: Exception | None = None
    ids: bool = True


class ReplayEngine:
    """Plays its recordings in turn, the last one again and again.

    ``requests`` holds what was asked last; ``started`` is how many generations were begun,
    ``running`` how many are open and ``aborted`` how many were closed before their end. Stop strings and
    ``max_tokens`` are respected, constraints are only noted.
    """

    kind = "recorded outputs"

    def __init__(
        self,
        *recordings: Recording | str,
        tokenizer: Tokenizer | None = None,
        chat_template: str | None = None,
        dialects: tuple[Dialect, ...] = (),
        model: str = "replay",
    ) -> None:
        self.model = model
        self.capabilities = Capabilities(dialects, token_ids=True, logprobs=True, context_length=4096)
        self.requests: deque[Generation] = deque(maxlen=_KEPT)
        self.started = 0
        self.running = 0
        self.aborted = 0
        self._recordings = [one if isinstance(one, Recording) else Recording(one) for one in recordings]
        self._cut: dict[int, list[_Piece]] = {}
        self._tokenizer = tokenizer or byte_tokenizer()
        self._chat_template = chat_template

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that was given, or one of single bytes."""
        return self._tokenizer

    @property
    def chat_template(self) -> str | None:
        """The template that was given."""
        return self._chat_template

    @property
    def template_variables(self) -> dict[str, Any]:
        """None at all."""
        return {}

    async def health(self) -> bool:
        """Always well."""
        return True

    async def close(self) -> None:
        """Nothing to free."""

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Play the next recording."""
        turn = min(self.started, len(self._recordings) - 1)
        self.requests.append(generation)
        self.started += 1
        self.running += 1
        done = False
        try:
            async for chunk in self._play(turn, generation):
                done = chunk.finish_reason is not None
                yield chunk
        except Exception:
            done = True
            raise
        finally:
            self.running -= 1
            self.aborted += not done

    async def _play(self, turn: int, generation: Generation) -> AsyncGenerator[Chunk, None]:
        recording = self._recordings[turn]
        limit = generation.sampling.max_tokens
        stops = StopFilter(generation.sampling.stop)
        count, reason = 0, recording.finish_reason
        for text, ids in self._pieces(turn):
            if recording.delay:
                await asyncio.sleep(recording.delay)
            if limit is not None and count + len(ids) > limit:
                ids, reason = ids[: limit - count], "length"
                text = b"".join(map(self._tokenizer.token_bytes, ids)).decode("utf-8", "ignore")
            count += len(ids)
            for chunk in stops.feed(self._chunk(text, ids, recording.ids, generation.logprobs)):
                yield chunk
            if stops.matched is not None or (reason == "length" and count == limit):
                break
        if recording.fault is not None:
            raise recording.fault
        if stops.matched is None:
            for chunk in stops.flush():
                yield chunk
        prompt = generation.prompt
        yield Chunk(
            finish_reason=reason if stops.matched is None else "stop",
            stop_reason=stops.matched,
            prompt_tokens=len(self._tokenizer.encode(prompt) if isinstance(prompt, str) else prompt),
            completion_tokens=count,
        )

    def _pieces(self, turn: int) -> list[_Piece]:
        """The pieces of a recording."""
        found = self._cut.get(turn)
        if found is None:
            found = self._cut[turn] = list(self._cut_up(self._recordings[turn]))
        return found

    def _cut_up(self, recording: Recording) -> Iterator[_Piece]:
        """The pieces, each of whole tokens: a token that a cut runs through stays in one piece."""
        whole = isinstance(recording.text, str)
        cuts = [] if whole else list(accumulate(map(len, recording.text)))
        assembler = Assembler(self._tokenizer)
        text, length = "", 0
        ids: list[int] = []
        for count, token_id in enumerate(self._tokenizer.encode("".join(recording.text)), 1):
            made, known = assembler.feed("", [token_id], count)
            if not made:
                continue
            text, ids, length = text + made, [*ids, *known], length + len(made)
            if whole or length >= cuts[0]:
                cuts = [cut for cut in cuts if cut > length]
                yield text, tuple(ids)
                text, ids = "", []

    def _chunk(self, text: str, ids: tuple[int, ...], show_ids: bool, top: int | None) -> Chunk:
        logprobs: tuple[TokenLogprob, ...] = ()
        if top is not None:
            spell = self._tokenizer.token_bytes
            others = ((0, spell(0), -9.0),) * top
            logprobs = tuple(TokenLogprob(one, spell(one), -0.5, others) for one in ids)
        return Chunk(text=text, token_ids=ids if show_ids else (), logprobs=logprobs)
