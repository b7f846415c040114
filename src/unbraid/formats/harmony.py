"""Harmony, the channels of gpt-oss: headers choose where each message's body goes."""

from unbraid.syntax import ANY, Channels, Route, token

BUILTIN = ("assistant", "python", "browser", "container")

HARMONY = Channels(
    start=token("<|start|>"),
    role="assistant",
    channel=token("<|channel|>"),
    constrain=token("<|constrain|>"),
    body=token("<|message|>"),
    ends=(token("<|end|>"), token("<|return|>"), token("<|call|>")),
    to=" to=",
    routes=(
        Route("reasoning", channel="analysis", to=("user", *BUILTIN), ends=("<|end|>",)),
        Route("content", to=("user",), ends=("<|return|>", "<|end|>")),
        Route("dropped", to=BUILTIN, ends=("<|call|>", "<|end|>")),
        Route(
            "call",
            to=("functions.{name}",),
            ends=("<|call|>", "<|end|>"),
            write={"channel": "commentary", "type": "json"},
        ),
        Route("reasoning", channel="analysis", ends=("<|end|>",), write={"channel": "analysis"}),
        Route("dropped", to=(ANY,), ends=("<|call|>", "<|end|>")),
        Route("content", channel="commentary", ends=("<|end|>",), write={"channel": "commentary"}),
        Route("content", ends=("<|return|>", "<|end|>"), write={"channel": "final"}),
    ),
    dropped=("<|endoftext|>",),
    calls_per_turn=1,
    models=("gpt-oss-20b", "gpt-oss-120b", "llm-jp-4.1"),
)
