"""Models that write Hermes' calls and Qwen3's thinking under a layout of their own."""

from unbraid.formats.hermes import OBJECTS
from unbraid.formats.hermes import TOOLS as HERMES
from unbraid.formats.qwen3 import REASONING as QWEN3
from unbraid.syntax import Calls, Switch, Ws, lit, replace, space

BIELIK_REASONING = replace(
    QWEN3,
    after=space("\n"),
    opened_by="either",
    switch=Switch(("enable_thinking",), default=False),
    empty_when_off="",
    models=("Bielik 11B v3.0",),
)

BIELIK = replace(HERMES, before_bare=space("\n"), models=("Bielik 11B v3.0",))

EXAONE4_REASONING = replace(
    QWEN3,
    switch=Switch(("enable_thinking",), default=False),
    turns=("[|assistant|]",),
    dropped=("[|endofturn|]",),
    models=("EXAONE 4.0",),
)

EXAONE4 = replace(
    HERMES,
    call=Calls((lit("<tool_call>"), Ws(), OBJECTS, Ws(), lit("</tool_call>"))),
    dropped=("[|endofturn|]",),
    models=("EXAONE 4.0",),
)

SMOLLM3_REASONING = replace(
    QWEN3,
    after=space("\n"),
    opened_by="output",
    switch=Switch(("enable_thinking",), default=True),
    empty_when_off="<think>\n\n</think>\n",
    models=("SmolLM3-3B",),
)
