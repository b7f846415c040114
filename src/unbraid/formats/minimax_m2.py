"""MiniMax M2: thinking that the prompt opens, calls as elements in a section."""

from unbraid.syntax import Reasoning, Section, Tools, any_space, invoke, lit, replace, space

ENDS = ("[e~[",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n\n"),
    tools_inside="draft",
    ends_at=("<minimax:tool_call>",),
    turns=("]~b]ai", "]~b]user", "]~b]tool"),
    dropped=ENDS,
    models=("MiniMax-M2", "MiniMax-M2.1", "MiniMax-M2.5"),
)

INLINE = replace(REASONING, lead=space(""), trail=space(""), after=space(""), inline=True)

TOOLS = Tools(
    call=invoke(any_quote=True),
    section=Section(
        lit("<minimax:tool_call>"), lit("</minimax:tool_call>"), pad="\n", noise=False, bare=True
    ),
    before=any_space("\n"),
    before_bare=space("\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("MiniMax-M2", "MiniMax-M2.1", "MiniMax-M2.5"),
)
