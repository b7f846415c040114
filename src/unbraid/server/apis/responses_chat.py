"""A request of the Responses API as one of chat completions: history, tools, choice, limits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from unbraid.errors import InvalidRequest
from unbraid.server.apis.responses_request import (
    CustomTool,
    FunctionTool,
    InputCall,
    InputCustomCall,
    InputItem,
    InputMessage,
    InputReasoning,
    JsonObjectFormat,
    JsonSchemaFormat,
    NamespaceTool,
    RefusalPart,
    ResponsesRequest,
    TextPart,
)
from unbraid.server.normal import Ask, normalise
from unbraid.server.paths import Paths, named_as
from unbraid.server.requests import ChatRequest, checked
from unbraid.wire.custom_input import CUSTOM_PARAMETERS
from unbraid.wire.response_items import ToolNames

__all__ = ["Detail", "ask_of"]

LOGPROBS = "message.output_text.logprobs"
MAX_NAME = 256
_SAME = (
    *("model", "parallel_tool_calls", "temperature", "top_p", "stream", "include_reasoning", "stop", "seed"),
    *("thinking_token_budget", "chat_template", "chat_template_kwargs", "top_k", "min_p", "logit_bias"),
    *("presence_penalty", "frequency_penalty", "repetition_penalty", "ignore_eos"),
    *("prompt_cache_key", "user"),
)
"""Fields that mean the same in both APIs."""

_PATHS: Paths = (
    ("messages", "input"),
    ("response_format.json_schema.schema", "text.format.schema"),
    ("response_format", "text.format"),
    ("reasoning_effort", "reasoning.effort"),
    ("max_completion_tokens", "max_output_tokens"),
    ("max_tokens", "max_output_tokens"),
)


@dataclass(frozen=True)
class Detail:
    """What only this API knows of a request: the request itself, and what the tools' names stand for."""

    request: ResponsesRequest
    plain: Mapping[str, Any]
    names: ToolNames


@dataclass
class _Tools:
    """The tools as functions, where each stands in the request, and what their names stand for."""

    functions: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    custom: set[str] = field(default_factory=set)
    spaces: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, tool: FunctionTool | CustomTool, path: str, space: NamespaceTool | None = None) -> None:
        """One function more; in a namespace it is known by a longer name."""
        name = _in_space(space.name if space else None, tool.name)
        if len(name) > MAX_NAME:
            raise InvalidRequest(
                f"{path}.name: with its namespace longer than {MAX_NAME} characters", param=f"{path}.name"
            )
        function: dict[str, Any] = {"name": name}
        if tool.description is not None:
            function["description"] = tool.description
        if isinstance(tool, CustomTool):
            self.custom.add(name)
            function["parameters"] = CUSTOM_PARAMETERS
        else:
            if tool.parameters is not None:
                function["parameters"] = tool.parameters
            if tool.strict is not None:
                function["strict"] = tool.strict
        if space:
            self.spaces[name] = space.name, tool.name
        self.functions.append({"type": "function", "function": function})
        self.paths.append(path)


def ask_of(request: ResponsesRequest, plain: Mapping[str, Any]) -> Ask:
    """What a request means. Raises InvalidRequest for fields that contradict each other."""
    tools, history = _tools(request), _history(request)
    chat: dict[str, Any] = {name: getattr(request, name) for name in _SAME}
    chat |= {
        "messages": history.messages,
        "tools": tools.functions or None,
        "tool_choice": _choice(request.tool_choice, tools),
        "max_completion_tokens": request.max_output_tokens,
        "reasoning_effort": request.reasoning.effort if request.reasoning else None,
        "response_format": _format(request),
        "stream_options": {} if request.stream_options is not None else None,
        **_logprobs(request),
    }
    paths = (
        *((f"messages[{n}]", path) for n, path in enumerate(history.paths)),
        *((f"tools[{n}].function", path) for n, path in enumerate(tools.paths)),
        *_PATHS,
    )
    with named_as(paths):
        ask = normalise(checked(chat, ChatRequest), chat)
    names = ToolNames(frozenset(tools.custom), tools.spaces)
    return replace(ask, paths=paths, detail=Detail(request, plain, names))


# -- tools ---------------------------------------------------------------------


def _in_space(space: str | None, name: str) -> str:
    """The name that the model knows a tool by."""
    return f"{space}__{name}" if space else name


def _tools(request: ResponsesRequest) -> _Tools:
    found = _Tools()
    for n, tool in enumerate(request.tools or ()):
        if isinstance(tool, NamespaceTool):
            for at, inner in enumerate(tool.tools):
                found.add(inner, f"tools[{n}].tools[{at}]", tool)
        else:
            found.add(tool, f"tools[{n}]")
    return found


def _choice(choice: Any, tools: _Tools) -> Any:
    """The choice in terms of functions under the names that the model knows."""
    if not isinstance(choice, dict):
        return choice
    if choice.get("type") == "allowed_tools" and isinstance(choice.get("tools"), list):
        return {**choice, "tools": [_function(one, tools) for one in choice["tools"]]}
    return _function(choice, tools)


def _function(choice: Any, tools: _Tools) -> Any:
    """A function or a custom tool that is named; anything else as it is."""
    if not isinstance(choice, dict) or choice.get("type") not in ("function", "custom"):
        return choice
    name, space = choice.get("name"), choice.get("namespace")
    if not isinstance(name, str):
        return {**choice, "type": "function"}
    known = [full for full, (its, own) in tools.spaces.items() if own == name and space in (None, its)]
    plain = space is None and any(one["function"]["name"] == name for one in tools.functions)
    return {"type": "function", "name": name if plain or len(known) != 1 else known[0]}


# -- the rest ------------------------------------------------------------------


def _format(request: ResponsesRequest) -> dict[str, Any] | None:
    wanted = request.text.format if request.text is not None else None
    if isinstance(wanted, JsonSchemaFormat):
        return {"type": "json_schema", "json_schema": {"schema": wanted.schema}}
    return {"type": "json_object"} if isinstance(wanted, JsonObjectFormat) else None


def _logprobs(request: ResponsesRequest) -> dict[str, Any]:
    wanted = LOGPROBS in (request.include or ())
    if request.top_logprobs and not wanted:
        raise InvalidRequest(f'top_logprobs needs include: ["{LOGPROBS}"]', param="top_logprobs")
    return {"logprobs": wanted, "top_logprobs": request.top_logprobs}


# -- history -------------------------------------------------------------------


def _history(request: ResponsesRequest) -> _History:
    history = _History()
    if isinstance(request.input, str):
        history.say("input", {"role": "user", "content": request.input})
    else:
        for n, item in enumerate(request.input):
            history.add(f"input[{n}]", item)
    if request.instructions is not None:
        history.begin_with("instructions", request.instructions)
    return history


class _History:
    """Makes messages of items: what the model gave in one turn is one message.

    ``paths`` tell for each message where in the request it begins.
    """

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self._turn: dict[str, Any] | None = None

    def say(self, path: str, message: dict[str, Any]) -> None:
        """The next message, of somebody else than the model."""
        self._turn = None
        self.messages.append(message)
        self.paths.append(path)

    def add(self, path: str, item: InputItem) -> None:
        """The next item."""
        if isinstance(item, InputReasoning):
            self._think(path, item)
        elif isinstance(item, InputCall):
            self._call(path, item, item.arguments)
        elif isinstance(item, InputCustomCall):
            self._call(path, item, json.dumps({"input": item.input}, ensure_ascii=False))
        elif not isinstance(item, InputMessage):
            result = {"role": "tool", "tool_call_id": item.call_id, "content": _text(item.output)}
            self.say(path, result)
        elif item.role == "assistant":
            turn = self._turn_without("content", path)
            turn["content"] = turn.get("content", "") + _text(item.content)
        else:
            self.say(path, {"role": item.role, "content": _text(item.content)})

    def begin_with(self, path: str, instructions: str) -> None:
        """Put the instructions in front.

        Many templates take one system message only, so those at the beginning become one.
        """
        count = 0
        while count < len(self.messages) and self.messages[count]["role"] in ("system", "developer"):
            count += 1
        texts = [instructions, *(message["content"] for message in self.messages[:count])]
        self.messages[:count] = [{"role": "system", "content": "\n\n".join(texts)}]
        self.paths[:count] = [path]

    def _think(self, path: str, item: InputReasoning) -> None:
        text = "\n".join(part.text for part in item.content or item.summary or ())
        if text:
            turn = self._turn_without("content", path)
            turn["reasoning"] = "\n".join((*([turn["reasoning"]] if "reasoning" in turn else ()), text))

    def _call(self, path: str, item: InputCall | InputCustomCall, arguments: str) -> None:
        function = {"name": _in_space(item.namespace, item.name), "arguments": arguments}
        call = {"id": item.call_id, "type": "function", "function": function}
        self._of_turn(path).setdefault("tool_calls", []).append(call)

    def _of_turn(self, path: str) -> dict[str, Any]:
        """The assistant's message that is being made."""
        turn = self._turn
        if turn is None:
            turn = {"role": "assistant"}
            self.say(path, turn)
            self._turn = turn
        return turn

    def _turn_without(self, key: str, path: str) -> dict[str, Any]:
        """The same; a new one where it has ``key`` already, unless its calls still want their results."""
        if self._turn is not None and key in self._turn and "tool_calls" not in self._turn:
            self._turn = None
        return self._of_turn(path)


def _text(content: str | Sequence[TextPart]) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.refusal if isinstance(part, RefusalPart) else part.text for part in content)
