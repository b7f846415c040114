"""Inkling: blocks whose marker says what they are, calls as JSON envelopes."""

from unbraid.syntax import Calls, Channels, Choice, Envelope, Envelopes, Route, Tools, token

END = ("<|end_message|>",)
ENVELOPE = Envelope(arguments=("args", "arguments", "parameters"))

INKLING = Channels(
    start=token("<|message_model|>"),
    role="",
    ends=(token("<|end_message|>"),),
    routes=(
        Route("reasoning", body=token("<|content_thinking|>"), ends=END, write={}),
        Route("content", body=token("<|content_text|>"), ends=END, write={}),
        Route(
            "call",
            body=token("<|content_invoke_tool_json|>"),
            ends=END,
            calls=Tools(
                call=Calls((Choice(((ENVELOPE,), (Envelopes(ENVELOPE),))),)),
                calls_per_turn=1,
            ),
            write={},
        ),
        Route("content", body=token("<|content_invoke_tool_text|>"), ends=END),
        Route("content", body=token("<|content_tool_error|>"), ends=END),
    ),
    dropped=("<|content_model_end_sampling|>",),
    models=("Inkling",),
)
