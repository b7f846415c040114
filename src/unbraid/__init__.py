"""unbraid: what a language model writes, separated into reasoning, content and tool_calls.

``Parser`` reads, ``write`` writes, ``Parser.constraint`` and ``Gate`` are for engines. Beside them
``unbraid.constrain.constrain``, ``unbraid.expressible.expressible``, ``unbraid.explain`` (``explain``,
``describe``), ``unbraid.check`` and ``unbraid.formats.register``. All of them name a pair alike:
``reasoning_parser``, ``tool_parser``, or a model family as ``format``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from unbraid.constrain import Constraint
    from unbraid.errors import (
        BrokenFormat,
        EngineError,
        IncompatiblePair,
        Inexpressible,
        InvalidRequest,
        TokenizerMismatch,
        UnbraidError,
        UnknownParser,
        Unsupported,
    )
    from unbraid.events import (
        ContentDelta,
        Event,
        ReasoningDelta,
        ToolCallArguments,
        ToolCallEnd,
        ToolCallStart,
    )
    from unbraid.gate import Gate
    from unbraid.message import Diagnostic, Message, Span, ToolCall
    from unbraid.parser import Parser, Plan
    from unbraid.stream import Stream
    from unbraid.tokens import HFTokenizer, Tokenizer, TokenTable
    from unbraid.writer import write

__version__ = "0.1.0"

__all__ = [
    "BrokenFormat",
    "Constraint",
    "ContentDelta",
    "Diagnostic",
    "EngineError",
    "Event",
    "Gate",
    "HFTokenizer",
    "IncompatiblePair",
    "Inexpressible",
    "InvalidRequest",
    "Message",
    "Parser",
    "Plan",
    "ReasoningDelta",
    "Span",
    "Stream",
    "TokenTable",
    "Tokenizer",
    "TokenizerMismatch",
    "ToolCall",
    "ToolCallArguments",
    "ToolCallEnd",
    "ToolCallStart",
    "UnbraidError",
    "UnknownParser",
    "Unsupported",
    "write",
]

_HOMES = {
    "constrain": ("Constraint",),
    "errors": (
        "BrokenFormat",
        "EngineError",
        "IncompatiblePair",
        "Inexpressible",
        "InvalidRequest",
        "TokenizerMismatch",
        "UnbraidError",
        "UnknownParser",
        "Unsupported",
    ),
    "events": (
        "ContentDelta",
        "Event",
        "ReasoningDelta",
        "ToolCallArguments",
        "ToolCallEnd",
        "ToolCallStart",
    ),
    "gate": ("Gate",),
    "message": ("Diagnostic", "Message", "Span", "ToolCall"),
    "parser": ("Parser", "Plan"),
    "stream": ("Stream",),
    "tokens": ("HFTokenizer", "TokenTable", "Tokenizer"),
    "writer": ("write",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used, so that ``import unbraid`` costs nothing."""
    module = _HOME_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
