"""A byte vocabulary, llguidance's matcher on it, and random walks over its masks."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import compress
from typing import Any

from llguidance import LLMatcher, LLTokenizer, TokenizerWrapper

from unbraid.tokens import TokenTable

ASCII = [ord(char) for char in "abcxyz XYZ0123456789 .,:;!?-_'\"\\/<>{}[]()|=&#\n\n\t"]
CLOSERS = ('"', "'", "}", "]", ")", '<|"|>', "0", "\n")


class Vocabulary:
    """The 256 bytes, some words, the family's special tokens, and an end of sequence."""

    def __init__(self, special: Sequence[str] = (), words: Sequence[str] = ()) -> None:
        self.special = list(special)
        pieces = [bytes([byte]) for byte in range(256)] + [one.encode() for one in words]
        self.tokens = [*pieces, *(one.encode() for one in special), b"<|EOS|>"]
        self.eos = len(self.tokens) - 1
        self.first_special = len(pieces)
        ids = range(self.first_special, len(self.tokens))
        self.table = TokenTable(dict(enumerate(self.tokens)), special=ids)
        self.ll = LLTokenizer(TokenizerWrapper(_Wrapped(self)))

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens whole."""
        return self.table.encode(text)

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids."""
        return b"".join(self.tokens[one] for one in ids).decode()


class _Wrapped:
    def __init__(self, vocabulary: Vocabulary) -> None:
        self.tokens = vocabulary.tokens
        self.eos_token_id = vocabulary.eos
        self.bos_token_id = None
        self.special_token_ids = list(range(vocabulary.first_special, len(vocabulary.tokens)))

    def __call__(self, text: Any) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)


@lru_cache(maxsize=64)
def vocabulary(special: tuple[str, ...] = ()) -> Vocabulary:
    """The vocabulary with these special tokens, built once."""
    return Vocabulary(special)


@lru_cache(maxsize=64)
def encoded(words: Vocabulary, texts: tuple[str, ...]) -> list[list[int]]:
    """The ids of each text."""
    return [words.encode(one) for one in texts]


@lru_cache(maxsize=8)
def compiled(lark: str, words: Vocabulary) -> LLMatcher:
    """A matcher of a valid grammar that has read nothing."""
    grammar = LLMatcher.grammar_from_lark(lark)
    problem = LLMatcher.validate_grammar(grammar, words.ll)
    assert not problem, f"{problem}\n{lark}"
    return LLMatcher(words.ll, grammar)


def matcher(lark: str, words: Vocabulary) -> LLMatcher:
    """A matcher of one's own."""
    return compiled(lark, words).deep_copy()


def accepts(lark: str, text: str | Sequence[int], words: Vocabulary | None = None) -> bool:
    """Whether a whole text (or its ids) is an output of the grammar."""
    words = words or vocabulary()
    ids = words.encode(text) if isinstance(text, str) else list(text)
    match = matcher(lark, words)
    return match.try_consume_tokens(ids) == len(ids) and bool(match.is_accepting())


def begins(lark: str, text: str | Sequence[int], words: Vocabulary | None = None) -> int:
    """How many tokens of a text the grammar takes."""
    words = words or vocabulary()
    ids = words.encode(text) if isinstance(text, str) else list(text)
    return int(matcher(lark, words).try_consume_tokens(ids))


def walk(
    lark: str,
    words: Vocabulary,
    seed: int,
    *,
    fragments: Sequence[str] = (),
    bias: float = 0.3,
    limit: int = 1500,
) -> list[int] | None:
    """A random output of the grammar, as ids; None if the walk did not end in time.

    ``fragments`` are texts that are tried whole with probability ``bias``; after a random
    number of steps they, and what closes values, are tried first.
    """
    rng = random.Random(seed)
    finish_after = rng.choice((40, 120, 300))
    match = matcher(lark, words)
    pieces = encoded(words, tuple(fragments))
    closers = encoded(words, CLOSERS)
    out: list[int] = []
    for step in range(limit):
        finishing = step > finish_after
        if match.is_accepting() and rng.random() < (0.7 if finishing else 0.05):
            return out
        if match.is_stopped():
            return out
        if pieces and rng.random() < (0.8 if finishing else bias):
            chosen = rng.choice(closers if finishing and rng.random() < 0.4 else pieces)
            taken = match.try_consume_tokens(chosen)
            out += chosen[:taken]
            if taken:
                continue
        allowed = list(compress(range(words.eos), match.compute_logit_bias()))
        if not allowed:
            return out if match.is_accepting() else None
        possible = set(allowed)
        plain = [one for one in ASCII if one in possible]
        special = [one for one in allowed if one > 255]
        if special and rng.random() < (0.5 if finishing else 0.1):
            chosen_id = rng.choice(special)
        elif plain and rng.random() < 0.93:
            chosen_id = rng.choice(plain)
        else:
            chosen_id = rng.choice(allowed)
        assert match.consume_token(chosen_id), match.get_error()
        out.append(chosen_id)
    return None
