"""Apertus: calls as a JSON array of objects whose only key is the function's name."""

from unbraid.syntax import Calls, Choice, Envelopes, Named, Tools, Ws, any_space, token

ENDS = ("<|assistant_end|>",)

TOOLS = Tools(
    call=Calls(
        (
            token("<|tools_prefix|>"),
            Ws(),
            Choice(((Envelopes(Named()),), (Named(),))),
            Ws(),
            token("<|tools_suffix|>"),
        )
    ),
    between=any_space(""),
    dropped=ENDS,
    models=("Apertus-8B-Instruct-2509", "Apertus-70B-Instruct-2509"),
)
