"""Qwen3: thinking in ``<think>`` tags; Qwen3-Coder and Qwen3.5 calls in XML-like tags.

Qwen3.6 and 3.8 write ``true`` and ``null`` where those write ``True`` and ``None``; both read both.
"""

from unbraid.syntax import Reasoning, Switch, Tools, any_space, function_call, lit, replace, space

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n\n"),
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("enable_thinking",), default=True, falsy=False),
    turns=("<|im_start|>",),
    dropped=("<|im_end|>",),
    empty_when_off="<think>\n\n</think>\n\n",
    models=("Qwen3", "Qwen3.5", "Qwen3.6", "Qwen3.8"),
)

ALWAYS = replace(
    REASONING, opened_by="prompt", switch=Switch(), empty_when_off="", models=("Qwen3-Thinking-2507",)
)

CODER = Tools(
    call=function_call(lit("<tool_call>"), lit("</tool_call>"), pad="\n"),
    before=any_space("\n\n"),
    between=any_space("\n"),
    dropped=("<|im_end|>",),
    models=("Qwen3-Coder", "Qwen3.5"),
)

CODER_36 = replace(
    CODER,
    call=function_call(lit("<tool_call>"), lit("</tool_call>"), pad="\n", words="json"),
    models=("Qwen3.6", "Qwen3.8"),
)
