"""Granite 3.2: thinking between English phrases."""

from unbraid.syntax import Reasoning, Switch, any_space, lit

REASONING = Reasoning(
    open=lit("Here is my thought process:", "Here's my thought process:"),
    close=lit("Here is my response:", "Here's my response:"),
    opened_by="output",
    lead=any_space(" "),
    trail=any_space(" "),
    after=any_space(" "),
    tools_inside="text",
    switch=Switch(("thinking",), default=False),
    turns=("<|start_of_role|>",),
    dropped=("<|end_of_text|>",),
    models=("Granite 3.2",),
)
