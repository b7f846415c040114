"""RWKV World: a turn begins with a space and ends with an empty line; no calls."""

from unbraid.syntax import Reasoning, Switch, lit, space

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n\n"),
    before=space(" "),
    switch=Switch(("enable_thinking",), default=False),
    turns=("Assistant:",),
    begin=space(" "),
    end=space("\n\n"),
    models=("RWKV World",),
)
