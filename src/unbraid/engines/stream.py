"""From an engine's pieces to chunks: whole characters, the ids of each, stop strings."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from unbraid.engines.base import Chunk, Generation, TokenLogprob
from unbraid.tokens import Tokenizer

__all__ = ["Assembler", "Pairing", "Pieces", "StopFilter", "segment"]

IdsOf = Callable[[bytes], Sequence[int]]

_MOST_MISSING = 8
"""More tokens than this do not fit into one character and what comes before it."""


class Assembler:
    """Turns (text, ids, count so far) as an engine sends them into text with all its ids.

    Engines send nothing for a token that ends within a character and then name only
    the token that completes it. The ids in between are found again: from the bytes if
    the tokenizer has ``ids_of``, else by encoding the text. With ``spelled`` the
    engine's text is trusted and the tokenizer only spells tokens that come without
    text, special ones; else the text is made of the tokens' bytes.
    ``exact`` becomes False once ids are missing for good.
    """

    def __init__(self, tokenizer: Tokenizer, spelled: bool = False) -> None:
        self._tokenizer = tokenizer
        self._ids_of: IdsOf | None = getattr(tokenizer, "ids_of", None)
        self._spelled = spelled
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._text = ""
        self._ids: list[int] = []
        self._seen = 0
        self.exact = True

    def follows(self, ids: Any, count: Any) -> bool:
        """Whether no token is missing in front of these, ``count`` as for ``feed``."""
        return isinstance(ids, list) and count == self._seen + len(ids)

    def feed(self, text: str, ids: Sequence[int], count: int) -> tuple[str, tuple[int, ...]]:
        """Whole characters and the ids they are made of; both empty while a character is open.

        ``count`` is the number of tokens generated so far, those of ``ids`` included.
        The ids of a text are empty when not all of them are known.
        """
        missing = count - self._seen - len(ids)
        self._seen = count
        if missing > 0:
            found = self._recover(text, ids, missing)
            if found is None:
                self.exact = False
                whole = self._text + self._decoder.decode(b"", True) + text
                self._text, self._ids = "", []
                return whole, ()
            ids = [*found, *ids]
        if self._spelled:
            return text or self._bytes(ids).decode("utf-8", "replace"), tuple(ids)
        self._ids.extend(ids)
        self._text += self._decoder.decode(self._bytes(ids))
        if self._decoder.getstate()[0]:
            return "", ()
        taken = self._text, tuple(self._ids)
        self._text, self._ids = "", []
        return taken

    def _bytes(self, ids: Sequence[int]) -> bytes:
        return b"".join(map(self._tokenizer.token_bytes, ids))

    def _recover(self, text: str, ids: Sequence[int], missing: int) -> Sequence[int] | None:
        if missing > _MOST_MISSING:
            return None
        if self._ids_of is None:
            whole = self._tokenizer.encode(text)
            return whole[:missing] if len(whole) == missing + len(ids) and whole[missing:] == ids else None
        data, known = text.encode(), self._bytes(ids)
        hidden = data[: len(data) - len(known)] if data.endswith(known) else data
        return segment(hidden, missing, self._ids_of)


class Pairing:
    """Text with its ids from an engine that names every token at once and its text when it is whole.

    The ids of a character that is not whole yet wait for it.
    """

    def __init__(self) -> None:
        self._ids: list[int] = []

    def feed(self, text: str, ids: Sequence[int]) -> tuple[str, tuple[int, ...]]:
        """``text`` and all ids since the last text; both empty while there is none."""
        self._ids.extend(ids)
        if not text:
            return "", ()
        taken, self._ids = tuple(self._ids), []
        return text, taken


def segment(data: bytes, count: int, ids_of: IdsOf) -> tuple[int, ...] | None:
    """Split ``data`` into exactly ``count`` tokens, the longest first; None when there is no way.

    ``ids_of`` gives the ids of the tokens that are exactly some bytes.
    """
    if count == 0 or count > len(data):
        return None if data or count else ()
    for end in range(len(data) - count + 1, 0, -1):
        for token_id in ids_of(data[:end])[:1]:
            rest = segment(data[end:], count - 1, ids_of)
            if rest is not None:
                return (token_id, *rest)
    return None


class StopFilter:
    """Holds text back while it may begin a stop string, and cuts where one is found."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop for stop in stops if stop)
        self._held: list[Chunk] = []
        self.matched: str | None = None

    def feed(self, chunk: Chunk) -> list[Chunk]:
        """The chunks that are safe. After a match ``matched`` is set; feed no more then."""
        if not self._stops:
            return [chunk]
        self._held.append(chunk)
        text = "".join(held.text for held in self._held)
        found = [(at, stop) for stop in self._stops if (at := text.find(stop)) >= 0]
        if not found:
            return self._release(len(text) - self._open(text))
        at, self.matched = min(found)
        safe = self._release(at)
        rest = text[sum(len(chunk.text) for chunk in safe) : at]
        self._held.clear()
        return [*safe, Chunk(text=rest)] if rest else safe

    def flush(self) -> list[Chunk]:
        """What is held: the output is over and no stop string came."""
        held, self._held = self._held, []
        return held

    def _release(self, until: int) -> list[Chunk]:
        """Take the held chunks that end at character ``until`` or before."""
        count = end = 0
        for chunk in self._held:
            end += len(chunk.text)
            if end > until:
                break
            count += 1
        released, self._held = self._held[:count], self._held[count:]
        return released

    def _open(self, text: str) -> int:
        """The length of the longest end of ``text`` that begins a stop string."""
        lengths = (
            length
            for stop in self._stops
            for length in range(min(len(stop) - 1, len(text)), 0, -1)
            if text.endswith(stop[:length])
        )
        return max(lengths, default=0)


class Pieces:
    """Chunks of what an engine sends: text and ids brought together, stop strings found.

    With a vocabulary at hand the text is made of the tokens' bytes; else the engine's is taken.
    ``tokens`` counts the ids so far; ``matched`` is the stop string that was found.
    """

    def __init__(self, generation: Generation, tokenizer: Tokenizer | None, spelled: bool) -> None:
        """``spelled``: the tokenizer knows the bytes of every token."""
        self._assembler = Assembler(tokenizer) if spelled and tokenizer is not None else None
        self._pairing = Pairing()
        self._stops = StopFilter(generation.sampling.stop)
        self._logprobs: list[TokenLogprob] = []
        self.tokens = 0

    @property
    def matched(self) -> str | None:
        """The stop string that was found, if one was."""
        return self._stops.matched

    def feed(self, text: str, ids: Sequence[int], logprobs: Iterable[TokenLogprob] = ()) -> list[Chunk]:
        """The chunks that are ready; those of half a character wait for the rest of it."""
        self.tokens += len(ids)
        self._logprobs.extend(logprobs)
        if ids and self._assembler is not None:
            text, known = self._assembler.feed(text, ids, self.tokens)
        else:
            text, known = self._pairing.feed(text, ids)
        if not text:
            return []
        taken, self._logprobs = tuple(self._logprobs), []
        return self._stops.feed(Chunk(text=text, token_ids=known, logprobs=taken))

    def end(self, reason: str, prompt_tokens: int | None, completion_tokens: int | None) -> list[Chunk]:
        """What was held, and the last chunk; a stop string that was found is its reason."""
        held = [] if self.matched is not None else self._stops.flush()
        last = Chunk(
            finish_reason="stop" if self.matched is not None else reason,
            stop_reason=self.matched,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        return [*held, last]
