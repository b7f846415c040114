"""Kimi 1.5 and Kimi-VL: thinking between markers of plain text."""

from unbraid.syntax import Reasoning, lit

REASONING = Reasoning(
    open=lit("◁think▷"),
    close=lit("◁/think▷"),
    opened_by="output",
    turns=("<|im_assistant|>", "<|im_user|>", "<|im_system|>"),
    dropped=("<|im_end|>",),
    models=("Kimi-VL-A3B-Thinking", "Kimi 1.5"),
)
