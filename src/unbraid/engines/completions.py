"""The driver of an OpenAI-compatible ``/v1/completions``: text, and what else such an engine sends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from operator import index
from typing import Any

import httpx

from unbraid.engines.base import Capabilities, Chunk, Constraint, Generation, Sampling, TokenLogprob
from unbraid.engines.http import HttpEngine, Reader
from unbraid.engines.server_tokenizer import RemoteTokenizer
from unbraid.engines.sse import text_of
from unbraid.errors import EngineError, Unsupported
from unbraid.tokens import Tokenizer

__all__ = ["PATH", "CompletionsEngine", "CompletionsReader", "logprob"]

PATH = "/v1/completions"

_TOKEN_ID = "token_id:"
_UNKNOWN_ID = -1
_LOWEST_LOGPROB = -9999.0
_SEED_BITS = 0x7FFF_FFFF_FFFF_FFFF
_REASONS = {"stop": "stop", "length": "length", "repetition": "stop"}


class CompletionsEngine(HttpEngine):
    """Generates through ``/v1/completions`` of any server: text only, without constraints.

    Stop strings are found here, so that they work alike with every engine.
    """

    kind = "OpenAI-compatible"

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        model: str = "",
        tokenizer: Tokenizer | None = None,
        chat_template: str | None = None,
        template_variables: dict[str, Any] | None = None,
        context_length: int = 0,
        extra: Mapping[str, Any] | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """``base_url`` like ``http://127.0.0.1:8000``, without ``/v1``.

        ``extra`` are fields for each request's body, such as ``skip_special_tokens``.
        """
        super().__init__(
            base_url,
            api_key,
            model=model,
            tokenizer=tokenizer,
            chat_template=chat_template,
            template_variables=template_variables,
            capabilities=self._abilities(context_length),
            transport=transport,
            remote=self._remote_tokenizer,
        )
        self._extra = dict(extra or {})

    _remote_tokenizer: type[RemoteTokenizer] | None = None

    @staticmethod
    def _abilities(context_length: int) -> Capabilities:
        return Capabilities(token_ids=False, logprobs=True, context_length=context_length)

    async def connect(self) -> None:
        """Ask for the model's name and context where not given, and look for its files on this machine.

        Raises EngineError when the server can't be reached or serves no such model.
        """
        card = await self._card()
        await self._find_files(str(card.get("root") or ""), self.model)

    async def health(self) -> bool:
        """Whether the server lists its models."""
        try:
            await self._get("/v1/models")
        except EngineError:
            return False
        return True

    async def _card(self) -> dict[str, Any]:
        """The entry of the model that is wanted, or of the first; its name and context are taken."""
        answer = await self._get("/v1/models")
        cards = [one for one in answer.get("data") or () if isinstance(one, dict) and one.get("id")]
        if not cards:
            raise EngineError(f"{self.base_url} serves no model: /v1/models lists none")
        found = [one for one in cards if self.model in ("", one["id"])]
        if not found:
            known = ", ".join(str(card["id"]) for card in cards)
            raise EngineError(f"{self.base_url} serves no model {self.model!r}, only {known}")
        self.model = str(found[0]["id"])
        if not self.capabilities.context_length:
            length = int(found[0].get("max_model_len") or 0)
            self.capabilities = replace(self.capabilities, context_length=length)
        return found[0]

    async def _request(self, generation: Generation) -> tuple[str, dict[str, Any]]:
        return PATH, self._body(generation)

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
        return body | self._extra

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
        return CompletionsReader(generation, self._tokenizer, self._spelled)


class CompletionsReader(Reader):
    """Makes chunks of the events of one ``/v1/completions`` stream."""

    def __init__(self, generation: Generation, tokenizer: Tokenizer | None, spelled: bool) -> None:
        super().__init__(generation, tokenizer, spelled)
        self._tokenizer = tokenizer

    @property
    def count(self) -> int | None:
        """The tokens that were generated: those that were seen, where the engine didn't tell to the end."""
        told = self._completion_tokens
        return (self._pieces.tokens or told) if told is None or self.stopped else told

    def read(self, event: dict[str, Any]) -> list[Chunk]:
        """The chunks of one event."""
        usage = event.get("usage")
        if usage is not None:
            self._prompt_tokens = int(usage["prompt_tokens"])
            self._completion_tokens = int(usage["completion_tokens"])
        choices = event["choices"]
        if not choices:
            return []
        (choice,) = choices
        self._goes_on()
        prompt_ids = choice.get("prompt_token_ids")
        if prompt_ids is not None:
            self._prompt_tokens = len(prompt_ids)
        reason = choice.get("finish_reason")
        if reason is not None:
            self._reason = _REASONS.get(reason)
            if self._reason is None:
                raise EngineError(f"the engine gave up the generation: finish_reason {reason!r}")
        ids = [*map(index, choice.get("token_ids") or ())]
        logprobs: list[TokenLogprob] = []
        if self._top is not None and choice.get("logprobs"):
            logprobs = self._read_logprobs(choice["logprobs"], ids, self._top)
        return self._pieces.feed(text_of(choice["text"]), ids, logprobs)

    def _read_logprobs(self, found: dict[str, Any], ids: list[int], top: int) -> list[TokenLogprob]:
        others = found.get("top_logprobs") or []
        read = []
        for at, (token, value) in enumerate(zip(found["tokens"], found["token_logprobs"], strict=True)):
            token_id, piece = self._spell(token)
            if token_id == _UNKNOWN_ID and at < len(ids):
                token_id = ids[at]
            entries = (others[at] if at < len(others) else None) or {}
            likeliest = sorted(entries.items(), key=lambda one: -logprob(one[1]))[:top]
            alike = tuple((*self._spell(one), logprob(likely)) for one, likely in likeliest)
            read.append(TokenLogprob(token_id, piece, logprob(value), alike))
        return read

    def _spell(self, token: str) -> tuple[int, bytes]:
        """A token of a log probability: its id where it is named by that, and its bytes."""
        if self._tokenizer is None or not token.startswith(_TOKEN_ID):
            return _UNKNOWN_ID, token.encode()
        token_id = int(token[len(_TOKEN_ID) :])
        return token_id, self._tokenizer.token_bytes(token_id)


def logprob(value: Any) -> float:
    """A log probability as a number that JSON can hold."""
    return _LOWEST_LOGPROB if value is None else max(float(value), _LOWEST_LOGPROB)
