"""Seed-OSS: Qwen's grammar in ``<seed:…>`` tokens, values without white space around them."""

from unbraid.syntax import (
    Calls,
    Choice,
    Envelope,
    Name,
    Pairs,
    Reasoning,
    Switch,
    Tools,
    Ws,
    any_space,
    lit,
    optional,
    space,
    token,
)

ENDS = ("<seed:eos>",)

REASONING = Reasoning(
    open=token("<seed:think>"),
    close=token("</seed:think>"),
    opened_by="either",
    after=space("\n"),
    tools_inside="draft",
    ends_at=("<seed:tool_call>",),
    switch=Switch(("thinking_budget", "enable_thinking"), default=True),
    turns=("<seed:bos>",),
    dropped=ENDS,
    empty_when_off="<seed:think>\n</seed:think>",
    models=("Seed-OSS-36B",),
)

TOOLS = Tools(
    call=Calls(
        (
            optional("<seed:tool_call>", special=True),
            Ws("\n"),
            Choice(
                (
                    (
                        lit("<function="),
                        Name(),
                        lit(">"),
                        Ws("\n"),
                        Pairs(
                            open=lit("<parameter="),
                            middle=(lit(">"),),
                            close=lit("</parameter>"),
                            gap="\n",
                            words="python",
                            early=("\n<parameter=", "\n</function>"),
                        ),
                        lit("</function>"),
                        Ws("\n"),
                        optional("</seed:tool_call>", special=True),
                    ),
                    (Envelope(), Ws("\n"), token("</seed:tool_call>")),
                )
            ),
        )
    ),
    before=any_space("\n\n"),
    between=any_space("\n"),
    dropped=ENDS,
    models=("Seed-OSS-36B",),
)
