"""IQuest Q1: GLM's key and value tags in ``<iquest_tool_call>``, text around calls kept as it is."""

from unbraid.syntax import Calls, Name, Reasoning, Switch, Tools, Ws, arg_pairs, lit

ENDS = ("<|iquest_end|>",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<iquest_tool_call>",),
    switch=Switch(("thinking", "enable_thinking"), null_unset=True),
    turns=("<|iquest_assistant|>", "<|iquest_user|>"),
    dropped=ENDS,
    empty_when_off="<think></think>",
    models=("IQuest Q1",),
)

TOOLS = Tools(
    call=Calls(
        (
            lit("<iquest_tool_call>"),
            Name(),
            Ws(),
            arg_pairs("</iquest_tool_call>"),
            lit("</iquest_tool_call>"),
        )
    ),
    dropped=ENDS,
    models=("IQuest Q1",),
)
