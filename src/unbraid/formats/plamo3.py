"""PLaMo 3: every marker is ``<|plamo:NAME:plamo|>``, made of several tokens."""

from unbraid.syntax import Calls, Json, Name, Reasoning, Section, Switch, Tools, Ws, any_space, lit

ENDS = ("<|plamo:tag|>",)
STEMS = ("<|plamo:begin_", "<|plamo:end_")

REASONING = Reasoning(
    open=lit("<|plamo:begin_think:plamo|>"),
    close=lit("<|plamo:end_think:plamo|>"),
    opened_by="either",
    reopens=True,
    tools_inside="end",
    ends_at=("<|plamo:begin_tool_requests:plamo|>",),
    switch=Switch(("enable_thinking",), default=True),
    dropped=ENDS,
    stems=STEMS,
    turns=ENDS,
    empty_when_off="<|plamo:begin_think:plamo|><|plamo:end_think:plamo|>",
    models=("PLaMo 3",),
)

TOOLS = Tools(
    call=Calls(
        (
            lit("<|plamo:begin_tool_request:plamo|>"),
            Ws(),
            lit("<|plamo:begin_tool_name:plamo|>"),
            Name(),
            lit("<|plamo:end_tool_name:plamo|>"),
            Ws(),
            lit("<|plamo:begin_tool_arguments:plamo|>"),
            lit("<|plamo:constrain|>json<|plamo:msg|>"),
            Json(),
            Ws(),
            lit("<|plamo:end_tool_arguments:plamo|>"),
            Ws(),
            lit("<|plamo:end_tool_request:plamo|>"),
        )
    ),
    section=Section(
        lit("<|plamo:begin_tool_requests:plamo|>"), lit("<|plamo:end_tool_requests:plamo|>"), bare=True
    ),
    between=any_space(""),
    dropped=ENDS,
    stems=STEMS,
    models=("PLaMo 3",),
)
