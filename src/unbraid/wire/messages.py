"""Anthropic's messages: from events to content blocks, whole or as the events of a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import msgspec
from jiter import from_json
from msgspec import UNSET, Raw, Struct, UnsetType

from unbraid.errors import UnbraidError
from unbraid.events import ContentDelta, Event, ReasoningDelta, ToolCallArguments, ToolCallStart
from unbraid.wire.errors import INTERNAL, error_status
from unbraid.wire.surrogates import Mender

__all__ = [
    "SIGNATURE",
    "Blocks",
    "MessageAnswer",
    "MessageDelta",
    "MessageEvent",
    "MessageStart",
    "MessageStop",
    "MessageUsage",
    "MessagesError",
    "TokenCount",
    "content",
    "events_sse",
    "failure_body",
    "stop_reason",
    "usage",
]

SIGNATURE = "dW5icmFpZA=="
"""The signature of all thinking. Nothing checks it; clients keep only thinking that has one."""

StopReason = Literal["end_turn", "max_tokens", "stop_sequence", "tool_use"]


class TextBlock(Struct, tag_field="type", tag="text"):
    """Text for the user."""

    text: str


class ThinkingBlock(Struct, tag_field="type", tag="thinking"):
    """Thinking, and the signature to send back with it."""

    thinking: str
    signature: str


class ToolUseBlock(Struct, tag_field="type", tag="tool_use"):
    """A call. ``input`` holds what is certain of it when the output was cut within."""

    id: str
    name: str
    input: dict[str, Any]


Block = TextBlock | ThinkingBlock | ToolUseBlock


class OutputDetails(Struct):
    """Of the generated tokens: those whose text is thinking."""

    thinking_tokens: int


class MessageUsage(Struct):
    """Token counts; the details come when a reasoning parser is set."""

    input_tokens: int
    output_tokens: int
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0
    output_tokens_details: OutputDetails | UnsetType = UNSET


class MessageAnswer(Struct):
    """A message of the model, whole, or as it begins."""

    id: str
    model: str
    content: list[Block]
    stop_reason: StopReason | None
    stop_sequence: str | None
    usage: MessageUsage
    type: Literal["message"] = "message"
    role: Literal["assistant"] = "assistant"


class TokenCount(Struct):
    """The tokens of a prompt."""

    input_tokens: int


# -- the events of a stream -------------------------------------------------------


class MessageStart(Struct, tag_field="type", tag="message_start"):
    """The message as it begins, with the tokens of its prompt."""

    message: MessageAnswer


class TextBlockDelta(Struct, tag_field="type", tag="text_delta"):
    """More text."""

    text: str


class ThinkingBlockDelta(Struct, tag_field="type", tag="thinking_delta"):
    """More thinking."""

    thinking: str


class SignatureDelta(Struct, tag_field="type", tag="signature_delta"):
    """The signature of thinking that is over."""

    signature: str


class ToolInputDelta(Struct, tag_field="type", tag="input_json_delta"):
    """More of a call's input, as JSON text."""

    partial_json: str


class BlockStart(Struct, tag_field="type", tag="content_block_start"):
    """A block begins."""

    index: int
    content_block: Block


class BlockDelta(Struct, tag_field="type", tag="content_block_delta"):
    """A block goes on."""

    index: int
    delta: TextBlockDelta | ThinkingBlockDelta | SignatureDelta | ToolInputDelta


class BlockStop(Struct, tag_field="type", tag="content_block_stop"):
    """A block is over."""

    index: int


class StopDelta(Struct):
    """Why a message ended."""

    stop_reason: StopReason
    stop_sequence: str | None


class MessageDelta(Struct, tag_field="type", tag="message_delta"):
    """Why the message ended, and all its tokens."""

    delta: StopDelta
    usage: MessageUsage


class MessageStop(Struct, tag_field="type", tag="message_stop"):
    """The end of a stream."""


class ErrorDetail(Struct):
    """What kind of error it was, and what was wrong."""

    type: str
    message: str


class MessagesError(Struct, tag_field="type", tag="error"):
    """An error: a body of its own, or the last event of a stream."""

    error: ErrorDetail
    request_id: str | None = None


Delta = TextBlockDelta | ThinkingBlockDelta | SignatureDelta | ToolInputDelta
BlockEvent = BlockStart | BlockDelta | BlockStop
MessageEvent = MessageStart | BlockEvent | MessageDelta | MessageStop | MessagesError


class Blocks:
    """Makes the events of one message's content: one block is open at a time, indexes count up."""

    def __init__(self) -> None:
        self._index = -1
        self._open: type[Block] | None = None
        self._mender = Mender()

    def event(self, event: Event) -> list[BlockEvent]:
        """What an event of the parser begins, adds or ends."""
        if isinstance(event, ContentDelta):
            return [*self._within(TextBlock("")), self._delta(TextBlockDelta(event.text))]
        if isinstance(event, ReasoningDelta):
            return [*self._within(ThinkingBlock("", "")), self._delta(ThinkingBlockDelta(event.text))]
        if isinstance(event, ToolCallStart):
            return [*self._ended(), *self._within(ToolUseBlock(event.id, event.name, {}))]
        if isinstance(event, ToolCallArguments):
            return self._input(self._mender.feed(event.text))
        return self._ended()

    def end(self) -> list[BlockEvent]:
        """The end of the content, which is an empty text where the model said nothing at all."""
        begun = self._within(TextBlock("")) if self._index < 0 else []
        return [*begun, *self._ended()]

    def _within(self, block: Block) -> list[BlockEvent]:
        """Nothing in an open block of this kind, else the end of the open one and the beginning of this."""
        if self._open is type(block):
            return []
        ended = self._ended()
        self._index += 1
        self._open = type(block)
        return [*ended, BlockStart(self._index, block)]

    def _ended(self) -> list[BlockEvent]:
        was, self._open = self._open, None
        if was is None:
            return []
        if was is ThinkingBlock:
            return [self._delta(SignatureDelta(SIGNATURE)), BlockStop(self._index)]
        return [*self._input(self._mender.end()), BlockStop(self._index)]

    def _input(self, text: str) -> list[BlockEvent]:
        return [self._delta(ToolInputDelta(text))] if text else []

    def _delta(self, delta: Delta) -> BlockDelta:
        return BlockDelta(self._index, delta)


def content(events: Iterable[Event]) -> list[Block]:
    """The blocks of a whole message: what a client makes of the stream of the same events."""
    blocks = Blocks()
    made: list[tuple[Block, list[str]]] = []
    for one in (*(one for event in events for one in blocks.event(event)), *blocks.end()):
        if isinstance(one, BlockStart):
            made.append((one.content_block, []))
        elif isinstance(one, BlockDelta) and not isinstance(one.delta, SignatureDelta):
            made[one.index][1].append(_text(one.delta))
    return [_filled(block, "".join(texts)) for block, texts in made]


def _text(delta: TextBlockDelta | ThinkingBlockDelta | ToolInputDelta) -> str:
    if isinstance(delta, TextBlockDelta):
        return delta.text
    return delta.thinking if isinstance(delta, ThinkingBlockDelta) else delta.partial_json


def _filled(block: Block, text: str) -> Block:
    if isinstance(block, TextBlock):
        return TextBlock(text)
    if isinstance(block, ThinkingBlock):
        return ThinkingBlock(text, SIGNATURE)
    return ToolUseBlock(block.id, block.name, _object(text))


_decode_object: Callable[[str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Raw]).decode


def _object(text: str) -> dict[str, Any]:
    """The object that ``text`` is, its values as they are written; of a cut one what is certain."""
    try:
        return _decode_object(text)
    except (msgspec.MsgspecError, RecursionError):
        pass
    try:
        value = from_json(text.encode(), partial_mode=True)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


# -- the end ------------------------------------------------------------------------


def stop_reason(finish_reason: str, matched: str | None, broken: bool) -> StopReason:
    """Why a message ended; ``finish_reason`` is the parser's, ``matched`` the stop string if one did.

    ``broken``: a call is not whole. Clients know that of messages that end with ``max_tokens``.
    """
    if finish_reason == "tool_calls" and not broken:
        return "tool_use"
    if finish_reason not in ("stop", "tool_calls"):
        return "max_tokens"
    if matched is not None:
        return "stop_sequence"
    return "max_tokens" if broken else "end_turn"


def usage(prompt: int, completion: int, thinking: int | None) -> MessageUsage:
    """Token counts; ``thinking`` None when no reasoning parser is set."""
    counts = MessageUsage(prompt, completion)
    if thinking is not None:
        counts.output_tokens_details = OutputDetails(thinking)
    return counts


_ERROR_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}


def failure_body(error: BaseException, request_id: str | None) -> MessagesError:
    """The body for an error, whose message begins with the wrong field's path if there is one."""
    status = error_status(error)
    kind = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    if not isinstance(error, UnbraidError):
        return MessagesError(ErrorDetail(kind, INTERNAL), request_id)
    message = error.message
    if error.param is not None and not message.startswith(error.param):
        message = f"{error.param}: {message}"
    return MessagesError(ErrorDetail(kind, message), request_id)


_encode: Callable[[Any], bytes] = msgspec.json.Encoder().encode


def events_sse(events: Sequence[MessageEvent]) -> bytes:
    """Events as server-sent ones, each with its name."""
    return b"".join(
        b"event: %b\ndata: %b\n\n" % (str(type(one).__struct_config__.tag).encode(), _encode(one))
        for one in events
    )
