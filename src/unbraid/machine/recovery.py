"""What a machine does when a call goes wrong: give text back, skip to where reading resumes."""

from __future__ import annotations

from collections.abc import Generator

from unbraid.machine.core import Broken, Call, Refuted, Run, Trial
from unbraid.machine.markers import Scanner, scanner
from unbraid.machine.reader import Reader
from unbraid.syntax import MAX_WHITE, WHITE, Json, Lit, Part, Ws

__all__ = ["Recovery"]


class Recovery(Reader):
    """The three fates of a call that fails, and what proves the end of one that does not."""

    def refuted(self, why: Refuted) -> None:
        """Give the text back, in place."""
        trial, self.trial = self.trial or [], None
        white = len(trial[0][1]) if trial and trial[0][0] == "white" else 0
        text = "".join([text for _, text in trial])
        if len(text) > white:
            self.note(why.code, self.pos + white, self.pos + len(text.rstrip()), why.expected)
        self.give_back(text)

    def rest_of_list(self, why: Refuted) -> Generator[None, None, bool]:
        """A list that holds a call goes on with something else: up to its end nearby it is noise."""
        closers = self.setup.closers
        found = (yield from self.nearby(scanner(closers))) if closers else None
        found = found or (yield from self.nearby(scanner(("]",))))
        if found is None:
            return False
        length, marker = found
        trial, self.trial = self.trial or [], None
        self.call = Call()
        held = sum(len(text) for _, text in trial)
        self.note(why.code, self.pos, self.pos + held + length, why.expected)
        self.mark("noise", held)
        self.take(length, "noise")
        self.take(len(marker), "markup")
        if marker not in closers:
            yield from self.closer_behind()
        return True

    def closer_behind(self) -> Run:
        """Consume the call's closer if it stands here, behind white space."""
        held = yield from self.white_held()
        spelling = yield from self.literal(self.setup.closers)
        if spelling is None:
            self.white.append(held)
            return
        self.mark("framing", len(held))
        self.take(len(spelling), "markup")

    def give_back(self, text: str) -> None:
        """Refuted text belongs to the strand in which it stands; white space behind it is read again."""
        body = text.rstrip()
        if body:
            self.plain(body)
            self.blank = self.fresh = False
        self.put_back(text[len(body) :])

    def broken(self, why: Broken) -> Run:
        """Stop the call's arguments; skip to where reading can go on."""
        self.note(why.code, self.at(), self.at(), why.expected)
        self.end_call(False)
        while True:
            found = self.setup.recover.search(self.buf, self.i)
            stop = found.start() if found else len(self.buf)
            self.take(stop - self.i, "broken")
            if found is None:
                if self.eof:
                    break
                yield
                continue
            marker = self.standing(self.setup.recover, found)
            counts = self.is_marker(marker, self.i) if marker is not None else None
            if counts and marker is not None:
                if marker in self.setup.closers:
                    self.take(len(marker), "markup")
                break
            if counts is None and not self.eof:
                yield
            else:
                self.take(1, "broken")
        self.blank = self.after_call = True
        self.fresh = False

    def cut(self) -> None:
        """The output ended inside a call."""
        rest = len(self.buf) - self.i
        start = self.at()
        self.i = len(self.buf)
        if self.call.announced:
            if self.call.proven:
                self.mark("framing", rest)
                self.finish_call()
                return
            self.note("cut_call", start, start + rest, "the end of the call", "raise max_tokens")
            self.mark("unfinished", rest)
            self.end_call(False)
            self.blank = self.after_call = True
            return
        trial, self.trial = self.trial or [], None
        held = "".join(text for kind, text in trial if kind != "white")
        white = "".join(text for kind, text in trial if kind == "white")
        if not held.strip() and not rest:
            self.mark("framing", len(white) + len(held))
            return
        if not rest and self.only_begins(trial):
            self.give_back(white + held)
            return
        if white:
            self.commit_white(white)
        self.note("unfinished_call", self.pos, self.pos + len(held) + rest, "the rest of a call")
        self.mark("unfinished", len(held) + rest)

    def only_begins(self, trial: Trial) -> bool:
        """Whether nothing but what begins a call was read, in a format where text begins so too."""
        read = "".join(text for kind, text in trial if kind not in ("white", "framing"))
        tools = self.setup.tools
        return tools is not None and tools.call.anchor and read in self.setup.call_openers

    @staticmethod
    def required(parts: tuple[Part, ...]) -> bool:
        """Whether the template can't end before these parts."""
        return not all(isinstance(one, Ws) or (isinstance(one, Lit) and one.optional) for one in parts)

    def missing(self, part: Lit, rest: tuple[Part, ...]) -> Generator[None, None, int]:
        """A marker is not where it must be: a later one or the next call may prove the end."""
        call = self.call
        if not call.announced:
            return (yield from self.no_arguments(part, rest))
        if call.proven:
            yield from self.white_run(WHITE)
            spelling = yield from self.literal(part.spellings)
            if spelling is not None:
                self.take(len(spelling), "markup")
                return 0
        for n, later in enumerate(rest):
            if isinstance(later, Lit):
                spelling = yield from self.literal(later.spellings)
                if spelling is not None:
                    self.note("missing_marker", self.at(), self.at(), part.text)
                    return n
        opener = yield from self.literal(self.openers())
        if opener is not None:
            self.note("missing_marker", self.at(), self.at(), part.text)
            self.end_call(True)
            return len(rest)
        if call.proven:
            yield from self.closer_nearby(part, rest)
            return len(rest)
        raise Broken("broken_call", part.text)

    def no_arguments(self, part: Lit, rest: tuple[Part, ...]) -> Generator[None, None, int]:
        """A named call may end in front of its arguments, with its last marker: it has none."""
        closers = [(n, one) for n, one in enumerate(rest) if isinstance(one, Lit)][-1:]
        for n, closer in closers if self.call.name and any(isinstance(one, Json) for one in rest) else []:
            if (yield from self.literal(closer.spellings)) is not None:
                self.note("missing_marker", self.at(), self.at(), part.text)
                self.announce(self.call.name)
                self.args("{}")
                self.end_call(True)
                return n
        raise Refuted("not_a_call", part.text)

    def openers(self) -> tuple[str, ...]:
        """What begins the next call or ends the section: proof that this one is over."""
        return self.setup.openers

    def closer_nearby(self, part: Lit, rest: tuple[Part, ...]) -> Run:
        """A proven call without its closer: text up to a closer nearby is noise, else it is content."""
        spellings = tuple(s for one in (part, *rest) if isinstance(one, Lit) for s in one.spellings)
        found = yield from self.nearby(scanner(spellings))
        self.note("missing_marker", self.at(), self.at(), part.text)
        if found is not None:
            self.take(found[0], "noise")
            self.take(len(found[1]), "markup")

    def nearby(self, scan: Scanner) -> Generator[None, None, tuple[int, str] | None]:
        """How far a marker is from here that counts and stands nearby, and which; nothing is consumed."""
        at = self.i
        while True:
            found = scan.search(self.buf, at)
            near = found is not None and found.start() < self.i + MAX_WHITE
            marker = self.standing(scan, found) if found is not None and near else None
            if found is not None and marker is not None:
                counts = self.is_marker(marker, found.start())
                if counts:
                    return found.start() - self.i, marker
                if counts is False:
                    at = found.start() + 1
                    continue
            elif not near and (found is not None or len(self.buf) - self.i >= MAX_WHITE):
                return None
            if self.eof:
                return None
            yield
            at = self.i
