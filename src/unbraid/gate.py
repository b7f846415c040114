"""What an engine asks about token ids: is thinking over, where, and how many tokens was it.

Everything here is pure: ``find_end`` takes a carry and returns a new one, so drafts
that are rejected later leave no trace, and each call costs the length of its ids.
The boundary and the count are the parser's: a token belongs to the strand of its
first character, and neither markers nor framing are thinking.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from unbraid import validate
from unbraid.machine.channels import header_prefix
from unbraid.machine.headers import parse_header, route_of
from unbraid.machine.setup import call_openers, first_literals
from unbraid.parser import Parser, halves
from unbraid.prompts import prompt_state, prompt_text
from unbraid.syntax import WHITE, Channels
from unbraid.tokens import Tokenizer

__all__ = ["Carry", "End", "Gate"]

Phase = Literal["absent", "open", "over", "header", "body"]
_BLANK = WHITE.encode()


@dataclass(frozen=True, slots=True)
class End:
    """Where thinking ends: the first token behind it, counted from the start of the output.

    ``implicit``: that token is itself part of what follows (a call's opener), so a
    grammar has to be fed with it.
    """

    token: int
    implicit: bool


@dataclass(frozen=True, slots=True)
class Carry:
    """What ``find_end`` has to know of the ids before; made by ``Gate.begin``.

    ``tail`` are the last bytes, in which a marker may have begun, and ``starts``
    where the tokens of the tail begin in the output; ``prompt`` is the text in front.
    """

    phase: Phase
    tokens: int = 0
    length: int = 0
    tail: bytes = b""
    starts: tuple[tuple[int, int, int], ...] = ()
    prompt: str | None = None


class Gate:
    """Answers for a pair of parsers over one tokenizer.

    Args:
        reasoning_parser, tool_parser: names as for ``Parser``.
        tokenizer: the model's.
        constrained: whether a grammar enforces calls; then a call's opener ends
            thinking in every family.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
        InvalidRequest: for an argument of a wrong type, here and in every method.
    """

    def __init__(
        self,
        reasoning_parser: str | None,
        tool_parser: str | None = None,
        *,
        tokenizer: Tokenizer,
        constrained: bool = False,
    ) -> None:
        validate.tokenizer(tokenizer)
        validate.flag("constrained", constrained)
        self._names = (reasoning_parser, tool_parser)
        self._tokenizer = tokenizer
        self._constrained = constrained
        self._reasoning, self._tools, self._channels = halves(reasoning_parser, tool_parser)
        ends, openers, implicit = self._spellings()
        self.start_ids = self._sequences(openers)
        self.end_ids = self._sequences(ends)
        self.implicit_end_ids = self._sequences(implicit)
        self._openers = tuple(one.encode() for one in openers)
        self._implicit = frozenset(one.encode() for one in implicit)
        markers = [*ends, *implicit]
        self._ids = {one.encode(): tokenizer.token_id(one) for one in (*markers, *openers)}
        self._by_id = {token_id for one in markers if (token_id := self._ids[one.encode()]) is not None}
        self._all_by_id = all(self._ids[one.encode()] is not None for one in markers)
        found = sorted((one.encode() for one in markers), key=len, reverse=True)
        self._search = re.compile(b"|".join(map(re.escape, found)) or b"(?!)").search
        self._keep = max(map(len, found), default=1) - 1

    def _spellings(self) -> tuple[list[str], list[str], list[str]]:
        """The texts that end thinking, that begin it, and the calls' openers that end it."""
        if self._channels is not None:
            body = self._channels.body.text
            return [body], [], []
        reasoning = self._reasoning
        if reasoning is None:
            return [], [], []
        implicit: list[str] = []
        tools = self._tools
        decides_at_once = self._constrained or tools is None or reasoning.tools_inside == "end"
        if decides_at_once and reasoning.tools_inside != "text":
            if tools is None:
                implicit = list(reasoning.ends_at)
            elif tools.section is not None:
                implicit = list(tools.section.open.spellings)
            else:
                marked = {text for text, is_marker in first_literals(tools.call.parts) if is_marker}
                implicit = [text for text in call_openers(tools.call) if text in marked]
        return list(reasoning.close.spellings), list(reasoning.open.spellings), implicit

    def _sequences(self, spellings: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """The token ids of each spelling, as the tokenizer writes it."""
        return tuple(tuple(self._tokenizer.encode(one)) for one in spellings)

    # -- the prompt -----------------------------------------------------------

    def begin(
        self,
        prompt: str | Sequence[int] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> Carry:
        """The state in front of the first generated token; only the last assistant turn counts."""
        validate.mapping("chat_template_kwargs", chat_template_kwargs)
        text = None if prompt is None else prompt_text(prompt, self._tokenizer)
        if self._channels is not None:
            return self._begin_channels(self._channels, text)
        reasoning = self._reasoning
        if reasoning is None:
            return Carry("over")
        if text is not None:
            state = prompt_state(reasoning, text).thinking
            phase: Phase = "open" if state == "open" else "over" if state == "closed" else "absent"
            return Carry(phase, prompt=text)
        if reasoning.switch.on(chat_template_kwargs) and reasoning.opened_by != "output":
            return Carry("open")
        return Carry("absent")

    @staticmethod
    def _begin_channels(channels: Channels, prompt: str | None) -> Carry:
        """The prompt may have written a part of a header, or have begun a body."""
        if prompt is None:
            return Carry("header")
        header, body, _ = header_prefix(channels, prompt).partition(channels.body.text)
        if not body:
            return Carry("header", tail=header.encode("utf-8", "surrogatepass"), prompt=prompt)
        route = route_of(channels, parse_header(channels, header, frozenset()))[0]
        return Carry("body" if route.strand == "reasoning" else "over", prompt=prompt)

    def thinking_ended(
        self,
        prompt: str | Sequence[int],
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> bool:
        """Whether the prompt leaves nothing of thinking to come: it holds a finished block."""
        return self.begin(prompt, chat_template_kwargs).phase == "over"

    # -- the output -----------------------------------------------------------

    def find_end(self, ids: Sequence[int], carry: Carry) -> tuple[End | None, Carry]:
        """Look for the end of thinking in the next ids.

        Returns the end, if it is in these ids, and the carry for what follows.
        With calls that are only drafts in open thinking the answer stays None until
        the marker of the end comes; ``Gate.end_of`` decides over a finished output.
        """
        ids = validate.token_ids("ids", ids)
        validate.instance("carry", carry, Carry, "what Gate.begin or find_end gave")
        if carry.phase == "over":
            return None, carry
        if carry.phase == "open" and self._all_by_id and self._by_id.isdisjoint(ids):
            return None, replace(carry, tokens=carry.tokens + len(ids), tail=b"", starts=())
        pieces = [self._tokenizer.token_bytes(token_id) for token_id in ids]
        starts = list(carry.starts)
        position = carry.length
        for n, (token_id, piece) in enumerate(zip(ids, pieces, strict=True)):
            starts.append((position, carry.tokens + n, token_id))
            position += len(piece)
        data = carry.tail + b"".join(pieces)
        state = replace(
            carry, tokens=carry.tokens + len(ids), length=position, tail=data, starts=tuple(starts)
        )
        if self._channels is not None:
            return self._channel_end(state, self._channels)
        if state.phase == "absent":
            end, state = self._begin_output(state)
            if end is not None or state.phase == "absent":
                return end, state
        return self._marker_end(state)

    def _marker_end(self, state: Carry) -> tuple[End | None, Carry]:
        base = state.length - len(state.tail)
        found = self._next(state, base)
        if found is None:
            return None, self._trim(state)
        begin, marker = found
        if marker in self._implicit:
            return self._end(state, begin, True)
        return self._end(state, begin + len(marker), False)

    def _next(self, state: Carry, base: int) -> tuple[int, bytes] | None:
        """The first marker of the tail that counts: its place in the output and its text."""
        at = 0
        while True:
            found = self._search(state.tail, at)
            if found is None:
                return None
            marker = found.group()
            token_id = self._ids[marker]
            begin = base + found.start()
            if token_id is None or any(one[0] == begin and one[2] == token_id for one in state.starts):
                return begin, marker
            at = found.start() + 1

    def _end(self, state: Carry, position: int, implicit: bool) -> tuple[End, Carry]:
        index = bisect_left(state.starts, (position,))
        token = state.starts[index][1] if index < len(state.starts) else state.tokens
        return End(token, implicit), Carry("over", state.tokens, state.length)

    def _trim(self, state: Carry) -> Carry:
        """Keep only the bytes in which a marker may have begun."""
        tail = state.tail[-self._keep :] if self._keep else b""
        first = state.length - len(tail)
        return replace(state, tail=tail, starts=tuple(one for one in state.starts if one[0] >= first))

    def _begin_output(self, state: Carry) -> tuple[End | None, Carry]:
        """Thinking is not open yet: an opener opens it, anything else means there is none."""
        text = state.tail.lstrip(_BLANK)
        base = state.length - len(text)
        for opener in self._openers:
            if text.startswith(opener):
                token_id = self._ids[opener]
                if token_id is None or any(one[0] == base and one[2] == token_id for one in state.starts):
                    behind = base + len(opener)
                    rest = tuple(one for one in state.starts if one[0] >= behind)
                    return None, replace(state, phase="open", tail=text[len(opener) :], starts=rest)
        if not text or any(one.startswith(text) for one in self._openers):
            return None, state
        return self._end(state, base, True)

    def _channel_end(self, state: Carry, channels: Channels) -> tuple[End | None, Carry]:
        """Thinking is over where a message that is none begins its body."""
        while True:
            base = state.length - len(state.tail)
            if state.phase == "body":
                ends = [one.text.encode() for one in channels.ends if one.text in _thinking_ends(channels)]
                places = [(at, one) for one in ends if (at := state.tail.find(one)) >= 0]
                if not places:
                    return None, self._drop(state, max(map(len, ends)) - 1)
                at, marker = min(places)
                state = replace(state, phase="header", tail=state.tail[at + len(marker) :])
                continue
            body = channels.body.text.encode()
            at = state.tail.find(body)
            if at < 0:
                return None, self._drop(state, 1024)
            header = parse_header(channels, state.tail[:at].decode("utf-8", "replace"), frozenset())
            behind = at + len(body)
            if route_of(channels, header)[0].strand != "reasoning":
                return self._end(state, base + behind, False)
            state = replace(state, phase="body", tail=state.tail[behind:])

    @staticmethod
    def _drop(state: Carry, keep: int) -> Carry:
        tail = state.tail[-keep:]
        first = state.length - len(tail)
        return replace(state, tail=tail, starts=tuple(one for one in state.starts if one[0] >= first))

    def bounds(self, ids: Sequence[int], carry: Carry) -> tuple[int, int]:
        """For an engine whose grammar holds no thinking: (grammar_start, constraint_start) of a batch.

        The first token of the batch that is fed to the grammar, and the first position
        whose mask is the grammar's; both are behind the batch while thinking goes on.
        """
        validate.instance("carry", carry, Carry, "what Gate.begin or find_end gave")
        if carry.phase == "over":
            return 0, 0
        end, _ = self.find_end(ids, carry)
        if end is None:
            return len(ids) + 1, len(ids) + 1
        start = max(end.token - carry.tokens, 0)
        return start, start + 1 if end.implicit else start

    # -- a finished output ----------------------------------------------------

    def _parser(self, carry: Carry) -> Parser:
        reasoning = self._reasoning
        prompt = carry.prompt
        if reasoning is not None and prompt is None:
            prompt = {"open": reasoning.open.text, "over": reasoning.close.text}.get(carry.phase, "")
        return Parser(
            self._names[0],
            self._names[1],
            prompt=prompt,
            tokenizer=self._tokenizer,
            constrained=self._constrained,
            spans=True,
        )

    def _read(self, ids: Sequence[int], carry: Carry, finish_reason: str) -> tuple[list[Any], list[int]]:
        """The spans of a whole output, and the character at which each token begins."""
        ids = validate.token_ids("ids", ids)
        validate.instance("carry", carry, Carry, "what Gate.begin or find_end gave")
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        pieces: list[str] = []
        begins: list[int] = []
        length = 0
        for token_id in ids:
            if self._tokenizer.is_special(token_id):
                pieces.append(decoder.decode(b"", True))
                length += len(pieces[-1])
            begins.append(length)
            pieces.append(decoder.decode(self._tokenizer.token_bytes(token_id)))
            length += len(pieces[-1])
        text = "".join(pieces) + decoder.decode(b"", True)
        message = self._parser(carry).parse(text, token_ids=ids, finish_reason=finish_reason)
        return message.spans or [], begins

    def count_thinking(self, ids: Sequence[int], carry: Carry, finish_reason: str = "stop") -> int:
        """How many tokens of a whole output are thinking; ``carry`` is ``begin``'s."""
        spans, begins = self._read(ids, carry, finish_reason)
        starts = [span.start for span in spans]
        kinds = [span.kind for span in spans]
        count = 0
        for begin in begins:
            index = bisect_left(starts, begin + 1) - 1
            count += index >= 0 and kinds[index] == "reasoning"
        return count

    def content_ids(self, ids: Sequence[int], carry: Carry, finish_reason: str = "stop") -> list[int]:
        """The ids behind thinking in a whole output."""
        end = self.end_of(ids, carry, finish_reason)
        if end is not None:
            return list(ids[end.token :])
        return list(ids) if carry.phase == "over" else []

    def end_of(self, ids: Sequence[int], carry: Carry, finish_reason: str = "stop") -> End | None:
        """The end of thinking in a whole output, drafts decided; None when it never ended."""
        end, _ = self.find_end(ids, carry)
        if end is not None or self._reasoning is None or self.implicit_end_ids:
            return end
        spans, begins = self._read(ids, carry, finish_reason)
        first = next((span.start for span in spans if span.index is not None), None)
        if first is None:
            return None
        return End(bisect_left(begins, first), True)


def _thinking_ends(channels: Channels) -> set[str]:
    return {end for route in channels.routes if route.strand == "reasoning" for end in route.ends}
