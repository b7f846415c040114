"""Hermes: JSON envelopes in ``<tool_call>`` tags (Hermes 2 and 3, Qwen2.5, QwQ, Qwen3); LongCat's tags."""

from unbraid.syntax import Calls, Choice, Envelope, Envelopes, Tools, Ws, any_space, lit, replace

OBJECTS = Choice(((Envelope(),), (Envelopes(),)))

TOOLS = Tools(
    call=Calls((lit("<tool_call>"), Ws("\n"), OBJECTS, Ws("\n"), lit("</tool_call>"))),
    before=any_space("\n"),
    between=any_space("\n"),
    dropped=("<|im_end|>",),
    models=("Hermes 2 Pro", "Hermes 3", "Qwen2.5", "QwQ", "Qwen3"),
)

LONGCAT = replace(
    TOOLS,
    call=Calls((lit("<longcat_tool_call>"), Ws("\n"), OBJECTS, Ws("\n"), lit("</longcat_tool_call>"))),
    dropped=("</longcat_s>",),
    models=("LongCat-Flash-Chat",),
)
