"""Granite: thinking between phrases (3.2) or in tags as Nemotron 3's (4.2); calls in lists or tags."""

from unbraid.formats.nemotron_v3 import REASONING as NEMOTRON
from unbraid.syntax import (
    Calls,
    Choice,
    Envelope,
    Envelopes,
    Reasoning,
    Switch,
    Tools,
    Ws,
    any_space,
    lit,
    replace,
    space,
    token,
)

ENDS = ("<|end_of_text|>",)

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
    after_in="always",
    empty_when_off="<think></think>\n",
    models=("Granite 4.2",),
)

TOOLS = Tools(
    call=Calls(
        (
            Choice(((token("<|tool_call|>"),), (lit("<tool_call>"),))),
            Ws(),
            Choice(((Envelopes(),), (Envelope(),))),
        )
    ),
    before=space(" "),
    between=any_space("\n"),
    dropped=ENDS,
    models=("Granite 3.0", "Granite 3.1"),
)

TOOLS_4 = Tools(
    call=Calls((lit("<tool_call>"), Ws("\n"), Envelope(), Ws("\n"), lit("</tool_call>"))),
    before=space("\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("Granite 4.0", "Granite 4.1"),
)

TOOLS_20B = Tools(
    call=Calls((lit("<function_call>"), Ws(" "), Envelope())),
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=("<|endoftext|>",),
    models=("Granite 20B Function Calling",),
)
