"""OpenAI's chat completions: from events and messages to ``chat.completion`` and its chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from unbraid.events import (
    ContentDelta,
    Event,
    ReasoningDelta,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallStart,
)
from unbraid.message import Message, ToolCall
from unbraid.wire.custom_input import CustomInput

__all__ = [
    "DONE",
    "ChatCompletion",
    "ChatCompletionChunk",
    "ChunkWriter",
    "Extras",
    "Usage",
    "choice",
    "finish_reason",
    "sse",
    "token_logprobs",
    "usage",
]

DONE = b"data: [DONE]\n\n"


class FunctionDelta(Struct, omit_defaults=True):
    """A call's function: its name comes once, its arguments in fragments."""

    name: str | None = None
    arguments: str | None = None


class CustomDelta(Struct, omit_defaults=True):
    """A call of a tool that takes a text: its name comes once, its input in fragments."""

    name: str | None = None
    input: str | None = None


class ToolCallDelta(Struct, omit_defaults=True):
    """A piece of the call at ``index``; ``id`` and ``type`` come with the first one."""

    index: int | UnsetType = UNSET
    id: str | None = None
    type: Literal["function", "custom"] | None = None
    function: FunctionDelta | None = None
    custom: CustomDelta | None = None


class Delta(Struct, omit_defaults=True):
    """What a chunk adds to the message."""

    role: Literal["assistant"] | None = None
    content: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[ToolCallDelta] | None = None


class TopLogprob(Struct):
    """A likely token at one place."""

    token: str
    logprob: float
    bytes: list[int]


class TokenLogprobs(Struct):
    """A generated token, its log probability and those of the likeliest others."""

    token: str
    logprob: float
    bytes: list[int]
    top_logprobs: list[TopLogprob]


class Logprobs(Struct):
    """Log probabilities of all generated tokens, thinking and markup included."""

    content: list[TokenLogprobs]


@dataclass
class Extras:
    """What goes beside the text of some tokens: log probabilities and ids, None when not asked for."""

    logprobs: list[TokenLogprobs] | None = None
    token_ids: list[int] | None = None


class ChunkChoice(Struct):
    """One choice's part of a chunk."""

    index: int
    delta: Delta
    logprobs: Logprobs | UnsetType | None = UNSET
    finish_reason: str | None = None
    stop_reason: str | UnsetType = UNSET
    token_ids: list[int] | UnsetType = UNSET


class CompletionDetails(Struct):
    """Of the generated tokens: those whose text is thinking."""

    reasoning_tokens: int


class Usage(Struct):
    """Token counts; the details come when a reasoning parser is set."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    completion_tokens_details: CompletionDetails | UnsetType = UNSET


class ChatCompletionChunk(Struct):
    """One event of a stream."""

    id: str
    created: int
    model: str
    choices: list[ChunkChoice]
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    prompt_token_ids: list[int] | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET

    def beside(self, extras: Extras) -> ChatCompletionChunk:
        """This chunk with what belongs to its tokens put beside the text."""
        if extras.logprobs:
            self.choices[0].logprobs = Logprobs(extras.logprobs)
        if extras.token_ids:
            self.choices[0].token_ids = extras.token_ids
        return self


class FunctionCall(Struct):
    """A call's name and arguments (JSON text, cut when the output was cut within them)."""

    name: str
    arguments: str


class MessageToolCall(Struct, tag_field="type", tag="function"):
    """A call of the finished message."""

    id: str
    function: FunctionCall


class CustomCall(Struct):
    """A call's name and the text that the tool is given."""

    name: str
    input: str


class MessageCustomCall(Struct, tag_field="type", tag="custom"):
    """A call of a tool that takes a text."""

    id: str
    custom: CustomCall


class AssistantMessage(Struct):
    """The finished message: three strands."""

    content: str | None
    role: Literal["assistant"] = "assistant"
    refusal: None = None
    reasoning: str | UnsetType | None = UNSET
    reasoning_content: str | UnsetType | None = UNSET
    tool_calls: list[MessageToolCall | MessageCustomCall] | UnsetType = UNSET


class Choice(Struct):
    """One finished answer."""

    index: int
    message: AssistantMessage
    finish_reason: str
    logprobs: Logprobs | None = None
    stop_reason: str | UnsetType = UNSET
    token_ids: list[int] | UnsetType = UNSET


class ChatCompletion(Struct):
    """A whole response."""

    id: str
    created: int
    model: str
    choices: list[Choice]
    usage: Usage
    object: Literal["chat.completion"] = "chat.completion"
    prompt_token_ids: list[int] | UnsetType = UNSET


@dataclass(frozen=True)
class ChunkWriter:
    """Makes the chunks of one response.

    ``alias`` adds thinking under its old name ``reasoning_content``; ``custom`` are the tools that take
    a text.
    """

    id: str
    created: int
    model: str
    alias: bool = False
    custom: frozenset[str] = frozenset()
    _inputs: dict[tuple[int, int], CustomInput] = field(default_factory=dict)

    def role(self, index: int, prompt_token_ids: list[int] | None = None) -> ChatCompletionChunk:
        """The first chunk of a choice."""
        chunk = self._chunk(ChunkChoice(index, Delta(role="assistant", content=""), logprobs=None))
        if prompt_token_ids is not None:
            chunk.prompt_token_ids = prompt_token_ids
        return chunk

    def event(self, index: int, event: Event) -> Sequence[ChatCompletionChunk]:
        """The chunks of an event; none for one that has nothing to say here."""
        made = self._custom(index, event) if self.custom else None
        made = made or self._delta(event)
        return () if made is None or made == Delta() else (self._chunk(ChunkChoice(index, made)),)

    def finish(self, index: int, reason: str, stop_reason: str | None = None) -> ChatCompletionChunk:
        """The last chunk of a choice."""
        last = ChunkChoice(index, Delta(), finish_reason=reason)
        if stop_reason is not None:
            last.stop_reason = stop_reason
        return self._chunk(last)

    def usage(self, counts: Usage) -> ChatCompletionChunk:
        """The chunk behind all choices that holds the token counts."""
        return ChatCompletionChunk(self.id, self.created, self.model, [], usage=counts)

    def _chunk(self, one: ChunkChoice) -> ChatCompletionChunk:
        return ChatCompletionChunk(self.id, self.created, self.model, [one])

    def _custom(self, index: int, event: Event) -> Delta | None:
        """What an event says of a call of a tool that takes a text; None for all else."""
        if isinstance(event, ToolCallStart) and event.name in self.custom:
            self._inputs[index, event.index] = CustomInput()
            start = ToolCallDelta(event.index, event.id, "custom", custom=CustomDelta(event.name, ""))
            return Delta(tool_calls=[start])
        if not isinstance(event, (ToolCallArguments, ToolCallEnd)):
            return None
        reader = self._inputs.get((index, event.index))
        if reader is None:
            return None
        text = reader.feed(event.text) if isinstance(event, ToolCallArguments) else reader.end()
        part = ToolCallDelta(event.index, custom=CustomDelta(input=text)) if text else None
        return Delta(tool_calls=[part]) if part else Delta()

    def _delta(self, event: Event) -> Delta | None:
        if isinstance(event, ContentDelta):
            return Delta(content=event.text) if event.text else None
        if isinstance(event, ReasoningDelta):
            alias = event.text if self.alias else None
            return Delta(reasoning=event.text, reasoning_content=alias) if event.text else None
        if isinstance(event, ToolCallArguments):
            if not event.text:
                return None
            part = ToolCallDelta(event.index, function=FunctionDelta(arguments=event.text))
            return Delta(tool_calls=[part])
        if isinstance(event, ToolCallStart):
            start = FunctionDelta(event.name, "")
            return Delta(tool_calls=[ToolCallDelta(event.index, event.id, "function", start)])
        return None


def choice(
    index: int,
    message: Message,
    reason: str,
    *,
    reasoning: bool,
    alias: bool = False,
    custom: frozenset[str] = frozenset(),
    stop_reason: str | None = None,
    extras: Extras | None = None,
) -> Choice:
    """A finished answer. ``reasoning`` False leaves that field out, ``alias`` adds its old name."""
    made = AssistantMessage(message.content)
    if reasoning:
        made.reasoning = message.reasoning
        if alias:
            made.reasoning_content = message.reasoning
    if message.tool_calls:
        made.tool_calls = [
            _custom_call(call) if call.name in custom else _call(call) for call in message.tool_calls
        ]
    one = Choice(index, made, reason)
    if stop_reason is not None:
        one.stop_reason = stop_reason
    if extras is not None and extras.logprobs is not None:
        one.logprobs = Logprobs(extras.logprobs)
    if extras is not None and extras.token_ids is not None:
        one.token_ids = extras.token_ids
    return one


def _call(call: ToolCall) -> MessageToolCall:
    return MessageToolCall(call.id, FunctionCall(call.name, call.arguments))


def _custom_call(call: ToolCall) -> MessageCustomCall:
    reader = CustomInput()
    text = reader.feed(call.arguments) + reader.end()
    return MessageCustomCall(call.id, CustomCall(call.name, text))


def finish_reason(reason: str | None, named: bool) -> str:
    """The finish reason that a client sees: a named choice that was fulfilled ends with ``stop``."""
    if reason == "tool_calls" and named:
        return "stop"
    return reason or "stop"


def usage(prompt: int, completion: int, reasoning: int | None) -> Usage:
    """Token counts; ``reasoning`` None when no reasoning parser is set."""
    counts = Usage(prompt, completion, prompt + completion)
    if reasoning is not None:
        counts.completion_tokens_details = CompletionDetails(reasoning)
    return counts


def token_logprobs(token: bytes, logprob: float, top: Iterable[tuple[bytes, float]]) -> TokenLogprobs:
    """One token's log probabilities in OpenAI's shape."""
    others = [TopLogprob(_text(piece), value, list(piece)) for piece, value in top]
    return TokenLogprobs(_text(token), logprob, list(token), others)


def _text(piece: bytes) -> str:
    return piece.decode("utf-8", "replace")


_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


def sse(events: Sequence[Any]) -> bytes:
    """Objects as server-sent events."""
    if len(events) == 1:
        return b"data: " + _encode(events[0]) + b"\n\n"
    return b"".join([b"data: " + _encode(event) + b"\n\n" for event in events])
