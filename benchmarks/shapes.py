"""The outputs that are measured: string arguments in every format, and shapes that are hard for a parser."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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


@dataclass(frozen=True)
class Notation:
    """How a format writes calls: around all of them, around one, and the arguments in it."""

    head: str
    call: tuple[str, str]
    arguments: Callable[[dict[str, Any]], str]
    tail: str = ""
    between: str = ""

    def calls(self, arguments: list[dict[str, Any]]) -> str:
        """The output with a call of ``w`` for each of these arguments."""
        front, back = self.call
        written = (
            front.replace("{n}", str(n)) + self.arguments(one) + back for n, one in enumerate(arguments)
        )
        return self.head + self.between.join(written) + self.tail

    def around(self, text: str) -> tuple[str, str, str]:
        """A call whose argument ``content`` is ``text``: what stands before, the written text, the rest."""
        whole = self.calls([{"content": text}])
        shell = self.calls([{"content": "\0"}])
        before, _, after = shell.partition(json.dumps("\0")[1:-1])
        if not after:
            before, _, after = shell.partition("\0")
        return before, whole[len(before) : len(whole) - len(after)], after


def as_json(arguments: dict[str, Any]) -> str:
    """Arguments as a JSON object."""
    return json.dumps(arguments, ensure_ascii=False)


def raw(value: Any) -> str:
    """A value between tags: strings as they are, others as JSON."""
    return value if isinstance(value, str) else as_json(value)


def tags(front: str, middle: str, back: str) -> Callable[[dict[str, Any]], str]:
    """Arguments as key and value elements."""
    return lambda arguments: "".join(
        f"{front}{key}{middle}{raw(one)}{back}" for key, one in arguments.items()
    )


def gemma(value: Any) -> str:
    """A value in Gemma's notation."""
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, list):
        return "[" + ",".join(map(gemma, value)) + "]"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{gemma(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


def python(value: Any) -> str:
    """A Python literal, strings in double quotes."""
    if isinstance(value, str):
        quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{quoted}"' if "\0" not in value else f'"{value}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(python, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python(key)}: {python(one)}" for key, one in value.items()) + "}"
    return repr(value)


def keywords(arguments: dict[str, Any]) -> str:
    """Arguments as Python keywords."""
    return ", ".join(f"{key}={python(one)}" for key, one in arguments.items())


_ENVELOPE = ('{"name": "w", "arguments": ', "}")
_V3 = ("<｜tool▁call▁begin｜>function<｜tool▁sep｜>w\n```json\n", "\n```<｜tool▁call▁end｜>")
_KIMI = ("<|tool_call_begin|>functions.w:{n}<|tool_call_argument_begin|>", "<|tool_call_end|>")
_PYTHON = Notation("[", ("w(", ")"), keywords, "]", ", ")

NOTATIONS: dict[str, Notation] = {
    "hermes": Notation(
        "", (f"<tool_call>\n{_ENVELOPE[0]}", f"{_ENVELOPE[1]}\n</tool_call>"), as_json, between="\n"
    ),
    "llama3_json": Notation("", ('{"name": "w", "parameters": ', "}"), as_json, between="; "),
    "mistral": Notation("", ("[TOOL_CALLS]w[ARGS]", ""), as_json),
    "kimi_k2": Notation("<|tool_calls_section_begin|>", _KIMI, as_json, tail="<|tool_calls_section_end|>"),
    "deepseek_v3": Notation("<｜tool▁calls▁begin｜>", _V3, as_json, "<｜tool▁calls▁end｜>", "\n"),
    "deepseek_v31": Notation(
        "<｜tool▁calls▁begin｜>",
        ("<｜tool▁call▁begin｜>w<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
        as_json,
        "<｜tool▁calls▁end｜>",
    ),
    "openai": Notation(
        "",
        ("<|channel|>commentary to=functions.w <|constrain|>json<|message|>", "<|call|>"),
        as_json,
        between="<|start|>assistant",
    ),
    "qwen3_coder": Notation(
        "",
        ("<tool_call>\n<function=w>\n", "</function>\n</tool_call>"),
        tags("<parameter=", ">\n", "\n</parameter>\n"),
        between="\n",
    ),
    "glm45": Notation(
        "",
        ("<tool_call>w\n", "</tool_call>"),
        tags("<arg_key>", "</arg_key>\n<arg_value>", "</arg_value>\n"),
        between="\n",
    ),
    "glm47": Notation(
        "",
        ("<tool_call>w", "</tool_call>"),
        tags("<arg_key>", "</arg_key><arg_value>", "</arg_value>"),
    ),
    "gemma4": Notation("", ("<|tool_call>call:w", "<tool_call|>"), gemma),
    "pythonic": _PYTHON,
    "llama4_pythonic": _PYTHON,
}
JSON_FORMATS = ("hermes", "llama3_json", "mistral", "kimi_k2", "deepseek_v3", "deepseek_v31", "openai")


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
    before, _, after = NOTATIONS[tool].around("x")
    return before + text + after


_TOKENS = [[1, -2.5, True, None, {}, "a", {"b": [0, {"c": 7}]}]]
_LITERALS = [(1, -2.5, True, None), {"k": [0, {"c": "é"}]}, "it's"]


def _nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = {"a": value} if level % 2 else [value]
    return value


def _typed(tool: str, limit: float) -> list[Shape]:
    """Values that are no strings."""
    notation = NOTATIONS[tool]
    one = _nested(100)
    held = tool == "qwen3_coder"
    deep = [one] * (100_000 // len(json.dumps(one)))
    return [
        Shape("small tokens", tool, notation.calls([{"v": _TOKENS * 1600}]), limit, calls=1, held=held),
        Shape("deep nesting", tool, notation.calls([{"v": deep}]), limit, calls=1, held=held),
    ]


def shapes() -> list[Shape]:
    """Every other shape, about 100 kB each unless a count says more."""
    found: list[Shape] = []
    for tool, notation in NOTATIONS.items():
        some: dict[str, Any] = {"city": "Oslo", "days": 3}
        some["city"] += "o" * (100 - len(notation.calls([some])))
        found.append(Shape("1,000 calls", tool, notation.calls([some] * 1000), whole=25.0, calls=1000))
    for tool in ("hermes", "openai", "gemma4", "qwen3_coder", "pythonic"):
        found += _typed(tool, 20.0 if tool == "pythonic" else 15.0)
    literals = NOTATIONS["pythonic"].calls([{f"k{n}": _LITERALS for n in range(1250)}])
    found.append(Shape("python literals", "pythonic", literals, 20.0, calls=1))
    for tool in ("hermes", "qwen3_coder", "glm45", "gemma4", "pythonic"):
        many = {f"key_{n}": f"value {n}" for n in range(3000)}
        found.append(Shape("many parameters", tool, NOTATIONS[tool].calls([many]), calls=1))
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
    drafts = _fill(NOTATIONS["hermes"].calls([{"city": "Oslo"}]) + " maybe ")
    found.append(Shape("calls in thinking", "hermes", drafts, thinking="qwen3", calls=0))
    return found
