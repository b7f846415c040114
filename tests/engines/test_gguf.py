"""GGUF files: reading, the vocabulary, and the rewritten thinking model."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbraid.engines.gguf import GGUF, GGUFTokenizer, make_thinking_model
from unbraid.errors import EngineError
from unbraid.tokens import Tokenizer

from .helpers import EMBEDDING, TINY_TOKENS, write_gguf


def test_reads_metadata_and_tensors(tmp_path: Path) -> None:
    gguf = GGUF(write_gguf(tmp_path / "tiny.gguf"))
    assert gguf.name == "tiny"
    assert gguf.architecture == "llama"
    assert gguf.context_length == 128
    assert gguf.chat_template == "{{ messages }}"
    assert gguf.metadata["odd.number"] == 0.5
    assert gguf.template_variables == {"bos_token": "", "eos_token": "<|im_end|>"}
    assert tuple(gguf.tokens) == TINY_TOKENS
    assert gguf.data_start % 64 == 0
    embedding = gguf.tensors["token_embd.weight"]
    assert (embedding.shape, embedding.offset, embedding.row_bytes) == ((EMBEDDING, len(TINY_TOKENS)), 64, 34)


def test_a_cut_file_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    whole = write_gguf(tmp_path / "tiny.gguf")
    head = whole.read_bytes()[: GGUF(whole).tensors_span[1]]
    cut = tmp_path / "cut.gguf"
    for length in range(len(head)):
        cut.write_bytes(head[:length])
        with pytest.raises(EngineError, match="not a readable GGUF"):
            GGUF(cut)


@pytest.mark.parametrize(
    "start", [b"", b"PK\x03\x04", b"GGUF\x09\x00\x00\x00", b"GGUF\x03\x00\x00\x00" + b"\xff" * 64]
)
def test_other_files_are_refused(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "other.gguf"
    path.write_bytes(start)
    with pytest.raises(EngineError):
        GGUF(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"nowhere\.gguf"):
        GGUF(tmp_path / "nowhere.gguf")


def test_byte_level_vocabulary(tmp_path: Path) -> None:
    tokenizer = GGUFTokenizer(GGUF(write_gguf(tmp_path / "tiny.gguf")))
    assert isinstance(tokenizer, Tokenizer)
    assert [tokenizer.token_bytes(n) for n in (0, 5, 6, 7)] == [b"<|im_end|>", b"a", b"\n", b" b"]
    assert (tokenizer.token_bytes(8) + tokenizer.token_bytes(9)).decode() == "😀"
    assert tokenizer.token_bytes(99) == tokenizer.token_bytes(-1) == b""
    assert (tokenizer.token_id("<|im_end|>"), tokenizer.token_id("a")) == (0, None)
    assert tokenizer.is_special(0)
    assert not tokenizer.is_special(5)
    assert list(tokenizer.ids_of(b" b")) == [7]
    assert list(tokenizer.ids_of(b"<|im_end|>")) == []
    with pytest.raises(EngineError, match="no engine"):
        tokenizer.encode("a")
    tokenizer.encoder = lambda text: [5] * len(text)
    assert tokenizer.encode("aa") == [5, 5]


def test_sentencepiece_vocabulary(tmp_path: Path) -> None:
    extra = {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": ["<unk>", "<s>", "<0x0A>", "▁the", "[INST]", "gone"],
        "tokenizer.ggml.token_type": [2, 3, 6, 1, 4, 5],
        "tokenizer.ggml.bos_token_id": 1,
    }
    gguf = GGUF(write_gguf(tmp_path / "tiny.gguf", extra))
    tokenizer = GGUFTokenizer(gguf)
    assert list(tokenizer.tokens) == [b"<unk>", b"<s>", b"\n", b" the", b"[INST]", b""]
    assert (tokenizer.bos_id, tokenizer.token_id("[INST]"), tokenizer.control_ids) == (1, 4, {1})
    assert gguf.template_variables["bos_token"] == "<s>"


@pytest.mark.parametrize("alignment", [32, 64, 4096])
@pytest.mark.parametrize("token_type", [3, 4])
def test_the_thinking_model_differs_only_where_it_should(
    tmp_path: Path, alignment: int, token_type: int
) -> None:
    source = GGUF(write_gguf(tmp_path / "tiny.gguf", alignment=alignment))
    path = make_thinking_model(source.path, token_type=token_type)
    made = GGUF(path)
    assert made.tokens[1:5] == ["<think>", "</think>", "<tool_call>", "</tool_call>"]
    assert made.token_types[1:5] == [token_type] * 4
    assert made.tensors == source.tensors
    changed = {key for key in source.metadata if made.metadata[key] != source.metadata[key]}
    assert changed - {"tokenizer.ggml.token_type"} == {"tokenizer.ggml.tokens"}
    before = source.path.read_bytes()[source.data_start :]
    after = path.read_bytes()[made.data_start :]
    expected = bytearray(before)
    for name, size in (("token_embd.weight", 34), ("output.weight", 2 * EMBEDDING)):
        start = source.tensors[name].offset
        newline = before[start + 6 * size : start + 7 * size]
        expected[start + 2 * size : start + 3 * size] = newline
    assert after == bytes(expected)
    assert after != before


def test_the_thinking_model_is_made_once(tmp_path: Path) -> None:
    source = write_gguf(tmp_path / "tiny.gguf")
    target = make_thinking_model(source)
    stamp = target.stat().st_mtime_ns
    assert make_thinking_model(source) == target
    assert target.stat().st_mtime_ns == stamp
    with pytest.raises(EngineError, match="can't be made to think"):
        make_thinking_model(target, tmp_path / "again.gguf")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["tiny.gguf", "tiny.thinking.gguf"]


def test_the_real_vocabulary(model_path: Path) -> None:
    gguf = GGUF(model_path)
    tokenizer = GGUFTokenizer(gguf)
    assert len(tokenizer.tokens) == 49152
    assert (tokenizer.token_id("<|im_end|>"), tokenizer.eos_id) == (2, 2)
    assert b"".join(map(tokenizer.token_bytes, (10813, 230, 231))).decode() == "🌍"
    assert gguf.context_length == 8192
    assert {len(tokenizer.ids_of(bytes([byte]))) for byte in range(256)} >= {1}
