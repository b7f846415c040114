"""Functionary 3.1, and Llama 3.1 with custom tags: ``<function=NAME>{…}</function>``."""

from unbraid.syntax import Calls, Json, Name, Tools, Ws, any_space, lit

TOOLS_31 = Tools(
    call=Calls((lit("<function="), Name(), lit(">"), Ws(), Json(), Ws(), lit("</function>"))),
    between=any_space(""),
    dropped=("<|eot_id|>", "<|eom_id|>"),
    models=("Functionary small v3.1", "Functionary medium v3.1"),
)
