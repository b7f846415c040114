"""Chunks: whole characters with all their ids, stop strings at any split."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from unbraid.engines.base import Chunk
from unbraid.engines.stream import Assembler, StopFilter, segment
from unbraid.tokens import TokenTable

from .helpers import Vocabulary

BYTES = Vocabulary({**{n: bytes([n]) for n in range(256)}, 256: b"\xf0\x9f", 257: "<end>"}, special=[257])


def as_llama_sends(ids: list[int]) -> list[tuple[str, list[int], int]]:
    """Token by token; nothing is sent while a character is open, and its first ids never are."""
    sent, held = [], b""
    for count, token_id in enumerate(ids, 1):
        held += BYTES.token_bytes(token_id)
        try:
            text = held.decode()
        except UnicodeDecodeError:
            continue
        sent.append((text, [token_id], count))
        held = b""
    return sent


@given(st.text(st.sampled_from("a<é日😀🌍\n")), st.booleans())
def test_ids_within_characters_are_found_again(text: str, spelled: bool) -> None:
    ids: list[int] = []
    for char in text:
        data = char.encode()
        ids.extend([256, *data[2:]] if char in "😀🌍" and BYTES.ids_of(data[:2]) else data)
    assembler = Assembler(BYTES, spelled)
    chunks = [assembler.feed(*sent) for sent in as_llama_sends(ids)]
    assert "".join(piece for piece, _ in chunks) == text
    assert [token_id for _, piece in chunks for token_id in piece] == ids
    assert assembler.exact
    assert all(b"".join(map(BYTES.token_bytes, piece)).decode() == got for got, piece in chunks)


def test_without_the_bytes_the_text_is_encoded_again() -> None:
    table = TokenTable({1: "a", 2: b"\xc3", 3: b"\xa9"})
    assembler = Assembler(table, spelled=True)
    assert assembler.feed("é", [3], 2) == ("é", (2, 3))
    assert assembler.feed("a", [1], 3) == ("a", (1,))
    assert assembler.exact


def test_ids_that_can_not_be_found_are_left_out_together() -> None:
    assembler = Assembler(BYTES)
    assert assembler.feed("a\ufffd", [0x61], 9) == ("a\ufffd", ())
    assert not assembler.exact
    assert assembler.feed("b", [0x62], 10) == ("b", (0x62,))


def test_special_tokens_are_spelled_even_when_the_engine_hides_them() -> None:
    for spelled in (False, True):
        assert Assembler(BYTES, spelled).feed("", [257], 1) == ("<end>", (257,))


def test_an_engine_that_sends_half_characters() -> None:
    assembler = Assembler(BYTES)
    assert assembler.feed("", [0xC3], 1) == ("", ())
    assert assembler.feed("", [0xA9], 2) == ("é", (0xC3, 0xA9))


def test_segment() -> None:
    assert segment(b"\xf0\x9f\x98", 2, BYTES.ids_of) == (256, 0x98)
    assert segment(b"\xf0\x9f\x98", 3, BYTES.ids_of) == (0xF0, 0x9F, 0x98)
    assert segment(b"\xf0\x9f\x98", 1, BYTES.ids_of) is None
    assert segment(b"ab", 3, BYTES.ids_of) is None
    assert segment(b"", 0, BYTES.ids_of) == ()


@given(
    st.lists(st.text(st.sampled_from("abc"), max_size=3), max_size=12),
    st.lists(st.text(st.sampled_from("abc"), min_size=1, max_size=4), max_size=3),
)
def test_stop_strings_cut_where_the_first_one_begins(pieces: list[str], stops: list[str]) -> None:
    stop_filter = StopFilter(stops)
    given_back: list[Chunk] = []
    for n, piece in enumerate(pieces):
        given_back += stop_filter.feed(Chunk(text=piece, token_ids=(n,)))
        if stop_filter.matched is not None:
            break
    else:
        given_back += stop_filter.flush()
    text = "".join(pieces)
    got = "".join(chunk.text for chunk in given_back)
    found = [at for stop in stops if (at := text.find(stop)) >= 0]
    assert (stop_filter.matched is not None) == bool(found)
    if not found:
        assert got == text
        return
    assert stop_filter.matched in stops
    assert text.startswith(got + str(stop_filter.matched))
    assert not any(stop in got for stop in stops)
    assert all(chunk.text == pieces[chunk.token_ids[0]] for chunk in given_back if chunk.token_ids)
