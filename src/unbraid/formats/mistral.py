"""Mistral: ``[TOOL_CALLS]`` with a JSON array (v3, v7) or ``name[ARGS]{…}`` (v11 on); ``[THINK]``.

Every half reads every layout; they differ in what they write.
"""

from unbraid.syntax import (
    Calls,
    Choice,
    Envelope,
    Envelopes,
    Id,
    IdMember,
    Json,
    Name,
    Reasoning,
    Tools,
    Ws,
    optional,
    replace,
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

OPEN = token("[TOOL_CALLS]", repeats=True)
ID = Id("[A-Za-z0-9]{9}", name=False, made="{index:09}")
WITHOUT_ID = (optional("[ARGS]", special=True), Ws(), Json())
WITH_ID = (token("[CALL_ID]"), ID, token("[ARGS]"), Ws(), Json())
OBJECT = Envelope(extra=("type",), id=IdMember("id", ID, last=True))
NAMED = (Name(), Ws(), Choice((WITHOUT_ID, WITH_ID)))

TOOLS = Tools(
    call=Calls((OPEN, Ws(), Choice((NAMED, (Envelopes(OBJECT),), (OBJECT,))))),
    ids="nine",
    dropped=("</s>",),
    models=("Mistral Small 3.1", "Mistral Large 2411", "Devstral", "Magistral", "Ministral 3"),
)

V3 = replace(
    TOOLS,
    call=Calls((OPEN, Ws(" "), Choice(((Envelopes(OBJECT),), (OBJECT,), NAMED)))),
    models=("Mistral 7B v0.3", "Mixtral 8x22B", "Mistral Large 2407", "Mistral Small 3"),
)

NEMO = replace(
    V3,
    call=Calls((OPEN, Ws(), Choice(((Envelopes(OBJECT),), (OBJECT,), NAMED)))),
    models=("Mistral Nemo", "Ministral 8B 2410", "Pixtral 12B"),
)

SMALL_32 = replace(
    TOOLS,
    call=Calls(
        (
            OPEN,
            Ws(),
            Choice(
                (
                    (Name(), Ws(), Choice((WITH_ID, WITHOUT_ID))),
                    (Envelopes(OBJECT),),
                    (OBJECT,),
                )
            ),
        )
    ),
    models=("Mistral Small 3.2",),
)
