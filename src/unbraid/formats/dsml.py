"""DeepSeek V3.2, V4 and V4.1, GigaChat 3.5: calls as elements with a tag word between full-width bars.

The parameter's ``string`` attribute tells raw text (``true``) from JSON.
"""

from unbraid.syntax import Reasoning, Section, Switch, Tools, TypeTag, any_space, invoke, lit, replace, space

ENDS = ("<｜end▁of▁sentence｜>",)
TURNS = ("<｜Assistant｜>", "<｜User｜>")
STRING = TypeTag(lit(' string="'), (("string", "true"), ("json", "false")), lit('"'), absent="json")
WRAPPERS = ("arguments", "input")

TOOLS_V32 = Tools(
    call=invoke("｜DSML｜", tag=STRING, wrappers=WRAPPERS),
    section=Section(
        lit("<｜DSML｜function_calls>"), lit("</｜DSML｜function_calls>"), pad="\n", noise=False, bare=True
    ),
    before=any_space("\n\n"),
    before_bare=space("\n\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("DeepSeek-V3.2",),
)

TOOLS_V4 = replace(
    TOOLS_V32,
    call=invoke("｜DSML｜", tag=STRING, wrappers=WRAPPERS, empty="\n"),
    section=Section(
        lit("<｜DSML｜tool_calls>", "<｜DSML｜toolcalls>", "<｜DSML｜tool>"),
        lit("</｜DSML｜tool_calls>", "</｜DSML｜toolcalls>", "</｜DSML｜tool>"),
        pad="\n",
        noise=False,
        bare=True,
    ),
    models=("DeepSeek-V4", "DeepSeek-V4-Flash"),
)

TOOLS_V41 = replace(
    TOOLS_V32,
    call=invoke("｜DSML｜ ", tag=STRING, wrappers=WRAPPERS, empty="\n"),
    section=Section(lit("<｜DSML｜ calls>"), lit("</｜DSML｜ calls>"), pad="\n", noise=False, bare=True),
    models=("DeepSeek-V4.1", "DeepSeek-V4.1-Flash"),
)

TOOLS_GIGACHAT = replace(
    TOOLS_V32,
    call=invoke("｜GCML｜", tag=STRING, wrappers=WRAPPERS),
    section=Section(
        lit("<｜GCML｜tool_calls>"), lit("</｜GCML｜tool_calls>"), pad="\n", noise=False, bare=True
    ),
    dropped=("<|message_sep|>", "</s>"),
    models=("GigaChat 3.5",),
)

REASONING_V4 = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    reopens=True,
    tools_inside="draft",
    ends_at=("<｜DSML｜tool_calls>", "<｜DSML｜toolcalls>", "<｜DSML｜tool>"),
    switch=Switch(("thinking", "enable_thinking"), default=True, off_words=("none",)),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="</think>",
    models=("DeepSeek-V4", "DeepSeek-V4-Flash"),
)

REASONING_V41 = replace(
    REASONING_V4, ends_at=("<｜DSML｜ calls>",), models=("DeepSeek-V4.1", "DeepSeek-V4.1-Flash")
)

REASONING_GIGACHAT = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    tools_inside="draft",
    ends_at=("<｜GCML｜tool_calls>",),
    turns=("<|role_sep|>",),
    dropped=("<|message_sep|>", "</s>"),
    models=("GigaChat 3.5",),
)
