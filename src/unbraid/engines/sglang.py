"""The driver of an SGLang server over its native ``/generate``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace
from operator import index
from typing import Any

import httpx

from unbraid.engines.base import Capabilities, Chunk, Constraint, Generation, Sampling, TokenLogprob
from unbraid.engines.completions import logprob
from unbraid.engines.http import HttpEngine, Reader, own_id
from unbraid.engines.probes import PROBE_PROMPT, PROBE_TOKENS, PROBES, within
from unbraid.engines.server_tokenizer import SGLangTokenizer
from unbraid.engines.sse import Refused, refusal, text_of
from unbraid.errors import EngineError, InvalidRequest, Unsupported
from unbraid.tokens import Tokenizer

__all__ = ["SGLangEngine"]

_PATH = "/generate"
_ABORT_SECONDS = 5.0
_SEED_BITS = 0x7FFF_FFFF_FFFF_FFFF
_FIELDS = {"structural_tag": "structural_tag", "json_schema": "json_schema"}


class SGLangEngine(HttpEngine):
    """Generates on an SGLang server, with token ids, and constraints by structural tags.

    Prompts are sent as ids: to a text the server would add a token of its own.
    ``connect`` asks for what was not given and tries whether constraints are enforced.
    """

    kind = "SGLang"

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
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """``base_url`` like ``http://127.0.0.1:30000``."""
        super().__init__(
            base_url,
            api_key,
            model=model,
            tokenizer=tokenizer,
            chat_template=chat_template,
            template_variables=template_variables,
            capabilities=Capabilities(
                ("structural_tag", "json_schema"), True, True, context_length, drafts=True
            ),
            transport=transport,
            remote=SGLangTokenizer,
        )
        self._aborts: set[asyncio.Task[None]] = set()

    _uncoded_status = 400

    async def connect(self) -> None:
        """Ask for the model's name and context, look for its files here, and try the constraints.

        Raises EngineError when the server can't be reached, is no SGLang, or ignores constraints.
        """
        info = await self._model_info()
        card = await self._card()
        self.model = self.model or str(card.get("id") or info["model_path"])
        if not self.capabilities.context_length:
            length = int(card.get("max_model_len") or 0)
            self.capabilities = replace(self.capabilities, context_length=length)
        await self._find_files(str(info.get("tokenizer_path") or ""), str(info["model_path"]), self.model)
        enforced = [probe.dialect for probe in PROBES if await self._enforces(probe)]
        self.capabilities = replace(self.capabilities, dialects=tuple(enforced))

    async def close(self) -> None:
        """Close the connections, once the aborts that are on their way are told."""
        await asyncio.gather(*self._aborts, return_exceptions=True)
        await super().close()

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Stream one generation; closing the iterator aborts it on the server.

        Raises what other drivers raise.
        """
        rid = own_id(generation.request_id or "unbraid")
        ended = False
        try:
            async with aclosing(super().generate(replace(generation, request_id=rid))) as chunks:
                async for chunk in chunks:
                    ended = chunk.finish_reason is not None and chunk.stop_reason is None
                    yield chunk
        except InvalidRequest:
            ended = True
            raise
        finally:
            if not ended:
                self._abort(rid)

    async def _model_info(self) -> dict[str, Any]:
        """What the server tells of its model, at the newer address or the older one."""
        for path in ("/model_info", "/get_model_info"):
            with suppress(Refused):
                info = await self._get(path)
                if "model_path" in info:
                    return info
        raise EngineError(f"{self.base_url} is no SGLang server: it tells no model at /model_info")

    async def _card(self) -> dict[str, Any]:
        """The entry of the model in the server's list, empty when it keeps none."""
        with suppress(Refused):
            for one in (await self._get("/v1/models")).get("data") or ():
                if isinstance(one, dict) and self.model in ("", one.get("id")):
                    return one
        return {}

    def _abort(self, rid: str) -> None:
        """Tell the server to stop: it sees only after a while that a connection was closed."""

        async def tell() -> None:
            with suppress(httpx.HTTPError):
                await self._client.post("/abort_request", json={"rid": rid}, timeout=_ABORT_SECONDS)

        task = asyncio.get_running_loop().create_task(tell())
        self._aborts.add(task)
        task.add_done_callback(self._aborts.discard)

    async def _enforces(self, constraint: Constraint) -> bool:
        """Whether the server takes a constraint; raises EngineError when it takes and ignores it."""
        sampling = Sampling(temperature=0.0, max_tokens=PROBE_TOKENS)
        _, body = await self._request(Generation(PROBE_PROMPT, sampling, constraint))
        try:
            answer = await self._post(_PATH, {**body, "stream": False})
        except Refused as error:
            if error.status in (400, 422):
                return False
            raise
        text, ids = answer.get("text"), answer.get("output_ids")
        if not isinstance(text, str):
            raise EngineError(f"{self.base_url} answered {_PATH} in an unknown shape")
        self._check_tokenizer(text, ids)
        if within(text, constraint):
            return True
        raise EngineError(
            f"the SGLang at {self.base_url} ignores constraints on {_PATH} (it wrote {text!r}): start it "
            "without --reasoning-parser, unbraid reads the reasoning, and with --grammar-backend xgrammar"
        )

    async def _request(self, generation: Generation) -> tuple[str, dict[str, Any]]:
        prompt = generation.prompt
        if isinstance(prompt, str):
            if self._tokenizer is None:
                raise EngineError("the prompt can't be made to ids without a tokenizer")
            prompt = await asyncio.to_thread(self._tokenizer.encode, prompt)
        body: dict[str, Any] = {
            "input_ids": prompt,
            "sampling_params": {
                **self._sampling(generation.sampling, len(prompt)),
                **self._constrained(generation.constraint),
            },
            "stream": True,
        }
        if generation.request_id is not None:
            body["rid"] = generation.request_id
        if generation.logprobs is not None:
            body.update(
                return_logprob=True,
                logprob_start_len=-1,
                top_logprobs_num=generation.logprobs,
                return_text_in_logprobs=not self._spelled,
            )
        return _PATH, body

    def _sampling(self, sampling: Sampling, prompt_tokens: int) -> dict[str, Any]:
        """The sampling parameters; stop strings are found by the driver."""
        context = self.capabilities.context_length
        limit = sampling.max_tokens
        if context:
            room = max(1, context - prompt_tokens - 1)
            limit = room if limit is None else min(limit, room)
        found: dict[str, Any] = {
            "max_new_tokens": limit,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "top_k": sampling.top_k if sampling.top_k > 0 else -1,
            "min_p": sampling.min_p,
            "presence_penalty": sampling.presence_penalty,
            "frequency_penalty": sampling.frequency_penalty,
            "repetition_penalty": sampling.repetition_penalty,
            "ignore_eos": sampling.ignore_eos,
            "skip_special_tokens": False,
            "spaces_between_special_tokens": False,
            "no_stop_trim": True,
        }
        if sampling.seed is not None:
            found["sampling_seed"] = sampling.seed & _SEED_BITS
        if sampling.logit_bias:
            found["logit_bias"] = {str(token_id): bias for token_id, bias in sampling.logit_bias.items()}
        return found

    def _constrained(self, constraint: Constraint | None) -> dict[str, Any]:
        if constraint is None:
            return {}
        if constraint.dialect not in self.capabilities.dialects:
            raise Unsupported(f"this engine enforces no {constraint.dialect} constraint", param="constraint")
        try:
            json.loads(constraint.grammar)
        except ValueError as error:
            raise Unsupported(f"the constraint is no JSON: {error}", param="constraint") from error
        return {_FIELDS[constraint.dialect]: constraint.grammar}

    def _headers(self, generation: Generation) -> dict[str, str]:
        """None: the id is in the body."""
        return {}

    def _reader(self, generation: Generation) -> _Reader:
        return _Reader(generation, self._tokenizer, self._spelled)


class _Reader(Reader):
    """Makes chunks of the events of one ``/generate`` stream.

    A server sends all of the output so far with every event, or, when it was started so,
    only what is new: the number of tokens in ``meta_info`` tells which.
    """

    def __init__(self, generation: Generation, tokenizer: Tokenizer | None, spelled: bool) -> None:
        super().__init__(generation, tokenizer, spelled)
        self._tokenizer = tokenizer if spelled else None
        self._text = ""
        self._whole = True
        self._ids = 0
        self._logprobs = 0

    def read(self, event: dict[str, Any]) -> list[Chunk]:
        """The chunks of one event."""
        meta = event["meta_info"]
        self._goes_on()
        self._reason = _finished(meta.get("finish_reason"))
        self._prompt_tokens = int(meta["prompt_tokens"])
        self._completion_tokens = count = int(meta["completion_tokens"])
        text, ids = text_of(event["text"]), [*map(index, event.get("output_ids") or ())]
        new = count - self._ids
        if len(ids) not in (count, new):
            ids = []
        if (len(ids) != count) if ids else not text.startswith(self._text):
            self._whole = False
        if ids:
            self._ids = count
        if self._whole:
            text, self._text = text[len(self._text) :], text
            ids = ids[count - new :]
        return self._pieces.feed(text, ids, self._read_logprobs(meta))

    def _read_logprobs(self, meta: dict[str, Any]) -> list[TokenLogprob]:
        if self._top is None:
            return []
        skip = self._logprobs if self._whole else 0
        found = (meta.get("output_token_logprobs") or [])[skip:]
        others = (meta.get("output_top_logprobs") or [])[skip:]
        self._logprobs += len(found)
        read = []
        for at, entry in enumerate(found):
            top = sorted((others[at] if at < len(others) else None) or [], key=lambda one: -logprob(one[0]))
            alike = tuple((int(one[1]), self._spell(one), logprob(one[0])) for one in top[: self._top])
            read.append(TokenLogprob(int(entry[1]), self._spell(entry), logprob(entry[0]), alike))
        return read

    def _spell(self, entry: list[Any]) -> bytes:
        """The bytes of a token of a log probability: ``[logprob, id, text]``."""
        if self._tokenizer is not None:
            return self._tokenizer.token_bytes(int(entry[1]))
        return str(entry[2] or "").encode()


def _finished(found: dict[str, Any] | None) -> str | None:
    """The reason of an end; raises what an abort means, which comes as a reason too."""
    if found is None:
        return None
    kind = str(found["type"])
    if kind in ("stop", "length"):
        return kind
    message = str(found.get("message") or f"finish_reason {kind!r}")
    raise refusal({"message": message, "code": found.get("status_code") or 500}, None)
