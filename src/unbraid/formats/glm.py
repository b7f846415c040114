"""GLM 4.5 to 5: ``<think>`` thinking, calls as a name and key/value tags.

GLM-4.5 and 4.6 write line breaks between the tags, 4.7 and 5 none; both read both.
"""

from unbraid.syntax import (
    Calls,
    Name,
    Reasoning,
    Switch,
    Tools,
    Ws,
    any_space,
    arg_pairs,
    lit,
    replace,
    space,
)

TURNS = ("<|assistant|>", "<|observation|>", "<|user|>")
ENDS = ("<|user|>", "<|observation|>", "<|endoftext|>")

REASONING_45 = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    after=space("\n"),
    before=space("\n"),
    reopens=True,
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("thinking", "enable_thinking"), default=True),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="\n<think></think>",
    models=("GLM-4.5", "GLM-4.5-Air", "GLM-4.6"),
)

REASONING_47 = replace(
    REASONING_45,
    after=any_space("", chars="\n"),
    before=space(""),
    empty_when_off="</think>",
    models=("GLM-4.7", "GLM-4.7-Flash", "GLM-5"),
)

LINES = Calls((lit("<tool_call>"), Name(), Ws("\n"), arg_pairs("</tool_call>", "\n"), lit("</tool_call>")))

COMPACT = Calls((lit("<tool_call>"), Name(), Ws(), arg_pairs("</tool_call>"), lit("</tool_call>")))

TOOLS_45 = Tools(
    call=LINES,
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("GLM-4.5", "GLM-4.5-Air", "GLM-4.6"),
)

TOOLS_47 = Tools(
    call=COMPACT,
    before=any_space(""),
    between=any_space(""),
    dropped=ENDS,
    models=("GLM-4.7", "GLM-4.7-Flash", "GLM-5"),
)
