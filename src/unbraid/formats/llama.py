"""Llama's calls without a marker: JSON objects (3.1 on, and 4), Python lists (3.2, and 4)."""

from unbraid.syntax import (
    Answer,
    Calls,
    Envelope,
    PythonCalls,
    Tools,
    Ws,
    any_space,
    optional,
    replace,
    space,
    token,
)

LLAMA3_JSON = Tools(
    call=Calls(
        (
            optional("<|python_tag|>", written=False),
            Ws(),
            Envelope(arguments=("parameters", "arguments"), both=True),
        ),
        anchor=True,
    ),
    before=space("\n"),
    between=any_space("; ", chars=" \t\r\n;"),
    dropped=("<|eot_id|>", "<|eom_id|>"),
    models=("Llama 3.1", "Llama 3.2", "Llama 3.3"),
)

LLAMA4_JSON = replace(
    LLAMA3_JSON,
    answer=Answer(token("<|python_start|>"), token("<|python_end|>"), written="calls"),
    before=space(""),
    between=any_space("", chars=" \t\r\n;"),
    dropped=("<|eot|>", "<|eom|>"),
    models=("Llama 4 Scout", "Llama 4 Maverick"),
)

PYTHONIC = Tools(
    call=Calls((PythonCalls(),), anchor=True),
    before=space("\n"),
    dropped=("<|eot_id|>", "<|eom_id|>", "<|eot|>"),
    models=("Llama 3.2 1B/3B", "ToolACE-8B", "Ultravox"),
)

LLAMA4_PYTHONIC = Tools(
    call=Calls(
        (
            optional("<|python_start|>", written=False),
            Ws(),
            PythonCalls(),
            optional("<|python_end|>", written=False),
        ),
        anchor=True,
    ),
    before=space("\n"),
    dropped=("<|eot|>", "<|eom|>", "<|eot_id|>", "<|eom_id|>"),
    models=("Llama 4 Scout", "Llama 4 Maverick"),
)
