"""Seed-OSS: Qwen's grammar in ``<seed:…>`` tokens, values without white space around them."""

from unbraid.syntax import Reasoning, Switch, Tools, any_space, function_call, space, token

ENDS = ("<seed:eos>",)

REASONING = Reasoning(
    open=token("<seed:think>"),
    close=token("</seed:think>"),
    opened_by="either",
    after=space("\n"),
    tools_inside="draft",
    ends_at=("<seed:tool_call>",),
    switch=Switch(("thinking_budget", "enable_thinking"), default=True, counts="thinking_budget"),
    turns=("<seed:bos>",),
    dropped=ENDS,
    empty_when_off="<seed:think>\n</seed:think>",
    models=("Seed-OSS-36B",),
)

TOOLS = Tools(
    call=function_call(token("<seed:tool_call>"), token("</seed:tool_call>")),
    before=any_space("\n\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("Seed-OSS-36B",),
)
