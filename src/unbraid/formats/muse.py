"""Muse Spark and Muse Glimmer: a recipient routes each message, calls are XML-like tags in a body."""

from unbraid.syntax import Channels, Route, Section, Tools, any_space, invoke, lit, replace, token

START = token("<|start|>")
BODY = token("<|message|>")
ENDS = (token("<|eom|>"), token("<|eot|>"))
BOTH = ("<|eot|>", "<|eom|>")

CALLS = Tools(
    section=Section(lit("<atem:function_calls>"), lit("</atem:function_calls>"), pad="\n"),
    call=invoke("atem:", twice="."),
    between=any_space("\n"),
    calls_per_turn=1,
)

SELF = Route("reasoning", to=("self",), ends=BOTH, write={"to": "self"})
DEVELOPER = Route("dropped", to=("developer",), ends=BOTH)
CALL = Route("call", to=("{name}",), ends=BOTH, calls=CALLS, write={})

SPARK = Channels(
    start=START,
    role="assistant",
    body=BODY,
    ends=ENDS,
    to=" to=",
    alone=True,
    routes=(
        SELF,
        Route("content", to=("commentary",), ends=BOTH, write={"to": "commentary"}),
        Route("content", to=("user",), ends=BOTH, write={"to": "user"}),
        DEVELOPER,
        CALL,
        Route("reasoning", ends=BOTH),
    ),
    models=("Muse Spark Open",),
)

GLIMMER = replace(
    SPARK,
    routes=(
        SELF,
        Route("content", to=("user", "commentary"), ends=BOTH, write={"to": "user"}),
        DEVELOPER,
        CALL,
        Route("content", ends=BOTH),
    ),
    models=("Muse Glimmer 30B",),
)
