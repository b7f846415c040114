"""Apertus: calls as a JSON array of objects whose only key is the name; they may stand inside thinking."""

from unbraid.syntax import Calls, Choice, Envelopes, Named, Reasoning, Switch, Tools, Ws, any_space, token

ENDS = ("<|assistant_end|>",)
MODELS = ("Apertus-8B-Instruct-2509", "Apertus-70B-Instruct-2509")

REASONING = Reasoning(
    open=token("<|inner_prefix|>"),
    close=token("<|inner_suffix|>"),
    opened_by="output",
    reopens=True,
    tools_inside="stay",
    ends_at=("<|tools_prefix|>",),
    switch=Switch(("enable_thinking",), default=False),
    turns=("<|assistant_start|>",),
    dropped=ENDS,
    models=MODELS,
)

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
    models=MODELS,
)
