"""The driver of a llama.cpp server over its native HTTP interface."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace
from operator import index
from pathlib import PurePath
from typing import Any

import httpx

from unbraid.engines.base import Capabilities, Chunk, Constraint, Dialect, Generation, Sampling, TokenLogprob
from unbraid.engines.completions import logprob
from unbraid.engines.gguf import GGUFTokenizer
from unbraid.engines.grammars import Grammars, Replay, fixed_layout, json_schema_grammar
from unbraid.engines.http import UNKNOWN_SHAPE
from unbraid.engines.server_tokenizer import ServerTokenizer, learned, token_list, tokenize_body
from unbraid.engines.sse import NO_REUSE, json_events, raise_for, read_json, text_of, translated
from unbraid.engines.stream import Assembler, StopFilter
from unbraid.errors import EngineError, Unsupported
from unbraid.tokens import Tokenizer

__all__ = ["LlamaCppEngine"]

_HEADER = "%llguidance {}\n"
_CONNECT_SECONDS = 10.0
_PENALTY_WINDOW = 4096


class LlamaCppEngine:
    """Generates on a llama.cpp server through ``/completion``.

    ``llguidance`` says that the server was built with llguidance; its grammars are
    then checked here before and after, because llama.cpp ignores a broken one
    silently. That needs the vocabulary: a ``tokenizer`` read from the model's GGUF.
    Without a ``tokenizer`` the server's own is asked. ``connect`` fills in the rest
    of what was not given.
    """

    kind = "llama.cpp"

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        tokenizer: Tokenizer | None = None,
        chat_template: str | None = None,
        template_variables: dict[str, Any] | None = None,
        model: str = "",
        context_length: int = 0,
        llguidance: bool = False,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """``base_url`` like ``http://127.0.0.1:8080``; ``context_length`` in tokens for one request."""
        self.model = model
        self.base_url = base_url.rstrip("/")
        self.headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        if tokenizer is None:
            tokenizer = ServerTokenizer(self.base_url, self.headers)
        self._tokenizer: Tokenizer = tokenizer
        self._chat_template = chat_template
        self._template_variables = dict(template_variables or {})
        self._grammars = Grammars(tokenizer) if llguidance and isinstance(tokenizer, GGUFTokenizer) else None
        dialects: tuple[Dialect, ...] = ("gbnf", "json_schema")
        if self._grammars is not None:
            dialects = ("llguidance", *dialects)
        self.capabilities = Capabilities(
            dialects, True, True, context_length, marker_ids=self._grammars is not None
        )
        self._client = httpx.AsyncClient(
            base_url=self.base_url,
            headers=self.headers,
            timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
            limits=NO_REUSE,
            transport=transport,
        )

    @property
    def tokenizer(self) -> Tokenizer:
        """The model's tokenizer."""
        return self._tokenizer

    @property
    def chat_template(self) -> str | None:
        """The model's own chat template (Jinja source), if it is known."""
        return self._chat_template

    @property
    def template_variables(self) -> dict[str, Any]:
        """``bos_token`` and ``eos_token`` as far as they are known."""
        return self._template_variables

    async def connect(self) -> None:
        """Ask the server for the model's name, template and context length, where not given.

        Raises EngineError when the server can't be reached or answers otherwise than llama.cpp.
        """
        with translated("/props"):
            props = read_json(await self._client.get("/props", timeout=_CONNECT_SECONDS))
        settings = props.get("default_generation_settings")
        if not isinstance(settings, dict):
            raise EngineError(f"{self.base_url} is no llama.cpp server: /props lacks its settings")
        self.model = self.model or PurePath(str(props.get("model_alias") or props.get("model_path"))).name
        self._chat_template = self._chat_template or props.get("chat_template") or None
        for name in ("bos_token", "eos_token"):
            self._template_variables.setdefault(name, str(props.get(name, "")))
        if not self.capabilities.context_length:
            self.capabilities = replace(self.capabilities, context_length=int(settings.get("n_ctx", 0)))

    async def health(self) -> bool:
        """Whether the server answers and its model is loaded."""
        try:
            response = await self._client.get("/health", timeout=_CONNECT_SECONDS)
        except httpx.HTTPError:
            return False
        return response.status_code == 200

    async def tokenize(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens recognised, none added. Raises EngineError."""
        with translated("/tokenize"):
            return token_list(read_json(await self._client.post("/tokenize", json=tokenize_body(text))))

    def verify(self, grammar: str, token_ids: Sequence[int], finished: bool = True) -> str | None:
        """Why ``token_ids`` is not an output of the llguidance ``grammar``, or None when it is one.

        ``finished`` False allows an output that was cut. Raises Unsupported when the
        grammar is broken or can't be checked for this engine.
        """
        if self._grammars is None:
            raise Unsupported("grammars can't be checked without the model's vocabulary", param="constraint")
        self._grammars.validate(grammar)
        return self._grammars.verify(grammar, token_ids, finished)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
        if isinstance(self._tokenizer, ServerTokenizer):
            self._tokenizer.close()

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Stream one generation; closing the iterator aborts it on the server.

        Raises EngineError when the server refuses, breaks off or leaves the
        constraint; Unsupported for a constraint it can't enforce; InvalidRequest
        for a prompt that is longer than the context.
        """
        prompt = generation.prompt
        ids = await self.tokenize(prompt) if isinstance(prompt, str) else prompt
        if generation.sampling.max_tokens is not None and generation.sampling.max_tokens < 1:
            yield Chunk(finish_reason="length", prompt_tokens=len(ids), completion_tokens=0)
            return
        body = {"prompt": ids, "stream": True, "return_tokens": True, "cache_prompt": True}
        body.update(_sampling(generation.sampling, self.capabilities.context_length or _PENALTY_WINDOW))
        if generation.logprobs is not None:
            body["n_probs"] = max(1, generation.logprobs)
        replay = None
        if generation.constraint is not None:
            fields, replay = await asyncio.to_thread(self._constrained, generation.constraint)
            body.update(fields)
        reader = _Reader(generation, self._tokenizer, replay)
        async with aclosing(self._events(body)) as events:
            async for event in events:
                if reader.asks(event):
                    chunks = await asyncio.to_thread(reader.read, event)
                else:
                    chunks = reader.read(event)
                for chunk in chunks:
                    yield await learned(self._tokenizer, chunk)
                if reader.done:
                    return
        raise EngineError("the engine's stream ended before the generation did")

    async def _events(self, body: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
        with translated("/completion"):
            async with self._client.stream("POST", "/completion", json=body) as response:
                if response.status_code != 200:
                    raise_for(response.status_code, await response.aread())
                async with aclosing(json_events(response.aiter_bytes())) as events:
                    async for event in events:
                        yield event

    def _constrained(self, constraint: Constraint) -> tuple[dict[str, Any], Replay | None]:
        """The request's fields for a constraint, and a replay that checks it where one can be made."""
        if constraint.dialect not in self.capabilities.dialects:
            raise Unsupported(f"this engine enforces no {constraint.dialect} constraint", param="constraint")
        if constraint.dialect == "gbnf":
            return {"grammar": constraint.grammar, "ignore_eos": False}, None
        if self._grammars is None:
            return {"json_schema": _loads(constraint.grammar)}, None
        lark = constraint.grammar
        if constraint.dialect == "json_schema":
            lark = json_schema_grammar(lark)
        lark = fixed_layout(lark)
        self._grammars.validate(lark)
        return {"grammar": _HEADER + lark}, self._grammars.replay(lark)


class _Reader:
    """Makes chunks of the events of one ``/completion`` stream."""

    def __init__(self, generation: Generation, tokenizer: Tokenizer, replay: Replay | None) -> None:
        self._remote = isinstance(tokenizer, ServerTokenizer)
        self._assembler = Assembler(tokenizer, spelled=self._remote)
        self._stops = StopFilter(generation.sampling.stop)
        self._top = generation.logprobs
        self._token_bytes = tokenizer.token_bytes
        self._replay = replay
        self._logprobs: list[TokenLogprob] = []
        self.done = False

    def asks(self, event: dict[str, Any]) -> bool:
        """Whether the engine's tokenizer may have to be asked about an event, which blocks."""
        if not self._remote or event.get("stop"):
            return False
        return not (
            event.get("content")
            and self._assembler.follows(event.get("tokens"), event.get("tokens_predicted"))
        )

    def read(self, event: dict[str, Any]) -> list[Chunk]:
        """The chunks of one event. Raises EngineError when the constraint was not enforced."""
        try:
            return self._read(event)
        except UNKNOWN_SHAPE as error:
            raise EngineError(f"the engine sent an event of an unknown shape: {error!r}") from error

    def _read(self, event: dict[str, Any]) -> list[Chunk]:
        last = bool(event.get("stop"))
        count, prompt = int(event["tokens_predicted"]), int(event.get("tokens_evaluated", 0))
        if self._top is not None:
            probabilities = event.get("completion_probabilities", ())
            self._logprobs.extend(_logprob(entry, self._top, self._token_bytes) for entry in probabilities)
        chunks = [] if last else self._piece(text_of(event["content"]), event.get("tokens", []), count)
        if self._stops.matched is not None:
            end = Chunk(finish_reason="stop", stop_reason=self._stops.matched)
        elif last:
            end = Chunk(finish_reason="length" if event.get("stop_type") == "limit" else "stop")
            if self._replay is not None and self._assembler.exact and end.finish_reason == "stop":
                _enforced(self._replay.finish())
            chunks = self._stops.flush()
        else:
            return chunks
        self.done = True
        chunks.append(
            Chunk(
                finish_reason=end.finish_reason,
                stop_reason=end.stop_reason,
                prompt_tokens=prompt,
                completion_tokens=count,
            )
        )
        return chunks

    def _piece(self, content: str, tokens: list[int], count: int) -> list[Chunk]:
        text, ids = self._assembler.feed(content, [*map(index, tokens)], count)
        if not text and not ids:
            return []
        if self._replay is not None and self._assembler.exact:
            _enforced(self._replay.feed(ids))
        logprobs, self._logprobs = tuple(self._logprobs), []
        return self._stops.feed(Chunk(text=text, token_ids=ids, logprobs=logprobs))


def _enforced(reason: str | None) -> None:
    if reason is not None:
        raise EngineError(f"the engine did not enforce the constraint: {reason}")


def _sampling(sampling: Sampling, window: int) -> dict[str, Any]:
    """The sampling fields of ``/completion``; stop strings are found by the driver itself.

    ``window`` is how many of the last tokens the penalties look at.
    """
    return {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": max(0, sampling.top_k),
        "min_p": sampling.min_p,
        "seed": -1 if sampling.seed is None else sampling.seed & 0xFFFFFFFF,
        "n_predict": -1 if sampling.max_tokens is None else sampling.max_tokens,
        "presence_penalty": sampling.presence_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "repeat_penalty": sampling.repetition_penalty,
        "repeat_last_n": window,
        "logit_bias": [[token_id, bias] for token_id, bias in sampling.logit_bias.items()],
        "ignore_eos": sampling.ignore_eos,
    }


def _logprob(entry: dict[str, Any], top: int, token_bytes: Any) -> TokenLogprob:
    def read(item: dict[str, Any]) -> tuple[int, bytes, float]:
        token_id = int(item["id"])
        token = bytes(item.get("bytes", ())) or token_bytes(token_id)
        return token_id, token, logprob(item.get("logprob"))

    return TokenLogprob(*read(entry), tuple(map(read, entry.get("top_logprobs", ())[:top])))


def _loads(schema: str) -> Any:
    try:
        return json.loads(schema)
    except ValueError as error:
        raise Unsupported(f"the schema is no JSON: {error}", param="constraint") from error
