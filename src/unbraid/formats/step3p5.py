"""Step 3.5 and 3.7: Qwen's calls with nothing in front of them; thinking that is always on."""

from unbraid.formats.qwen3 import CODER
from unbraid.syntax import Reasoning, any_space, lit, replace, space

MODELS = ("Step-3.5-Flash", "Step-3.7-Flash")

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="prompt",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    tools_inside="draft",
    ends_at=("<tool_call>",),
    turns=("<|im_start|>",),
    dropped=("<|im_end|>",),
    models=MODELS,
)

TOOLS = replace(CODER, before=any_space(""), between=any_space(""), models=MODELS)
