"""Step3: calls as elements of its own, each between markers with full-width bars."""

from unbraid.syntax import Calls, Reasoning, Section, Tools, Word, any_space, invoke, lit

ENDS = ("<|EOT|>",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    tools_inside="draft",
    ends_at=("<｜tool_calls_begin｜>",),
    turns=("<|BOT|>",),
    dropped=ENDS,
    models=("Step3",),
)

TOOLS = Tools(
    call=Calls(
        (
            lit("<｜tool_call_begin｜>"),
            Word("function"),
            lit("<｜tool_sep｜>"),
            *invoke("steptml:", gap="").parts,
            lit("<｜tool_call_end｜>"),
        )
    ),
    section=Section(lit("<｜tool_calls_begin｜>"), lit("<｜tool_calls_end｜>"), bare=True),
    between=any_space("\n"),
    dropped=ENDS,
    models=("Step3",),
)
