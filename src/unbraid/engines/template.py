"""Chat templates, rendered in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unbraid.engines.sandbox import OWN, Sandbox
from unbraid.errors import InvalidRequest

__all__ = ["TOOL_TEMPLATE", "ChatTemplate", "knows_tools"]

Message = Mapping[str, Any]

_RESERVED = frozenset({"messages", "tools", "add_generation_prompt", "continue_final_message"})
_PROBE: Sequence[Message] = ({"role": "user", "content": "Hello"},)


def knows_tools(source: str) -> bool:
    """Whether a template reads ``tools``. Raises InvalidRequest when it is no valid Jinja."""
    return "tools" in OWN.ask("names", source).split("\n")


class ChatTemplate:
    """A chat template; ``variables`` are names for it, such as ``bos_token``."""

    def __init__(
        self, source: str, variables: Mapping[str, Any] | None = None, sandbox: Sandbox = OWN
    ) -> None:
        """Compile ``source`` in ``sandbox``, where it will run.

        Raises InvalidRequest when it is no valid Jinja, or costs too much to compile.
        """
        self.source = source
        self.variables = dict(variables or {})
        self._sandbox = sandbox
        sandbox.ask("compile", source)

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

        ``kwargs`` are the request's ``chat_template_kwargs``. Everything given is plain data, of
        which the template has a copy. Arguments of tool calls that are the text of a JSON object
        are given to the template as that object. ``continue_final_message`` leaves the last
        message open, to be written on. Raises InvalidRequest when the template refuses the
        messages, fails, or spends more than the sandbox allows.
        """
        taken = _RESERVED.intersection(kwargs or ())
        if taken:
            raise InvalidRequest(f"{min(taken)} can't be set here", param="chat_template_kwargs")
        names = {
            **self.variables,
            "documents": documents,
            **(kwargs or {}),
            "tools": list(tools) if tools else None,
            "add_generation_prompt": add_generation_prompt and not continue_final_message,
        }
        return self._sandbox.ask(
            "render", self.source, names, [dict(message) for message in messages], continue_final_message
        )

    def opens(self, marker: str, kwargs: Mapping[str, Any] | None = None) -> bool:
        """Whether the generation prompt ends with ``marker`` (white space behind it aside).

        Renders a short probe with ``kwargs``; False when the template refuses it.
        """
        try:
            return self.render(_PROBE, kwargs=kwargs).rstrip().endswith(marker)
        except InvalidRequest:
            return False


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
