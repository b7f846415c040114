"""Reka Edge: Hermes' calls with nothing between; turns begin with a space and end with an empty line."""

from unbraid.formats.hermes import TOOLS as HERMES
from unbraid.syntax import Reasoning, Switch, any_space, lit, replace, space

ENDS = ("<sep>",)
BEGIN = space(" ")
END = space("\n\n")

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n\n"),
    before=space(" "),
    ends_at=("<tool_call>",),
    switch=Switch(("enable_thinking",), default=False),
    turns=("<sep>",),
    dropped=ENDS,
    begin=BEGIN,
    end=END,
    models=("Reka Edge",),
)

TOOLS = replace(
    HERMES,
    between=any_space(""),
    after=END,
    begin=BEGIN,
    end=END,
    dropped=ENDS,
    models=("Reka Edge",),
)
