"""DeepSeek V3, R1 and V3.1: calls between full-width special tokens, JSON arguments."""

from unbraid.syntax import (
    Calls,
    Json,
    Name,
    Reasoning,
    Section,
    Switch,
    Tools,
    Word,
    Ws,
    any_space,
    lit,
    optional,
    token,
)

SECTION = Section(token("<｜tool▁calls▁begin｜>"), token("<｜tool▁calls▁end｜>"), bare=True)
BEGIN = token("<｜tool▁call▁begin｜>")
SEPARATOR = token("<｜tool▁sep｜>")
END = token("<｜tool▁call▁end｜>")
TURNS = ("<｜Assistant｜>", "<｜User｜>", "<｜tool▁outputs▁end｜>", "<｜tool▁output▁end｜>")
ENDS = ("<｜end▁of▁sentence｜>",)

REASONING_R1 = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<｜tool▁calls▁begin｜>",),
    turns=(*TURNS, "<|im_start|>"),
    dropped=(*ENDS, "<|im_end|>"),
    models=("DeepSeek-R1", "DeepSeek-R1-0528", "DeepSeek-R1-Distill", "QwQ"),
)

REASONING_V3 = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="draft",
    ends_at=("<｜tool▁calls▁begin｜>",),
    switch=Switch(("thinking", "enable_thinking"), default=False),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="</think>",
    models=("DeepSeek-V3.1", "DeepSeek-V3.2-Exp"),
)

TOOLS_V3 = Tools(
    call=Calls(
        (
            BEGIN,
            Word("function"),
            SEPARATOR,
            Name(),
            Ws("\n"),
            optional("```json", "```"),
            Ws("\n"),
            Json(),
            Ws("\n"),
            optional("```"),
            END,
        )
    ),
    section=SECTION,
    before=any_space(""),
    between=any_space("\n"),
    dropped=ENDS,
    models=("DeepSeek-V3-0324", "DeepSeek-R1-0528"),
)

TOOLS_V31 = Tools(
    call=Calls((BEGIN, Name(), SEPARATOR, Json(), END)),
    section=SECTION,
    before=any_space(""),
    between=any_space(""),
    dropped=ENDS,
    models=("DeepSeek-V3.1", "DeepSeek-V3.2-Exp"),
)
