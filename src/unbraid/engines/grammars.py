"""llguidance grammars: refuse broken ones, and replay an output against its grammar."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterable, Sequence
from typing import Any

from unbraid.engines.gguf import GGUFTokenizer
from unbraid.errors import EngineError, Unsupported

__all__ = ["Grammars", "Replay", "fixed_layout", "json_schema_grammar"]


_STATES = 50_000  # of a lexer, 1 to 2 kB each


class _Vocabulary:
    """The vocabulary in the shape that llguidance asks for."""

    def __init__(self, tokenizer: GGUFTokenizer) -> None:
        if tokenizer.eos_id is None:
            raise EngineError("the model names no end-of-sequence token, so a grammar could never end")
        self.tokens = list(tokenizer.tokens)
        self.eos_token_id = tokenizer.eos_id
        self.bos_token_id = tokenizer.bos_id
        self.special_token_ids = sorted(tokenizer.control_ids)
        self._bytes = {piece[0]: index for index, piece in enumerate(self.tokens) if len(piece) == 1}

    def __call__(self, text: bytes | str) -> list[int]:
        data = text.encode() if isinstance(text, str) else text
        return [self._bytes[byte] for byte in data if byte in self._bytes]


class Grammars:
    """Checks Lark grammars (llguidance's dialect) against one vocabulary.

    Special tokens are named by number, ``<[151668]>``. The end-of-turn token must
    not be named: a grammar that is complete allows it by itself. Needs the
    ``llguidance`` package; building its tokenizer takes 0.3 to 1.1 s, once.
    """

    def __init__(self, tokenizer: GGUFTokenizer) -> None:
        self._vocabulary = tokenizer
        self._built: Any = None
        self._lock = threading.Lock()

    @property
    def _tokenizer(self) -> Any:
        with self._lock:
            if self._built is None:
                try:
                    from llguidance import LLTokenizer, TokenizerWrapper
                except ImportError as error:
                    raise EngineError("grammars need the llguidance package") from error
                self._built = LLTokenizer(TokenizerWrapper(_Vocabulary(self._vocabulary)))
        return self._built

    def validate(self, grammar: str) -> None:
        """Raise Unsupported, with llguidance's message, when ``grammar`` is broken."""
        tokenizer = self._tokenizer
        from llguidance import LLMatcher

        text = LLMatcher.grammar_from_lark(grammar)
        problem = LLMatcher.validate_grammar(text, tokenizer, limits=_limits())
        if problem:
            raise Unsupported(f"the grammar is broken: {problem.strip()}", param="constraint")

    def replay(self, grammar: str) -> Replay:
        """A fresh replay of an output of ``grammar``."""
        tokenizer = self._tokenizer
        from llguidance import LLMatcher

        text = LLMatcher.grammar_from_lark(grammar)
        matcher = LLMatcher(tokenizer, text, log_level=0, limits=_limits())
        return Replay(matcher, self._vocabulary)

    def verify(self, grammar: str, token_ids: Sequence[int], finished: bool = True) -> str | None:
        """Why ``token_ids`` is not an output of ``grammar``, or None.

        ``finished`` False allows an output that was cut (by length or a stop string).
        """
        replay = self.replay(grammar)
        return replay.feed(token_ids) or (replay.finish() if finished else None)


def _limits() -> Any:
    """llguidance's own bounds of what one step may cost, its errors without what the model wrote.

    A step takes at most 15 ms of lexing, a grammar 20 ms; a matcher keeps about 100 MB at most.
    """
    from llguidance import LLParserLimits

    return LLParserLimits(max_lexer_states=_STATES, verbose_errors=False)


class Replay:
    """Follows one output through its grammar, token by token."""

    def __init__(self, matcher: Any, vocabulary: GGUFTokenizer) -> None:
        self._matcher = matcher
        self._vocabulary = vocabulary
        self._ended = False
        self._place = 0

    def feed(self, token_ids: Iterable[int]) -> str | None:
        """Read on; the reason when a token is outside the grammar, else None."""
        for token_id in token_ids:
            if self._ended:
                return f"token {token_id} at place {self._place} follows the end of the turn"
            if not self._matcher.try_consume_tokens([token_id]):
                if token_id not in self._vocabulary.control_ids or not self._complete():
                    return self._reason(token_id)
                self._ended = True
            self._place += 1
        return None

    def finish(self) -> str | None:
        """The reason when the output may not end here, else None."""
        return None if self._complete() else f"the output ended after {self._place} tokens, too early"

    def _complete(self) -> bool:
        return self._ended or bool(self._matcher.is_accepting())

    def _reason(self, token_id: int) -> str:
        if self._matcher.is_error():
            return f"llguidance failed: {self._matcher.get_error()}"
        text = self._vocabulary.token_bytes(token_id).decode("utf-8", "replace")
        return f"token {token_id} ({text!r}) at place {self._place} is not allowed by the grammar"


LAYOUT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
_LAYOUT = re.compile(r'"x-guidance": \{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}')


def fixed_layout(grammar: str) -> str:
    """A Lark grammar whose JSON has one layout.

    llama.cpp carries an older llguidance, which takes separators for plain text and
    knows no pattern of white space; this layout every version reads alike.
    """
    return _LAYOUT.sub(lambda _: f'"x-guidance": {json.dumps(LAYOUT)}', grammar)


def json_schema_grammar(schema: str) -> str:
    """The Lark grammar of JSON text valid for ``schema`` (JSON text), in one fixed layout."""
    try:
        value = json.loads(schema)
    except ValueError as error:
        raise Unsupported(f"the schema is no JSON: {error}", param="constraint") from error
    if not isinstance(value, dict):
        value = {"allOf": [value]}
    return "start: %json " + json.dumps({"x-guidance": LAYOUT, **value})
