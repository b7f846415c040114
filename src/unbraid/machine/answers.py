"""Markers around content, and passages that cite."""

from __future__ import annotations

import re

from unbraid.machine.calls import CallMachine, split_tail
from unbraid.machine.core import Run
from unbraid.machine.setup import Setup, certain
from unbraid.machine.state import State
from unbraid.message import Citation
from unbraid.syntax import MAX_WHITE, WHITE, Cite

__all__ = ["AnswerMachine"]

LONGEST = 256
_SOURCES = re.compile(rf"[0-9:,\[\] ]{{0,{LONGEST}}}")
_SOURCE = re.compile(r"([0-9]{1,9}):\[([0-9, ]*)\]")
_NUMBER = re.compile(r"[0-9]{1,9}")


class AnswerMachine(CallMachine):
    """A machine that knows markers around content."""

    def __init__(self, state: State, setup: Setup) -> None:
        self.thought = 0
        self.answered = False
        self.passages: list[tuple[int, int]] = []
        self.measured = {"content": (0, 0), "reasoning": (0, 0)}
        super().__init__(state, setup)

    def strand(self, strand: str, text: str) -> None:
        """Give out text that was consumed before, and account for it."""
        raise NotImplementedError

    def give_white(self, strand: str) -> None:
        """Held white space is text after all, or framing where it stands alone."""
        raise NotImplementedError

    def answer(self, marker: str) -> None:
        """The marker in front of content."""
        self.give_white("content")
        self.take(len(marker), "markup")
        self.blank = True
        self.fresh = self.after_call = False
        self.passages.clear()

    def answer_end(self, marker: str) -> Run:
        """The marker behind content."""
        assert self.setup.answer is not None
        text, framing = split_tail(self.take_white(), self.setup.answer.trail)
        self.white = [text] if text else []
        self.give_white("content")
        self.mark("framing", len(framing))
        self.answer(marker)
        self.answered = True
        yield from self.behind()

    def opens_answer(self) -> bool:
        """Whether a marker in front of content counts: ordinary text only where no content came before."""
        assert self.setup.answer is not None
        return self.blank or certain(self.setup.answer.open, self.setup.stems)

    def ends_answer(self, marker: str) -> bool | None:
        """Whether the marker at ``buf[i]`` ends content; None while that is open.

        Ordinary text does only where the turn ends behind it, or calls come.
        """
        assert self.setup.answer is not None
        if certain(self.setup.answer.close, self.setup.stems):
            return True
        at = end = self.i + len(marker)
        while at < len(self.buf) and at < end + MAX_WHITE and self.buf[at] in WHITE:
            at += 1
        rest = self.buf[at : at + MAX_WHITE]
        following = self.setup.behind_answer
        if rest.startswith(following):
            return True
        if not rest or any(one.startswith(rest) for one in following):
            return True if self.eof else None
        return False

    def behind(self) -> Run:
        """Text behind content or calls, up to the next marker, may be in no strand."""
        if self.setup.answer is None or self.setup.answer.rest == "content":
            return
        held = self.take_white()
        start = self.at() - len(held)
        lost = False
        while True:
            text, marker = yield from self.collect_rest(self.setup.behind, self.is_marker)
            text, held = held + text, ""
            lost = lost or bool(text.strip())
            self.mark("dropped" if text.strip() else "framing", len(text))
            if marker not in self.setup.dropped:
                break
            self.take(len(marker or ""), "markup")
        if lost:
            self.note("text_behind_answer", start, self.at(), "a marker")

    # -- citations ------------------------------------------------------------

    def cite(self, marker: str, strand: str) -> None:
        """A passage that cites begins."""
        white = self.take_white()
        if white:
            self.strand(strand, white)
        self.take(len(marker), "markup")
        self.passages.append((len(self.parts_of(strand)), self.length_of(strand)))

    def cites_here(self, marker: str) -> bool | None:
        """Whether a passage is open and sources stand behind the marker; None while that is open."""
        cite = self.cites()
        at = self.i + len(marker)
        end = _SOURCES.match(self.buf, at).end()  # type: ignore[union-attr]
        if not self.passages:
            return False
        if self.buf.startswith(cite.end, end):
            return True
        waits = end == len(self.buf) < at + LONGEST and not self.eof
        return None if waits else False

    def cite_end(self, marker: str, strand: str) -> None:
        """A passage that cites ends; its text and its sources are reported."""
        white = self.take_white()
        if white:
            self.strand(strand, white)
        stop = self.buf.index(self.cites().end, self.i)
        listed = self.buf[self.i + len(marker) : stop]
        self.take(stop + len(self.cites().end) - self.i, "markup")
        first, start = self.passages.pop()
        sources = tuple(
            (int(call), tuple(int(one) for one in _NUMBER.findall(results)))
            for call, results in _SOURCE.findall(listed)
        )
        text = "".join(self.parts_of(strand)[first:])
        self.citations.append(Citation(strand, start, start + len(text), text, sources))

    def cites(self) -> Cite:
        """How passages are marked."""
        assert self.setup.answer is not None
        assert self.setup.answer.cite is not None
        return self.setup.answer.cite

    def parts_of(self, strand: str) -> list[str]:
        """The pieces of a strand."""
        return self.reasoning_parts if strand == "reasoning" else self.content_parts

    def length_of(self, strand: str) -> int:
        """How long a strand is, each of its pieces measured once."""
        parts = self.parts_of(strand)
        count, length = self.measured[strand]
        length += sum(map(len, parts[count:]))
        self.measured[strand] = (len(parts), length)
        return length
