"""Nemotron Nano v2: a JSON array of calls between tags; text turns end with a newline."""

from unbraid.syntax import Calls, Envelopes, Reasoning, Tools, Ws, any_space, lit, space

ENDS = ("<SPECIAL_12>",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n\n"),
    after_in="output",
    ends_at=("<TOOLCALL>",),
    turns=("<SPECIAL_11>",),
    dropped=ENDS,
    empty_when_off="<think></think>",
    end=space("\n"),
    models=("Nemotron Nano 9B v2", "Nemotron Nano 12B v2"),
)

TOOLS = Tools(
    call=Calls((lit("<TOOLCALL>"), Ws(), Envelopes(), Ws(), lit("</TOOLCALL>"))),
    before=any_space("\n"),
    between=any_space("\n"),
    end=space("\n"),
    dropped=ENDS,
    models=("Nemotron Nano 9B v2", "Nemotron Nano 12B v2"),
)
