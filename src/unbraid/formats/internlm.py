"""InternLM 2: a plug-in's block between action markers; a code interpreter's block is no call."""

from unbraid.syntax import Calls, Envelope, Tools, Ws, any_space, token

TOOLS = Tools(
    call=Calls(
        (
            token("<|action_start|>"),
            Ws(),
            token("<|plugin|>"),
            Ws("\n"),
            Envelope(arguments=("parameters", "arguments")),
            Ws(),
            token("<|action_end|>"),
        )
    ),
    between=any_space(""),
    dropped=("<|im_end|>",),
    models=("InternLM 2", "InternLM 2.5", "Intern-S1"),
)
