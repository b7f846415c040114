"""Poolside Laguna: GLM-like calls. XS thinks when asked and writes line breaks; S thinks and writes none."""

from unbraid.formats.glm import COMPACT, LINES
from unbraid.syntax import Reasoning, Switch, Tools, any_space, lit, space

TURNS = ("<assistant>", "<user>", "<tool_response>")
ENDS = ("</assistant>",)

REASONING_XS = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    end=space("\n"),
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("thinking", "enable_thinking"), default=False),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="</think>",
    models=("Laguna XS.2", "Laguna XS 2.1"),
)

REASONING_S = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("thinking", "enable_thinking"), default=True),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="</think>",
    models=("Laguna S 2.1",),
)

TOOLS_XS = Tools(
    call=LINES,
    before=space("\n"),
    between=any_space("\n"),
    after=space("\n"),
    end=space("\n"),
    dropped=ENDS,
    models=("Laguna XS.2", "Laguna XS 2.1"),
)

TOOLS_S = Tools(
    call=COMPACT,
    between=any_space(""),
    dropped=ENDS,
    models=("Laguna S 2.1",),
)
