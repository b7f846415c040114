"""The parser: a pair of format halves and a request, ready to read outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from unbraid import validate
from unbraid.answers import AnswerStream
from unbraid.inline import InlineStream
from unbraid.machine.channels import ChannelMachine
from unbraid.machine.frames import Place, begins_thinking, place_in
from unbraid.machine.response import ResponseMachine, Start, start_of
from unbraid.machine.setup import Setup, begin_of, flat, setup, told_by_id
from unbraid.machine.state import State, nine_characters, random_id
from unbraid.machine.tags import TagMachine
from unbraid.message import Message
from unbraid.newlines import NewlineStream
from unbraid.pair import read_pair, with_family
from unbraid.plain_json import plain_calls
from unbraid.prompts import PromptState, prompt_state, prompt_text
from unbraid.request import asked
from unbraid.response.load import carried_template
from unbraid.response.program import special_tokens
from unbraid.stream import CompleteStream, Stream, View
from unbraid.syntax import (
    NO_SPACE,
    Channels,
    Id,
    Joint,
    Reasoning,
    ResponseTemplate,
    Space,
    Switch,
    Tools,
)
from unbraid.tokens import Tokenizer
from unbraid.variants import variant_names

if TYPE_CHECKING:
    from unbraid.constrain import Constraint

__all__ = ["Parser", "Plan"]

_WORDS = {
    "arguments": ("incremental", "complete"),
    "unknown_tools": ("forward", "text"),
    "markers": ("tokens", "text"),
    "reads_as": ("native", "json"),
}

ToolChoice = Literal["none", "auto", "required"] | Mapping[str, Any]


@dataclass(frozen=True)
class Plan:
    """What a driver has to do for this request.

    ``skip_special_tokens`` and ``spaces_between_special_tokens`` are how the engine
    must decode; ``stop`` are turn ends to stop at, none that begins a longer marker;
    ``thinking`` is the start state: ``open``, ``closed``, ``optional`` or ``off``;
    ``constrained`` says whether the output is read as one whose calls a grammar enforced
    (a forced choice, or as the parser was told).
    """

    thinking: Literal["open", "closed", "optional", "off"]
    constrained: bool
    stop: tuple[str, ...] = ()
    skip_special_tokens: bool = False
    spaces_between_special_tokens: bool = False


class Parser:
    """Reads outputs of one request.

    Args:
        reasoning_parser, tool_parser: names as for vLLM's flags, or None. Where the request chooses a
            variant or the checkpoint an ending of markers, the attributes say which.
        format: a model family (``qwen3-coder``, ``kimi-k2``, ``gpt-oss``), for both halves and the
            switch's default at once; a half that is named beside it overrides the family's.
        tools: tools in OpenAI's shape; None when they are unknown, ``[]`` when none were offered.
        tool_choice: ``none``, ``auto``, ``required``, a named choice or ``allowed_tools`` in OpenAI's
            shapes; refused where the tools are known and can't meet it.
        parallel_tool_calls: False keeps the first call and drops the others.
        chat_template_kwargs: the template's variables; they switch thinking.
        prompt: the rendered prompt, text or token ids; it decides the start state.
        tokenizer: makes special tokens authoritative where ids are fed.
        arguments: ``incremental`` gives argument text as it is proved, ``complete`` whole calls only.
        unknown_tools: ``forward`` calls of undeclared names (with a diagnostic), or read them as ``text``.
        max_calls: calls beyond this number are dropped; None is no limit.
        include_reasoning: False leaves thinking out of events and messages (it is still read).
        constrained: whether a grammar enforced the calls; None: when tool_choice forces one.
        markers: ``text`` when the constraint spelled markers as text, so that ids don't count.
        reads_as: ``json`` when a forced call was constrained to plain JSON (``Constraint.reads_as``):
            the array of calls, or a named call's arguments, stands for the format's own notation,
            behind thinking if any comes (``Constraint.starts``).
        make_id: makes call ids where the model writes none.
        history_calls: calls of earlier turns, for ids that count on.
        spans: whether messages carry spans.
        response_template: for ``hf`` and ``beam``: the template, its dictionary, or what carries it (a
            ``tokenizer_config.json`` or its folder, a tokenizer); without one that of ``tokenizer``, else
            the name's own.

    Raises:
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
        InvalidRequest: about any other option; nothing is left to fail while reading.
    """

    reasoning_parser: str | None
    tool_parser: str | None
    _reasoning: Reasoning | None
    _tools: Tools | None
    _joint: Joint | None
    _start: PromptState

    def __init__(
        self,
        reasoning_parser: str | None = None,
        tool_parser: str | None = None,
        *,
        format: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: ToolChoice | None = "auto",
        parallel_tool_calls: bool | None = True,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        prompt: str | Sequence[int] | None = None,
        tokenizer: Tokenizer | None = None,
        arguments: Literal["incremental", "complete"] = "incremental",
        unknown_tools: Literal["forward", "text"] = "forward",
        max_calls: int | None = None,
        include_reasoning: bool | None = True,
        constrained: bool | None = None,
        markers: Literal["tokens", "text"] = "tokens",
        reads_as: Literal["native", "json"] = "native",
        make_id: Callable[[], str] | None = None,
        history_calls: int = 0,
        spans: bool | None = False,
        response_template: object = None,
    ) -> None:
        _check_words(arguments=arguments, unknown_tools=unknown_tools, markers=markers, reads_as=reads_as)
        _check_flags(
            parallel_tool_calls=parallel_tool_calls,
            include_reasoning=include_reasoning,
            constrained=constrained,
            spans=spans,
        )
        validate.count("max_calls", max_calls, optional=True)
        validate.count("history_calls", history_calls)
        validate.function("make_id", make_id, optional=True)
        validate.mapping("chat_template_kwargs", chat_template_kwargs)
        validate.tokenizer(tokenizer, optional=True)
        self._request: dict[str, Any] = {
            "tools": tools,
            "tool_choice": tool_choice,
            "parallel_tool_calls": parallel_tool_calls,
        }
        self._kwargs = dict(chat_template_kwargs or {})
        self._prompt = None if prompt is None else prompt_text(prompt, tokenizer)
        self._tokenizer = tokenizer
        self._by_id = markers == "tokens"
        self._reads_as = reads_as
        self._arguments = arguments
        self._include_reasoning = include_reasoning is not False
        self._spans = spans is True
        switch = self._find_halves(format, reasoning_parser, tool_parser, response_template)
        choice, self._offered = asked(tools, tool_choice)
        self._constrained = choice.mode == "required" if constrained is None else constrained
        if reads_as == "json":
            self._tools, self._joint = plain_calls(tool_choice, self._tools or self._joint), None
        self._find_start(switch)
        limit = float("inf") if max_calls is None else max_calls
        self._state = State(
            tools=self._offered,
            open=self._start.thinking == "open",
            lead=self._start.lead,
            label=self._start.label,
            after=self._start.after,
            begin=self._begin(),
            unknown_tools=unknown_tools,
            max_calls=min(limit, 1) if parallel_tool_calls is False else limit,
            make_id=make_id or self._id_maker(),
            id_pattern=_id_pattern(self._tools),
            history_calls=history_calls,
            tokenizer=tokenizer if self._by_id else None,
            markers=self._marker_ids(tokenizer),
            spans=self._spans,
        )

    def __repr__(self) -> str:
        return (
            f"Parser(reasoning_parser={self.reasoning_parser!r}, tool_parser={self.tool_parser!r}, "
            f"thinking={self._thinking_state()!r})"
        )

    def _find_halves(
        self, family: str | None, reasoning_parser: str | None, tool_parser: str | None, template: object
    ) -> Switch | None:
        """Find what the names mean for this request; the family's switch, if it has one."""
        reasoning_parser, tool_parser, switch = with_family(family, reasoning_parser, tool_parser)
        self.reasoning_parser, self.tool_parser = variant_names(
            reasoning_parser, tool_parser, self._kwargs, self._prompt, self._tokenizer
        )
        self._given = carried_template(self._tokenizer) if template is None else template
        self._reasoning, self._tools, self._joint = read_pair(
            self.reasoning_parser, self.tool_parser, template, self._tokenizer
        )
        return switch

    def _find_start(self, switch: Switch | None) -> None:
        """Find where the output begins; ``switch`` stands for that of the reasoning half."""
        half = self._joint if isinstance(self._joint, ResponseTemplate) else self._reasoning
        switch = (switch or half.switch) if half else None
        self._switch = switch is not None and switch.on(self._kwargs)
        opens = switch is not None and switch.opens_prompt(self._kwargs)
        self._start = self._start_state(opens)
        self._place = Start()
        if isinstance(self._joint, ResponseTemplate):
            self._place = start_of(self._joint, self._prompt)

    # -- what it will do ------------------------------------------------------

    @property
    def thinking(self) -> bool:
        """Whether this request thinks: its thinking is open, or may be opened in the output."""
        if isinstance(self._joint, Channels):
            return self.reasoning_parser is not None
        if self._joint is not None:
            return self._thinking_state() == "open" or (self._thinking_state() == "optional" and self._switch)
        if self._reasoning is None:
            return False
        if self._prompt is not None and self._start.thinking != "absent":
            return self._start.thinking == "open"
        return self._switch

    @property
    def plan(self) -> Plan:
        """What a driver has to do for this request."""
        halves = (self._joint, self._reasoning, self._tools)
        ends = dict.fromkeys(one for half in halves if half for one in half.dropped)
        texts = {text for one in told_by_id(*halves) for text in one.spellings}
        return Plan(
            thinking=self._thinking_state(),
            constrained=self._constrained,
            stop=tuple(
                one for one in ends if not any(text != one and text.startswith(one) for text in texts)
            ),
        )

    def constraint(
        self,
        *,
        strict_level: Literal["auto", "function", "parameter"] = "auto",
        response_schema: Any = None,
        max_calls: int = 16,
        max_white: int = 64,
        max_string: int | None = None,
    ) -> Constraint | None:
        """The grammar for this request in its start state, or None when nothing has to be enforced.

        Args:
            strict_level: whose schemas are held: tools with ``strict: true`` (``auto``),
                names and envelopes of every request (``function``), every tool (``parameter``).
            response_schema: a JSON schema for the answer.
            max_calls, max_white, max_string: bounds of calls, of white space in a row, of strings.

        Raises:
            InvalidRequest, Unsupported: as ``unbraid.constrain.constrain``.
        """
        from unbraid.constrain import constrain

        return constrain(
            self.reasoning_parser,
            self.tool_parser,
            **self._request,
            thinking=self._demanded_thinking(),
            strict_level=strict_level,
            response_schema=response_schema,
            tokenizer=self._tokenizer,
            markers=None if self._by_id else "text",
            reads_as=self._reads_as,
            max_calls=max_calls,
            max_white=max_white,
            max_string=max_string,
            label=self._start.label,
            response_template=self._given if isinstance(self._joint, ResponseTemplate) else None,
        )

    def _demanded_thinking(self) -> Literal["open", "output", "closed", "optional", "off"]:
        """The start state for the grammar, which may demand thinking that the prompt leaves open."""
        state = self._thinking_state()
        demands = isinstance(self._joint, ResponseTemplate) and self._joint.demands_thinking
        return "output" if demands and self._switch and state == "optional" else state

    def _thinking_state(self) -> Literal["open", "closed", "optional", "off"]:
        if isinstance(self._joint, Channels):
            if all(one.strand != "reasoning" for one in self._joint.routes):
                return "off"
            return "open" if begins_thinking(self._joint, self._message) else "optional"
        if self._joint is not None:
            if self.reasoning_parser is None or self._joint.field("reasoning") is None:
                return "off"
            if self._place.field is not None and self._place.field.strand == "reasoning":
                return "open"
            return "closed" if self._place.thought or self._place.answered else "optional"
        if self._reasoning is None:
            return "off"
        if self._start.thinking == "open":
            return "open"
        if self._start.thinking == "closed":
            return "closed"
        return "optional" if self._switch else "off"

    # -- reading --------------------------------------------------------------

    def stream(self) -> Stream:
        """A fresh stream; streams of one parser share nothing that changes."""
        machine: Stream
        halves = {"reasoning": self.reasoning_parser is not None, "calls": self.tool_parser is not None}
        if isinstance(self._joint, Channels):
            machine = ChannelMachine(self._state, self._joint, place=self._message, **halves)
        elif self._joint is not None:
            machine = ResponseMachine(self._state, self._joint, start=self._place, **halves)
        else:
            machine = TagMachine(self._state, self._setup)
        half = self._reasoning
        if half is not None and half.answer_if and self._kwargs.get(half.answer_if) is True:
            machine = AnswerStream(machine)
        if half is not None and half.inline:
            machine = InlineStream(machine, half, self._state.open)
        if half is not None and half.escaped_newlines:
            machine = NewlineStream(machine)
        if self._arguments == "complete":
            machine = CompleteStream(machine)
        if not self._include_reasoning or not self._spans:
            machine = View(machine, self._include_reasoning, self._spans)
        return machine

    def parse(
        self,
        text: str,
        *,
        token_ids: Iterable[int] | None = None,
        finish_reason: str | None = "stop",
    ) -> Message:
        """Read a whole output: the same as feeding it to a stream in one piece.

        ``token_ids`` are its tokens' ids, which count only with a ``tokenizer``; ``finish_reason`` is the
        engine's (``stop``, ``length``, …). Raises InvalidRequest for an argument of a wrong type.
        """
        stream = self.stream()
        stream.feed(text, token_ids)
        stream.finish(finish_reason)
        return stream.message

    @cached_property
    def _message(self) -> Place:
        """Where the prompt leaves the messages of a format of channels."""
        assert isinstance(self._joint, Channels)
        return place_in(self._joint, self._prompt)

    @cached_property
    def _setup(self) -> Setup:
        """The pair, compiled; looked up once, as all of its declarations are hashed for that."""
        offered = self._offered is None or bool(self._offered)
        by_id = frozenset(self._state.markers if self._state.tokenizer is not None else ())
        return setup(self._reasoning, self._tools, self._constrained, by_id, offered=offered)

    # -- the start state ------------------------------------------------------

    def _start_state(self, opens: bool) -> PromptState:
        """Where the prompt leaves thinking; ``opens``: a prompt that is not known opened it."""
        reasoning = self._reasoning
        if reasoning is None:
            return PromptState("absent")
        if self._prompt is not None:
            return prompt_state(reasoning, self._prompt)
        if self._switch and (reasoning.opened_by != "output" or opens):
            return PromptState("open")
        return PromptState("absent", after=prompt_state(reasoning, reasoning.empty_when_off).after)

    def _begin(self) -> Space:
        """The framing at the beginning of the output."""
        return begin_of(self._reasoning, self._tools) if self._start.thinking == "absent" else NO_SPACE

    def _id_maker(self) -> Callable[[], str]:
        return nine_characters if self._tools and self._tools.ids == "nine" else random_id

    def _marker_ids(self, tokenizer: Tokenizer | None) -> dict[str, int]:
        if tokenizer is None:
            return {}
        if isinstance(self._joint, ResponseTemplate):
            return special_tokens(self._joint, tokenizer)
        known = told_by_id(self._joint, self._reasoning, self._tools)
        texts = [text for one in known for text in one.spellings]
        ids = {text: tokenizer.token_id(text) for text in texts}
        return {text: token_id for text, token_id in ids.items() if token_id is not None}


def _check_words(**options: object) -> None:
    """Refuse a word that an option doesn't know."""
    for name, value in options.items():
        validate.one_of(name, value, _WORDS[name])


def _check_flags(**options: object) -> None:
    """Refuse what is neither a bool nor None."""
    for name, value in options.items():
        validate.flag(name, value, optional=True)


def _id_pattern(tools: Tools | None) -> str | None:
    if tools is None:
        return None
    patterns = [part.pattern for part in flat(tools.call.parts) if isinstance(part, Id) and part.name]
    return patterns[0] if patterns else None
