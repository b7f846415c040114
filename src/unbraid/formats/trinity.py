"""Trinity: thinking inside which Hermes' calls may stand."""

from unbraid.syntax import Reasoning, any_space, lit

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    after=any_space("\n", chars="\n"),
    tools_inside="stay",
    ends_at=("<tool_call>",),
    turns=("<|im_start|>",),
    dropped=("<|im_end|>",),
    models=("Arcee Trinity",),
)
