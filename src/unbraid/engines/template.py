"""Chat templates: Jinja in a sandbox, with the names that Hugging Face's templates expect."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from jinja2 import TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

from unbraid.errors import InvalidRequest

__all__ = ["TOOL_TEMPLATE", "ChatTemplate", "knows_tools"]

Message = Mapping[str, Any]

_T = TypeVar("_T")

_MARK = "\ue000end of the final message\ue000"
_RESERVED = frozenset({"messages", "tools", "add_generation_prompt", "continue_final_message"})
_PROBE: Sequence[Message] = ({"role": "user", "content": "Hello"},)


class _Raised(TemplateError):
    """What ``raise_exception`` of a template raises."""


class _Generation(Extension):
    """``{% generation %} ... {% endgeneration %}`` marks the model's own text; here it is only shown."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def _raise_exception(message: object) -> None:
    raise _Raised(str(message))


def _strftime_now(layout: str) -> str:
    return datetime.now().strftime(layout)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _environment() -> SandboxedEnvironment:
    """A sandbox; templates of some families append to lists, so what they are given are copies."""
    environment = SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals.update(raise_exception=_raise_exception, strftime_now=_strftime_now)
    return environment


def knows_tools(source: str) -> bool:
    """Whether a template reads ``tools``. Raises InvalidRequest when it is no valid Jinja."""
    environment = _environment()
    tree = _guarded(lambda: environment.parse(source))
    return "tools" in meta.find_undeclared_variables(tree)


class ChatTemplate:
    """A compiled chat template; ``variables`` are names for it, such as ``bos_token``."""

    def __init__(self, source: str, variables: Mapping[str, Any] | None = None) -> None:
        """Compile ``source``. Raises InvalidRequest when it is no valid Jinja."""
        self.source = source
        self.variables = dict(variables or {})
        environment = _environment()
        self._template = _guarded(lambda: environment.from_string(source))

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Mapping[str, Any]] | None = None,
        kwargs: Mapping[str, Any] | None = None,
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        documents: Sequence[Mapping[str, Any]] | None = None,
    ) -> str:
        """The prompt for ``messages`` (OpenAI's shape).

        ``kwargs`` are the request's ``chat_template_kwargs``. Arguments of tool calls
        that are the text of a JSON object are given to the template as that object.
        ``continue_final_message`` leaves the last message open, to be written on.
        Raises InvalidRequest when the template refuses the messages or fails.
        """
        taken = _RESERVED.intersection(kwargs or ())
        if taken:
            raise InvalidRequest(f"{min(taken)} can't be set here", param="chat_template_kwargs")
        prepared = [_prepared(message) for message in messages]
        if continue_final_message:
            _mark_end(prepared)
        names = {
            **_copied(self.variables, "chat_template"),
            "documents": _copied(documents, "documents"),
            **_copied(dict(kwargs or {}), "chat_template_kwargs"),
            "messages": prepared,
            "tools": _copied(list(tools), "tools") if tools else None,
            "add_generation_prompt": add_generation_prompt and not continue_final_message,
        }
        text = _guarded(lambda: self._template.render(names))
        if not continue_final_message:
            return text
        if _MARK not in text:
            raise InvalidRequest("the chat template does not show the final message", param="messages")
        return text[: text.rindex(_MARK)]

    def opens(self, marker: str, kwargs: Mapping[str, Any] | None = None) -> bool:
        """Whether the generation prompt ends with ``marker`` (white space behind it aside).

        Renders a short probe with ``kwargs``; False when the template refuses it.
        """
        try:
            return self.render(_PROBE, kwargs=kwargs).rstrip().endswith(marker)
        except InvalidRequest:
            return False


def _guarded(action: Callable[[], _T]) -> _T:
    """Run something of Jinja's; whatever a template can provoke becomes InvalidRequest."""
    try:
        return action()
    except _Raised as error:
        raise InvalidRequest(str(error.message), param="messages") from error
    except TemplateSyntaxError as error:
        problem = f"the chat template is no valid Jinja: line {error.lineno}: {error.message}"
        raise InvalidRequest(problem, param="chat_template") from error
    except (TemplateError, ArithmeticError, LookupError, AttributeError, TypeError, ValueError) as error:
        raise InvalidRequest(f"the chat template failed: {error}", param="messages") from error
    except (RecursionError, MemoryError) as error:
        raise InvalidRequest("the chat template needs too much memory", param="chat_template") from error


def _copied(value: _T, param: str) -> _T:
    """A copy that a template may change; raises InvalidRequest for one that nests too deep."""
    try:
        return copy.deepcopy(value)
    except RecursionError:
        raise InvalidRequest(f"{param} is nested too deeply", param=param) from None


def _prepared(message: Message) -> dict[str, Any]:
    """A copy that the template may have, with arguments as objects."""
    prepared = _copied(dict(message), "messages")
    calls = prepared.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
            continue
        try:
            arguments = json.loads(function["arguments"] or "{}")
        except (ValueError, RecursionError):
            continue
        if isinstance(arguments, dict):
            function["arguments"] = arguments
    return prepared


def _mark_end(messages: list[dict[str, Any]]) -> None:
    """Put a mark behind the last message's text."""
    content = messages[-1].get("content") if messages else None
    if not isinstance(content, str):
        raise InvalidRequest("there is no final text message to continue", param="messages")
    messages[-1]["content"] = content + _MARK


TOOL_TEMPLATE = """\
{%- macro text(content) %}
    {{- content if content is string else content | map(attribute='text') | join if content else '' }}
{%- endmacro %}
{%- set last = namespace(user=-1) %}
{%- for message in messages %}
    {%- if message.role == 'user' %}
        {%- set last.user = loop.index0 %}
    {%- endif %}
{%- endfor %}
{%- set opening = text(messages[0].content) if messages and messages[0].role == 'system' else '' %}
{%- if opening or tools %}
    {{- '<|im_start|>system\\n' + opening }}
    {%- if tools %}
        {{- '\\n\\n' if opening else '' }}
        {{- 'You can call these functions, each described by one line of JSON:\\n<tools>\\n' }}
        {%- for tool in tools %}
            {{- (tool.function if tool.function is defined else tool) | tojson + '\\n' }}
        {%- endfor %}
        {{- '</tools>\\nTo call a function, write one block like this for each call:\\n' }}
        {{- '<tool_call>\\n{"name": "its name", "arguments": {"a parameter": "its value"}}\\n</tool_call>' }}
    {%- endif %}
    {{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
    {%- if message.role == 'system' and loop.first %}
        {%- continue %}
    {%- elif message.role == 'tool' %}
        {%- if loop.first or loop.previtem.role != 'tool' %}
            {{- '<|im_start|>user' }}
        {%- endif %}
        {{- '\\n<tool_response>\\n' + text(message.content) + '\\n</tool_response>' }}
        {%- if loop.last or loop.nextitem.role != 'tool' %}
            {{- '<|im_end|>\\n' }}
        {%- endif %}
    {%- else %}
        {{- '<|im_start|>' + message.role + '\\n' }}
        {%- set reasoning = message.reasoning or message.reasoning_content %}
        {%- if message.role == 'assistant' and reasoning and loop.index0 > last.user %}
            {{- '<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- text(message.content) }}
        {%- for call in message.tool_calls or [] %}
            {%- set call = call.function if call.function is defined else call %}
            {{- '\\n' if not loop.first or message.content else '' }}
            {{- '<tool_call>\\n{"name": ' + call.name | tojson + ', "arguments": ' }}
            {{- call.arguments if call.arguments is string else call.arguments | tojson }}
            {{- '}\\n</tool_call>' }}
        {%- endfor %}
        {{- '<|im_end|>\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
    {%- if enable_thinking is defined and enable_thinking is not none %}
        {{- '<think>\\n' if enable_thinking else '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
"""
"""A ChatML template with tools, for models whose own template knows none.

``enable_thinking`` true opens the thinking, false writes it empty, unset leaves it to the model.
"""
