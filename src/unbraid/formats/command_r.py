"""Command R and R+ with their tool-use template: a fenced JSON array behind ``Action:``."""

from unbraid.syntax import Calls, Envelope, Envelopes, Tools, Ws, any_space, lit

TOOLS = Tools(
    call=Calls(
        (
            lit("Action: ```json", "Action:```json"),
            Ws("\n"),
            Envelopes(
                Envelope(name=("tool_name", "name"), arguments=("parameters", "arguments")),
                open="[\n    ",
                between=",\n    ",
                close="\n]",
            ),
            Ws(),
            lit("```"),
        )
    ),
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=("<|END_OF_TURN_TOKEN|>",),
    models=("Command R", "Command R+"),
)
