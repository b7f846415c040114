"""A request of the Responses API: its fields, read from JSON, with errors that name the wrong one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

from unbraid.constrain.checks import check_depth
from unbraid.errors import InvalidRequest
from unbraid.server.requests import MAX_DEPTH, REFUSED, Count, Effort, Penalty, checked, read_object, refuse

__all__ = [
    "CustomTool",
    "FunctionTool",
    "InputCall",
    "InputCustomCall",
    "InputCustomCallOutput",
    "InputItem",
    "InputMessage",
    "InputReasoning",
    "JsonObjectFormat",
    "JsonSchemaFormat",
    "NamespaceTool",
    "RefusalPart",
    "ResponsesRequest",
    "TextPart",
    "decode",
]

Name = Annotated[str, Meta(min_length=1, max_length=256)]

# -- input ---------------------------------------------------------------------


class InputText(Struct, tag_field="type", tag="input_text"):
    """Text of a user, a developer or a tool."""

    text: str


class OutputTextPart(Struct, tag_field="type", tag="output_text"):
    """Text that the model wrote."""

    text: str


class PlainText(Struct, tag_field="type", tag="text"):
    """Text of anyone."""

    text: str


class RefusalPart(Struct, tag_field="type", tag="refusal"):
    """A refusal that a model wrote."""

    refusal: str


class SummaryText(Struct):
    """A summary of thinking."""

    text: str
    type: Literal["summary_text"] = "summary_text"


class ReasoningTextPart(Struct, tag_field="type", tag="reasoning_text"):
    """Thinking."""

    text: str


TextPart = InputText | OutputTextPart | PlainText | RefusalPart


class InputMessage(Struct, tag_field="type", tag="message"):
    """A message of the conversation; its ``type`` may be left out."""

    role: Literal["user", "assistant", "system", "developer"]
    content: str | list[TextPart]


class InputReasoning(Struct, tag_field="type", tag="reasoning"):
    """Thinking of an earlier turn; its ``content`` wins over its ``summary``."""

    content: list[ReasoningTextPart | PlainText] | None = None
    summary: list[SummaryText] | None = None


class InputCall(Struct, tag_field="type", tag="function_call"):
    """A call that the model made."""

    call_id: str
    name: Name
    arguments: str
    namespace: str | None = None


class InputCallOutput(Struct, tag_field="type", tag="function_call_output"):
    """What a call gave."""

    call_id: str
    output: str | list[TextPart]


class InputCustomCall(Struct, tag_field="type", tag="custom_tool_call"):
    """A call of a custom tool that the model made."""

    call_id: str
    name: Name
    input: str
    namespace: str | None = None


class InputCustomCallOutput(Struct, tag_field="type", tag="custom_tool_call_output"):
    """What a custom tool gave."""

    call_id: str
    output: str | list[TextPart]


InputItem = (
    InputMessage | InputReasoning | InputCall | InputCallOutput | InputCustomCall | InputCustomCallOutput
)

# -- tools ---------------------------------------------------------------------


class FunctionTool(Struct, tag_field="type", tag="function"):
    """A function that the model may call; ``parameters`` is a JSON schema."""

    name: Name
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class FreeText(Struct):
    """Any text."""

    type: Literal["text"] = "text"


class CustomTool(Struct, tag_field="type", tag="custom"):
    """A tool that is called with a text; the model sees a function with one string, ``input``."""

    name: Name
    description: str | None = None
    format: FreeText | None = None


class NamespaceTool(Struct, tag_field="type", tag="namespace"):
    """Tools under a name that they share; the model sees them as ``NAMESPACE__NAME``."""

    name: Name
    tools: Annotated[list[FunctionTool | CustomTool], Meta(min_length=1)]
    description: str | None = None


# -- the rest ------------------------------------------------------------------


class TextFormat(Struct, tag_field="type", tag="text"):
    """Free text."""


class JsonObjectFormat(Struct, tag_field="type", tag="json_object"):
    """Any JSON object."""


class JsonSchemaFormat(Struct, tag_field="type", tag="json_schema"):
    """JSON of a schema, which is always held to."""

    schema: dict[str, Any]
    name: str | None = None
    description: str | None = None
    strict: bool | None = None


class TextConfig(Struct):
    """The shape of the answer's content; ``verbosity`` says nothing to these models."""

    format: TextFormat | JsonObjectFormat | JsonSchemaFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class ReasoningConfig(Struct):
    """How much to think; there are no summaries, whatever ``summary`` says."""

    effort: Effort | None = None
    summary: Literal["auto", "concise", "detailed"] | None = None


class ResponsesStreamOptions(Struct):
    """Nothing in a stream is obfuscated, whatever is asked for."""

    include_obfuscation: bool | None = None


class ResponsesRequest(Struct):
    """The body of ``POST /v1/responses``; other fields are ignored."""

    input: str | Annotated[list[InputItem], Meta(min_length=1)]
    model: str | None = None
    instructions: str | None = None
    tools: list[FunctionTool | CustomTool | NamespaceTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    max_output_tokens: Count | None = None
    max_tool_calls: int | None = None
    reasoning: ReasoningConfig | None = None
    text: TextConfig | None = None
    include: list[str] | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=100)] | None = None
    top_p: Annotated[float, Meta(gt=0, le=1)] | None = None
    truncation: Literal["disabled"] | None = None
    stream: bool | None = None
    stream_options: ResponsesStreamOptions | None = None
    store: bool | None = None
    metadata: dict[str, str] | None = None
    user: str | None = None
    prompt_cache_key: str | None = None
    safety_identifier: str | None = None
    n: Literal[1] | None = None
    include_reasoning: bool | None = None
    thinking_token_budget: Annotated[int, Meta(ge=-1)] | None = None
    chat_template: str | None = None
    chat_template_kwargs: dict[str, Any] | None = None
    stop: str | list[str] | None = None
    seed: int | None = None
    top_k: Annotated[int, Meta(ge=-1)] | None = None
    min_p: Annotated[float, Meta(ge=0, le=1)] | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repetition_penalty: Annotated[float, Meta(gt=0)] | None = None
    logit_bias: dict[str, float] | None = None
    ignore_eos: bool | None = None


_SHAPE = "use text.format with type json_schema, or a tool with tool_choice"
_KEEPS_NOTHING = "this server keeps no responses: send the whole conversation as input"
_REFUSED = {
    **REFUSED,
    "previous_response_id": _KEEPS_NOTHING,
    "conversation": _KEEPS_NOTHING,
    "background": "this server answers while the connection is open: leave it out, and use stream: true",
    "prompt": "this server keeps no prompts: send instructions and input",
    "context_management": "this server drops nothing from a conversation: leave it out",
    "moderation": "there is no moderation here: leave it out",
    "messages": "use input",
    "max_tokens": "use max_output_tokens",
    "max_completion_tokens": "use max_output_tokens",
    "reasoning_effort": "use reasoning.effort",
    "logprobs": 'use include: ["message.output_text.logprobs"]',
    "response_format": "use text.format",
    **dict.fromkeys(
        ("structured_outputs", *(name for name in REFUSED if name.startswith("guided_"))), _SHAPE
    ),
}
"""Fields that would change what the answer must be and that can't be honoured here, with what to do."""

_HOSTED = "a tool that OpenAI runs; this server runs none: offer a function instead"
_ITEM = "an item of a tool that OpenAI runs; this server reads messages, reasoning, and calls of functions"
_TEXT_ONLY = "not supported: this server reads text only"
_TYPES = {
    "item_reference": f"a reference; {_KEEPS_NOTHING}",
    "compaction": "made by a server that keeps responses; send the conversation itself",
    "grammar": "not supported: a custom tool here takes any text; leave its format out",
    **dict.fromkeys(("input_image", "input_file", "input_audio"), _TEXT_ONLY),
    **dict.fromkeys(
        (
            *("web_search", "web_search_preview", "file_search", "code_interpreter", "image_generation"),
            *(
                "computer",
                "computer_use_preview",
                "mcp",
                "local_shell",
                "shell",
                "apply_patch",
                "tool_search",
            ),
        ),
        _HOSTED,
    ),
    **dict.fromkeys(
        (
            *("web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"),
            *("computer_call", "computer_call_output", "local_shell_call", "local_shell_call_output"),
            *("shell_call", "shell_call_output", "apply_patch_call", "apply_patch_call_output"),
            *("mcp_list_tools", "mcp_approval_request", "mcp_approval_response", "mcp_call"),
            *("tool_search_call", "tool_search_output"),
        ),
        _ITEM,
    ),
}
_WHY: dict[str, Mapping[str, str]] = {
    "type": _TYPES,
    "role": {"tool": "no role here; send the result as an item of type function_call_output"},
    "truncation": {"auto": "not supported: this server drops nothing from a conversation; leave it out"},
}
"""By field: words that OpenAI knows and that are refused here, with the reason."""

_WRONG = re.compile(r"(\w+): Invalid (?:enum )?value '(\w+)'$")


def decode(body: bytes) -> tuple[ResponsesRequest, dict[str, Any]]:
    """The request, checked field by field, and the same as plain data with all fields.

    Raises InvalidRequest whose ``param`` is the path of the wrong field.
    """
    plain = read_object(body)
    refuse(plain, _REFUSED)
    try:
        request = checked({**plain, **_typed_input(plain)}, ResponsesRequest)
    except InvalidRequest as error:
        raise _explained(error) from error
    _check_depths(request, plain)
    return request, plain


def _check_depths(request: ResponsesRequest, plain: Mapping[str, Any]) -> None:
    """Refuse what nests too deep to be copied, rendered or held."""
    for n, tool in enumerate(request.tools or ()):
        nested = tool.tools if isinstance(tool, NamespaceTool) else ()
        paths = {f"tools[{n}]": tool, **{f"tools[{n}].tools[{at}]": one for at, one in enumerate(nested)}}
        for path, one in paths.items():
            if isinstance(one, FunctionTool):
                check_depth(one.parameters, f"{path}.parameters")
    if request.text is not None and isinstance(request.text.format, JsonSchemaFormat):
        check_depth(request.text.format.schema, "text.format.schema")
    for name, value in plain.items():
        check_depth(value, name, MAX_DEPTH)


def _typed_input(plain: Mapping[str, Any]) -> dict[str, Any]:
    """The input with the type of messages that left it out."""
    given = plain.get("input")
    if not isinstance(given, list):
        return {}
    typed = [{"type": "message", **one} if isinstance(one, dict) and "role" in one else one for one in given]
    return {"input": typed}


def _explained(error: InvalidRequest) -> InvalidRequest:
    """The same refusal; a word that OpenAI knows is refused with the reason."""
    found = _WRONG.search(error.message)
    why = _WHY.get(found[1], {}).get(found[2]) if found else None
    if found is None or why is None:
        return error
    return InvalidRequest(f"{error.param}: {found[2]!r} is {why}", param=error.param)
