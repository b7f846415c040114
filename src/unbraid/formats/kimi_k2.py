"""Kimi K2: a section of calls between special tokens, ids written by the model."""

from unbraid.syntax import Calls, Id, Json, Reasoning, Section, Switch, Tools, lit, token

ENDS = ("<|im_end|>",)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    tools_inside="end",
    ends_at=("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
    switch=Switch(("thinking", "enable_thinking"), default=True, falsy=False),
    turns=("<|im_assistant|>", "<|im_user|>", "<|im_system|>"),
    dropped=ENDS,
    empty_when_off="<think></think>",
    models=("Kimi-K2-Thinking", "Kimi-K2.5", "Kimi-K2.6"),
)

TOOLS = Tools(
    call=Calls(
        (
            token("<|tool_call_begin|>"),
            Id("functions.{name}:{index}"),
            token("<|tool_call_argument_begin|>"),
            Json(),
            token("<|tool_call_end|>"),
        )
    ),
    section=Section(
        token("<|tool_calls_section_begin|>", "<|tool_call_section_begin|>"),
        token("<|tool_calls_section_end|>", "<|tool_call_section_end|>"),
        bare=True,
    ),
    dropped=ENDS,
    models=("Kimi-K2-Instruct", "Kimi-K2-Thinking", "Kimi-K2.5", "Kimi-K2.6"),
)
