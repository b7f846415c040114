"""Hy3 and Hy4: GLM's key and value tags in a section; every marker may carry a checkpoint's ending."""

from unbraid.syntax import (
    ANY,
    Calls,
    Name,
    Reasoning,
    Section,
    Switch,
    Tools,
    Ws,
    any_space,
    arg_pairs,
    lit,
    optional,
    replace,
)

SUFFIXES = (":opensource", ":6124c78e")
TURNS = ("<｜hy_Assistant｜>", "<｜hy_User｜>")
ENDS = ("<｜hy_eos｜>",)

REASONING_V3 = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<tool_calls>",),
    switch=Switch(default=False, off_words=("no_think", "none"), on_words=(ANY,)),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="<think></think>",
    suffixes=SUFFIXES,
    models=("Hy3",),
)

REASONING_V4 = replace(
    REASONING_V3,
    switch=Switch(default=True, off_words=("no_think", "none"), on_words=(ANY,)),
    models=("Hy4",),
)

TOOLS_V3 = Tools(
    call=Calls(
        (
            lit("<tool_call>"),
            Name(),
            optional("<tool_sep>"),
            Ws("\n"),
            arg_pairs("</tool_call>", "\n"),
            lit("</tool_call>"),
        )
    ),
    section=Section(lit("<tool_calls>"), lit("</tool_calls>"), pad="\n", noise=False, bare=True),
    between=any_space("\n"),
    dropped=ENDS,
    suffixes=SUFFIXES,
    models=("Hy3",),
)

TOOLS_V4 = Tools(
    call=Calls((lit("<tool_call>"), Name(), Ws(), arg_pairs("</tool_call>"), lit("</tool_call>"))),
    section=Section(lit("<tool_calls>"), lit("</tool_calls>"), noise=False, bare=True),
    dropped=ENDS,
    suffixes=SUFFIXES,
    models=("Hy4",),
)
