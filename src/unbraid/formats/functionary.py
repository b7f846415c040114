"""Functionary 3.1, and Llama 3.1 with custom tags: ``<function=NAME>{…}</function>``.

Functionary 3.2 writes messages instead, each headed by its recipient's line: ``>>>NAME``.
"""

from unbraid.syntax import Calls, Channels, Json, Name, Route, Tools, Ws, any_space, lit

TOOLS_31 = Tools(
    call=Calls((lit("<function="), Name(), lit(">"), Ws(), Json(), Ws(), lit("</function>"))),
    between=any_space(""),
    dropped=("<|eot_id|>", "<|eom_id|>"),
    models=("Functionary small v3.1", "Functionary medium v3.1"),
)

FUNCTIONARY_V32 = Channels(
    start=lit(">>>"),
    role="",
    to="",
    body=lit("\n"),
    ends=(),
    routes=(
        Route("content", to=("all",), ends=(), write={"to": "all"}),
        Route("content", to=("python",), ends=()),
        Route("call", to=("{name}",), ends=(), write={}),
    ),
    dropped=("<|eot_id|>", "<|eom_id|>"),
    models=("Functionary small v3.2", "Functionary medium v3.2"),
)
