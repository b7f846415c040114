"""Solar Open: a message's marker says what it is; calls with the model's ids stand in one message."""

from unbraid.syntax import Calls, Channels, Id, Json, Name, Route, Tools, token

END = ("<|end|>",)

SOLAR_OPEN = Channels(
    start=token("<|begin|>"),
    role="assistant",
    ends=(token("<|end|>"), token("<|calls|>")),
    routes=(
        Route("reasoning", body=token("<|think|>"), ends=END, write={}),
        Route("content", body=token("<|content|>"), ends=END, write={}),
        Route(
            "call",
            body=token("<|tool_calls|>"),
            ends=("<|calls|>", "<|end|>"),
            calls=Tools(
                call=Calls(
                    (
                        token("<|tool_call:begin|>"),
                        Id("[A-Za-z0-9_-]+", name=False, made="call_{index}"),
                        token("<|tool_call:name|>"),
                        Name(),
                        token("<|tool_call:args|>"),
                        Json(),
                        token("<|tool_call:end|>"),
                    )
                ),
            ),
            write={},
        ),
    ),
    models=("Solar Open 100B",),
)
