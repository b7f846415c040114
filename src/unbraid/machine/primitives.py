"""Primitives of the machine: look ahead, white space, literals, text up to a marker."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator

from unbraid.machine.core import Machine, Run, run_of
from unbraid.machine.markers import Scanner
from unbraid.syntax import WHITE

__all__ = ["Primitives"]


class Primitives(Machine):
    """What waits for text; each leaves behind it what it did not decide."""

    def peek(self, length: int = 1) -> Generator[None, None, str]:
        """The next ``length`` characters, fewer only at the end of the output."""
        while len(self.buf) - self.i < length and not self.eof:
            yield
        return self.buf[self.i : self.i + length]

    def whole(
        self, pattern: re.Pattern[str], cut: re.Pattern[str]
    ) -> Generator[None, None, re.Match[str] | None]:
        """Wait until ``pattern`` matches, as long as ``cut`` matches what stands here."""
        while True:
            found = pattern.match(self.buf, self.i)
            if found is not None or self.eof or cut.match(self.buf, self.i) is None:
                return found
            yield

    def blank_here(self) -> bool:
        """Whether white space stands here, or may still come."""
        return self.i >= len(self.buf) or self.buf[self.i] in WHITE

    def white_run(self, chars: str, kind: str = "framing") -> Run:
        """Consume a run of white space of any length."""
        while True:
            if self.i < len(self.buf) and self.buf[self.i] not in chars:
                return
            found = run_of(chars).match(self.buf, self.i)
            assert found is not None
            self.take(found.end() - self.i, kind)
            if self.i < len(self.buf) or self.eof:
                return
            yield

    def white_held(self) -> Generator[None, None, str]:
        """Consume a run of white space that is not accounted for yet."""
        held: list[str] = []
        while True:
            rest = self.buf[self.i :]
            blank = len(rest) - len(rest.lstrip(WHITE))
            held.append(rest[:blank])
            self.i += blank
            if self.i < len(self.buf) or self.eof:
                return "".join(held)
            yield

    def upto(self, text: str, kind: str) -> Run:
        """Consume as much of the beginning of ``text`` as stands here."""
        done = 0
        while done < len(text):
            if self.i >= len(self.buf):
                if self.eof:
                    return
                yield
                continue
            if self.buf[self.i] != text[done]:
                return
            self.take(1, kind)
            done += 1

    def standing(self, scan: Scanner, found: re.Match[str]) -> str | None:
        """The marker that a match is for certain; an output that ended by itself ended behind a whole one."""
        if scan.whole(found, self.eof):
            return found.group()
        return scan.begun(found) if self.eof and self.finish_reason != "length" else None

    def collect(
        self, scan: Scanner, counts: Callable[[str, int], bool | None]
    ) -> Generator[None, None, tuple[str, str | None]]:
        """Consume text up to a marker that counts; the text, and the marker (None at the end of the output).

        ``counts`` says of a marker and its place in the buffer whether it does, or None
        when more has to come first. The text is not accounted for yet; a marker that is
        cut at the end of the output is left where it is.
        """
        pieces: list[str] = []
        at = self.i
        while True:
            found = scan.search(self.buf, at)
            stop = found.start() if found else len(self.buf)
            verdict: bool | None = None
            marker = self.standing(scan, found) if found is not None else None
            if marker is not None:
                verdict = counts(marker, stop)
            if verdict is False:
                at = stop + 1
                continue
            pieces.append(self.buf[self.i : stop])
            self.i = stop
            if verdict and marker is not None:
                return "".join(pieces), marker
            if self.eof:
                return "".join(pieces), None
            yield
            at = self.i

    def collect_rest(
        self, scan: Scanner, counts: Callable[[str, int], bool | None]
    ) -> Generator[None, None, tuple[str, str | None]]:
        """As ``collect``; a marker that is cut at the end of the output is text too."""
        text, marker = yield from self.collect(scan, counts)
        if marker is None:
            text += self.buf[self.i :]
            self.i = len(self.buf)
        return text, marker

    def literal(self, spellings: tuple[str, ...]) -> Generator[None, None, str | None]:
        """Which spelling stands here (not consumed), the longest, or None."""
        while True:
            best: str | None = None
            left = len(self.buf) - self.i
            waits = partial = False
            for one in spellings:
                if self.buf.startswith(one, self.i):
                    counts = self.is_marker(one, self.i)
                    waits |= counts is None
                    if counts and len(one) > len(best or ""):
                        best = one
                elif left < len(one) and one.startswith(self.buf[self.i :]):
                    partial = True
            whole = not partial or (self.eof and left == len(best or ""))
            if best is not None and not waits and whole:
                return best
            if not waits and (self.eof or not partial):
                if self.eof and partial:
                    self.cut_place = self.at()
                return None
            yield

    def is_cut(self) -> bool:
        """Whether the output ends here in a beginning of what was looked for."""
        return self.eof and self.cut_place == self.at() and self.i < len(self.buf)
