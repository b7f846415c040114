"""Nemotron 3: thinking as Qwen3's with one newline behind it, or none (Ultra, 3.5 Lightning)."""

from unbraid.syntax import Reasoning, Switch, lit, space

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("enable_thinking",), default=True),
    turns=("<|im_start|>",),
    dropped=("<|im_end|>",),
    empty_when_off="<think></think>",
    answer_if="force_nonempty_content",
    models=("Nemotron 3 Nano", "Nemotron 3 Super", "Nemotron 3 Ultra", "Nemotron 3.5 Lightning"),
)
