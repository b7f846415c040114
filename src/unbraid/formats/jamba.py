"""Jamba 1.5: a JSON array of calls, one on each line, between two tokens; turns begin with a space."""

from unbraid.syntax import Calls, Envelopes, Tools, Ws, any_space, space, token

TOOLS = Tools(
    call=Calls(
        (
            token("<tool_calls>"),
            Ws(),
            Envelopes(open="[\n    ", between=",\n    ", close="\n]"),
            Ws(),
            token("</tool_calls>"),
        )
    ),
    between=any_space(""),
    begin=space(" "),
    dropped=("<|eom|>",),
    models=("Jamba 1.5 Mini", "Jamba 1.5 Large"),
)
