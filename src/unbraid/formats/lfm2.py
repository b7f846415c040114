"""LFM2 and LFM2.5: a Python list of calls between two special tokens, or JSON envelopes in the list."""

from unbraid.syntax import Calls, Envelope, PythonCalls, Reasoning, Switch, Tools, Ws, lit, token

ENDS = ("<|im_end|>",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="output",
    tools_inside="draft",
    ends_at=("<|tool_call_start|>",),
    switch=Switch(default=True),
    turns=("<|im_start|>",),
    dropped=ENDS,
    models=("LFM2.5-8B-A1B", "LFM2.5 Thinking"),
)

TOOLS = Tools(
    call=Calls(
        (
            token("<|tool_call_start|>"),
            Ws(),
            PythonCalls(brackets="optional", item=Envelope(arguments=("arguments", "parameters"))),
            Ws(),
            token("<|tool_call_end|>"),
        )
    ),
    echoes=True,
    dropped=ENDS,
    models=("LFM2", "LFM2.5"),
)
