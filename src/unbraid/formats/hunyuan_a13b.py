"""Hunyuan A13B: thinking and the answer between lines of tags, calls as a JSON array inside the answer."""

from unbraid.syntax import Answer, Calls, Envelopes, Reasoning, Switch, Tools, Ws, any_space, lit, space

ENDS = ("<|eos|>", "<|endoftext|>")
ANSWER = Answer(
    open=lit("<answer>", "助手：", "助手:"),
    close=lit("</answer>"),
    lead=space("\n"),
    trail=space("\n"),
    written="alone",
)

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="output",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    tools_inside="text",
    switch=Switch(("enable_thinking",), default=True, falsy=False),
    turns=("<|extra_0|>",),
    dropped=ENDS,
    empty_when_off="<think>\n\n</think>\n",
    answer=ANSWER,
    models=("Hunyuan-A13B-Instruct",),
)

TOOLS = Tools(
    call=Calls((lit("<tool_calls>"), Ws(), Envelopes(), Ws(), lit("</tool_calls>"))),
    between=any_space(""),
    answer=ANSWER,
    dropped=ENDS,
    models=("Hunyuan-A13B-Instruct",),
)
