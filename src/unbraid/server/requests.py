"""A chat completion request: its fields, read from JSON, with errors that name the wrong one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NoReturn, TypeVar

import msgspec
from msgspec import Meta, Struct

from unbraid.constrain.checks import check_depth
from unbraid.errors import InvalidRequest

__all__ = ["REFUSED", "ChatRequest", "checked", "decode", "read", "read_object", "refuse"]

T = TypeVar("T")

Count = Annotated[int, Meta(ge=1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]


class ContentPart(Struct):
    """A part of a message's content."""

    type: str
    text: str | None = None


class HistoryFunction(Struct):
    """The function of an earlier call; arguments as JSON text, or as the object itself."""

    name: str
    arguments: str | dict[str, Any] | None = None


class HistoryCall(Struct):
    """A call in an assistant message of the history."""

    function: HistoryFunction
    id: str | None = None
    type: Literal["function"] = "function"


class RequestMessage(Struct):
    """A message of the conversation. ``reasoning`` wins over its old name ``reasoning_content``."""

    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None
    name: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[HistoryCall] | None = None
    tool_call_id: str | None = None


class ToolFunction(Struct):
    """A function that the model may call; ``parameters`` is a JSON schema."""

    name: Annotated[str, Meta(min_length=1, max_length=256)]
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Tool(Struct):
    """A tool; only functions exist here."""

    function: ToolFunction
    type: Literal["function"] = "function"


class StreamOptions(Struct):
    """``include_usage`` adds a last chunk with the token counts, the other counts so far to every chunk."""

    include_usage: bool | None = None
    continuous_usage_stats: bool | None = None


class JsonSchema(Struct):
    """A named schema for the answer."""

    schema: dict[str, Any] | bool | None = None
    name: str | None = None
    strict: bool | None = None


class ResponseFormat(Struct):
    """The shape of the answer's content."""

    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class ChatRequest(Struct):
    """The body of ``POST /v1/chat/completions``; other fields are ignored."""

    messages: Annotated[list[RequestMessage], Meta(min_length=1)]
    model: str | None = None
    tools: list[Tool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    include_reasoning: bool | None = None
    reasoning_effort: Effort | None = None
    thinking_token_budget: Annotated[int, Meta(ge=-1)] | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    add_generation_prompt: bool | None = None
    continue_final_message: bool | None = None
    response_format: ResponseFormat | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Annotated[int, Meta(ge=1, le=128)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    max_tokens: Count | None = None
    max_completion_tokens: Count | None = None
    stop: str | list[str] | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    top_k: Annotated[int, Meta(ge=-1)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    seed: int | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, Meta(gt=0)] | None = None
    logit_bias: dict[str, float] | None = None
    ignore_eos: bool | None = None
    return_token_ids: bool | None = None
    prompt_cache_key: str | None = None
    user: str | None = None


MAX_DEPTH = 128
"""Levels of objects and lists in a request; a schema in it may have half as many."""


_BY_DEFAULT = "use response_format with type json_schema, or a tool with tool_choice"
_LEAVE_OUT = "leave it out; there is no such thing here"
REFUSED = {
    "guided_json": _BY_DEFAULT,
    "guided_regex": _BY_DEFAULT,
    "guided_choice": _BY_DEFAULT,
    "guided_grammar": _BY_DEFAULT,
    "guided_json_object": _BY_DEFAULT,
    "guided_decoding_backend": _BY_DEFAULT,
    "guided_whitespace_pattern": _BY_DEFAULT,
    "structured_outputs": _BY_DEFAULT,
    "functions": "use tools",
    "function_call": "use tool_choice",
    "use_beam_search": _LEAVE_OUT,
    "echo": _LEAVE_OUT,
    "audio": "this server writes text only",
    "web_search_options": "offer a search as a tool",
    "prompt_logprobs": _LEAVE_OUT,
    "logprob_token_ids": "use top_logprobs",
    "allowed_token_ids": "use logit_bias",
    "bad_words": "use logit_bias",
    "stop_token_ids": "use stop",
    "min_tokens": _LEAVE_OUT,
    "include_stop_str_in_output": "the answer tells it as stop_reason",
}
"""Fields that would change what the answer must be and that can't be honoured here, with what to do."""

_PATH = re.compile(r" - at `\$(.*)`$", re.DOTALL)
_MISSING = re.compile(r"missing required field `(\w+)`")


def decode(body: bytes) -> tuple[ChatRequest, dict[str, Any]]:
    """The request, checked field by field, and the same as plain data with all fields.

    Raises InvalidRequest whose ``param`` is the path of the wrong field.
    """
    return read(read_object(body))


def read(plain: dict[str, Any]) -> tuple[ChatRequest, dict[str, Any]]:
    """As ``decode``, of a request that is plain data already."""
    request = checked(plain, ChatRequest)
    _check_depths(request, plain)
    refuse(plain, REFUSED)
    return request, plain


def read_object(body: bytes) -> dict[str, Any]:
    """A body as plain data. Raises InvalidRequest when it is no JSON object."""
    try:
        plain = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeError) as error:
        raise InvalidRequest(f"the body is no valid JSON: {error}") from error
    if not isinstance(plain, dict):
        raise InvalidRequest("the body must be a JSON object")
    return plain


def checked(plain: dict[str, Any], kind: type[T]) -> T:
    """Plain data as a struct. Raises InvalidRequest whose ``param`` is the path of the wrong field."""
    try:
        return msgspec.convert(plain, kind)
    except msgspec.ValidationError as error:
        _raise(str(error))
    except RecursionError as error:
        raise InvalidRequest("the request is nested too deeply") from error


def refuse(plain: Mapping[str, Any], fields: Mapping[str, str]) -> None:
    """Raise InvalidRequest for the first of ``fields`` that is set, with what to do instead."""
    for name, instead in fields.items():
        if plain.get(name) not in (None, False, 0, [], {}):
            raise InvalidRequest(f"{name} is not supported: {instead}", param=name)


def _check_depths(request: ChatRequest, plain: dict[str, Any]) -> None:
    """Refuse what nests too deep to be copied, rendered or held."""
    for n, tool in enumerate(request.tools or ()):
        check_depth(tool.function.parameters, f"tools[{n}].function.parameters")
    wanted = request.response_format
    if wanted is not None and wanted.json_schema is not None:
        check_depth(wanted.json_schema.schema, "response_format.json_schema.schema")
    for name, value in plain.items():
        check_depth(value, name, MAX_DEPTH)


def _raise(message: str) -> NoReturn:
    found = _PATH.search(message)
    path = found[1].lstrip(".") if found else ""
    missing = _MISSING.search(message)
    if missing:
        path = f"{path}.{missing[1]}" if path else missing[1]
    text = message[: found.start()] if found else message
    raise InvalidRequest(f"{path}: {text}" if path else text, param=path or None)
