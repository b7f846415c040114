"""Spark X2.5: GLM-4.7's compact calls between turns of ``<|Bot|>``, and ``<think>`` thinking."""

from unbraid.syntax import Calls, Name, Pairs, Reasoning, Switch, Tools, Ws, any_space, lit

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
    call=Calls(
        (
            lit("<tool_call>"),
            Name(),
            Ws(),
            Pairs(
                open=lit("<arg_key>"),
                middle=(lit("</arg_key>"), Ws(), lit("<arg_value>")),
                close=lit("</arg_value>"),
                early=(
                    "<arg_key>",
                    "</tool_call>",
                ),
            ),
            lit("</tool_call>"),
        )
    ),
    between=any_space(""),
    dropped=ENDS,
    models=("Spark X2.5",),
)
