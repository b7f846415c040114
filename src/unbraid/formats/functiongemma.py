"""FunctionGemma: calls in Gemma's notation, every argument between escape markers."""

from unbraid.syntax import Calls, GemmaObject, Name, Tools, lit, space, token

TOOLS = Tools(
    call=Calls(
        (
            token("<start_function_call>"),
            lit("call:"),
            Name(),
            GemmaObject("<escape>", strings=False),
            token("<end_function_call>"),
        )
    ),
    begin=space("\n"),
    before_bare=space(""),
    dropped=("<end_of_turn>", "<eos>", "<start_function_response>"),
    models=("FunctionGemma",),
)
