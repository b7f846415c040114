"""Tokenizers of running servers, asked over HTTP and remembered."""

from __future__ import annotations

from typing import Any

import httpx

from unbraid.engines.sse import NO_REUSE, read_json, translated
from unbraid.errors import EngineError

__all__ = ["RemoteTokenizer", "ServerTokenizer", "VllmTokenizer", "token_list", "tokenize_body"]

_TIMEOUT_SECONDS = 60.0
_REPLACEMENT = "\ufffd"
_BRACKETS = ("<>", "[]")


class RemoteTokenizer:
    """Tokenizes by an engine's own endpoints; calls block, answers are remembered.

    An engine does not tell all that a vocabulary file does: a token that is part of a
    character has no bytes here. Every method raises EngineError when the engine can't be asked.
    """

    def __init__(
        self,
        base_url: str,
        headers: dict[str, str] | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """``base_url`` like ``http://127.0.0.1:8080``; ``headers`` go with each call."""
        self._client = httpx.Client(
            base_url=base_url,
            headers=headers,
            timeout=_TIMEOUT_SECONDS,
            limits=NO_REUSE,
            transport=transport,
        )
        self._ids: dict[str, int | None] = {}
        self._bytes: dict[int, bytes] = {}

    def token_id(self, text: str) -> int | None:
        """The id of the special token that is exactly ``text``, or None."""
        if text not in self._ids:
            ids = self.encode(text)
            self._ids[text] = ids[0] if len(ids) == 1 and self._special(text, ids[0]) else None
        return self._ids[text]

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token; empty for an unknown one and for part of a character."""
        if token_id not in self._bytes:
            text = self._detokenize(token_id)
            self._bytes[token_id] = b"" if _REPLACEMENT in text else text.encode()
        return self._bytes[token_id]

    def is_special(self, token_id: int) -> bool:
        """Whether the token is a special one."""
        text = self.token_bytes(token_id).decode()
        return bool(text) and self.token_id(text) == token_id

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens recognised, none added around it."""
        raise NotImplementedError

    def learn(self, token_id: int, text: str) -> None:
        """Remember the text of a token that the engine showed in a stream."""
        self._bytes.setdefault(token_id, b"" if _REPLACEMENT in text else text.encode())

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _special(self, text: str, token_id: int) -> bool:
        """Whether a token that is spelled ``text`` counts as special: when it looks like a marker."""
        return _like_marker(text)

    def _detokenize(self, token_id: int) -> str:
        raise NotImplementedError

    def _post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        with translated(path):
            return self._client.post(path, json=body)


class ServerTokenizer(RemoteTokenizer):
    """The tokenizer of a llama.cpp server.

    A token counts as special when the server parses it only as such or when it is
    spelled like a marker (``<think>``, ``[INST]``).
    """

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens recognised, none added around it."""
        return self._tokenize(text, special=True)

    def _special(self, text: str, token_id: int) -> bool:
        return _like_marker(text) or self._tokenize(text, special=False) != [token_id]

    def _tokenize(self, text: str, special: bool) -> list[int]:
        return token_list(read_json(self._post("/tokenize", tokenize_body(text, special))))

    def _detokenize(self, token_id: int) -> str:
        response = self._post("/detokenize", {"tokens": [token_id]})
        if response.status_code == 500:
            return ""
        return str(read_json(response).get("content", ""))


class VllmTokenizer(RemoteTokenizer):
    """The tokenizer of a vLLM server; a token counts as special when it is spelled like a marker."""

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens recognised, none added around it."""
        body = {"prompt": text, "add_special_tokens": False}
        return token_list(read_json(self._post("/tokenize", body))) if text else []

    def _detokenize(self, token_id: int) -> str:
        response = self._post("/detokenize", {"tokens": [token_id]})
        if response.status_code in (400, 500):
            return ""
        return str(read_json(response).get("prompt", ""))


def _like_marker(text: str) -> bool:
    return len(text) > 2 and text[0] + text[-1] in _BRACKETS and not any(map(str.isspace, text))


def tokenize_body(text: str, special: bool = True) -> dict[str, Any]:
    """The body of a llama.cpp server's ``/tokenize`` request."""
    return {"content": text, "add_special": False, "parse_special": special}


def token_list(answer: dict[str, Any]) -> list[int]:
    """The ids of a ``/tokenize`` answer. Raises EngineError when it has another shape."""
    tokens = answer.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        raise EngineError("the engine's answer to /tokenize holds no list of ids")
    return tokens
