"""MiniCPM-V 4: thinking as Qwen3's, line breaks written as escapes."""

from unbraid.formats.qwen3 import REASONING as QWEN3
from unbraid.syntax import replace

REASONING = replace(
    QWEN3,
    reopens=True,
    ignored=(
        "<|reserved_12|>",
        "<|reserved_13|>",
        "<|reserved_14|>",
        "<|reserved_15|>",
        "<reserved_12>",
        "<reserved_13>",
        "<reserved_14>",
        "<reserved_15>",
    ),
    escaped_newlines=True,
    models=("MiniCPM-V 4.5", "MiniCPM-V 4"),
)
