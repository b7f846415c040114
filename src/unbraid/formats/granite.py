"""Granite's thinking: between English phrases (3.2), and in tags as Nemotron 3's (4.2)."""

from unbraid.formats.nemotron_v3 import REASONING as NEMOTRON
from unbraid.syntax import Reasoning, Switch, any_space, lit, replace

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

THINKING_42 = replace(
    NEMOTRON,
    after=any_space("\n", chars="\n"),
    empty_when_off="<think></think>\n",
    models=("Granite 4.2",),
)
