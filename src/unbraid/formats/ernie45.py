"""ERNIE 4.5: thinking begins in the prompt, the answer stands between tags, or calls do."""

from unbraid.syntax import Answer, Calls, Envelope, Reasoning, Tools, Ws, any_space, space, token

ENDS = ("<|end_of_sentence|>", "</s>")
ANSWER = Answer(
    open=token("<response>"),
    close=token("</response>"),
    lead=space("\n"),
    trail=space("\n"),
    written="alone",
)

REASONING = Reasoning(
    open=token("<think>"),
    close=token("</think>"),
    opened_by="prompt",
    lead=space("\n"),
    trail=space("\n"),
    after=any_space("\n\n", chars="\n"),
    ends_at=("<tool_call>",),
    turns=("<|begin_of_sentence|>", "Assistant: "),
    dropped=ENDS,
    empty_when_off="<think>\n\n</think>\n",
    answer=ANSWER,
    models=("ERNIE-4.5-21B-A3B-Thinking", "ERNIE-4.5-VL"),
)

TOOLS = Tools(
    call=Calls((token("<tool_call>"), Ws("\n"), Envelope(), Ws("\n"), token("</tool_call>"))),
    before=any_space("\n"),
    before_bare=space("\n"),
    between=any_space("\n"),
    after=space("\n"),
    answer=ANSWER,
    dropped=ENDS,
    models=("ERNIE-4.5-21B-A3B-Thinking", "ERNIE-4.5-VL"),
)
