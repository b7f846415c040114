"""MiniCPM-V 4: thinking as Qwen3's, line breaks written as escapes."""

from unbraid.syntax import Reasoning, Switch, lit, space

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n\n"),
    reopens=True,
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("enable_thinking",), default=True, falsy=False),
    turns=("<|im_start|>",),
    dropped=("<|im_end|>",),
    ignored=(
        "<|reserved_12|>",
        "<|reserved_13|>",
        "<|reserved_14|>",
        "<|reserved_15|>",
        "<reserved_12>",
        "<reserved_13>",
        "<reserved_14>",
        "<reserved_15>",
    ),
    empty_when_off="<think>\n\n</think>\n\n",
    escaped_newlines=True,
    models=("MiniCPM-V 4.5", "MiniCPM-V 4"),
)
