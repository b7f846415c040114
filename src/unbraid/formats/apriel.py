"""Apriel Thinker: the output begins inside thinking, which a line of text closes."""

from unbraid.syntax import Calls, Envelopes, Reasoning, Tools, Ws, any_space, lit, space

ENDS = ("<|end|>", "<|endoftext|>")

REASONING = Reasoning(
    open=lit("Here are my reasoning steps:"),
    close=lit("[BEGIN FINAL RESPONSE]"),
    opened_by="prompt",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    ends_at=("<tool_calls>",),
    turns=("<|begin_assistant|>", "<|assistant|>"),
    end=any_space("", chars="\n"),
    dropped=("[END FINAL RESPONSE]", *ENDS),
    models=("Apriel 1.5", "Apriel 1.6"),
)

TOOLS = Tools(
    call=Calls((lit("<tool_calls>"), Ws(), Envelopes(), Ws(), lit("</tool_calls>"))),
    before=any_space("\n"),
    before_bare=space("\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("Apriel 1.5", "Apriel 1.6"),
)
