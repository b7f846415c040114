"""Olmo 3: Python calls, one a line, between ``<function_calls>`` tags."""

from unbraid.syntax import Calls, PythonCalls, Reasoning, Tools, Ws, any_space, lit

ENDS = ("<|im_end|>", "<|endoftext|>")

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="prompt",
    tools_inside="draft",
    ends_at=("<function_calls>",),
    turns=("<|im_start|>",),
    dropped=ENDS,
    models=("Olmo 3 Think",),
)

TOOLS = Tools(
    call=Calls(
        (
            lit("<function_calls>"),
            Ws(),
            PythonCalls(brackets="never"),
            Ws(),
            lit("</function_calls>"),
        )
    ),
    before=any_space(""),
    dropped=ENDS,
    models=("Olmo 3 Instruct", "Olmo 3 Think"),
)
