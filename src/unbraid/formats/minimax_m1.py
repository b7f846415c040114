"""MiniMax-M1: calls as JSON objects, one a line, between tags."""

from unbraid.syntax import Calls, Envelopes, Reasoning, Tools, Ws, any_space, lit, space

ENDS = ("<end_of_sentence>",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="output",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n\n"),
    ends_at=("<tool_calls>",),
    turns=("<beginning_of_sentence>",),
    dropped=ENDS,
    models=("MiniMax-M1",),
)

TOOLS = Tools(
    call=Calls(
        (
            lit("<tool_calls>"),
            Ws("\n"),
            Envelopes(open="", between="\n", close=""),
            Ws("\n"),
            lit("</tool_calls>"),
        )
    ),
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("MiniMax-M1",),
)
