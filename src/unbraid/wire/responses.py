"""OpenAI's responses: the object, its items, and the events of a stream that builds it."""

from __future__ import annotations

from typing import Any, Literal, get_args

import msgspec
from msgspec import UNSET, Struct, UnsetType, field

from unbraid.wire.chat import TokenLogprobs

__all__ = [
    "ArgumentsDelta",
    "ArgumentsDone",
    "Completed",
    "Created",
    "CustomToolCallItem",
    "Failed",
    "FunctionCallItem",
    "InProgress",
    "Incomplete",
    "IncompleteDetails",
    "InputDelta",
    "InputDone",
    "InputTokensDetails",
    "Item",
    "ItemAdded",
    "ItemDone",
    "ItemStatus",
    "MessageItem",
    "OutputText",
    "OutputTokensDetails",
    "PartAdded",
    "PartDone",
    "ReasoningItem",
    "ReasoningText",
    "ReasoningTextDelta",
    "ReasoningTextDone",
    "Response",
    "ResponseError",
    "ResponseUsage",
    "StreamEvent",
    "TextDelta",
    "TextDone",
    "sse",
]

ItemStatus = Literal["in_progress", "completed", "incomplete"]
ResponseStatus = Literal["in_progress", "completed", "incomplete", "failed"]

# -- items ------------------------------------------------------------------------


class OutputText(Struct, tag_field="type", tag="output_text"):
    """Text for the user; log probabilities are those of its own tokens, where they were asked for."""

    text: str
    annotations: list[Any] = field(default_factory=list)
    logprobs: list[TokenLogprobs] = field(default_factory=list)


class ReasoningText(Struct, tag_field="type", tag="reasoning_text"):
    """Text of the model's thinking."""

    text: str


class MessageItem(Struct, tag_field="type", tag="message"):
    """A stretch of content; ``incomplete`` when the output was cut in it."""

    id: str
    status: ItemStatus
    content: list[OutputText]
    role: Literal["assistant"] = "assistant"


class ReasoningItem(Struct, tag_field="type", tag="reasoning"):
    """A stretch of thinking as the model wrote it; there is never a summary of it."""

    id: str
    status: ItemStatus
    content: list[ReasoningText]
    summary: list[Any] = field(default_factory=list)
    encrypted_content: None = None


class FunctionCallItem(Struct, tag_field="type", tag="function_call"):
    """A call of a function; ``arguments`` is JSON text, a part of one when ``incomplete``."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    arguments: str
    namespace: str | UnsetType = UNSET


class CustomToolCallItem(Struct, tag_field="type", tag="custom_tool_call"):
    """A call of a custom tool; ``input`` is the text that it is given."""

    id: str
    status: ItemStatus
    call_id: str
    name: str
    input: str
    namespace: str | UnsetType = UNSET


Item = MessageItem | ReasoningItem | FunctionCallItem | CustomToolCallItem

# -- the response -------------------------------------------------------------------


class InputTokensDetails(Struct):
    """What is known of the prompt's tokens: the engine's cache is its own."""

    cached_tokens: int = 0
    cache_write_tokens: int = 0


class OutputTokensDetails(Struct):
    """Of the generated tokens: those whose text is thinking."""

    reasoning_tokens: int


class ResponseUsage(Struct):
    """Token counts."""

    input_tokens: int
    output_tokens: int
    total_tokens: int
    output_tokens_details: OutputTokensDetails
    input_tokens_details: InputTokensDetails = field(default_factory=InputTokensDetails)


class ResponseError(Struct):
    """Why a response failed."""

    code: Literal["server_error", "invalid_prompt"]
    message: str


class IncompleteDetails(Struct):
    """Why a response is incomplete; null when the output ended by itself within a call."""

    reason: Literal["max_output_tokens", "content_filter"] | None


class Response(Struct):
    """A response. What the request said is repeated, with the defaults of what it left out."""

    id: str
    created_at: int
    model: str
    status: ResponseStatus
    output: list[Item]
    tools: list[Any]
    tool_choice: Any
    parallel_tool_calls: bool
    temperature: float
    top_p: float
    top_logprobs: int
    text: dict[str, Any]
    reasoning: dict[str, Any]
    metadata: dict[str, str]
    instructions: str | None = None
    max_output_tokens: int | None = None
    max_tool_calls: int | None = None
    user: str | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    usage: ResponseUsage | None = None
    error: ResponseError | None = None
    incomplete_details: IncompleteDetails | None = None
    completed_at: int | None = None
    previous_response_id: None = None
    background: bool = False
    store: bool = False
    truncation: Literal["disabled"] = "disabled"
    service_tier: Literal["default"] = "default"
    object: Literal["response"] = "response"


# -- the events of a stream ---------------------------------------------------------


class Created(Struct, tag_field="type", tag="response.created"):
    """The first event."""

    response: Response
    sequence_number: int = 0


class InProgress(Struct, tag_field="type", tag="response.in_progress"):
    """The model writes."""

    response: Response
    sequence_number: int = 0


class Completed(Struct, tag_field="type", tag="response.completed"):
    """The last event of an answer that is whole."""

    response: Response
    sequence_number: int = 0


class Incomplete(Struct, tag_field="type", tag="response.incomplete"):
    """The last event of an answer that was cut."""

    response: Response
    sequence_number: int = 0


class Failed(Struct, tag_field="type", tag="response.failed"):
    """The last event of an answer that the server or its engine could not finish."""

    response: Response
    sequence_number: int = 0


class ItemAdded(Struct, tag_field="type", tag="response.output_item.added"):
    """An item begins."""

    output_index: int
    item: Item
    sequence_number: int = 0


class ItemDone(Struct, tag_field="type", tag="response.output_item.done"):
    """An item is over; this is what it came to."""

    output_index: int
    item: Item
    sequence_number: int = 0


class PartAdded(Struct, tag_field="type", tag="response.content_part.added"):
    """A part of an item begins."""

    item_id: str
    output_index: int
    content_index: int
    part: OutputText | ReasoningText
    sequence_number: int = 0


class PartDone(Struct, tag_field="type", tag="response.content_part.done"):
    """A part of an item is over."""

    item_id: str
    output_index: int
    content_index: int
    part: OutputText | ReasoningText
    sequence_number: int = 0


class TextDelta(Struct, tag_field="type", tag="response.output_text.delta"):
    """The next text for the user."""

    item_id: str
    output_index: int
    content_index: int
    delta: str
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    sequence_number: int = 0


class TextDone(Struct, tag_field="type", tag="response.output_text.done"):
    """The whole text of a part."""

    item_id: str
    output_index: int
    content_index: int
    text: str
    logprobs: list[TokenLogprobs] = field(default_factory=list)
    sequence_number: int = 0


class ReasoningTextDelta(Struct, tag_field="type", tag="response.reasoning_text.delta"):
    """The next text of thinking."""

    item_id: str
    output_index: int
    content_index: int
    delta: str
    sequence_number: int = 0


class ReasoningTextDone(Struct, tag_field="type", tag="response.reasoning_text.done"):
    """The whole thinking of an item."""

    item_id: str
    output_index: int
    content_index: int
    text: str
    sequence_number: int = 0


class ArgumentsDelta(Struct, tag_field="type", tag="response.function_call_arguments.delta"):
    """The next fragment of a call's arguments."""

    item_id: str
    output_index: int
    delta: str
    sequence_number: int = 0


class ArgumentsDone(Struct, tag_field="type", tag="response.function_call_arguments.done"):
    """A call's whole arguments."""

    item_id: str
    output_index: int
    name: str
    arguments: str
    sequence_number: int = 0


class InputDelta(Struct, tag_field="type", tag="response.custom_tool_call_input.delta"):
    """The next text for a custom tool."""

    item_id: str
    output_index: int
    delta: str
    sequence_number: int = 0


class InputDone(Struct, tag_field="type", tag="response.custom_tool_call_input.done"):
    """The whole text for a custom tool."""

    item_id: str
    output_index: int
    input: str
    sequence_number: int = 0


StreamEvent = (
    Created
    | InProgress
    | Completed
    | Incomplete
    | Failed
    | ItemAdded
    | ItemDone
    | PartAdded
    | PartDone
    | TextDelta
    | TextDone
    | ReasoningTextDelta
    | ReasoningTextDone
    | ArgumentsDelta
    | ArgumentsDone
    | InputDelta
    | InputDone
)

_encode = msgspec.json.Encoder().encode
_HEADS = {kind: f"event: {kind.__struct_config__.tag}\ndata: ".encode() for kind in get_args(StreamEvent)}


def sse(event: StreamEvent) -> bytes:
    """An event as a server-sent event that carries its type as a name."""
    return _HEADS[type(event)] + _encode(event) + b"\n\n"
