"""Nemotron 3: thinking and calls as Qwen3.5's with other white space, in two layouts.

Nano and Super write a newline on each side of the closer, Ultra and 3.5 Lightning none.
"""

from unbraid.formats.qwen3 import CODER
from unbraid.syntax import Reasoning, Switch, any_space, lit, replace, space

NANO = ("Nemotron 3 Nano", "Nemotron 3 Super")
ULTRA = ("Nemotron 3 Ultra", "Nemotron 3.5 Lightning")

REASONING = Reasoning(
    open=lit("<think>"),
    close=lit("</think>"),
    opened_by="either",
    lead=space("\n"),
    trail=space("\n"),
    after=space("\n"),
    after_in="answer",
    tools_inside="draft",
    ends_at=("<tool_call>",),
    switch=Switch(("enable_thinking",), default=True),
    turns=("<|im_start|>",),
    dropped=("<|im_end|>",),
    empty_when_off="<think></think>",
    answer_if="force_nonempty_content",
    models=(*NANO, *ULTRA),
)

REASONING_ULTRA = replace(REASONING, trail=space(""), after=space(""), models=ULTRA)

TOOLS = replace(
    CODER, before=any_space("\n"), before_bare=space("\n"), after=space("\n"), models=(*NANO, *ULTRA)
)
