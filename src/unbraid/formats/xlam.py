"""xLAM: a JSON array of calls, alone, behind thinking, in a fence, or behind other families' markers."""

from unbraid.syntax import Calls, Choice, Envelopes, Tools, Ws, any_space, lit

TOOLS = Tools(
    call=Calls(
        (
            Choice(
                (
                    (Envelopes(),),
                    (lit("```json", "```"), Ws("\n"), Envelopes(), Ws("\n"), lit("```")),
                    (lit("[TOOL_CALLS]"), Ws(), Envelopes()),
                    (lit("<tool_call>"), Ws(), Envelopes(), Ws(), lit("</tool_call>")),
                )
            ),
        ),
        anchor=True,
        behind=("</think>",),
    ),
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=("<|eot_id|>", "<|im_end|>"),
    models=("xLAM-1b-fc-r", "xLAM-7b-fc-r", "Llama-xLAM-2", "Qwen-xLAM-32B-fc-r"),
)
