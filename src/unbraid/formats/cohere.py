"""Cohere Command A and its successors: thinking, answer and calls each between markers; citations."""

from unbraid.syntax import (
    Answer,
    Calls,
    Cite,
    Envelope,
    Envelopes,
    Id,
    IdMember,
    Reasoning,
    Switch,
    Tools,
    Ws,
    replace,
    token,
)

CITE = Cite("<co>", "</co:", ">")
TURNS = ("<|CHATBOT_TOKEN|>", "<|USER_TOKEN|>", "<|SYSTEM_TOKEN|>")
ENDS = ("<|END_OF_TURN_TOKEN|>",)
CALL = Calls(
    (
        token("<|START_ACTION|>"),
        Ws(),
        Envelopes(
            Envelope(
                name=("tool_name",),
                arguments=("parameters",),
                extra=(),
                id=IdMember("tool_call_id", Id("[0-9]{1,4}", name=False, made="{index}")),
            ),
            open="[\n    ",
            between=",\n    ",
            close="\n]",
        ),
        Ws(),
        token("<|END_ACTION|>"),
    )
)

ANSWER_3 = Answer(token("<|START_RESPONSE|>"), token("<|END_RESPONSE|>"), rest="dropped", cite=CITE)

REASONING_3 = Reasoning(
    open=token("<|START_THINKING|>"),
    close=token("<|END_THINKING|>"),
    opened_by="output",
    reopens=True,
    tools_inside="end",
    ends_at=("<|START_ACTION|>",),
    switch=Switch(("reasoning",), default=True),
    turns=TURNS,
    dropped=ENDS,
    empty_when_off="<|START_THINKING|><|END_THINKING|>",
    empty_before_calls=True,
    answer=ANSWER_3,
    models=("Command A", "Command A Reasoning", "Command A Vision", "Command R7B"),
)

TOOLS_3 = Tools(
    call=CALL,
    dropped=ENDS,
    answer=ANSWER_3,
    models=("Command A", "Command A Reasoning", "Command A Vision", "Command R7B"),
)

ANSWER_4 = replace(
    ANSWER_3,
    open=token("<|START_TEXT|>", "<|START_RESPONSE|>"),
    close=token("<|END_TEXT|>", "<|END_RESPONSE|>"),
)

REASONING_4 = replace(
    REASONING_3,
    switch=Switch(("reasoning", "reasoning_effort"), default=True, off_words=("none",)),
    empty_before_calls=False,
    answer=ANSWER_4,
    models=("Command A+", "North Mini Code"),
)

TOOLS_4 = replace(TOOLS_3, answer=ANSWER_4, models=("Command A+", "North Mini Code"))
