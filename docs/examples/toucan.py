"""Toucan: a made-up family, the example of the tutorial.

Thinking stands between ``[plan]`` and ``[/plan]``; a call is ``@call NAME {JSON} @end``.
"""

from unbraid.formats import register
from unbraid.syntax import Calls, Json, Name, Reasoning, Switch, Tools, Ws, any_space, lit, space, token

REASONING = Reasoning(
    open=token("[plan]"),
    close=token("[/plan]"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    tools_inside="draft",
    ends_at=("@call",),
    switch=Switch(("plan",), default=True),
    turns=("<bird>",),
    dropped=("</bird>",),
    models=("Toucan 1",),
)

TOOLS = Tools(
    call=Calls(
        (
            lit("@call"),
            Ws(" "),
            Name(),
            Ws(" "),
            Json(),
            Ws(" "),
            lit("@end"),
        )
    ),
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=("</bird>",),
    models=("Toucan 1",),
)

register("toucan", REASONING)
register("toucan", TOOLS)
