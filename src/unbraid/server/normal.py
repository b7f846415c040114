"""From a request as it was sent to what it means: defaults, choices and conflicts settled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from unbraid.engines.base import Sampling
from unbraid.errors import InvalidRequest
from unbraid.request import picked
from unbraid.server.paths import Paths
from unbraid.server.requests import ChatRequest, RequestMessage, StreamOptions

__all__ = ["Ask", "ToolUse", "normalise"]

PLAIN_PARTS = ("text", "input_text", "output_text", "refusal")
DEFAULT_LOGPROBS = 0
JSON_OBJECT: Mapping[str, Any] = {"type": "object"}
ToolChoice = Literal["none", "auto", "required"] | Mapping[str, Any]


@dataclass(frozen=True)
class ToolUse:
    """Which tools are shown to the model, which of them it may call, and whether it must.

    ``limited``: calls are held to ``callable`` by a grammar, whatever ``choice`` says.
    """

    shown: Sequence[Mapping[str, Any]] = ()
    callable: Sequence[Mapping[str, Any]] = ()
    choice: ToolChoice = "none"
    limited: bool = False

    @property
    def named(self) -> bool:
        """Whether one tool is demanded by name."""
        return isinstance(self.choice, Mapping)

    @property
    def forced(self) -> bool:
        """Whether a call is demanded."""
        return self.named or self.choice == "required"

    @property
    def strict(self) -> bool:
        """Whether a tool asks for arguments that are valid for certain."""
        return any(tool["function"].get("strict") for tool in self.callable)


@dataclass(frozen=True)
class Ask:
    """A normalised request; with ``n`` 0 it is about the prompt alone.

    ``thinking`` turns the template's thinking on or off, None leaves it to the template and the effort.
    ``paths`` tell how the request spells fields that chat completions have under another name;
    ``detail`` is what only its own API knows of it.
    """

    model: str | None
    messages: Sequence[Mapping[str, Any]]
    tools: ToolUse
    sampling: Sampling
    parallel_tool_calls: bool
    include_reasoning: bool
    effort: str | None
    budget: int | None
    template: str | None
    template_kwargs: Mapping[str, Any]
    add_generation_prompt: bool
    continue_final_message: bool
    schema: Mapping[str, Any] | None
    stream: bool
    include_usage: bool
    n: int
    logprobs: int | None
    return_token_ids: bool
    history_calls: int
    counts_prompt: bool = False
    prompt_cache_key: str | None = None
    user: str | None = None
    running_usage: bool = False
    thinking: bool | None = None
    paths: Paths = ()
    detail: Any = None


def normalise(request: ChatRequest, plain: Mapping[str, Any]) -> Ask:
    """What a request means. ``plain`` is the same request as plain data; it is not changed.

    Raises InvalidRequest for fields that contradict each other.
    """
    continued = bool(request.continue_final_message)
    if continued and request.add_generation_prompt:
        raise InvalidRequest(
            "continue_final_message and add_generation_prompt can't both be true",
            param="continue_final_message",
        )
    stream = bool(request.stream)
    if request.stream_options is not None and not stream:
        raise InvalidRequest("stream_options needs stream: true", param="stream_options")
    options = request.stream_options or StreamOptions()
    return Ask(
        model=request.model,
        messages=_messages(request.messages, plain["messages"]),
        tools=_tool_use(request, plain),
        sampling=_sampling(request),
        parallel_tool_calls=request.parallel_tool_calls is not False,
        include_reasoning=request.include_reasoning is not False,
        effort=request.reasoning_effort,
        budget=request.thinking_token_budget,
        template=request.chat_template,
        template_kwargs=request.chat_template_kwargs or {},
        add_generation_prompt=request.add_generation_prompt is not False and not continued,
        continue_final_message=continued,
        schema=_schema(request),
        stream=stream,
        include_usage=bool(options.include_usage),
        prompt_cache_key=request.prompt_cache_key,
        user=request.user,
        counts_prompt=bool(options.continuous_usage_stats),
        running_usage=bool(options.continuous_usage_stats),
        n=request.n or 1,
        logprobs=_logprobs(request),
        return_token_ids=bool(request.return_token_ids),
        history_calls=sum(len(message.tool_calls or ()) for message in request.messages),
    )


# -- messages -----------------------------------------------------------------


def _messages(checked: Sequence[RequestMessage], plain: Sequence[Any]) -> list[dict[str, Any]]:
    """Messages as chat templates expect them: text as one string, thinking under both names."""
    made = []
    for n, (message, original) in enumerate(zip(checked, plain, strict=True)):
        one = dict(original)
        text = _text(message, n)
        if text is None and not message.tool_calls:
            text = ""
        one["content"] = text
        if message.role == "developer":
            one["role"] = "system"
        reasoning = message.reasoning if message.reasoning is not None else message.reasoning_content
        if reasoning is not None:
            one["reasoning"] = one["reasoning_content"] = reasoning
        if not message.tool_calls:
            one.pop("tool_calls", None)
        made.append(one)
    return made


def _text(message: RequestMessage, n: int) -> str | None:
    if message.content is None:
        if message.role in ("system", "developer", "user", "tool"):
            raise InvalidRequest(f"a {message.role} message needs content", param=f"messages[{n}].content")
        return None
    if isinstance(message.content, str):
        return message.content
    texts = []
    for at, part in enumerate(message.content):
        if part.type not in PLAIN_PARTS:
            raise InvalidRequest(
                f"content of type {part.type!r} is not supported: this server reads text only",
                param=f"messages[{n}].content[{at}].type",
            )
        texts.append(part.text or "")
    return "\n".join(texts)


# -- tools --------------------------------------------------------------------


def _tool_use(request: ChatRequest, plain: Mapping[str, Any]) -> ToolUse:
    if request.tools is not None and not request.tools:
        raise InvalidRequest("tools must hold at least one tool, or be left out", param="tools")
    if request.tools is None:
        if request.tool_choice not in (None, "none", "auto"):
            raise InvalidRequest("tool_choice needs tools", param="tool_choice")
        return ToolUse()
    names: list[str] = []
    for n, tool in enumerate(request.tools):
        if tool.function.name in names:
            raise InvalidRequest(
                f"two tools have the name {tool.function.name!r}", param=f"tools[{n}].function.name"
            )
        names.append(tool.function.name)
    tools = [{**tool, "type": "function"} for tool in plain["tools"]]
    choice = picked(request.tool_choice)
    choice.among(names)
    if choice.names is None:
        return ToolUse(tools, tools, choice.mode)
    if choice.named:
        name = next(iter(choice.names))
        return ToolUse(tools, tools, {"type": "function", "function": {"name": name}})
    kept = [tool for tool in tools if tool["function"]["name"] in choice.names]
    return ToolUse(tools, kept, choice.mode, limited=True)


# -- the rest -----------------------------------------------------------------


def _schema(request: ChatRequest) -> Mapping[str, Any] | None:
    wanted = request.response_format
    if wanted is None or wanted.type == "text":
        return None
    if wanted.type == "json_object":
        return JSON_OBJECT
    schema = None if wanted.json_schema is None else wanted.json_schema.schema
    if not isinstance(schema, dict):
        raise InvalidRequest(
            "response_format of type json_schema needs json_schema.schema, an object",
            param="response_format.json_schema.schema",
        )
    return schema


def _logprobs(request: ChatRequest) -> int | None:
    if not request.logprobs:
        if request.top_logprobs:
            raise InvalidRequest("top_logprobs needs logprobs: true", param="top_logprobs")
        return None
    return request.top_logprobs or DEFAULT_LOGPROBS


def _stops(stop: str | list[str] | None) -> tuple[str, ...]:
    stops = (stop,) if isinstance(stop, str) else tuple(stop or ())
    for n, one in enumerate(stops):
        if not one:
            raise InvalidRequest("a stop string may not be empty", param=f"stop[{n}]")
    return stops


def _bias(bias: Mapping[str, float] | None) -> dict[int, float]:
    try:
        return {int(token_id): value for token_id, value in (bias or {}).items()}
    except ValueError as error:
        raise InvalidRequest("the keys of logit_bias must be token ids", param="logit_bias") from error


def _sampling(request: ChatRequest) -> Sampling:
    def given(value: float | None, default: float) -> float:
        return default if value is None else value

    limit = request.max_completion_tokens
    return Sampling(
        temperature=given(request.temperature, 1.0),
        top_p=given(request.top_p, 1.0),
        top_k=max(0, request.top_k or 0),
        min_p=given(request.min_p, 0.0),
        seed=request.seed,
        max_tokens=limit if limit is not None else request.max_tokens,
        stop=_stops(request.stop),
        presence_penalty=given(request.presence_penalty, 0.0),
        frequency_penalty=given(request.frequency_penalty, 0.0),
        repetition_penalty=given(request.repetition_penalty, 1.0),
        logit_bias=_bias(request.logit_bias),
        ignore_eos=bool(request.ignore_eos),
    )
