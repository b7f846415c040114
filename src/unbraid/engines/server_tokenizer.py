"""Tokenizers of running servers, asked over HTTP and remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import httpx

from unbraid.engines.base import Chunk
from unbraid.engines.sse import NO_REUSE, read_json, translated
from unbraid.errors import EngineError
from unbraid.tokens import Tokenizer, piece_bytes

__all__ = [
    "RemoteTokenizer",
    "SGLangTokenizer",
    "ServerTokenizer",
    "VllmTokenizer",
    "learned",
    "token_list",
    "tokenize_body",
]

_TIMEOUT_SECONDS = 60.0
_REPLACEMENT = "\ufffd"
_BRACKETS = ("<>", "[]")


async def learned(tokenizer: Tokenizer | None, chunk: Chunk) -> Chunk:
    """The chunk, once a remote tokenizer can spell its tokens: it is asked in a thread."""
    if isinstance(tokenizer, RemoteTokenizer) and not tokenizer.knows(chunk.token_ids):
        await asyncio.to_thread(tokenizer.learn, chunk.token_ids, chunk.text)
    return chunk


class RemoteTokenizer:
    """Tokenizes by an engine's own endpoints; calls block, answers are remembered.

    An engine tells less than a vocabulary file does: a token that is part of a character
    has bytes here once a text with it was seen (``encode``, ``learn``), and which tokens
    are special is judged by their spelling. Every method raises EngineError when the
    engine can't be asked.
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
        """The bytes of a token; empty for an unknown one and for part of a character never seen."""
        if token_id not in self._bytes:
            text = self._detokenize(token_id)
            self._bytes[token_id] = b"" if _REPLACEMENT in text else text.encode()
        return self._bytes[token_id]

    def is_special(self, token_id: int) -> bool:
        """Whether the token is a special one."""
        text = self.token_bytes(token_id).decode("utf-8", "replace")
        return bool(text) and self.token_id(text) == token_id

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens recognised, none added around it."""
        ids, pieces = self._tokenize(text) if text else ([], [])
        if pieces and b"".join(pieces).strip() == text.encode("utf-8", "surrogatepass").strip():
            self._bytes.update(zip(ids, pieces, strict=True))
        return ids

    def knows(self, token_ids: Iterable[int]) -> bool:
        """Whether the bytes of all these tokens are remembered."""
        return all(token_id in self._bytes for token_id in token_ids)

    def learn(self, token_ids: Sequence[int], text: str) -> None:
        """Remember how the tokens of ``text`` are spelled, as far as it can be found out; raises nothing."""
        if len(token_ids) > 1:
            with suppress(EngineError):
                self.encode(text)
                for token_id in token_ids[:-1]:
                    self.token_bytes(token_id)
        known = b"".join(self._bytes.get(token_id, b"") for token_id in token_ids)
        if token_ids and token_ids[-1] not in self._bytes:
            self._bytes[token_ids[-1]] = text.encode("utf-8", "surrogatepass")[len(known) :]

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _special(self, text: str, token_id: int) -> bool:
        """Whether a token that is spelled ``text`` counts as special: when it looks like a marker."""
        return _like_marker(text)

    def _tokenize(self, text: str) -> tuple[list[int], list[bytes]]:
        """The ids of a text that is not empty, and the bytes of each; no bytes when they are not told."""
        raise NotImplementedError

    def _detokenize(self, token_id: int) -> str:
        """The text of one token, with a replacement character for part of one."""
        raise NotImplementedError

    def _post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        with translated(path):
            return self._client.post(path, json=body)


class ServerTokenizer(RemoteTokenizer):
    """The tokenizer of a llama.cpp server.

    A token counts as special when the server parses it only as such or when it is
    spelled like a marker (``<think>``, ``[INST]``).
    """

    def _special(self, text: str, token_id: int) -> bool:
        if _like_marker(text):
            return True
        return token_list(read_json(self._post("/tokenize", tokenize_body(text, False)))) != [token_id]

    def _tokenize(self, text: str) -> tuple[list[int], list[bytes]]:
        answer = read_json(self._post("/tokenize", {**tokenize_body(text), "with_pieces": True}))
        found = answer.get("tokens")
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            return token_list(answer), []
        try:
            return [int(one["id"]) for one in found], [_piece(one["piece"]) for one in found]
        except (KeyError, TypeError, ValueError) as error:
            raise EngineError(f"the engine's answer to /tokenize has an unknown shape: {error!r}") from error

    def _detokenize(self, token_id: int) -> str:
        response = self._post("/detokenize", {"tokens": [token_id]})
        return "" if response.status_code == 500 else str(read_json(response).get("content", ""))


class VllmTokenizer(RemoteTokenizer):
    """The tokenizer of a vLLM server; a token counts as special when it is spelled like a marker."""

    def _tokenize(self, text: str) -> tuple[list[int], list[bytes]]:
        body = {"prompt": text, "add_special_tokens": False, "return_token_strs": True}
        answer = read_json(self._post("/tokenize", body))
        return token_list(answer), _spelled(answer.get("token_strs"))

    def _detokenize(self, token_id: int) -> str:
        response = self._post("/detokenize", {"tokens": [token_id]})
        return "" if response.status_code in (400, 500) else str(read_json(response).get("prompt", ""))


class SGLangTokenizer(RemoteTokenizer):
    """The tokenizer of an SGLang server; a token counts as special when it is spelled like a marker."""

    def _tokenize(self, text: str) -> tuple[list[int], list[bytes]]:
        answer = read_json(self._post("/tokenize", {"prompt": text, "add_special_tokens": False}))
        return token_list(answer), []

    def _detokenize(self, token_id: int) -> str:
        response = self._post("/detokenize", {"tokens": [token_id], "skip_special_tokens": False})
        return "" if response.status_code in (400, 500) else str(read_json(response).get("text", ""))


def _like_marker(text: str) -> bool:
    return len(text) > 2 and text[0] + text[-1] in _BRACKETS and not any(map(str.isspace, text))


def _piece(piece: Any) -> bytes:
    """A token as llama.cpp tells it: text, or a list of bytes."""
    return piece.encode() if isinstance(piece, str) else bytes(piece)


def _spelled(strings: Any) -> list[bytes]:
    """The bytes of tokens from their strings in the vocabulary, byte-level or SentencePiece-like."""
    if not isinstance(strings, list):
        return []
    pieces = list(map(str, strings))
    byte_level = not any("▁" in one and not _like_marker(one) for one in pieces)
    return [one.encode() if _like_marker(one) else piece_bytes(one, byte_level) for one in pieces]


def tokenize_body(text: str, special: bool = True) -> dict[str, Any]:
    """The body of a llama.cpp server's ``/tokenize`` request."""
    return {"content": text, "add_special": False, "parse_special": special}


def token_list(answer: dict[str, Any]) -> list[int]:
    """The ids of a ``/tokenize`` answer. Raises EngineError when it has another shape."""
    tokens = answer.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, int) for token in tokens):
        raise EngineError("the engine's answer to /tokenize holds no list of ids")
    return tokens
