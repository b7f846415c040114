"""Holo2: thinking as DeepSeek R1's, on until it is switched off."""

from unbraid.syntax import Reasoning, Switch, lit

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("thinking", "enable_thinking"), default=True, null_unset=True),
    turns=("<|im_start|>",),
    dropped=("<|im_end|>",),
    empty_when_off="<think>\n\n</think>\n\n",
    models=("Holo2",),
)
