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
from dataclasses import replace
from typing import Any

from unbraid import validate
from unbraid.errors import InvalidRequest, TokenizerMismatch
from unbraid.gate.carry import Carry, End
from unbraid.gate.channels import Messages, Phase
from unbraid.gate.response import Regions
from unbraid.machine.alignment import Alignment
from unbraid.machine.frames import frame_of, place_in, route_at
from unbraid.machine.response import start_of
from unbraid.machine.setup import answers_end_thinking, call_openers, first_literals
from unbraid.machine.state import State
from unbraid.pair import read_pair, with_family
from unbraid.parser import Parser
from unbraid.prompts import prompt_state, prompt_text
from unbraid.response.program import program, special_tokens
from unbraid.syntax import BLANK, WHITE, Channels, Lit, Reasoning, ResponseTemplate
from unbraid.tokens import Offsets, Tokenizer
from unbraid.variants import variant_names

__all__ = ["Carry", "End", "Gate"]

_BLANKS = tuple(char.encode() for char in BLANK)
_blank_run = re.compile(b"(?:" + b"|".join(map(re.escape, _BLANKS)) + b")*").match


class Gate:
    """Answers for a pair of parsers over one tokenizer.

    Args:
        reasoning_parser, tool_parser, format: names as for ``Parser``.
        tokenizer: the model's.
        constrained: whether a grammar enforces calls; then a call's opener ends
            thinking in every family.
        response_template: as for ``Parser``.

    Where requests choose among variants of a half, each has a gate of its own, by the name that
    ``Parser.reasoning_parser`` says.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
        TokenizerMismatch: for a tokenizer that can't write what begins or ends thinking.
        InvalidRequest: for an argument of a wrong type, here and in every method.
    """

    def __init__(
        self,
        reasoning_parser: str | None = None,
        tool_parser: str | None = None,
        *,
        format: str | None = None,
        tokenizer: Tokenizer,
        constrained: bool = False,
        response_template: object = None,
    ) -> None:
        validate.tokenizer(tokenizer)
        validate.flag("constrained", constrained)
        reasoning_parser, tool_parser, self._switch = with_family(format, reasoning_parser, tool_parser)
        reasoning_parser, tool_parser = variant_names(reasoning_parser, tool_parser, tokenizer=tokenizer)
        self._names = (reasoning_parser, tool_parser)
        self._tokenizer = tokenizer
        self._constrained = constrained
        self._reasoning, self._tools, self._joint = read_pair(
            reasoning_parser, tool_parser, response_template, tokenizer
        )
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
        if isinstance(self._joint, Channels):
            self._know_channels(self._joint)
        elif self._joint is not None:
            self._all_by_id = False
            known = special_tokens(self._joint, tokenizer)
            self._state = State(tokenizer=tokenizer, markers=known)

    def __repr__(self) -> str:
        reasoning, tools = self._names
        return f"Gate(reasoning_parser={reasoning!r}, tool_parser={tools!r}, constrained={self._constrained})"

    def _spellings(self) -> tuple[list[str], list[str], list[str]]:
        """The texts that end thinking, that begin it, and the calls' openers that end it."""
        if isinstance(self._joint, Channels):
            return [one.text for one in self._joint.bodies], [], []
        if self._joint is not None:
            field = self._joint.field("reasoning")
            marks = (field.close, field.open) if field is not None else (None, None)
            ends, openers = ([*one.spellings] if isinstance(one, Lit) else [] for one in marks)
            return ends, openers, []
        reasoning = self._reasoning
        if reasoning is None:
            return [], [], []
        implicit: list[str] = []
        tools = self._tools
        if self._calls_end(reasoning):
            if tools is None:
                implicit = list(reasoning.ends_at)
            elif tools.section is not None:
                implicit = list(tools.section.open.spellings)
            else:
                marked = {text for text, is_marker in first_literals(tools.call.parts) if is_marker}
                implicit = [text for text in call_openers(tools.call) if text in marked]
        implicit += answers_end_thinking(reasoning, tools)
        return list(reasoning.close.spellings), list(reasoning.open.spellings), implicit

    def _calls_end(self, reasoning: Reasoning) -> bool:
        """Whether a call's opener is the end of thinking at once, whatever comes behind it."""
        policy = reasoning.tools_inside
        at_once = ("end", "draft" if self._tools is None else "stay")
        return policy in at_once or (self._constrained and policy != "text")

    def _know_channels(self, channels: Channels) -> None:
        """The ids of a channel format's markers; a body ends only at one of them."""
        texts = (*(text for one in channels.frames for text in one.spellings), *channels.dropped)
        ids = {one: self._tokenizer.token_id(one) for one in texts}
        known = {one: token_id for one, token_id in ids.items() if token_id is not None}
        self._state = State(tokenizer=self._tokenizer, markers=known)
        begins = [
            max((one for one in known if marker.startswith(one)), key=len, default=None)
            for marker in frame_of(channels).body.markers
        ]
        self._all_by_id = None not in begins
        self._by_id = {known[one] for one in begins if one is not None}

    def _sequences(self, spellings: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """The token ids of each spelling, as the tokenizer writes it."""
        try:
            return tuple(tuple(self._tokenizer.encode(one)) for one in spellings)
        except ValueError as cause:
            texts = ", ".join(map(repr, spellings))
            raise TokenizerMismatch(
                f"this tokenizer can't write {texts}: {cause}", param="tokenizer"
            ) from cause

    # -- the prompt -----------------------------------------------------------

    def begin(
        self,
        prompt: str | Sequence[int] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
    ) -> Carry:
        """The state in front of the first generated token; only the last assistant turn counts.

        Raises InvalidRequest where the request means another variant than this gate knows, or its
        switch has a value that is none.
        """
        validate.mapping("chat_template_kwargs", chat_template_kwargs)
        text = None if prompt is None else prompt_text(prompt, self._tokenizer)
        meant, _ = variant_names(self._names[0], None, chat_template_kwargs, text, self._tokenizer)
        if meant != self._names[0]:
            raise InvalidRequest(f"this request needs a gate of {meant}", param="chat_template_kwargs")
        if isinstance(self._joint, Channels):
            return self._begin_channels(self._joint, text) if self._names[0] else Carry("over")
        if self._joint is not None:
            return self._begin_template(self._joint, text, chat_template_kwargs)
        reasoning = self._reasoning
        if reasoning is None:
            return Carry("over")
        switch = self._switch or reasoning.switch
        thinks = switch.on(chat_template_kwargs)
        if text is not None:
            state = prompt_state(reasoning, text).thinking
            phase: Phase = "open" if state == "open" else "over" if state == "closed" else "absent"
            return Carry(phase, prompt=text)
        if thinks and (reasoning.opened_by != "output" or switch.opens_prompt(chat_template_kwargs)):
            return Carry("open")
        return Carry("absent")

    def _begin_template(
        self, template: ResponseTemplate, prompt: str | None, kwargs: Mapping[str, Any] | None
    ) -> Carry:
        """The prompt may have opened thinking, closed it, or begun something else."""
        field = template.field("reasoning")
        start = start_of(template, prompt)
        if (
            self._names[0] is None
            or field is None
            or ((start.thought or start.answered) and not field.repeats)
        ):
            return Carry("over", prompt=prompt)
        phase: Phase = "open" if field in (start.field, program(template).implicit) else "absent"
        if phase == "absent" and not template.switch.on(kwargs):
            return Carry("over", prompt=prompt)
        return Carry(phase, prompt=prompt, header=start.pending)

    @staticmethod
    def _begin_channels(channels: Channels, prompt: str | None) -> Carry:
        """The prompt may have written a part of a header, or have begun a body."""
        place = place_in(channels, prompt)
        if place.body is None:
            return Carry("first", prompt=prompt, header=place.header)
        if place.ended:
            return Carry("between", prompt=prompt)
        route = route_at(channels, place)
        if route.strand != "reasoning":
            return Carry("over", prompt=prompt)
        return Carry("body", prompt=prompt, route=channels.routes.index(route))

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
        if carry.phase in ("open", "body") and self._all_by_id and self._by_id.isdisjoint(ids):
            pending = (token_id for _, _, token_id in carry.starts)
            if self._by_id.isdisjoint(pending):
                return None, replace(carry, tokens=carry.tokens + len(ids), tail=b"", starts=())
        state = self._with(ids, carry)
        if isinstance(self._joint, Channels):
            return self._channel_end(state, self._joint)
        if self._joint is not None:
            return self._template_end(state, self._joint)
        if state.phase == "absent":
            end, state = self._begin_output(state)
            if end is not None or state.phase == "absent":
                return end, state
        return self._marker_end(state)

    def _with(self, ids: Sequence[int], carry: Carry) -> Carry:
        """The carry with these tokens behind its tail."""
        pieces = [self._tokenizer.token_bytes(token_id) for token_id in ids]
        starts = list(carry.starts)
        position = carry.length
        for n, (token_id, piece) in enumerate(zip(ids, pieces, strict=True)):
            starts.append((position, carry.tokens + n, token_id))
            position += len(piece)
        data = carry.tail + b"".join(pieces)
        return replace(
            carry, tokens=carry.tokens + len(ids), length=position, tail=data, starts=tuple(starts)
        )

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
        begun = {(position, token_id) for position, _, token_id in state.starts}
        while True:
            found = self._search(state.tail, at)
            if found is None:
                return None
            marker = found.group()
            token_id = self._ids[marker]
            begin = base + found.start()
            if token_id is None or (begin, token_id) in begun:
                return begin, marker
            at = found.start() + 1

    def _end(self, state: Carry, position: int, implicit: bool) -> tuple[End, Carry]:
        index = bisect_left(state.starts, (position,))
        token = state.starts[index][1] if index < len(state.starts) else state.tokens
        return End(token, implicit), Carry("over", state.tokens, state.length)

    def _trim(self, state: Carry) -> Carry:
        """Keep only the bytes in which a marker may have begun."""
        return state.behind(max(len(state.tail) - self._keep, 0))

    def _begin_output(self, state: Carry) -> tuple[End | None, Carry]:
        """Thinking is not open yet: an opener opens it, anything else means there is none."""
        blank = _blank_run(state.tail)
        state = state.behind(blank.end() if blank else 0)
        text = state.tail
        base = state.length - len(text)
        for opener in self._openers:
            if text.startswith(opener):
                token_id = self._ids[opener]
                if token_id is None or any(one[0] == base and one[2] == token_id for one in state.starts):
                    return None, replace(state.behind(len(opener)), phase="open")
        if any(one.startswith(text) for one in (*self._openers, *_BLANKS)):
            return None, state
        return self._end(state, base, True)

    def _channel_end(
        self, state: Carry, channels: Channels, finished: bool = False
    ) -> tuple[End | None, Carry]:
        """Thinking is over where a message that is none begins its body."""
        reader = Messages(self._state, channels, state.phase, state.route, state.header)
        text, end = self._read_on(reader, state, finished)
        if end is not None:
            if state.phase == "first" and not reader.over:
                end = replace(end, token=0)
            if state.white is not None and not reader.over:
                end = replace(end, token=state.white)
            return end, Carry("over", state.tokens, state.length)
        begin = reader.begin if reader.phase in ("first", "header") else reader.at()
        if reader.phase == "first":
            begin = len(text) - len(text.lstrip(WHITE))
        done = len(text[:begin].encode("utf-8", "surrogateescape"))
        white = None
        if reader.phase == "between":
            held = len(text[: reader.pos].encode("utf-8", "surrogateescape"))
            white = None if held else state.white
            if white is None and held < done:
                white = self._token_at(state, held)
        return None, replace(state.behind(done), phase=reader.phase, route=reader.route, white=white)

    @staticmethod
    def _token_at(state: Carry, at: int) -> int:
        """The first token that begins at a byte of the tail, or behind it."""
        base = state.length - len(state.tail)
        return next((token for place, token, _ in state.starts if place >= base + at), state.tokens)

    def _template_end(
        self, state: Carry, template: ResponseTemplate, finished: bool = False
    ) -> tuple[End | None, Carry]:
        """Thinking is over behind its region, or where anything else begins in its place."""
        reader = Regions(self._state, template, state.phase == "open", state.header)
        text, end = self._read_on(reader, state, finished)
        if end is not None:
            return end, Carry("over", state.tokens, state.length)
        done = len(text[: max(reader.at(), 0)].encode("utf-8", "surrogateescape"))
        left = state.header[len(state.header) - reader.ghost :]
        return None, replace(state.behind(done), phase="open" if reader.inside else "absent", header=left)

    def _read_on(self, reader: Messages | Regions, state: Carry, finished: bool) -> tuple[str, End | None]:
        """Feed the tail to a reader: the text of the tail, and the end of thinking if the reader found it."""
        text, begins, alignment = self._text(state, finished)
        if reader.alignment is not None:
            reader.alignment = alignment
        reader.feed(text)
        if finished:
            reader.finish()
        if reader.over is None:
            return text, None
        index = bisect_left(begins, reader.over)
        token = state.starts[index][1] if index < len(begins) else state.tokens
        return text, End(token, reader.implicit)

    def _text(self, state: Carry, finished: bool) -> tuple[str, list[int], Alignment]:
        """The tail as text, the character at which each of its tokens begins, and its special tokens."""
        text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(state.tail, finished)
        base = state.length - len(state.tail)
        places = [position - base for position, _, _ in state.starts]
        first, *stops = (*places, len(state.tail))
        offsets = Offsets("surrogateescape")
        offsets.of(state.tail[:first])
        begins: list[int] = []
        alignment = Alignment(self._tokenizer, self._state.markers)
        for (_, _, token_id), start, stop in zip(state.starts, places, stops, strict=True):
            special = self._tokenizer.is_special(token_id)
            begins.append(offsets.of(state.tail[start:stop], special))
            if special:
                alignment.starts[begins[-1]] = token_id
        alignment.covered = len(text)
        return text, begins, alignment

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
            response_template=self._joint if isinstance(self._joint, ResponseTemplate) else None,
        )

    def _read(self, ids: Sequence[int], carry: Carry, finish_reason: str) -> tuple[list[Any], list[int]]:
        """The spans of a whole output, and the character at which each token begins."""
        ids = validate.token_ids("ids", ids)
        validate.instance("carry", carry, Carry, "what Gate.begin or find_end gave")
        pieces = [self._tokenizer.token_bytes(token_id) for token_id in ids]
        offsets = Offsets()
        special = map(self._tokenizer.is_special, ids)
        begins = [offsets.of(piece, one) for piece, one in zip(pieces, special, strict=True)]
        text = b"".join(pieces).decode("utf-8", "replace")
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
        """The end of thinking in a whole output, drafts decided; None if it never ended or nothing came."""
        end, after = self.find_end(ids, carry)
        if end is not None or after.phase == "over" or not after.tokens:
            return end
        if isinstance(self._joint, Channels):
            return self._channel_end(self._with(ids, carry), self._joint, finished=True)[0]
        if self._joint is not None:
            return self._template_end(self._with(ids, carry), self._joint, finished=True)[0]
        if after.phase == "absent":
            return self._end(after, after.length - len(after.tail), True)[0] if after.tail else None
        if self._reasoning is None or self._calls_end(self._reasoning):
            return None
        spans, begins = self._read(ids, carry, finish_reason)
        first = next((span.start for span in spans if span.index is not None), None)
        if first is None:
            return None
        return End(bisect_left(begins, first), True)
