"""``functools[…]``: Phi-4-mini and Firefunction v2 call with a JSON array behind a word."""

from unbraid.syntax import Calls, Choice, Envelopes, Tools, Ws, any_space, lit, space, token

PHI4_MINI = Tools(
    call=Calls(
        (
            Choice(
                (
                    (lit("functools"), Envelopes()),
                    (
                        token("<|tool_call|>"),
                        Ws(),
                        Envelopes(),
                        Ws(),
                        token("<|/tool_call|>"),
                    ),
                )
            ),
        )
    ),
    before=space(" "),
    between=any_space(""),
    dropped=("<|end|>", "<|endoftext|>"),
    models=("Phi-4-mini-instruct",),
)

FIREFUNCTION = Tools(
    call=Calls((lit("functools"), Ws(), Envelopes())),
    before=space(" "),
    before_bare=space(" "),
    between=any_space(" "),
    dropped=("<|eot_id|>",),
    models=("Firefunction v2",),
)
