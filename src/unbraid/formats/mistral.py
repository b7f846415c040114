"""Mistral: ``[TOOL_CALLS]`` with a JSON array (v3, v7) or ``name[ARGS]{…}`` (v11 on); ``[THINK]``."""

from unbraid.syntax import (
    Calls,
    Choice,
    Envelope,
    Envelopes,
    Id,
    Json,
    Name,
    Reasoning,
    Tools,
    Ws,
    optional,
    token,
)

REASONING = Reasoning(
    open=token("[THINK]", "<think>"),
    close=token("[/THINK]", "</think>"),
    opened_by="output",
    reopens=True,
    tools_inside="draft",
    ends_at=("[TOOL_CALLS]",),
    turns=("[/INST]", "[/TOOL_RESULTS]"),
    dropped=("</s>",),
    models=("Magistral", "Ministral 3", "Mistral Small 3.x"),
)

TOOLS = Tools(
    call=Calls(
        (
            token("[TOOL_CALLS]", repeats=True),
            Ws(),
            Choice(
                (
                    (
                        Name(),
                        Ws(),
                        Choice(
                            (
                                (
                                    optional("[ARGS]", special=True),
                                    Ws(),
                                    Json(),
                                ),
                                (
                                    token("[CALL_ID]"),
                                    Id("[A-Za-z0-9]{9}", name=False),
                                    token("[ARGS]"),
                                    Ws(),
                                    Json(),
                                ),
                            )
                        ),
                    ),
                    (Envelopes(Envelope()),),
                    (Envelope(),),
                )
            ),
        )
    ),
    ids="nine",
    dropped=("</s>",),
    models=("Mistral 7B v0.3", "Mixtral 8x22B", "Mistral Small", "Mistral Large", "Devstral", "Magistral"),
)
