"""The outputs that are measured: string arguments in every format, and shapes that are hard for a parser."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from unbraid import Message, ToolCall
from unbraid.formats import TOOL_PARSERS, tool_format, tool_names
from unbraid.machine.setup import written_parts
from unbraid.syntax import Channels, Envelope, Envelopes, Json, ResponseTemplate, Tools
from unbraid.writer import write

PROSE = "The quick brown fox jumps over the lazy dog and walks along the river bank for a while. "
CODE = (
    "def area(w, h):  # <int> size\n"
    "    if w < 0 or h < 0: return\n"
    '    name = f"{w}x{h}: étude\\n"\n'
    "    path = 'C:\\\\tmp\\\\draft.txt'\n"
    '    box = {"w": w, "h": [h, 1]}\n'
    '    print("<b>😀</b>", box, w)\n'
)
TEXTS = {"prose": PROSE, "code": CODE}


def body(text: str, length: int) -> str:
    """``length`` characters of a repeated text."""
    return (text * (length // len(text) + 1))[:length]


TOOL = "w"
TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": TOOL,
            "parameters": {
                "type": "object",
                "properties": {
                    "content": {"type": "string"},
                    "city": {"type": "string"},
                    "days": {"type": "integer"},
                    "v": {"type": "array"},
                },
            },
        },
    }
]
SHELL = "QZQ"


def formats() -> list[str]:
    """Every tools half that is a format of its own, by name."""
    return [name for name in tool_names() if name in TOOL_PARSERS]


def calls(tool: str, arguments: list[dict[str, Any]]) -> str:
    """The output with a call for each of these arguments, as the format writes it.

    Raises Inexpressible for arguments that it can't carry.
    """
    half = tool_format(tool)
    made = [ToolCall(f"{n:09}", TOOL, json.dumps(one, ensure_ascii=False)) for n, one in enumerate(arguments)]
    if half.calls_per_turn is None:
        return write(None, tool, Message(tool_calls=made), tools=TOOLS)
    turn = f"{half.start.text}{half.role}" if isinstance(half, Channels) else ""
    return turn.join(write(None, tool, Message(tool_calls=[one]), tools=TOOLS) for one in made)


def around(tool: str, text: str) -> tuple[str, str, str]:
    """A call whose argument ``content`` is ``text``: what stands before, the written text, the rest."""
    whole = calls(tool, [{"content": text}])
    before, _, after = calls(tool, [{"content": SHELL}]).partition(SHELL)
    return before, whole[len(before) : len(whole) - len(after)], after


def is_json(tool: str) -> bool:
    """Whether argument text passes as it is written; regions of a response template are held."""
    half = tool_format(tool)
    if isinstance(half, ResponseTemplate):
        return False
    if isinstance(half, Channels):
        return all(_passes(route.calls) for route in half.routes if route.strand == "call")
    return _passes(half)


def _passes(tools: Tools | None) -> bool:
    return tools is None or any(
        isinstance(part, (Json, Envelope, Envelopes)) for part in written_parts(tools.call.parts)
    )


@dataclass(frozen=True)
class Shape:
    """A hard output: ``text`` for the format ``tool`` (and ``thinking``), with a limit in floors per delta.

    ``whole`` is a limit in milliseconds, ``calls`` how many calls must come out;
    ``held``: much text is held and given out in one step, which may take longer.
    """

    name: str
    tool: str
    text: str
    floors: float = 15.0
    thinking: str | None = None
    whole: float | None = None
    calls: int | None = None
    held: bool = False


def _fill(one: str, length: int = 100_000) -> str:
    return one * (length // len(one))


def _value(tool: str, text: str) -> str:
    before, _, after = around(tool, "x")
    return before + text + after


_TOKENS = [[1, -2.5, True, None, {}, "a", {"b": [0, {"c": 7}]}]]
_LITERALS = [[1, -2.5, True, None], {"k": [0, {"c": "é"}]}, "it's"]


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = {"a": value} if level % 2 else [value]
    return value


def _typed(tool: str, limit: float) -> list[Shape]:
    """Values that are no strings."""
    one = _nested(100)
    held = tool == "qwen3_coder"
    deep = [one] * (100_000 // len(json.dumps(one)))
    return [
        Shape("small tokens", tool, calls(tool, [{"v": _TOKENS * 1600}]), limit, calls=1, held=held),
        Shape("deep nesting", tool, calls(tool, [{"v": deep}]), limit, calls=1, held=held),
    ]


def shapes() -> list[Shape]:
    """Every other shape, about 100 kB each unless a count says more."""
    found: list[Shape] = []
    for tool in formats():
        some: dict[str, Any] = {"city": "Oslo", "days": 3}
        some["city"] += "o" * (100 - len(calls(tool, [some])))
        found.append(Shape("1,000 calls", tool, calls(tool, [some] * 1000), whole=25.0, calls=1000))
    for tool in ("hermes", "openai", "gemma4", "qwen3_coder", "pythonic"):
        found += _typed(tool, 20.0 if tool == "pythonic" else 15.0)
    literals = calls("pythonic", [{f"k{n}": _LITERALS for n in range(1250)}])
    found.append(Shape("python literals", "pythonic", literals, 20.0, calls=1))
    for tool in ("hermes", "qwen3_coder", "glm45", "gemma4", "pythonic"):
        many = {f"key_{n}": f"value {n}" for n in range(3000)}
        found.append(Shape("many parameters", tool, calls(tool, [many]), calls=1))
    false = {
        "qwen3_coder": "x\n</parameter> y",
        "glm45": "x</arg_value> y",
        "glm47": "x</arg_value> y",
        "gemma4": 'x<|"| y',
        "hermes": "x</tool_call> y",
    }
    for tool, text in false.items():
        found.append(Shape("false closers", tool, _value(tool, _fill(text)), calls=1))
    for tool in ("hermes", "qwen3_coder", "glm45", "gemma4", "kimi_k2", "openai"):
        found.append(Shape("all <, value", tool, _value(tool, _fill("<")), calls=1))
        found.append(Shape("all <, content", tool, _fill("<"), calls=0))
    openers = {"mistral": "[TOOL_CALLS]", "gemma4": "<|tool_call>", "kimi_k2": "<|tool_calls_section_begin|>"}
    openers |= {"hermes": "<tool_call>", "glm45": "<tool_call>", "openai": "<|start|>", "pythonic": "[f("}
    openers |= {"qwen3_coder": "<tool_call>", "deepseek_v3": "<｜tool▁calls▁begin｜>", "llama3_json": '{"'}
    found += [Shape("openers only", tool, _fill(text)) for tool, text in openers.items()]
    found.append(Shape("line breaks, value", "qwen3_coder", _value("qwen3_coder", _fill("\n")), calls=1))
    found.append(Shape("line breaks, content", "hermes", _fill("\n") + "x", calls=0, held=True))
    found.append(Shape("escapes only", "hermes", _value("hermes", _fill("\\u00e9")), calls=1))
    found.append(Shape("escapes only", "pythonic", _value("pythonic", _fill("\\xe9\\'\\101")), 20.0, calls=1))
    found.append(Shape("prose, content", "hermes", body(PROSE, 100_000), calls=0))
    found.append(Shape("code, content", "hermes", body(CODE, 100_000), calls=0))
    found.append(Shape("prose, thinking", "hermes", body(PROSE, 100_000), thinking="qwen3", calls=0))
    found.append(Shape("code, thinking", "hermes", body(CODE, 100_000), thinking="qwen3", calls=0))
    drafts = _fill(calls("hermes", [{"city": "Oslo"}]) + " maybe ")
    found.append(Shape("calls in thinking", "hermes", drafts, thinking="qwen3", calls=0))
    return found
