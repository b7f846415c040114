"""Tokenizers as the core needs them: a Protocol of four methods and two adapters."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from unbraid import validate

__all__ = ["HFTokenizer", "Offsets", "TokenTable", "Tokenizer"]


@runtime_checkable
class Tokenizer(Protocol):
    """What unbraid asks of a tokenizer; anything with these methods will do."""

    def token_id(self, text: str) -> int | None:
        """The id of the one added or special token that is exactly ``text``, or None."""
        ...

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes that a token stands for (empty for an unknown id)."""
        ...

    def is_special(self, token_id: int) -> bool:
        """Whether a token is an added or special one, never made of ordinary text."""
        ...

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens recognised, none added around it."""
        ...


class Offsets:
    """Where tokens begin in their text, in characters, as they come; ``length`` is that of the text so far.

    A special token begins behind what came of a character in front of it.
    """

    __slots__ = ("_decoder", "_open", "length")

    def __init__(self, errors: str = "replace") -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._open = False
        self.length = 0

    def of(self, data: bytes, special: bool = False) -> int:
        """Take the bytes of the next token: where it begins."""
        if self._open and special:
            self.length += len(self._decoder.decode(b"", True))
            self._open = False
        begin = self.length
        if not self._open and data.isascii():
            self.length = begin + len(data)
            return begin
        self.length = begin + len(self._decoder.decode(data))
        self._open = bool(self._decoder.getstate()[0])
        return begin


class TokenTable:
    """A plain table of ids and bytes as a tokenizer; ``special`` names the added tokens.

    ``encode`` takes special tokens whole and ordinary text by the longest entry
    that fits; characters without an entry raise ValueError. A table of wrong types, and a special
    token that is not in it, raise InvalidRequest.
    """

    def __init__(self, pieces: Mapping[int, bytes | str], special: Iterable[int] = ()) -> None:
        self._bytes = dict(_entries(pieces))
        listed = list(special) if isinstance(special, Mapping) else special
        self._special = frozenset(validate.token_ids("special", listed))
        unknown = next((token_id for token_id in self._special if token_id not in self._bytes), None)
        if unknown is not None:
            raise validate.wrong("special", "ids of the table", unknown)
        self._by_text = {
            self._bytes[token_id].decode("utf-8", "replace"): token_id for token_id in self._special
        }
        self._ordinary: dict[bytes, int] = {}
        for token_id, piece in self._bytes.items():
            if token_id not in self._special:
                self._ordinary.setdefault(piece, token_id)
        self._longest = max(map(len, self._ordinary), default=0)

    def token_id(self, text: str) -> int | None:
        """The id of the special token that is exactly ``text``, or None."""
        return self._by_text.get(text)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token, empty for an unknown id."""
        return self._bytes.get(token_id, b"")

    def is_special(self, token_id: int) -> bool:
        """Whether the token was declared special."""
        return token_id in self._special

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``: special tokens whole, the rest by the longest match."""
        data = text.encode("utf-8", "surrogatepass")
        specials = sorted((self._bytes[token_id] for token_id in self._special), key=len, reverse=True)
        ids: list[int] = []
        at = 0
        while at < len(data):
            special = next((piece for piece in specials if piece and data.startswith(piece, at)), None)
            if special is not None:
                ids.append(self._by_text[special.decode("utf-8", "replace")])
                at += len(special)
                continue
            for length in range(min(self._longest, len(data) - at), 0, -1):
                token_id = self._ordinary.get(data[at : at + length])
                if token_id is not None:
                    ids.append(token_id)
                    at += length
                    break
            else:
                raise ValueError(f"the table has no token for byte {data[at]:#04x} at byte {at}")
        return ids


def _entries(pieces: Mapping[int, bytes | str]) -> Iterator[tuple[int, bytes]]:
    """The entries of a table, text as bytes."""
    validate.instance("pieces", pieces, Mapping, "a mapping of token ids to bytes or text")
    for token_id, piece in zip(validate.token_ids("pieces", list(pieces)), pieces.values(), strict=True):
        validate.instance(f"pieces[{token_id}]", piece, (str, bytes, bytearray), "bytes or text")
        yield token_id, piece.encode("utf-8", "surrogatepass") if isinstance(piece, str) else bytes(piece)


def _byte_of_char() -> dict[str, int]:
    """GPT-2's printable stand-ins for bytes: the printable ones are themselves, the rest follow U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(byte): byte for byte in printable}
    rest = (byte for byte in range(256) if byte not in printable)
    table.update({chr(0x100 + n): byte for n, byte in enumerate(rest)})
    return table


_BYTE_OF_CHAR = _byte_of_char()


def piece_bytes(piece: str, byte_level: bool) -> bytes:
    """The bytes of an ordinary token from its string in the vocabulary, byte-level or SentencePiece-like."""
    if byte_level:
        return bytes(_BYTE_OF_CHAR[char] for char in piece if char in _BYTE_OF_CHAR)
    if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
        return bytes([int(piece[3:5], 16)])
    return piece.replace("▁", " ").encode()


_FAST = ("get_added_tokens_decoder", "to_str", "get_vocab", "id_to_token", "encode")


class HFTokenizer:
    """A ``tokenizers.Tokenizer`` (byte-level BPE or SentencePiece-like) as a tokenizer.

    ``response_template`` is what the tokenizer's configuration holds under that key, for ``hf``.
    What is no such tokenizer (transformers' wraps one, ``backend_tokenizer``) raises InvalidRequest.
    """

    def __init__(self, tokenizer: Any, response_template: Any = None) -> None:
        missing = [name for name in _FAST if not callable(getattr(tokenizer, name, None))]
        if missing:
            raise validate.wrong("tokenizer", f"a tokenizers.Tokenizer (it lacks {missing[0]})", tokenizer)
        self._tokenizer = tokenizer
        self.response_template = response_template
        self._added: dict[int, str] = {
            token_id: token.content for token_id, token in tokenizer.get_added_tokens_decoder().items()
        }
        self._by_text = {content: token_id for token_id, content in self._added.items()}
        self._byte_level = '"ByteLevel"' in tokenizer.to_str()[-200_000:] or "Ġ" in tokenizer.get_vocab()

    @classmethod
    def from_file(cls, path: str) -> HFTokenizer:
        """Read a ``tokenizer.json`` and the configuration beside it; needs the ``tokenizers`` package."""
        from tokenizers import Tokenizer as Fast

        beside = Path(path).with_name("tokenizer_config.json")
        found = json.loads(beside.read_text(encoding="utf-8")) if beside.is_file() else {}
        return cls(Fast.from_file(path), found.get("response_template"))

    def token_id(self, text: str) -> int | None:
        """The id of the added token that is exactly ``text``, or None."""
        return self._by_text.get(text)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token, empty for an unknown id."""
        added = self._added.get(token_id)
        if added is not None:
            return added.encode()
        piece = self._tokenizer.id_to_token(token_id) if 0 <= token_id < 1 << 32 else None
        if piece is None:
            return b""
        return piece_bytes(str(piece), self._byte_level)

    def is_special(self, token_id: int) -> bool:
        """Whether the token is an added one."""
        return token_id in self._added

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, added tokens recognised."""
        ids: Sequence[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return list(ids)
