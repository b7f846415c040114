"""What the drivers of engines over HTTP share: the client, the model's papers, the event stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx

from unbraid.engines.base import Capabilities, Generation
from unbraid.engines.server_tokenizer import RemoteTokenizer
from unbraid.engines.sse import json_events, raise_for, read_json, translated
from unbraid.tokens import Tokenizer

__all__ = ["HttpEngine", "get_json"]

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 60.0
_IDLE_SECONDS = 2.0
"""Engines close idle connections after five seconds or more; one that is as old as that is not used."""


class HttpEngine:
    """An engine at an address, with the tokenizer and the template of its model."""

    def __init__(
        self,
        base_url: str,
        api_key: str | None,
        *,
        model: str,
        tokenizer: Tokenizer,
        chat_template: str | None,
        template_variables: dict[str, Any] | None,
        capabilities: Capabilities,
        transport: httpx.AsyncBaseTransport | None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.headers = _authorization(api_key)
        self.model = model
        self.capabilities = capabilities
        self._tokenizer = tokenizer
        self._chat_template = chat_template
        self._template_variables = dict(template_variables or {})
        self._transport = transport
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

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

    async def health(self) -> bool:
        """Whether the engine answers ``/health``."""
        try:
            response = await self._client.get("/health", timeout=_CONNECT_SECONDS)
        except httpx.HTTPError:
            return False
        return response.status_code == 200

    async def close(self) -> None:
        """Close the connections."""
        clients = list(self._clients.values())
        self._clients.clear()
        for client in clients:
            await client.aclose()
        if isinstance(self._tokenizer, RemoteTokenizer):
            self._tokenizer.close()

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
        headers = {} if generation.request_id is None else {"X-Request-Id": generation.request_id}
        with translated(path):
            async with self._client.stream("POST", path, json=body, headers=headers) as response:
                if response.status_code != 200:
                    raise_for(response.status_code, await response.aread())
                async with aclosing(json_events(response.aiter_bytes())) as events:
                    async for event in events:
                        yield event


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
