"""What a Messages request means: the same as a chat completions request, which is normalised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from unbraid.errors import InvalidRequest
from unbraid.server.apis.messages_request import (
    BlockParam,
    CountRequest,
    MessageParam,
    MessagesRequest,
    NamedChoice,
    NoChoice,
    OnlyText,
    TextParam,
    ThinkingAdaptive,
    ThinkingDisabled,
    ThinkingEnabled,
    ThinkingParam,
    ToolParam,
    ToolResultParam,
    ToolUseParam,
)
from unbraid.server.normal import Ask, normalise
from unbraid.server.paths import Paths, named_as
from unbraid.server.requests import ChatRequest, checked

__all__ = ["ask"]

FAILED = "Error: "
"""What a result begins with that says it is an error: chat templates know no field for that."""

_PATHS: Paths = (
    ("response_format.json_schema.schema", "output_config.format.schema"),
    ("response_format", "output_config.format"),
    ("thinking_token_budget", "thinking.budget_tokens"),
    ("stop", "stop_sequences"),
)


def ask(request: CountRequest) -> Ask:
    """The request, normalised. Raises InvalidRequest for fields that contradict each other."""
    tools = request.tools or []
    conversation = _conversation(request)
    chat: dict[str, Any] = {
        "model": request.model,
        "messages": conversation.messages,
        "continue_final_message": conversation.continued,
        "chat_template_kwargs": dict(request.chat_template_kwargs or {}),
        **_tool_fields(request, tools),
        **_thinking_fields(request, conversation),
        **_output_fields(request),
    }
    if isinstance(request, MessagesRequest):
        chat.update(_sampling_fields(request))
    paths = (*conversation.paths, *_tool_paths(len(tools)), *_PATHS)
    with named_as(paths):
        normal = normalise(checked(chat, ChatRequest), chat)
    counts = normal.stream or not isinstance(request, MessagesRequest)
    return replace(normal, thinking=_switch(request), counts_prompt=counts, paths=paths)


# -- the conversation -----------------------------------------------------------


@dataclass
class _Turn:
    """What consecutive messages of one role say."""

    texts: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    results: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class _Conversation:
    """Messages in the shape of chat completions; ``continued``: the last one is to be gone on with.

    ``paths`` are those of the calls, there and in the request.
    """

    messages: list[dict[str, Any]]
    paths: list[tuple[str, str]] = field(default_factory=list)
    continued: bool = False
    thought: bool = False


def _conversation(request: CountRequest) -> _Conversation:
    found = _Conversation([])
    names: dict[str, str] = {}
    system = _joined(request.system)
    if system:
        found.messages.append({"role": "system", "content": system})
    numbered = enumerate(request.messages)
    for role, messages in groupby(numbered, key=lambda pair: pair[1].role):
        if role == "system":
            found.messages += ({"role": role, "content": _text(one, n)} for n, one in messages)
        elif role == "user":
            found.messages += _user(_turn(messages, names))
        else:
            numbered_turn = list(messages)
            turn = _turn(numbered_turn, names)
            calls = f"messages[{len(found.messages)}].tool_calls"
            found.paths.append((calls, f"messages[{numbered_turn[-1][0]}].content"))
            found.messages.append(_assistant(turn))
            found.continued, found.thought = True, bool(turn.thinking)
            continue
        found.continued = False
    return _prefilled(found, f"messages[{len(request.messages) - 1}]")


def _prefilled(found: _Conversation, path: str) -> _Conversation:
    """The conversation, of whose last message there must be something to go on with if it is the model's."""
    if not found.continued:
        return found
    last = found.messages[-1]
    if "tool_calls" in last:
        raise InvalidRequest(
            f"{path}: tool_result blocks of the user must follow its calls",
            param=path,
        )
    if last["content"]:
        return found
    if found.thought:
        raise InvalidRequest(f"{path}: there must be text behind the thinking to go on with", param=path)
    if len(found.messages) == 1:
        raise InvalidRequest(f"{path}: there is nothing to answer", param=path)
    return _Conversation(found.messages[:-1], found.paths)


def _turn(messages: Iterable[tuple[int, MessageParam]], names: dict[str, str]) -> _Turn:
    turn = _Turn()
    for n, message in messages:
        separator = "" if message.role == "assistant" else "\n"
        texts, thinking = [], []
        for path, block in _blocks(message, n):
            if isinstance(block, TextParam):
                texts.append(block.text)
            elif isinstance(block, ThinkingParam):
                thinking.append(block.thinking)
            elif isinstance(block, ToolUseParam):
                names[block.id] = block.name
                turn.calls.append(_call(block))
            elif isinstance(block, ToolResultParam):
                turn.results.append(_result(block, names.get(block.tool_use_id)))
            _check_role(message.role, block, path)
        turn.texts += filter(None, [separator.join(texts)])
        turn.thinking += filter(None, ["".join(thinking)])
    return turn


def _blocks(message: MessageParam, n: int) -> Iterator[tuple[str, BlockParam]]:
    """A message's blocks with their paths."""
    if isinstance(message.content, str):
        yield f"messages[{n}].content", TextParam(message.content)
        return
    for at, block in enumerate(message.content):
        yield f"messages[{n}].content[{at}]", block


def _check_role(role: str, block: BlockParam, path: str) -> None:
    if isinstance(block, TextParam):
        return
    owner = "user" if isinstance(block, ToolResultParam) else "assistant"
    if role != owner:
        kind = block.__struct_config__.tag
        raise InvalidRequest(f"{path}: {kind} belongs into a message of the {owner}", param=path)


def _text(message: MessageParam, n: int) -> str:
    """The text of a message that may hold nothing else."""
    texts = []
    for path, block in _blocks(message, n):
        _check_role(message.role, block, path)
        texts += [block.text] if isinstance(block, TextParam) else []
    return "\n".join(texts)


def _joined(content: str | Sequence[OnlyText] | None) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(one.text for one in content)


def _call(block: ToolUseParam) -> dict[str, Any]:
    function = {"name": block.name, "arguments": block.input}
    return {"id": block.id, "type": "function", "function": function}


def _result(block: ToolResultParam, name: str | None) -> dict[str, Any]:
    text = _joined(block.content)
    made = {"role": "tool", "tool_call_id": block.tool_use_id, "content": text}
    if block.is_error:
        made["content"] = FAILED + text
    if name is not None:
        made["name"] = name
    return made


def _user(turn: _Turn) -> list[dict[str, Any]]:
    """The results first, for they belong to the calls before; a turn without them is text in any case."""
    if turn.results and not turn.texts:
        return turn.results
    return [*turn.results, {"role": "user", "content": "\n".join(turn.texts)}]


def _assistant(turn: _Turn) -> dict[str, Any]:
    made: dict[str, Any] = {"role": "assistant", "content": "\n".join(turn.texts)}
    if turn.thinking:
        made["reasoning"] = "\n".join(turn.thinking)
    if turn.calls:
        made.update(tool_calls=turn.calls, content=made["content"] or None)
    return made


# -- tools ------------------------------------------------------------------------


def _tool_fields(request: CountRequest, tools: Sequence[ToolParam]) -> dict[str, Any]:
    choice = request.tool_choice
    made: dict[str, Any] = {}
    if tools:
        made["tools"] = [_tool(one) for one in tools]
    if isinstance(choice, NamedChoice):
        if choice.name not in [one.name for one in tools]:
            path = "tool_choice.name"
            raise InvalidRequest(f"{path}: there is no tool {choice.name!r} in tools", param=path)
        made["tool_choice"] = {"type": "function", "function": {"name": choice.name}}
    elif choice is not None:
        word = str(choice.__struct_config__.tag)
        made["tool_choice"] = "required" if word == "any" else word
    if choice is not None and not isinstance(choice, NoChoice) and choice.disable_parallel_tool_use:
        made["parallel_tool_calls"] = False
    return made


def _tool(tool: ToolParam) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name}
    if tool.description is not None:
        function["description"] = tool.description
    function["parameters"] = tool.input_schema
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _tool_paths(count: int) -> Iterator[tuple[str, str]]:
    for n in range(count):
        yield f"tools[{n}].function.parameters", f"tools[{n}].input_schema"
        yield f"tools[{n}].function", f"tools[{n}]"


# -- thinking, the output, sampling -------------------------------------------------


def _switch(request: CountRequest) -> bool | None:
    """Whether thinking is to be turned on or off; None leaves it to the template."""
    return None if request.thinking is None else not isinstance(request.thinking, ThinkingDisabled)


def _thinking_fields(request: CountRequest, conversation: _Conversation) -> dict[str, Any]:
    thinking = request.thinking
    shown = not isinstance(thinking, ThinkingDisabled)
    if isinstance(thinking, ThinkingEnabled | ThinkingAdaptive):
        shown = thinking.display != "omitted"
    made: dict[str, Any] = {"include_reasoning": shown}
    if not isinstance(thinking, ThinkingEnabled):
        return made
    if isinstance(request, MessagesRequest) and thinking.budget_tokens >= request.max_tokens:
        path = "thinking.budget_tokens"
        raise InvalidRequest(f"{path} must be less than max_tokens, {request.max_tokens}", param=path)
    if conversation.continued and not conversation.thought:
        raise InvalidRequest(
            "thinking: the last message is the model's and began without thinking, so none can follow",
            param="thinking",
        )
    return {**made, "thinking_token_budget": thinking.budget_tokens}


def _output_fields(request: CountRequest) -> dict[str, Any]:
    """``effort`` is a word for the template, and switches nothing."""
    config = request.output_config
    made: dict[str, Any] = {}
    if config is None:
        return made
    if config.effort is not None and not isinstance(request.thinking, ThinkingDisabled):
        kwargs = {"reasoning_effort": config.effort, **(request.chat_template_kwargs or {})}
        made["chat_template_kwargs"] = kwargs
    if config.format is not None:
        shape = {"schema": config.format.schema}
        made["response_format"] = {"type": "json_schema", "json_schema": shape}
    return made


def _sampling_fields(request: MessagesRequest) -> dict[str, Any]:
    return {
        "max_tokens": request.max_tokens,
        "stop": request.stop_sequences,
        "stream": request.stream,
        "user": request.metadata.user_id if request.metadata else None,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "top_k": request.top_k,
    }
