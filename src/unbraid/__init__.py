"""unbraid: what a language model writes, separated into reasoning, content and tool_calls."""

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
from unbraid.message import Diagnostic, Message, Span, ToolCall
from unbraid.parser import Parser, Plan
from unbraid.stream import Stream
from unbraid.tokens import HFTokenizer, Tokenizer, TokenTable

__version__ = "0.1.0"

__all__ = [
    "BrokenFormat",
    "ContentDelta",
    "Diagnostic",
    "EngineError",
    "Event",
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
]
