"""Where special tokens begin in the text, whenever the text of a token arrives.

Positions are counted in characters of the output, decoded from the ids' own
bytes. A position is known before or after its text came, so a detokenizer that
delivers late or early makes no difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import index

from unbraid.errors import InvalidRequest
from unbraid.tokens import Offsets, Tokenizer

__all__ = ["Alignment"]


class Alignment:
    """The positions of special tokens; one per stream.

    ``markers`` are the format's markers that the tokenizer holds as one token each,
    with their ids. A marker that is not among them counts as text, as does all
    text until the first ids arrive.
    """

    __slots__ = (
        "_begun",
        "_first",
        "_known",
        "_offsets",
        "_queue",
        "_special",
        "_tokenizer",
        "covered",
        "starts",
    )

    def __init__(self, tokenizer: Tokenizer, markers: dict[str, int]) -> None:
        self._tokenizer = tokenizer
        self._known = markers
        self._special = frozenset(markers.values())
        self._queue: list[int] = []
        self._offsets = Offsets()
        self._first: str | None = None
        self._begun = False
        self.covered = 0
        self.starts: dict[int, int] = {}

    def feed(self, token_ids: Iterable[int]) -> None:
        """Take the ids of the next tokens; they are decoded when a decision needs them."""
        try:
            self._queue.extend([*map(index, token_ids)])
        except TypeError as error:
            raise InvalidRequest("token_ids must be a list of ids", param="token_ids") from error

    def begins_with(self, text: str) -> None:
        """Take the beginning of the output's text: a detokenizer may drop the first token's space."""
        if self._first is None and text:
            self._first = text[0]

    def _locate(self) -> None:
        if not self._queue:
            return
        for token_id in self._queue:
            piece = self._tokenizer.token_bytes(token_id)
            if not self._begun:
                self._begun = bool(piece)
                self._offsets.length -= piece.startswith(b" ") and self._first != " "
            special = token_id in self._special
            begin = self._offsets.of(piece, special)
            if special:
                self.starts[begin] = token_id
        self._queue.clear()
        self.covered = self._offsets.length

    def counts(self, marker: str, position: int, ended: bool) -> bool | None:
        """Whether ``marker`` at ``position`` is the special token; None while its id is still to come."""
        token_id = self._known.get(marker)
        if token_id is None:
            return True
        self._locate()
        if self.starts.get(position) == token_id:
            return True
        if position < self.covered:
            return False
        return None if self._begun and not ended else True
