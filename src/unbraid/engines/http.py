"""What the drivers of engines over HTTP share: the client, the model's papers, the event stream."""

from __future__ import annotations

import asyncio
import logging
import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import httpx

from unbraid.engines.base import Capabilities, Chunk, Constraint, Generation
from unbraid.engines.gguf import GGUFTokenizer
from unbraid.engines.model_files import ModelFiles, find_model, read_model
from unbraid.engines.server_tokenizer import RemoteTokenizer, learned
from unbraid.engines.sse import Refused, json_events, raise_for, read_json, translated
from unbraid.engines.stream import Pieces
from unbraid.errors import EngineError, InvalidRequest, UnbraidError, Unsupported
from unbraid.tokens import Tokenizer

__all__ = ["HttpEngine", "Reader", "get_json", "own_id"]

logger = logging.getLogger("unbraid.engines")

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 60.0
_IDLE_SECONDS = 2.0
"""Engines close idle connections after five seconds or more; one that is as old as that is not used."""

UNKNOWN_SHAPE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError)
"""What reading an event raises that is made otherwise than it should be."""

_CONSTRAINT_WORDS = ("grammar", "structur", "schema", "regex")


class Reader(ABC):
    """Makes chunks of the events of one stream; a driver says how to ``read`` an event.

    That notes why the generation ended and how many tokens there were, as soon as it is told.
    """

    def __init__(self, generation: Generation, tokenizer: Tokenizer | None, spelled: bool) -> None:
        """``spelled``: the tokenizer knows the bytes of every token."""
        self._pieces = Pieces(generation, tokenizer, spelled)
        self._top = generation.logprobs
        self._reason: str | None = None
        self._prompt_tokens: int | None = None
        self._completion_tokens: int | None = None

    @abstractmethod
    def read(self, event: dict[str, Any]) -> list[Chunk]:
        """The chunks of one event. Raises one of ``UNKNOWN_SHAPE`` for what no such engine sends."""

    @property
    def stopped(self) -> bool:
        """Whether a stop string was found: the rest of the stream is of no interest."""
        return self._pieces.matched is not None

    @property
    def count(self) -> int | None:
        """The tokens that were generated, if that is known."""
        return self._completion_tokens

    def end(self) -> list[Chunk]:
        """The last chunks. Raises EngineError when the generation was not over."""
        if self._reason is None and not self.stopped:
            raise EngineError("the engine's stream ended before the generation did")
        return self._pieces.end(self._reason or "stop", self._prompt_tokens, self.count)

    def _goes_on(self) -> None:
        """There is more of the generation. Raises EngineError when it was over."""
        if self._reason is not None:
            raise EngineError("the engine went on after the end of the generation")


class HttpEngine:
    """An engine at an address, with the tokenizer and the template of its model.

    A driver says what to send (``_request``) and how to read what comes (``_reader``).
    """

    _uncoded_status = 500
    """The HTTP status that an error within a stream means when it names none."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        model: str,
        tokenizer: Tokenizer | None,
        chat_template: str | None,
        template_variables: dict[str, Any] | None,
        capabilities: Capabilities,
        transport: httpx.AsyncBaseTransport | None,
        remote: type[RemoteTokenizer] | None = None,
    ) -> None:
        """``remote`` is the tokenizer over the engine's own endpoints, if it has such."""
        self.base_url = base_url.rstrip("/")
        self.headers = _authorization(api_key)
        self.model = model
        self.capabilities = capabilities
        self._tokenizer = tokenizer
        self._chat_template = chat_template
        self._template_variables = dict(template_variables or {})
        self._transport = transport
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}
        sync = transport if isinstance(transport, httpx.BaseTransport) else None
        self._remote = None if remote is None else remote(self.base_url, self.headers, sync)

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's tokenizer, if one is known."""
        return self._tokenizer

    @property
    def chat_template(self) -> str | None:
        """The model's own chat template (Jinja source), if it is known."""
        return self._chat_template

    @property
    def template_variables(self) -> dict[str, Any]:
        """``bos_token`` and the like, as far as they are known."""
        return self._template_variables

    async def health(self) -> bool:
        """Whether the engine answers ``/health``."""
        try:
            response = await self._client.get("/health", timeout=_CONNECT_SECONDS)
        except httpx.HTTPError:
            return False
        return response.status_code == 200

    async def close(self) -> None:
        """Close the connections; may be called twice."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()
        if self._remote is not None:
            self._remote.close()

    async def generate(self, generation: Generation) -> AsyncGenerator[Chunk, None]:
        """Stream one generation; closing the iterator closes the connection, which aborts it.

        Raises EngineError when the engine fails or breaks off, Unsupported for a constraint
        that it can't enforce, InvalidRequest for what it refuses about the request.
        """
        limit = generation.sampling.max_tokens
        if limit is not None and limit < 1:
            length = await self._length(generation.prompt)
            yield Chunk(finish_reason="length", prompt_tokens=length, completion_tokens=0)
            return
        path, body = await self._request(generation)
        reader = self._reader(generation)
        remote = self._tokenizer if isinstance(self._tokenizer, RemoteTokenizer) else None
        try:
            async with aclosing(self._events(path, body, generation)) as events:
                async for event in events:
                    for chunk in _read(reader, event):
                        yield chunk if remote is None else await learned(remote, chunk)
                    if reader.stopped:
                        break
        except Refused as error:
            raise _blamed(error, error.status or self._uncoded_status, generation.constraint) from error
        for chunk in reader.end():
            yield chunk if remote is None else await learned(remote, chunk)

    async def _request(self, generation: Generation) -> tuple[str, dict[str, Any]]:
        """Where to send a generation, and the body."""
        raise NotImplementedError

    def _headers(self, generation: Generation) -> dict[str, str]:
        """The headers of a generation."""
        return {} if generation.request_id is None else {"X-Request-Id": own_id(generation.request_id)}

    def _reader(self, generation: Generation) -> Reader:
        raise NotImplementedError

    @property
    def _spelled(self) -> bool:
        """Whether the vocabulary is at hand, with the bytes of every token."""
        return self._tokenizer is not None and not isinstance(self._tokenizer, RemoteTokenizer)

    async def _length(self, prompt: str | list[int]) -> int | None:
        """The tokens of a prompt, as far as they can be counted."""
        if not isinstance(prompt, str):
            return len(prompt)
        if self._tokenizer is None:
            return None
        return len(await asyncio.to_thread(self._tokenizer.encode, prompt))

    async def _find_files(self, *names: str) -> None:
        """Take what was not given from the model's files on this machine, else ask the engine's tokenizer.

        ``names`` are paths or repositories, the first that is found counts.
        """
        if self._tokenizer is None or self._chat_template is None:
            files = await asyncio.to_thread(_local_files, names)
            if files is not None:
                self._adopt(files)
        if self._tokenizer is None:
            self._tokenizer = self._remote
            what = "none" if self._remote is None else "asked from the engine"
            logger.info("vocabulary of %s: %s", self.model, what)
        elif isinstance(self._tokenizer, GGUFTokenizer) and self._tokenizer.encoder is None:
            if self._remote is None:
                raise EngineError(
                    "a GGUF file's vocabulary can't encode text here: give a tokenizer.json with --tokenizer"
                )
            self._tokenizer.encoder = self._remote.encode

    def _adopt(self, files: ModelFiles) -> None:
        if self._tokenizer is None and files.tokenizer is not None:
            self._tokenizer = files.tokenizer
            logger.info("vocabulary of %s: from %s", self.model, files.path)
        self._chat_template = self._chat_template or files.chat_template
        for name, value in files.template_variables.items():
            self._template_variables.setdefault(name, value)

    def _check_tokenizer(self, text: str, ids: list[int] | None) -> None:
        """Note whether ids come; raises EngineError when they spell another text here."""
        if not ids:
            self.capabilities = replace(self.capabilities, token_ids=False)
            return
        if self._tokenizer is None or not self._spelled:
            return
        spelled = b"".join(map(self._tokenizer.token_bytes, ids)).decode("utf-8", "replace")
        if spelled.strip() != text.strip():
            raise EngineError(
                f"the tokenizer is not that of {self.model}: what the engine wrote is {text!r} "
                f"by its own and {spelled!r} by this one"
            )

    @property
    def _client(self) -> httpx.AsyncClient:
        """The client of the running event loop: connections belong to the loop that opened them."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is None:
            self._clients = {old: kept for old, kept in self._clients.items() if not old.is_closed()}
            client = self._clients[loop] = httpx.AsyncClient(
                base_url=self.base_url,
                headers=self.headers,
                timeout=httpx.Timeout(None, connect=_CONNECT_SECONDS),
                limits=httpx.Limits(keepalive_expiry=_IDLE_SECONDS),
                transport=self._transport,
            )
        return client

    async def _get(self, path: str) -> dict[str, Any]:
        """The JSON object at ``path``. Raises EngineError."""
        with translated(path):
            return read_json(await self._client.get(path, timeout=_ANSWER_SECONDS))

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """The JSON object that answers ``body``. Raises EngineError."""
        with translated(path):
            return read_json(await self._client.post(path, json=body, timeout=_ANSWER_SECONDS))

    async def _events(
        self, path: str, body: dict[str, Any], generation: Generation
    ) -> AsyncGenerator[dict[str, Any], None]:
        """The events that answer ``body``; closing the iterator closes the connection."""
        headers = self._headers(generation)
        with translated(path):
            async with self._client.stream("POST", path, json=body, headers=headers) as response:
                if response.status_code != 200:
                    raise_for(response.status_code, await response.aread())
                async with aclosing(json_events(response.aiter_bytes())) as events:
                    async for event in events:
                        yield event


def own_id(request_id: str) -> str:
    """An id for one generation of a request, none like another's.

    Clients choose their requests' ids, and a request may have several generations at once; engines
    refuse an id that is running, or end all that have it.
    """
    return f"{request_id}-{secrets.token_hex(4)}"


def _read(reader: Reader, event: dict[str, Any]) -> list[Chunk]:
    try:
        return reader.read(event)
    except UnbraidError:
        raise
    except UNKNOWN_SHAPE as error:
        raise EngineError(f"the engine sent an event of an unknown shape: {error!r}") from error


def _blamed(error: Refused, status: int, constraint: Constraint | None) -> Exception:
    """What an engine's refusal means: the request is to blame for a 400, the engine for the rest."""
    if status not in (400, 422):
        return error
    words = error.detail.lower()
    if constraint is not None and any(word in words for word in _CONSTRAINT_WORDS):
        return Unsupported(f"the engine refused the constraint: {error.detail}", param="constraint")
    return InvalidRequest(f"the engine refused the request: {error.detail}")


def _local_files(names: tuple[str, ...]) -> ModelFiles | None:
    """The files of the first model that is found on this machine and can be read."""
    for name in names:
        path = find_model(name)
        if path is None:
            continue
        try:
            return read_model(path)
        except EngineError as error:
            logger.warning("%s is on this machine, but %s", name, error)
    return None


async def get_json(
    address: str, path: str, api_key: str | None, transport: httpx.AsyncBaseTransport | None
) -> dict[str, Any]:
    """Ask an address once. Raises EngineError."""
    async with httpx.AsyncClient(
        base_url=address, headers=_authorization(api_key), timeout=_CONNECT_SECONDS, transport=transport
    ) as client:
        with translated(path):
            return read_json(await client.get(path))


def _authorization(api_key: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}
