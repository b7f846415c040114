"""What a sampler pays: the gate for each token, and a constraint with its first mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchmarks.report import Figure, Table
from benchmarks.shapes import PROSE, body
from benchmarks.timing import least
from unbraid.constrain import constrain
from unbraid.gate import Gate
from unbraid.tokens import TokenTable

GATES = {
    ("qwen3", "hermes"): "",
    ("kimi_k2", "kimi_k2"): "",
    ("gemma4", "gemma4"): "<|channel>thought\n",
    ("openai_gptoss", "openai"): "<|channel|>analysis<|message|>",
}
CONSTRAINED = (
    ("qwen3", "hermes"),
    ("qwen3", "qwen3_coder"),
    ("gemma4", "gemma4"),
    ("openai_gptoss", "openai"),
)
STEP = 32


def vocabulary() -> TokenTable:
    """Every byte, and some words."""
    pieces: dict[int, bytes | str] = {n: bytes([n]) for n in range(256)}
    words = dict.fromkeys(f" {word}" for word in PROSE.split())
    pieces |= {256 + n: word for n, word in enumerate(words)}
    return TokenTable(pieces)


def gates() -> Table:
    """Nanoseconds for each token id while thinking goes on."""
    table = Table(
        "Gate",
        f"`find_end` over 20,000 token ids of open thinking in steps of {STEP}.",
        ("format", "ns per token id"),
    )
    tokenizer = vocabulary()
    for (reasoning, tools), opener in GATES.items():
        ids = tokenizer.encode(opener + body(PROSE, 100_000))[:20_000]
        steps = [ids[at : at + STEP] for at in range(0, len(ids), STEP)]
        gate = Gate(reasoning, tools, tokenizer=tokenizer)

        def read(gate: Gate = gate, steps: list[list[int]] = steps) -> None:
            carry = gate.begin(chat_template_kwargs={"enable_thinking": True, "thinking": True})
            for step in steps:
                end, carry = gate.find_end(step, carry)
                assert end is None

        table.rows.append((f"{reasoning}, {tools}", Figure(least(read) / len(ids) * 1e9, 0)))
    return table


def tool(n: int) -> dict[str, Any]:
    """A tool with the usual kinds of parameters."""
    properties = {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["metric", "imperial"]},
        "tags": {"type": "array", "items": {"type": "string"}},
    }
    parameters = {
        "type": "object",
        "properties": properties,
        "required": ["city"],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": f"tool_{n}", "strict": True, "parameters": parameters}}


def constraints() -> Table:
    """Building the grammar for 1, 10 and 100 tools, and the first mask."""
    table = Table(
        "Constraints",
        "Building the grammar of a request with strict tools and `required`, and its first mask with "
        "llguidance over a vocabulary of bytes.",
        ("format", *(f"{what}, {n} tools, ms" for what in ("build", "first mask") for n in (1, 10, 100))),
    )
    for reasoning, tools in CONSTRAINED:
        grammars = [grammar_of(reasoning, tools, count) for count in (1, 10, 100)]
        built = [Figure(least(grammar) * 1e3, 1) for grammar in grammars]
        table.rows.append((f"{reasoning}, {tools}", *built, *(first_mask(grammar()) for grammar in grammars)))
    return table


def grammar_of(reasoning: str, tools: str, count: int) -> Callable[[], str]:
    """Builds the grammar for ``count`` tools, one of which must be called."""
    offered = [tool(n) for n in range(count)]

    def build() -> str:
        found = constrain(reasoning, tools, tools=offered, tool_choice="required")
        assert found is not None
        return found.lark()

    return build


def first_mask(lark: str) -> str | Figure:
    """Milliseconds from the grammar's text to the first mask; a dash without llguidance."""
    try:
        from llguidance import LLMatcher
        from tests.constrain.helpers import vocabulary as bytes_and_markers
    except ImportError:
        return "–"
    words = bytes_and_markers()

    def compile_and_mask() -> None:
        LLMatcher(words.ll, LLMatcher.grammar_from_lark(lark)).compute_bitmask()

    return Figure(least(compile_and_mask) * 1e3, 1)
