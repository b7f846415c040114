"""Tokenizers, and markers that are told by their token ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken
from tokenizers import Tokenizer as Fast
from tokenizers.decoders import ByteLevel as ByteLevelDecoder
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel

from tests.laws.reading import read, read_every_way, strands
from tests.support.hostile import Piece
from unbraid import HFTokenizer, Parser, Tokenizer, TokenTable
from unbraid.tokens import Offsets

THINK, END, CALL, CLOSE = "<think>", "</think>", "<tool_call>", "</tool_call>"


@pytest.fixture(scope="module")
def fast() -> Any:
    """A byte-level tokenizer of bytes, a few merges, and four added tokens."""
    alphabet = sorted(ByteLevel.alphabet())
    merges = [("t", "h"), ("i", "n"), ("th", "in"), ("Ġ", "a")]
    vocabulary = {text: n for n, text in enumerate([*alphabet, *("".join(pair) for pair in merges)])}
    tokenizer = Fast(BPE(vocab=vocabulary, merges=merges))
    tokenizer.pre_tokenizer = ByteLevel(add_prefix_space=False)
    tokenizer.decoder = ByteLevelDecoder()
    tokenizer.add_special_tokens([AddedToken(THINK), AddedToken(END)])
    tokenizer.add_tokens([AddedToken(CALL, normalized=False), AddedToken(CLOSE, normalized=False)])
    return tokenizer


@pytest.fixture(scope="module")
def hf(fast: Any) -> HFTokenizer:
    return HFTokenizer(fast)


# -- the adapters -----------------------------------------------------------------------------


def test_both_are_tokenizers(hf: HFTokenizer) -> None:
    assert isinstance(hf, Tokenizer)
    assert isinstance(TokenTable({}), Tokenizer)
    assert not isinstance(object(), Tokenizer)


def test_hf_added_tokens(hf: HFTokenizer) -> None:
    for text in (THINK, END, CALL, CLOSE):
        token_id = hf.token_id(text)
        assert token_id is not None
        assert hf.is_special(token_id)
        assert hf.token_bytes(token_id) == text.encode()
        assert hf.encode(text) == [token_id]
    assert hf.token_id("th") is None
    assert hf.token_id("<thin") is None


@pytest.mark.parametrize("text", ["thin a thing", "días 😀\n\x00", f"a{THINK} a{CALL}{CLOSE}", "｜▁", ""])
def test_hf_bytes_are_the_text(hf: HFTokenizer, text: str) -> None:
    assert b"".join(map(hf.token_bytes, hf.encode(text))) == text.encode()


@pytest.mark.parametrize("unknown", [10_000, -1, 1 << 40])
def test_unknown_ids_are_empty(hf: HFTokenizer, unknown: int) -> None:
    for tokenizer in (hf, TokenTable({1: "a"})):
        assert tokenizer.token_bytes(unknown) == b""
        assert not tokenizer.is_special(unknown)


def test_hf_from_a_file(fast: Any, tmp_path: Path) -> None:
    fast.save(str(tmp_path / "tokenizer.json"))
    tokenizer = HFTokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert tokenizer.token_bytes(tokenizer.encode(THINK)[0]) == THINK.encode()


def test_hf_pieces_of_a_sentence_piece_vocabulary() -> None:
    vocabulary = {"<unk>": 0, "▁a": 1, "b": 2, "<0xF0>": 3, "<0x9F>": 4, "▁": 5}
    tokenizer = HFTokenizer(Fast(BPE(vocab=vocabulary, merges=[], unk_token="<unk>")))
    assert [tokenizer.token_bytes(n) for n in (1, 2, 3, 4, 5)] == [b" a", b"b", b"\xf0", b"\x9f", b" "]


def test_table() -> None:
    table = TokenTable(
        {1: THINK, 2: "th", 3: "t", 4: "h", 5: b"\xf0\x9f", 6: b"\x98\x80", 7: "<", 8: THINK}, [1]
    )
    assert table.encode(f"th{THINK}ht😀") == [2, 1, 4, 3, 5, 6]
    assert table.token_id(THINK) == 1
    assert table.token_id("th") is None
    assert table.is_special(1)
    assert not table.is_special(8)
    assert table.token_bytes(5) == b"\xf0\x9f"
    with pytest.raises(ValueError, match="0x7a"):
        table.encode("z")


# -- ids are authoritative by position ----------------------------------------------------------


def tokens(hf: HFTokenizer, *texts: str | list[str]) -> list[Piece]:
    """Pieces of text with their ids; a list is spelled out, character by character."""
    pieces: list[Piece] = []
    for text in texts:
        if isinstance(text, list):
            pieces += [(char, hf.encode(char)) for char in "".join(text)]
        else:
            pieces.append((text, hf.encode(text)))
    return pieces


def test_ids_beat_text(hf: HFTokenizer) -> None:
    parser = Parser("qwen3", "hermes", tokenizer=hf, prompt="<|im_start|>assistant\n<think>\n")
    pieces = tokens(hf, "say ", [END], " or ", [CALL], " so", END, "Hi ", [THINK], "!")
    text = "".join(piece for piece, _ in pieces)
    message = read_every_way(parser, text, ids=pieces)
    assert strands(message) == (f"say {END} or {CALL} so", f"Hi {THINK}!", [])


def test_without_ids_text_decides(hf: HFTokenizer) -> None:
    parser = Parser("qwen3", "hermes", tokenizer=hf, prompt="<|im_start|>assistant\n<think>\n")
    assert strands(read_every_way(parser, f"r{END}Hi")) == ("r", "Hi", [])


def test_a_real_call_with_a_quoted_closer(hf: HFTokenizer) -> None:
    """A closer spelled with ordinary tokens inside an argument is part of it, also in raw values."""
    value = f"a {CLOSE}"
    pieces = tokens(
        hf, CALL, "\n<function=f>\n<parameter=s>\n", [value], "\n</parameter>\n</function>\n", CLOSE
    )
    text = "".join(piece for piece, _ in pieces)
    message = read_every_way(Parser(None, "qwen3_coder", tokenizer=hf), text, ids=pieces)
    assert strands(message) == (None, None, [("f", f'{{"s": "a {CLOSE}"}}')])


def test_stray_special_tokens_are_markup(hf: HFTokenizer) -> None:
    """The end of thinking as a token where none is open is in no strand, with a diagnostic."""
    parser = Parser("qwen3", tokenizer=hf, prompt="<|im_start|>assistant\n", spans=True)
    pieces = tokens(hf, "a", END, "b")
    message = read_every_way(parser, f"a{END}b", ids=pieces)
    assert strands(message) == (None, "ab", [])
    assert [(one.code, one.start, one.end) for one in message.diagnostics] == [("stray_marker", 1, 9)]
    assert [span.kind for span in message.spans or []] == ["content", "markup", "content"]


def test_a_marker_that_is_no_token_counts_as_text(hf: HFTokenizer) -> None:
    """``<function=`` is no token of this vocabulary: its text counts also where ids come."""
    text = f"{CALL}\n<function=f>\n</function>\n{CLOSE}"
    message = read_every_way(Parser(None, "qwen3_coder", tokenizer=hf), text, ids=[(text, hf.encode(text))])
    assert strands(message) == (None, None, [("f", "{}")])


def test_markers_of_several_tokens() -> None:
    """A vocabulary without any marker: the text decides, in any batching of the ids."""
    text = f'r{END}\n\n{CALL}\n{{"name": "f", "arguments": {{}}}}\n{CLOSE}'
    chunks = [text[at : at + 3] for at in range(0, len(text), 3)]
    table = TokenTable(dict(enumerate(chunks)))
    pieces: list[Piece] = [(chunk, [n]) for n, chunk in enumerate(chunks)]
    message = read_every_way(Parser("qwen3", "hermes", tokenizer=table), text, ids=pieces)
    assert strands(message) == ("r", None, [("f", "{}")])


def test_text_markers_beat_ids(hf: HFTokenizer) -> None:
    pieces = tokens(hf, "r", [END], "Hi")
    parser = Parser("qwen3", tokenizer=hf, markers="text")
    assert strands(read_every_way(parser, f"r{END}Hi", ids=pieces)) == ("r", "Hi", [])


@pytest.mark.parametrize("lag", [1, 2, 5])
def test_text_that_comes_late_or_early(hf: HFTokenizer, lag: int) -> None:
    """A detokenizer that holds text back, or ids that come behind it, change nothing."""
    pieces = tokens(hf, "say ", [END], " so", END, "Hi ", [THINK], "!", CALL, '{"name": "f"}', CLOSE)
    text = "".join(piece for piece, _ in pieces)
    ids = [one for _, some in pieces for one in some or ()]
    parser = Parser(
        "qwen3", "hermes", tokenizer=hf, prompt="<|im_start|>assistant\n<think>\n", make_id=lambda: "id"
    )
    whole = parser.parse(text, token_ids=ids)
    assert strands(whole) == (f"say {END} so", f"Hi {THINK}!", [("f", "{}")])
    texts = [piece for piece, _ in pieces]
    grouped = [some or [] for _, some in pieces]
    late: list[Piece] = [("", grouped[n] if n < len(grouped) else []) for n in range(lag)]
    late += [(texts[n], grouped[n + lag] if n + lag < len(grouped) else []) for n in range(len(texts))]
    assert read(parser, late)[0] == whole
    early: list[Piece] = [(texts[0], grouped[0])]
    for n in range(1, len(texts) + lag):
        early.append((texts[n] if n < len(texts) else "", grouped[n - lag] if n - lag >= 1 else []))
    assert read(parser, early)[0] == whole


def test_a_character_over_two_tokens(hf: HFTokenizer) -> None:
    ids = hf.encode(f"😀{END}é")
    assert len(ids) == 4 + 1 + 2
    parser = Parser("qwen3", tokenizer=hf, make_id=lambda: "id")
    whole = parser.parse(f"😀{END}é", token_ids=ids)
    assert strands(whole) == ("😀", "é", [])
    pieces: list[Piece] = [("", [ids[0]]), ("", [ids[1]]), ("", ids[2:3]), ("😀", ids[3:4]), (END, ids[4:5])]
    pieces += [("", ids[5:6]), ("é", ids[6:])]
    assert read(parser, pieces)[0] == whole


def test_special_tokens_without_text_do_not_shift_positions(hf: HFTokenizer) -> None:
    """An id that this vocabulary does not know has no text; what follows stays in its place."""
    ids = [*hf.encode("a"), 99_999, *hf.encode(END), *hf.encode("b")]
    assert strands(Parser("qwen3", tokenizer=hf).parse(f"a{END}b", token_ids=ids)) == ("a", "b", [])


def test_prompt_of_ids(hf: HFTokenizer) -> None:
    opened = Parser("qwen3", tokenizer=hf, prompt=hf.encode(f"<|im_start|>assistant\n{THINK}\n"))
    assert opened.thinking
    closed = Parser("qwen3", tokenizer=hf, prompt=hf.encode(f"<|im_start|>assistant\n{THINK}\n\n{END}\n\n"))
    assert not closed.thinking
    assert strands(closed.parse("Hi")) == (None, "Hi", [])


@pytest.mark.parametrize("where", ["content", "reasoning"])
def test_stray_markers_of_calls_are_markup_too(hf: HFTokenizer, where: str) -> None:
    """A call's closer as a token, where no call is open, is in no strand."""
    prompt = "<|im_start|>assistant\n" + ("<think>\n" if where == "reasoning" else "")
    parser = Parser("qwen3", "hermes", tokenizer=hf, prompt=prompt)
    message = read_every_way(parser, f"a{CLOSE}b", ids=tokens(hf, "a", CLOSE, "b"))
    assert getattr(message, where) == "ab"
    assert [(one.code, one.start) for one in message.diagnostics] == [("stray_marker", 1)]
    spelled = read_every_way(parser, f"a{CLOSE}b", ids=tokens(hf, "a", [CLOSE], "b"))
    assert getattr(spelled, where) == f"a{CLOSE}b"


def test_offsets_are_those_of_the_text() -> None:
    """A token begins at its first character, one in the middle of a character behind what is whole."""
    offsets = Offsets()
    begins = [offsets.of(piece) for piece in (b"a", b"\xc3", b"\xa6b", b"c")]
    assert (begins, offsets.length) == ([0, 1, 1, 3], 4)
    assert offsets.of(b"\xe2\x82") == 4
    assert offsets.of(b"<x>", special=True) == 5  # what came of a character in front of it is one character
    assert offsets.length == 8
