"""The driver of an OpenAI-compatible ``/v1/completions``: text, and what else such an engine sends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from operator import index
from typing import Any

import httpx

from unbraid.engines.base import Capabilities, Chunk, Constraint, Generation, Sampling, TokenLogprob
from unbraid.engines.http import HttpEngine
from unbraid.engines.server_tokenizer import RemoteTokenizer, learned
from unbraid.engines.sse import Refused
from unbraid.engines.stream import Assembler, Pairing, StopFilter
from unbraid.errors import EngineError, InvalidRequest, Unsupported
from unbraid.tokens import Tokenizer

__all__ = ["PATH", "CompletionsEngine", "CompletionsReader"]

PATH = "/v1/completions"

_TOKEN_ID = "token_id:"
_UNKNOWN_ID = -1
_LOWEST_LOGPROB = -9999.0
_SEED_BITS = 0x7FFF_FFFF_FFFF_FFFF
_CONSTRAINT_WORDS = ("grammar", "structur", "schema", "regex")
_REASONS = {"stop": "stop", "length": "length", "repetition": "stop"}


class CompletionsEngine(HttpEngine):
    """Generates through ``/v1/completions`` of any server: text only, without constraints.

    Stop strings are found here, so that they work alike with every engine.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        model: str = "",
        tokenizer: Tokenizer,
        chat_template: str | None = None,
        template_variables: dict[str, Any] | None = None,
        capabilities: Capabilities | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """``base_url`` like ``http://127.0.0.1:8000``, without ``/v1``."""
        super().__init__(
            base_url,
            api_key,
            model=model,
            tokenizer=tokenizer,
            chat_template=chat_template,
            template_variables=template_variables,
            capabilities=capabilities or Capabilities(token_ids=False, logprobs=True),
            transport=transport,
        )

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Stream one generation; closing the iterator closes the connection, which aborts it.

        Raises EngineError when the engine fails or breaks off, Unsupported for a constraint
        that it can't enforce, InvalidRequest for what it refuses about the request.
        """
        limit = generation.sampling.max_tokens
        if limit is not None and limit < 1:
            yield Chunk(
                finish_reason="length",
                prompt_tokens=await self._length(generation.prompt),
                completion_tokens=0,
            )
            return
        body = self._body(generation)
        reader = self._reader(generation)
        try:
            async with aclosing(self._events(PATH, body, generation)) as events:
                async for event in events:
                    for chunk in reader.read(event):
                        yield await learned(self._tokenizer, chunk)
                    if reader.stopped:
                        break
        except Refused as error:
            raise _blamed(error, generation.constraint) from error
        for chunk in reader.end():
            yield await learned(self._tokenizer, chunk)

    def _body(self, generation: Generation) -> dict[str, Any]:
        """The request's body."""
        sampling = generation.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "prompt": generation.prompt,
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "presence_penalty": sampling.presence_penalty,
            "frequency_penalty": sampling.frequency_penalty,
        }
        limit = self._limit(sampling, generation.prompt)
        if limit is not None:
            body["max_tokens"] = limit
        if sampling.seed is not None:
            body["seed"] = sampling.seed & _SEED_BITS
        if sampling.logit_bias:
            body["logit_bias"] = {str(token_id): bias for token_id, bias in sampling.logit_bias.items()}
        if generation.logprobs is not None:
            body["logprobs"] = generation.logprobs
        if generation.constraint is not None:
            body.update(self._constrained(generation.constraint))
        return body

    def _limit(self, sampling: Sampling, prompt: str | list[int]) -> int | None:
        """``max_tokens`` as the engine takes it: never more than the context holds."""
        context = self.capabilities.context_length
        if not context:
            return sampling.max_tokens
        room = context if isinstance(prompt, str) else max(1, context - len(prompt))
        return room if sampling.max_tokens is None else min(room, sampling.max_tokens)

    def _constrained(self, constraint: Constraint) -> dict[str, Any]:
        """The request's fields for a constraint."""
        raise Unsupported(f"this engine enforces no {constraint.dialect} constraint", param="constraint")

    def _reader(self, generation: Generation) -> CompletionsReader:
        return CompletionsReader(generation, self._tokenizer)

    async def _length(self, prompt: str | list[int]) -> int:
        """The tokens of a prompt."""
        if isinstance(prompt, str):
            return len(await asyncio.to_thread(self._tokenizer.encode, prompt))
        return len(prompt)


class CompletionsReader:
    """Makes chunks of the events of one ``/v1/completions`` stream.

    ``stopped`` once a stop string was found: the rest of the stream is of no interest.
    """

    def __init__(self, generation: Generation, tokenizer: Tokenizer) -> None:
        self._local = not isinstance(tokenizer, RemoteTokenizer)
        self._assembler = Assembler(tokenizer)
        self._pairing = Pairing()
        self._stops = StopFilter(generation.sampling.stop)
        self._top = generation.logprobs
        self._token_bytes = tokenizer.token_bytes
        self._logprobs: list[TokenLogprob] = []
        self._reason: str | None = None
        self._prompt_tokens: int | None = None
        self._tokens = 0
        self._completion_tokens: int | None = None

    @property
    def stopped(self) -> bool:
        """Whether a stop string was found."""
        return self._stops.matched is not None

    def read(self, event: dict[str, Any]) -> list[Chunk]:
        """The chunks of one event. Raises EngineError for what no such engine sends."""
        try:
            return self._read(event)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise EngineError(f"the engine sent an event of an unknown shape: {error!r}") from error

    def end(self) -> list[Chunk]:
        """The last chunks. Raises EngineError when the generation was not over."""
        if self.stopped:
            chunks, reason = [], "stop"
        elif self._reason is not None:
            chunks, reason = self._stops.flush(), self._reason
        else:
            raise EngineError("the engine's stream ended before the generation did")
        count = self._completion_tokens
        last = Chunk(
            finish_reason=reason,
            stop_reason=self._stops.matched,
            prompt_tokens=self._prompt_tokens,
            completion_tokens=self._tokens or None if count is None else count,
        )
        return [*chunks, last]

    def _read(self, event: dict[str, Any]) -> list[Chunk]:
        usage = event.get("usage")
        if usage is not None:
            self._prompt_tokens = int(usage["prompt_tokens"])
            self._completion_tokens = int(usage["completion_tokens"])
        choices = event["choices"]
        if not choices:
            return []
        (choice,) = choices
        if self._reason is not None:
            raise EngineError("the engine went on after the end of the generation")
        prompt_ids = choice.get("prompt_token_ids")
        if prompt_ids is not None:
            self._prompt_tokens = len(prompt_ids)
        reason = choice.get("finish_reason")
        if reason is not None:
            self._reason = _REASONS.get(reason)
            if self._reason is None:
                raise EngineError(f"the engine gave up the generation: finish_reason {reason!r}")
        ids = [*map(index, choice.get("token_ids") or ())]
        if self._top is not None and choice.get("logprobs"):
            self._logprobs.extend(self._read_logprobs(choice["logprobs"], ids))
        return self._piece(choice["text"] or "", ids)

    def _piece(self, sent: str, sent_ids: list[int]) -> list[Chunk]:
        self._tokens += len(sent_ids)
        if sent_ids and self._local:
            text, ids = self._assembler.feed(sent, sent_ids, self._tokens)
        else:
            text, ids = self._pairing.feed(sent, sent_ids)
        if not text:
            return []
        logprobs, self._logprobs = tuple(self._logprobs), []
        return self._stops.feed(Chunk(text=text, token_ids=ids, logprobs=logprobs))

    def _read_logprobs(self, found: dict[str, Any], ids: list[int]) -> list[TokenLogprob]:
        top = self._top or 0
        others = found.get("top_logprobs") or []
        read = []
        for at, (token, value) in enumerate(zip(found["tokens"], found["token_logprobs"], strict=True)):
            token_id, piece = self._spelled(token)
            if token_id == _UNKNOWN_ID and at < len(ids):
                token_id = ids[at]
            entries = (others[at] if at < len(others) else None) or {}
            likeliest = sorted(entries.items(), key=lambda one: -_logprob(one[1]))[:top]
            read.append(
                TokenLogprob(
                    token_id,
                    piece,
                    _logprob(value),
                    tuple((*self._spelled(one), _logprob(logprob)) for one, logprob in likeliest),
                )
            )
        return read

    def _spelled(self, token: str) -> tuple[int, bytes]:
        """A token of a log probability: its id where it is named by that, and its bytes."""
        if not token.startswith(_TOKEN_ID):
            return _UNKNOWN_ID, token.encode()
        token_id = int(token[len(_TOKEN_ID) :])
        return token_id, self._token_bytes(token_id)


def _logprob(value: Any) -> float:
    return _LOWEST_LOGPROB if value is None else max(float(value), _LOWEST_LOGPROB)


def _blamed(error: Refused, constraint: Constraint | None) -> Exception:
    """What an engine's refusal means: the request is to blame for a 400, the engine for the rest."""
    if error.status not in (400, 422):
        return error
    words = error.detail.lower()
    if constraint is not None and any(word in words for word in _CONSTRAINT_WORDS):
        return Unsupported(f"the engine refused the constraint: {error.detail}", param="constraint")
    return InvalidRequest(f"the engine refused the request: {error.detail}")
