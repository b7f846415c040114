"""GigaChat 3: a call is a message of its own, or stands behind one marker."""

from unbraid.syntax import Calls, Envelope, Tools, Ws, lit

TOOLS = Tools(
    call=Calls(
        (
            lit(
                "<|message_sep|>\n\nfunction call<|role_sep|>\n",
                "<|function_call|>",
                "function call<|role_sep|>\n",
            ),
            Ws(),
            Envelope(),
        )
    ),
    calls_per_turn=1,
    dropped=("<|message_sep|>", "</s>"),
    models=("GigaChat3-10B-A1.8B", "GigaChat3.1-10B-A1.8B", "GigaChat3-702B-A36B"),
)
