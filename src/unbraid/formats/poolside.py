"""Poolside Laguna: GLM-like calls. XS thinks when asked and writes line breaks; S thinks and writes none."""

from unbraid.syntax import Calls, Name, Pairs, Reasoning, Switch, Tools, Ws, any_space, lit, space

TURNS = ("<assistant>", "<user>", "<tool_response>")
ENDS = ("</assistant>",)

REASONING_XS = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    end=space("\n"),
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("thinking", "enable_thinking"), default=False),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="</think>",
    models=("Laguna XS.2", "Laguna XS 2.1"),
)

REASONING_S = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("thinking", "enable_thinking"), default=True),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="</think>",
    models=("Laguna S 2.1",),
)

TOOLS_XS = Tools(
    call=Calls(
        (
            lit("<tool_call>"),
            Name(),
            Ws("\n"),
            Pairs(
                open=lit("<arg_key>"),
                middle=(lit("</arg_key>"), Ws("\n"), lit("<arg_value>")),
                close=lit("</arg_value>"),
                gap="\n",
                early=(
                    "<arg_key>",
                    "</tool_call>",
                ),
            ),
            lit("</tool_call>"),
        )
    ),
    before=space("\n"),
    between=any_space("\n"),
    after=space("\n"),
    end=space("\n"),
    dropped=ENDS,
    models=("Laguna XS.2", "Laguna XS 2.1"),
)

TOOLS_S = Tools(
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
    models=("Laguna S 2.1",),
)
