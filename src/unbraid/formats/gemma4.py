"""Gemma 4: a thought channel, and calls in an object notation of its own."""

from unbraid.syntax import Calls, GemmaObject, Name, Reasoning, Switch, Tools, lit, space, token

REASONING = Reasoning(
    open=token("<|channel>"),
    close=token("<channel|>"),
    opened_by="output",
    label="thought\n",
    trail=space("\n"),
    reopens=True,
    tools_inside="draft",
    ends_at=("<|tool_call>",),
    switch=Switch(("enable_thinking",), default=False),
    turns=("<|turn>", "<|tool_response>"),
    dropped=("<turn|>", "<eos>", "<|tool_response>"),
    empty_when_off="<|channel>thought\n<channel|>",
    models=("Gemma 4",),
)

TOOLS = Tools(
    call=Calls(
        (
            token("<|tool_call>"),
            lit("call:", ":"),
            Name(),
            GemmaObject(),
            token("<tool_call|>"),
        )
    ),
    content="behind",
    dropped=("<turn|>", "<eos>", "<|tool_response>"),
    models=("Gemma 4",),
)
