"""Ling 3: GLM's key and value tags with nothing between pairs, and ``<think>`` thinking."""

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

ENDS = ("<|role_end|>", "<|user|>", "<|observation|>")

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    reopens=True,
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(
        ("thinking", "enable_thinking"), level="thinking_option", off_words=("off",), on_words=("on",)
    ),
    turns=("<role>ASSISTANT</role>", "<role>HUMAN</role>", "<|assistant|>", "<|observation|>", "<|user|>"),
    dropped=ENDS,
    empty_when_off="<think></think>",
    models=("Ling 3.0 flash",),
)

TOOLS = Tools(
    call=Calls(
        (
            lit("<tool_call>"),
            Name(),
            Ws("\n"),
            replace(
                arg_pairs("</tool_call>", "\n"), gap="", early=("<arg_key>", "\n</tool_call>", "</tool_call>")
            ),
            Ws("\n"),
            lit("</tool_call>"),
        )
    ),
    before=space("\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("Ling 3.0 flash",),
)
