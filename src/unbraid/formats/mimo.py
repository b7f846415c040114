"""MiMo V2: Qwen's calls in one line, their values verbatim; thinking without white space."""

from unbraid.syntax import Reasoning, Switch, Tools, any_space, function_call, lit

ENDS = ("<|im_end|>",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("enable_thinking",), default=True, null_unset=True),
    turns=("<|im_start|>",),
    dropped=ENDS,
    empty_when_off="<think></think>",
    models=("MiMo-V2-Flash", "MiMo-V2.6-Flash", "MiMo-V2.6-Pro"),
)

TOOLS = Tools(
    call=function_call(lit("<tool_call>"), lit("</tool_call>"), gap="", words="json"),
    before=any_space(""),
    between=any_space(""),
    dropped=ENDS,
    models=("MiMo-V2-Flash", "MiMo-V2.6-Flash", "MiMo-V2.6-Pro"),
)
