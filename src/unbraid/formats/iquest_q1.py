"""IQuest Q1: GLM's key and value tags in ``<iquest_tool_call>``, text around calls kept as it is."""

from unbraid.syntax import Calls, Name, Pairs, Reasoning, Switch, Tools, Ws, lit

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
            Pairs(
                open=lit("<arg_key>"),
                middle=(lit("</arg_key>"), Ws(), lit("<arg_value>")),
                close=lit("</arg_value>"),
                early=(
                    "<arg_key>",
                    "</iquest_tool_call>",
                ),
            ),
            lit("</iquest_tool_call>"),
        )
    ),
    dropped=ENDS,
    models=("IQuest Q1",),
)
