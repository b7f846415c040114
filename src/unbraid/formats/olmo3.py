"""Olmo 3: Python calls, one a line, between ``<function_calls>`` tags."""

from unbraid.syntax import Calls, PythonCalls, Tools, Ws, any_space, lit

TOOLS = Tools(
    call=Calls(
        (
            lit("<function_calls>"),
            Ws(),
            PythonCalls(brackets="never", between="\n"),
            Ws(),
            lit("</function_calls>"),
        )
    ),
    before=any_space(""),
    dropped=("<|im_end|>", "<|endoftext|>"),
    models=("Olmo 3 Instruct", "Olmo 3 Think"),
)
