"""K2 Horizon: the effort chooses the markers of thinking, ``tool_call_format`` the layout of calls."""

from unbraid.syntax import (
    Calls,
    Envelope,
    Name,
    Reasoning,
    Section,
    Tools,
    TypeTag,
    Variants,
    Ws,
    any_space,
    arg_pairs,
    lit,
    replace,
    space,
)

ENDS = ("<|ifm|im_end|>", "<|ifm|endoftext|>")
MODELS = ("K2-Horizon",)

REASONING = Reasoning(
    open=lit("<ifm|think>"),
    close=lit("</ifm|think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    tools_inside="end",
    ends_at=("<ifm|tool_calls>",),
    turns=("<|ifm|im_start|>",),
    variants=Variants(
        "reasoning_effort",
        (("high", "k2_horizon"), ("medium", "k2_horizon_medium"), ("low", "k2_horizon_low")),
    ),
    dropped=ENDS,
    models=MODELS,
)

REASONING_MEDIUM = replace(
    REASONING, open=lit("<ifm|think_fast>"), close=lit("</ifm|think_fast>"), variants=None
)

REASONING_LOW = replace(
    REASONING, open=lit("<ifm|think_faster>"), close=lit("</ifm|think_faster>"), variants=None
)

TYPE = TypeTag(
    lit("<ifm|arg_type>"),
    (
        ("string", "string"),
        ("integer", "integer"),
        ("number", "number"),
        ("boolean", "boolean"),
        ("object", "object"),
        ("array", "array"),
        ("null", "null"),
    ),
    lit("</ifm|arg_type>"),
)

TOOLS_XML = Tools(
    call=Calls(
        (
            lit("<ifm|tool_call>"),
            Name(),
            Ws("\n"),
            arg_pairs("</ifm|tool_call>", "\n", prefix="ifm|"),
            lit("</ifm|tool_call>"),
        ),
        atomic=True,
    ),
    section=Section(lit("<ifm|tool_calls>"), lit("</ifm|tool_calls>"), pad="\n", noise=False),
    between=any_space("\n"),
    variants=Variants(
        "tool_call_format",
        (("xml", "k2_horizon"), ("xml_typed", "k2_horizon_xml_typed"), ("json", "k2_horizon_json")),
    ),
    dropped=ENDS,
    models=MODELS,
)

TOOLS_XML_TYPED = replace(
    TOOLS_XML,
    call=Calls(
        (
            lit("<ifm|tool_call>"),
            Name(),
            Ws("\n"),
            arg_pairs("</ifm|tool_call>", "\n", prefix="ifm|", tag=TYPE),
            lit("</ifm|tool_call>"),
        ),
        atomic=True,
    ),
    variants=None,
)

TOOLS_JSON = replace(
    TOOLS_XML,
    call=Calls(
        (lit("<ifm|tool_call>"), Ws("\n"), Envelope(), Ws("\n"), lit("</ifm|tool_call>")), atomic=True
    ),
    variants=None,
)
