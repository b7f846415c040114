"""Spark X2.5: GLM-4.7's compact calls between turns of ``<|Bot|>``, and ``<think>`` thinking."""

from unbraid.formats.glm import COMPACT
from unbraid.syntax import Reasoning, Switch, Tools, any_space, lit

ENDS = ("<｜end▁of▁sentence｜>",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("enable_thinking",), default=True),
    turns=("<|Bot|>", "<|User|>"),
    dropped=ENDS,
    empty_when_off="</think>",
    models=("Spark X2.5",),
)

TOOLS = Tools(
    call=COMPACT,
    between=any_space(""),
    dropped=ENDS,
    models=("Spark X2.5",),
)
