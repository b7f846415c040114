"""GGUF files: read the metadata, use the vocabulary, make a thinking model for tests."""

from __future__ import annotations

import mmap
import os
import shutil
import struct
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unbraid.errors import EngineError
from unbraid.tokens import _byte_of_char

__all__ = ["GGUF", "GGUFTokenizer", "Tensor", "make_thinking_model"]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)

_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_TOKENS, _TYPES = "tokenizer.ggml.tokens", "tokenizer.ggml.token_type"

_BLOCKS = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    30: (1, 2),
}
"""Per tensor type: values in a block and bytes of a block."""


@dataclass(frozen=True)
class Tensor:
    """A tensor's place: ``shape`` from the fastest dimension, ``offset`` from the start of the data."""

    name: str
    shape: tuple[int, ...]
    type: int
    offset: int

    @property
    def row_bytes(self) -> int:
        """The bytes of one row; raises EngineError when a row is not whole blocks of a known type."""
        values, size = _BLOCKS.get(self.type, (0, 0))
        if not values or self.shape[0] % values:
            raise EngineError(f"rows of tensor {self.name} (type {self.type}) can't be told apart")
        return self.shape[0] // values * size


class _Cursor:
    """Reads little-endian values from a buffer, one after the other."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data = data
        self.at = 0

    def scalar(self, code: str) -> Any:
        return self.scalars(code, 1)[0]

    def scalars(self, code: str, count: int) -> tuple[Any, ...]:
        size = struct.calcsize("<" + code) * count
        if size > len(self.data) - self.at:
            raise ValueError("the file is cut")
        values = struct.unpack_from(f"<{count}{code}", self.data, self.at)
        self.at += size
        return values

    def string(self) -> str:
        length = self.scalar("Q")
        if length > len(self.data) - self.at:
            raise ValueError("the file is cut")
        self.at += length
        return self.data[self.at - length : self.at].decode("utf-8", "surrogateescape")

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind == _STRING:
            return self.string()
        if kind != _ARRAY:
            return self.scalar(_SCALARS[kind])
        if depth > 3:
            raise ValueError("arrays are nested too deep")
        inner, count = self.scalar("I"), self.scalar("Q")
        if inner in _SCALARS:
            return list(self.scalars(_SCALARS[inner], count))
        return [self.value(inner, depth + 1) for _ in range(count)]


class GGUF:
    """The head of a GGUF file: ``metadata``, ``tensors`` and where the bytes of each lie.

    ``spans`` maps a metadata key to the (start, end) of its bytes, key included;
    ``tensors_span`` is that of the tensor list; tensor data begin at ``data_start``.
    """

    def __init__(self, path: Path) -> None:
        """Read the head of ``path``. Raises EngineError when it is no readable GGUF file."""
        self.path = path
        self.metadata: dict[str, Any] = {}
        self.spans: dict[str, tuple[int, int]] = {}
        self.tensors: dict[str, Tensor] = {}
        try:
            with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                self._read(_Cursor(data))
        except OSError as error:
            raise EngineError(f"the model file {path} can't be read: {error.strerror or error}") from error
        except (ValueError, KeyError, struct.error) as error:
            raise EngineError(f"{path} is not a readable GGUF file: {error}") from error

    def _read(self, cursor: _Cursor) -> None:
        if cursor.data[:4] != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        cursor.at = 4
        version = cursor.scalar("I")
        if version not in (2, 3):
            raise ValueError(f"version {version} is not known")
        tensor_count, key_count = cursor.scalars("Q", 2)
        for _ in range(key_count):
            start = cursor.at
            key = cursor.string()
            self.metadata[key] = cursor.value(cursor.scalar("I"))
            self.spans[key] = (start, cursor.at)
        start = cursor.at
        for _ in range(tensor_count):
            name = cursor.string()
            shape = cursor.scalars("Q", cursor.scalar("I"))
            self.tensors[name] = Tensor(name, shape, *cursor.scalars("I", 1), *cursor.scalars("Q", 1))
        self.tensors_span = (start, cursor.at)
        self.data_start = self.aligned(cursor.at)

    def aligned(self, position: int) -> int:
        """The first position from ``position`` on where data may begin."""
        alignment = int(self.metadata.get("general.alignment", 32))
        if alignment < 1:
            raise ValueError(f"an alignment of {alignment} makes no sense")
        return -(-position // alignment) * alignment

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    @property
    def architecture(self) -> str:
        """The model's architecture, such as ``llama``."""
        return str(self.metadata.get("general.architecture", ""))

    @property
    def context_length(self) -> int:
        """The context that the model was trained for, in tokens; 0 when not said."""
        return int(self.metadata.get(f"{self.architecture}.context_length", 0))

    @property
    def chat_template(self) -> str | None:
        """The Jinja source of the chat template, if there is one."""
        template = self.metadata.get("tokenizer.chat_template")
        return template if isinstance(template, str) else None

    @property
    def tokens(self) -> list[str]:
        """The vocabulary as it is spelled in the file. Raises EngineError when there is none."""
        tokens = self.metadata.get(_TOKENS)
        if not isinstance(tokens, list):
            raise EngineError(f"{self.path} carries no vocabulary")
        return tokens

    @property
    def token_types(self) -> list[int]:
        """The type of each token: 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte."""
        types = self.metadata.get(_TYPES)
        return types if isinstance(types, list) else [NORMAL] * len(self.tokens)

    def special_id(self, name: str) -> int | None:
        """The id of the ``bos``, ``eos``, ``eot``, ``unknown`` or ``padding`` token, if set."""
        value = self.metadata.get(f"tokenizer.ggml.{name}_token_id")
        return value if isinstance(value, int) and 0 <= value < len(self.tokens) else None

    @property
    def template_variables(self) -> dict[str, Any]:
        """``bos_token`` and ``eos_token`` as texts, empty when the model has none."""
        ids = {f"{name}_token": self.special_id(name) for name in ("bos", "eos")}
        return {name: "" if found is None else self.tokens[found] for name, found in ids.items()}


class GGUFTokenizer:
    """A GGUF file's vocabulary as a tokenizer.

    ``encoder`` turns text into ids with special tokens recognised (an engine's
    tokenize call); without one ``encode`` raises EngineError.
    """

    def __init__(self, gguf: GGUF, encoder: Callable[[str], list[int]] | None = None) -> None:
        self.encoder = encoder
        self.eos_id = gguf.special_id("eos")
        self.bos_id = gguf.special_id("bos")
        types = gguf.token_types
        self.control_ids = frozenset(index for index, kind in enumerate(types) if kind == CONTROL)
        self._added = frozenset(i for i, kind in enumerate(types) if kind in (CONTROL, USER_DEFINED))
        self._by_text = {gguf.tokens[index]: index for index in self._added}
        self._by_bytes: dict[bytes, list[int]] | None = None
        byte_level = gguf.metadata.get("tokenizer.ggml.model") == "gpt2"
        spell = _byte_level_bytes if byte_level else _sentencepiece_bytes
        raw = (UNKNOWN, CONTROL, USER_DEFINED)
        self.tokens: tuple[bytes, ...] = tuple(
            b"" if kind == UNUSED else _plain_bytes(text) if kind in raw else spell(text, kind)
            for text, kind in zip(gguf.tokens, types, strict=True)
        )

    def token_id(self, text: str) -> int | None:
        """The id of the control or user-defined token that is exactly ``text``, or None."""
        return self._by_text.get(text)

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of a token, empty for an unknown id."""
        return self.tokens[token_id] if 0 <= token_id < len(self.tokens) else b""

    def is_special(self, token_id: int) -> bool:
        """Whether the token is a control or user-defined one."""
        return token_id in self._added

    def ids_of(self, data: bytes) -> Sequence[int]:
        """The ids of the ordinary tokens that are exactly ``data``."""
        if self._by_bytes is None:
            self._by_bytes = {}
            for token_id, piece in enumerate(self.tokens):
                if token_id not in self._added:
                    self._by_bytes.setdefault(piece, []).append(token_id)
        return self._by_bytes.get(data, ())

    def encode(self, text: str) -> list[int]:
        """The ids of ``text``, special tokens recognised. Raises EngineError without an encoder."""
        if self.encoder is None:
            raise EngineError("this tokenizer can't encode: no engine is attached to it")
        return self.encoder(text)


_BYTE_OF_CHAR = _byte_of_char()


def _plain_bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _byte_level_bytes(text: str, kind: int) -> bytes:
    try:
        return bytes([_BYTE_OF_CHAR[char] for char in text])
    except KeyError:
        return _plain_bytes(text)


def _sentencepiece_bytes(text: str, kind: int) -> bytes:
    if kind == BYTE:
        return bytes([int(text[3:5], 16)])
    return _plain_bytes(text.replace("▁", " "))


THINKING_MARKERS: Mapping[str, str] = {
    "<jupyter_start>": "<think>",
    "<jupyter_text>": "</think>",
    "<jupyter_code>": "<tool_call>",
    "<jupyter_output>": "</tool_call>",
}


def make_thinking_model(source: Path, target: Path | None = None, *, token_type: int = CONTROL) -> Path:
    """Write a copy of SmolLM2 that thinks: a small model for tests of the reasoning phase.

    Four unused special tokens become ``<think>``, ``</think>``, ``<tool_call>``
    and ``</tool_call>`` (of ``token_type`` 3, control, or 4, user defined), and
    ``</think>`` gets the newline's embedding, so that the model closes its
    thinking by itself. ``target`` defaults to a file beside ``source``; a target
    that exists already is kept. Raises EngineError when ``source`` is another model.
    """
    suffix = "thinking" if token_type == CONTROL else f"thinking-type{token_type}"
    target = source.with_name(f"{source.stem}.{suffix}.gguf") if target is None else target
    if target.exists():
        return target
    gguf = GGUF(source)
    tokens, types = list(gguf.tokens), list(gguf.token_types)
    for old, new in THINKING_MARKERS.items():
        if old not in tokens or new in tokens:
            raise EngineError(f"{source} can't be made to think: it needs {old} and must not have {new}")
        types[tokens.index(old)] = token_type
        tokens[tokens.index(old)] = new
    rows = [(tokens.index("Ċ"), tokens.index("</think>"))]
    with tempfile.TemporaryDirectory(prefix=".make-", dir=target.parent) as scratch:
        written = Path(scratch) / target.name
        _rewrite(gguf, written, {_TOKENS: _strings(tokens), _TYPES: _ints(types)})
        _copy_rows(GGUF(written), rows)
        os.replace(written, target)
    return target


def _strings(values: Sequence[str]) -> bytes:
    """An array of strings as a metadata value, its type in front."""
    encoded = [_plain_bytes(value) for value in values]
    items = b"".join(struct.pack("<Q", len(item)) + item for item in encoded)
    return struct.pack("<IIQ", _ARRAY, _STRING, len(values)) + items


def _ints(values: Sequence[int]) -> bytes:
    """An array of signed 32-bit numbers as a metadata value, its type in front."""
    return struct.pack(f"<IIQ{len(values)}i", _ARRAY, 5, len(values), *values)


def _rewrite(gguf: GGUF, target: Path, replaced: Mapping[str, bytes]) -> None:
    """Copy a GGUF file with the values of some metadata keys replaced; tensors stay as they are."""
    with gguf.path.open("rb") as source, target.open("wb") as sink:
        sink.write(source.read(min(start for start, _ in gguf.spans.values())))
        for key, (start, end) in gguf.spans.items():
            source.seek(start)
            raw = source.read(end - start)
            name = len(_plain_bytes(key)) + 8
            sink.write(raw[:name] + replaced.get(key, raw[name:]))
        start, end = gguf.tensors_span
        source.seek(start)
        sink.write(source.read(end - start))
        sink.write(bytes(gguf.aligned(sink.tell()) - sink.tell()))
        source.seek(gguf.data_start)
        shutil.copyfileobj(source, sink, 1 << 20)


def _copy_rows(gguf: GGUF, rows: Sequence[tuple[int, int]]) -> None:
    """In the token embedding (and the output matrix, if it is another), copy rows: (from, to)."""
    with gguf.path.open("r+b") as file:
        for name in ("token_embd.weight", "output.weight"):
            tensor = gguf.tensors.get(name)
            if tensor is None:
                continue
            start, size = gguf.data_start + tensor.offset, tensor.row_bytes
            for origin, destination in rows:
                file.seek(start + origin * size)
                row = file.read(size)
                file.seek(start + destination * size)
                file.write(row)
