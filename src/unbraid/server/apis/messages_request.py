"""A Messages request: its fields, read from JSON, with errors that name the wrong one."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, TypeVar

from msgspec import Meta, Struct

from unbraid.constrain.checks import check_depth
from unbraid.errors import InvalidRequest
from unbraid.server.requests import MAX_DEPTH, Count, checked, read_object, refuse

__all__ = [
    "BlockParam",
    "CountRequest",
    "MessageParam",
    "MessagesRequest",
    "OnlyText",
    "TextParam",
    "ThinkingParam",
    "ToolParam",
    "ToolResultParam",
    "ToolUseParam",
    "decode",
]

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Identifier = Annotated[str, Meta(min_length=1)]
Display = Literal["summarized", "omitted"]


class TextParam(Struct, tag_field="type", tag="text"):
    """Text."""

    text: str


class OnlyText(Struct):
    """Text, where nothing else may stand."""

    type: Literal["text"]
    text: str


class ThinkingParam(Struct, tag_field="type", tag="thinking"):
    """Thinking of an earlier answer; its signature is not checked."""

    thinking: str
    signature: str | None = None


class RedactedThinkingParam(Struct, tag_field="type", tag="redacted_thinking"):
    """Thinking that can't be read; it is left out."""

    data: str = ""


class ToolUseParam(Struct, tag_field="type", tag="tool_use"):
    """An earlier call."""

    id: Identifier
    name: Name
    input: dict[str, Any]


class ToolResultParam(Struct, tag_field="type", tag="tool_result"):
    """What an earlier call gave; ``is_error``: it failed."""

    tool_use_id: Identifier
    content: str | list[OnlyText] | None = None
    is_error: bool | None = None


BlockParam = TextParam | ThinkingParam | RedactedThinkingParam | ToolUseParam | ToolResultParam


class MessageParam(Struct):
    """A message of the conversation."""

    role: Literal["user", "assistant", "system"]
    content: str | list[BlockParam]


class ToolParam(Struct):
    """A tool that the model may call; ``input_schema`` is a JSON schema. Only the client runs tools."""

    name: Name
    input_schema: dict[str, Any]
    description: str | None = None
    type: Literal["custom"] | None = None
    strict: bool | None = None


class AutoChoice(Struct, tag_field="type", tag="auto"):
    """The model may call tools."""

    disable_parallel_tool_use: bool | None = None


class AnyChoice(Struct, tag_field="type", tag="any"):
    """The model must call a tool."""

    disable_parallel_tool_use: bool | None = None


class NamedChoice(Struct, tag_field="type", tag="tool"):
    """The model must call this tool."""

    name: str
    disable_parallel_tool_use: bool | None = None


class NoChoice(Struct, tag_field="type", tag="none"):
    """The model may call no tool."""


class ThinkingEnabled(Struct, tag_field="type", tag="enabled"):
    """The model thinks, at most ``budget_tokens``; ``omitted`` thinking is not shown."""

    budget_tokens: Annotated[int, Meta(ge=1024)]
    display: Display | None = None


class ThinkingDisabled(Struct, tag_field="type", tag="disabled"):
    """The model does not think."""


class ThinkingAdaptive(Struct, tag_field="type", tag="adaptive"):
    """The model thinks as much as it wants to; ``omitted`` thinking is not shown."""

    display: Display | None = None


class OutputFormat(Struct):
    """A JSON schema that the answer's text must be valid for."""

    type: Literal["json_schema"]
    schema: dict[str, Any]


class OutputConfig(Struct):
    """How much effort the model spends, and the shape of its text."""

    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: OutputFormat | None = None


class Metadata(Struct):
    """``user_id`` helps to find the engine that has a conversation's beginning at hand."""

    user_id: str | None = None


class CountRequest(Struct, kw_only=True):
    """The body of ``POST /v1/messages/count_tokens``; other fields are ignored."""

    model: str
    messages: Annotated[list[MessageParam], Meta(min_length=1)]
    system: str | list[OnlyText] | None = None
    tools: list[ToolParam] | None = None
    tool_choice: AutoChoice | AnyChoice | NamedChoice | NoChoice | None = None
    thinking: ThinkingEnabled | ThinkingDisabled | ThinkingAdaptive | None = None
    output_config: OutputConfig | None = None
    chat_template_kwargs: dict[str, Any] | None = None


class MessagesRequest(CountRequest, kw_only=True):
    """The body of ``POST /v1/messages``; other fields are ignored."""

    max_tokens: Count
    stop_sequences: list[Annotated[str, Meta(min_length=1)]] | None = None
    stream: bool | None = None
    metadata: Metadata | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None


R = TypeVar("R", bound=CountRequest)

_SHAPE = "use output_config.format, or a tool with tool_choice"
_REFUSED = {
    "output_format": _SHAPE,
    "response_format": _SHAPE,
    "structured_outputs": _SHAPE,
    "guided_json": _SHAPE,
    "guided_regex": _SHAPE,
    "guided_choice": _SHAPE,
    "guided_grammar": _SHAPE,
    "mcp_servers": "the client calls the tools here, name them in tools",
    "container": "nothing is run here but the model",
}
"""Fields that would change what the answer must be and that can't be honoured here, with what to do."""

_TYPE = re.compile(r"(messages|system|tools)\b.*\.type")
_VALUE = re.compile(r"value '(.*?)'", re.DOTALL)


def decode(body: bytes, kind: type[R]) -> R:
    """The request, checked field by field. Raises InvalidRequest with the wrong field's path."""
    plain = read_object(body)
    try:
        request = checked(plain, kind)
    except InvalidRequest as error:
        raise _foreign(error) or error from error
    for n, tool in enumerate(request.tools or ()):
        check_depth(tool.input_schema, f"tools[{n}].input_schema")
    if request.output_config is not None and request.output_config.format is not None:
        check_depth(request.output_config.format.schema, "output_config.format.schema")
    for name, value in plain.items():
        check_depth(value, name, MAX_DEPTH)
    refuse(plain, _REFUSED)
    return request


def _foreign(error: InvalidRequest) -> InvalidRequest | None:
    """The reason why a block or a tool of a type that exists elsewhere is refused."""
    path = error.param or ""
    found, value = _TYPE.fullmatch(path), _VALUE.search(error.message)
    if found is None or value is None:
        return None
    if found[1] == "tools":
        why = "only tools that the client runs are known, each with an input_schema"
    else:
        why = "this server reads text, thinking, calls and their results"
    return InvalidRequest(f"{path}: {value[1]!r} is not supported: {why}", param=path)
