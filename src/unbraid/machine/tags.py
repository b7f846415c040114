"""The flow of a tag format: content, thinking, and calls that begin at a marker."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator
from typing import Literal

from unbraid.events import ContentDelta, Event, ReasoningDelta
from unbraid.machine.answers import AnswerMachine
from unbraid.machine.aside import Aside
from unbraid.machine.calls import split_tail
from unbraid.machine.core import Run
from unbraid.machine.markers import Scanner
from unbraid.syntax import MAX_WHITE, NO_SPACE, Space

__all__ = ["TagMachine"]

Found = Generator[None, None, str | None]


class TagMachine(AnswerMachine, Aside):
    """Reads one output of a tag format."""

    def run(self) -> Run:
        """The whole output."""
        if self.state.open:
            self.thinking = True
            yield from self.begin_open()
            yield from self.region()
        else:
            yield from self.skip(self.state.after)
            yield from self.skip(self.state.begin)
        while True:
            marker = yield from self.text(self.setup.content, "content")
            if marker is None:
                self.last_white()
                return
            kind = self.setup.kinds[marker]
            if kind == "open" and self.may_open():
                self.frame_opener()
                self.take(len(marker), "markup")
                yield from self.label_and_lead(True)
                yield from self.region()
            elif kind == "close" and self.closes_nothing():
                self.frame_opener()
                self.take(len(marker), "markup")
                self.fresh = False
                assert self.setup.reasoning is not None
                yield from self.skip(self.setup.reasoning.after)
            elif kind == "section":
                yield from self.unit(self.section, self.take_white())
            elif kind == "call":
                yield from self.unit(self.attempt, self.take_white())
                if self.after_call and self.blank:
                    yield from self.behind_call()
            elif kind == "answer":
                self.answer(marker)
                assert self.setup.answer is not None
                yield from self.skip(self.setup.answer.lead)
            elif kind == "answer_end":
                yield from self.answer_end(marker)
            elif kind == "cite":
                self.cite(marker, "content")
            elif kind == "cite_end":
                self.cite_end(marker, "content")
            else:
                self.stray(marker, kind)

    def behind_call(self) -> Run:
        """What stands behind a call and is no part of the message."""
        assert self.setup.tools is not None
        if self.setup.tools.echoes:
            while self.after_call and self.blank and (yield from self.echo()):
                pass
        if self.after_call and self.blank:
            yield from self.behind()

    def stray(self, marker: str, kind: str) -> None:
        """A turn end, or a special token out of its place: markup in no strand."""
        framing = self.end_white() if kind == "dropped" else ""
        self.give_white("content")
        self.mark("framing", len(framing))
        self.fresh = False
        at = self.at()
        self.take(len(marker), "markup")
        if kind != "dropped":
            self.note("stray_marker", at, self.at(), "no marker here")

    # -- text -----------------------------------------------------------------

    def text(self, scan: Scanner, strand: Literal["content", "reasoning"]) -> Found:
        """Give out text up to a marker, which is returned and stands at ``buf[i]``; None at the end.

        White space at the end is held in ``self.white``.
        """
        at = self.i
        while True:
            found = scan.search(self.buf, at)
            stop = found.start() if found else len(self.buf)
            if found is not None and at > self.i and self.in_line(found, at, scan):
                at = stop + 1
                continue
            if stop > self.i:
                self.say(strand, stop)
            if found is None:
                if self.eof:
                    return None
                self.text_lane(scan, strand)
                yield
                at = self.i
                continue
            marker = self.standing(scan, found)
            verdict: bool | None = False
            if marker is not None:
                verdict = self.accepts(marker, strand)
                if verdict:
                    return marker
            elif not self.eof:
                verdict = None
            if verdict is None and not self.eof:
                self.text_lane(scan, strand)
                yield
                at = self.i
            elif self.eof and marker is None and self.at_stem():
                self.cut_marker()
                return None
            else:
                at = self.i + 1
                if at > len(self.buf):
                    at = len(self.buf)

    def in_line(self, found: re.Match[str], at: int, scan: Scanner) -> bool:
        """Whether what begins a call at the start of a line stands behind other text, from ``at`` - 1 on."""
        if self.setup.behind_text or self.standing(scan, found) not in self.setup.anchored:
            return False
        before = self.buf[at - 1 : found.start()]
        return "\n" not in before and not before.isspace()

    def at_stem(self) -> bool:
        """Whether a special token that begins markers stands at ``buf[i]``."""
        return any(
            self.buf.startswith(one, self.i) and self.is_marker(one, self.i) for one in self.setup.stems
        )

    def cut_marker(self) -> None:
        """The output ended inside a marker that can't be text: it is markup as far as it goes."""
        self.give_white("reasoning" if self.thinking else "content")
        rest = len(self.buf) - self.i
        self.note("unfinished_marker", self.at(), self.at() + rest, "the rest of a marker")
        self.take(rest, "markup")

    def accepts(self, marker: str, strand: str) -> bool | None:
        """Whether a marker found at ``buf[i]`` means something here; None when its id must come first."""
        if marker in self.setup.sure:
            return self.is_marker(marker, self.i)
        kind = self.setup.kinds[marker]
        if kind == "open" and strand == "content":
            if not self.may_open():
                return self.by_id(marker) and self.is_marker(marker, self.i)
        elif kind == "end":
            return self.after_call and self.blank and self.is_marker(marker, self.i)
        elif kind == "answer" and strand == "content" and not self.opens_answer():
            return self.by_id(marker) and self.is_marker(marker, self.i)
        elif kind == "answer_end":
            ends = self.ends_answer(marker)
            if not ends:
                return None if ends is None else self.by_id(marker) and self.is_marker(marker, self.i)
        elif marker in self.setup.anchored:
            return self.blank or "\n" in "".join(self.white) or self.stands_behind(self.setup.behind_text)
        elif kind == "cite_end":
            return self.cites_here(marker)
        elif (kind, strand) == ("close", "content") and self.closes_nothing():
            return self.is_marker(marker, self.i)
        elif kind == "stray" or (kind, strand) in (("open", "reasoning"), ("close", "content")):
            return self.by_id(marker) and self.is_marker(marker, self.i)
        return self.is_marker(marker, self.i)

    def stands_behind(self, behind: tuple[str, ...]) -> bool:
        """Whether one of these texts was given out last."""
        if not behind:
            return False
        longest = max(map(len, behind))
        tail = ""
        for piece in reversed(self.content_parts):
            tail = piece + tail
            if len(tail) >= longest:
                break
        return bool(tail) and tail.endswith(behind)

    def closes_nothing(self) -> bool:
        """Whether a closer of thinking here says that there is none."""
        return bool(self.setup.reasoning and self.setup.reasoning.bare_close and self.fresh and self.blank)

    def may_open(self) -> bool:
        """Whether an opener of thinking begins thinking here."""
        assert self.setup.reasoning is not None
        return self.fresh or self.setup.reasoning.reopens

    def by_id(self, marker: str) -> bool:
        """Whether this marker is told by its token id."""
        return self.alignment is not None and marker in self.state.markers

    def say(self, strand: str, stop: int) -> None:
        """Give out ``buf[i:stop]``, its trailing white space held."""
        chunk = self.buf[self.i : stop]
        self.i = stop
        separated = self.after_call and self.blank and strand == "content"
        body = chunk.rstrip(self.setup.separators) if separated else chunk.rstrip()
        if not body:
            self.white.append(chunk)
            return
        text = "".join(self.white) + body
        self.white = [chunk[len(body) :]] if len(body) < len(chunk) else []
        self.strand(strand, text)

    def strand(self, strand: str, text: str) -> None:
        """Give out text that was consumed before, and account for it."""
        if strand == "reasoning":
            self.reasoning(text)
        else:
            self.content(text)
            self.blank = self.fresh = False
        self.mark(strand, len(text))

    def text_lane(self, scan: Scanner, strand: str) -> None:
        """Let plain pieces through; short white space goes back to where the lane holds it."""
        if self.drafting or len(self.white) > 1 or len("".join(self.white)) > MAX_WHITE:
            return
        event: Callable[[str], Event]
        if strand == "reasoning":
            event, parts = ReasoningDelta, self.reasoning_parts
        else:
            event, parts = ContentDelta, self.content_parts
        if self.spans and self.spans[-1][0] == strand and not (strand == "content" and self.blank):
            if self.white:
                self.put_back(self.take_white())
            self.set_lane(scan.text_lane, event, parts)

    def give_white(self, strand: str) -> None:
        """Held white space is text after all, or framing where it stands alone."""
        white = self.take_white()
        if not white:
            return
        nothing = self.blank if strand == "content" else len(self.reasoning_parts) == self.thought
        if nothing:
            self.mark("framing", len(white))
        else:
            self.strand(strand, white)

    def end_white(self) -> str:
        """Take from the held white space what the template writes at the turn's end."""
        text, framing = split_tail(self.take_white(), self.setup.end)
        self.white = [text] if text else []
        return framing

    def last_white(self) -> None:
        """White space at the end of the output: framing beside calls, text otherwise."""
        if self.blank and (self.calls or self.answered):
            self.mark("framing", len(self.take_white()))
            return
        framing = self.end_white() if self.finish_reason != "length" else ""
        white = self.take_white()
        if white:
            self.strand("content", white)
        self.mark("framing", len(framing))

    # -- thinking -------------------------------------------------------------

    def begin_open(self) -> Run:
        """The prompt opened thinking: its opener may be repeated, its white space is not expected again."""
        reasoning = self.setup.reasoning
        assert reasoning is not None
        white = yield from self.white_held()
        marker = yield from self.literal(reasoning.open.spellings)
        if marker is not None:
            self.mark("framing", len(white))
            self.take(len(marker), "markup")
            yield from self.label_and_lead(True)
            return
        if self.is_cut() and self.at_stem():
            self.mark("framing", len(white))
            self.cut_marker()
            return
        if self.state.label:
            self.put_back(white)
            yield from self.label_and_lead(True)
            return
        lead = 0
        if self.state.lead:
            space = reasoning.lead
            while lead < len(white) and lead < len(space.text) and white[lead] == space.text[lead]:
                lead += 1
            if space.any:
                lead = len(white)
        self.mark("framing", lead)
        self.white = [white[lead:]] if lead < len(white) else []

    def label_and_lead(self, lead: bool) -> Run:
        """Behind an opener: the label, then the framing white space."""
        reasoning = self.setup.reasoning
        assert reasoning is not None
        if reasoning.label:
            label = yield from self.literal((reasoning.label,))
            if label is not None:
                self.take(len(label), "markup")
        if lead:
            yield from self.skip(reasoning.lead)

    def skip(self, space: Space) -> Run:
        """Consume framing white space."""
        if space.any:
            yield from self.white_run(space.chars)
        elif space.text:
            yield from self.upto(space.text, "framing")

    def frame_opener(self) -> None:
        """White space in front of the opener of thinking."""
        reasoning = self.setup.reasoning
        assert reasoning is not None
        white = self.take_white()
        if self.blank:
            self.mark("framing", len(white))
            return
        text, framing = split_tail(white, reasoning.before)
        if text:
            self.strand("content", text)
        self.mark("framing", len(framing))

    def region(self) -> Run:
        """Thinking, from behind its opener to behind its end."""
        reasoning = self.setup.reasoning
        assert reasoning is not None
        self.fresh = False
        self.thinking = True
        self.passages.clear()
        self.thought = len(self.reasoning_parts)
        while True:
            marker = yield from self.text(self.setup.thinking, "reasoning")
            if marker is None:
                self.give_white("reasoning")
                return
            kind = self.setup.kinds[marker]
            if kind == "close":
                self.mark("framing", len(self.last_thought(reasoning.trail)))
                self.take(len(marker), "markup")
                self.leave()
                yield from self.skip(reasoning.after)
                return
            if kind in ("open", "stray"):
                self.give_white("reasoning")
                at = self.at()
                self.take(len(marker), "markup")
                expected = "thinking is open already" if kind == "open" else "no marker here"
                self.note("stray_marker", at, self.at(), expected)
            elif kind == "dropped":
                self.give_white("reasoning")
                self.take(len(marker), "markup")
            elif kind == "cite":
                self.cite(marker, "reasoning")
            elif kind == "cite_end":
                self.cite_end(marker, "reasoning")
            elif kind in ("call", "section") and self.setup.stays:
                self.give_white("reasoning")
                yield from self.section("") if kind == "section" else self.attempt("")
            elif kind != "answer" and self.setup.drafts:
                if (yield from self.draft()):
                    self.leave()
                    return
            else:
                self.implicit_end()
                return

    def leave(self) -> None:
        """Thinking is over."""
        self.thinking = False
        self.blank = True
        self.after_call = False
        self.passages.clear()

    def implicit_end(self) -> None:
        """A call's opener ends thinking."""
        tools = self.setup.tools
        self.mark("framing", len(self.last_thought(tools.before if tools else NO_SPACE)))
        self.leave()

    def last_thought(self, trail: Space) -> str:
        """Held white space at the end of thinking is text but for its framing; that is returned."""
        white = self.take_white()
        if len(self.reasoning_parts) == self.thought:
            return white
        text, framing = split_tail(white, trail)
        if text:
            self.strand("reasoning", text)
        return framing

    def draft(self) -> Generator[None, None, bool]:
        """A call in open thinking: True where it is real, otherwise all of it is thinking."""
        assert self.setup.tools is not None
        white = self.last_thought(self.setup.tools.before)
        text = yield from self.drafted(white)
        if text is None:
            return True
        text = white + text
        body = text.rstrip()
        if body:
            self.strand("reasoning", body)
        self.put_back(text[len(body) :])
        return False

    def echo(self) -> Generator[None, None, bool]:
        """Behind a call, its body once more with another closer: it is dropped. Anything else is text."""
        held = yield from self.white_held()
        if (yield from self.peek()) != "[":
            self.white.append(held)
            return False
        start, undo = self.set_aside()
        outcome = yield from self.attempt("", behind=1)
        text = self.undo(start, undo)
        if outcome == "read" and text.endswith(self.setup.closers):
            self.note("repeated_call", self.pos, self.pos + len(held) + len(text), "a call once")
            self.mark("dropped", len(held) + len(text))
            self.blank = self.after_call = True
            return True
        self.white.append(held)
        self.give_back(self.take_white() + text)
        return False
