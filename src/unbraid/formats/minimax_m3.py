"""MiniMax M3: calls as nested elements, a namespace mark in front of every tag."""

from unbraid.syntax import Calls, Elements, Name, Reasoning, Section, Switch, Tools, Ws, any_space, lit

MARK = "]<]minimax[>["

REASONING = Reasoning(
    open=lit("<mm:think>"),
    close=lit("</mm:think>"),
    opened_by="output",
    bare_close=True,
    tools_inside="end",
    ends_at=("]<]minimax[>[<tool_call>",),
    switch=Switch(level="thinking_mode", off_words=("disabled",), opens=("enabled",)),
    turns=("]~b]ai",),
    dropped=("[e~[",),
    empty_when_off="</mm:think>",
    models=("MiniMax-M3",),
)

TOOLS = Tools(
    call=Calls(
        (
            lit(
                ']<]minimax[>[<invoke name="',
                "]<]minimax[>[<invoke name='",
                "]<]minimax[>[<invoke name=",
            ),
            Name(),
            lit('">', "'>", ">"),
            Ws(),
            Elements(MARK),
            lit("]<]minimax[>[</invoke>"),
        )
    ),
    section=Section(lit("]<]minimax[>[<tool_call>"), lit("]<]minimax[>[</tool_call>"), pad="\n", bare=True),
    before=any_space(""),
    between=any_space("\n"),
    dropped=("[e~[",),
    models=("MiniMax-M3",),
)
