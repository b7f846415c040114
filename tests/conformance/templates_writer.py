"""How much of what real chat templates write the writer writes too, character for character.

``python -m tests.conformance.templates_writer`` reads ``templates.jsonl`` from the
folder ``shared/cases`` beside the repository, prints the share per pair of parsers
(``--show`` also each difference) and exits with 1 if it falls below ``LEAST``. A
template of another layout than the declared one is a difference, as is a message
that the format can't carry.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from unbraid.errors import Inexpressible
from unbraid.formats import preset, reasoning_format, tool_format
from unbraid.message import Message, ToolCall
from unbraid.prompts import PromptState, prompt_state
from unbraid.syntax import Channels, Reasoning
from unbraid.variants import variant_names
from unbraid.writer import write

from .cases import declared_rows

# Models of one pair of vLLM's that write layouts of their own: the writer is asked by the family.
FAMILIES = {
    "axolotl/mistral_v2v3.jinja": "mistral-v3",
    "llama.cpp/Kimi-K2-Instruct.jinja": "kimi-k2",
    "llama.cpp/Mistral-Small-3.2-24B-Instruct-2506.jinja": "mistral-small-3.2",
    "llama.cpp/mistralai-Mistral-Nemo-Instruct-2407.jinja": "mistral-nemo",
    "llama.cpp/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja": "nemotron-3",
    "trl/nemotron_3_super.jinja": "nemotron-3",
    "trl/nemotron_3_ultra.jinja": "nemotron-3-ultra",
    "trl/nemotron_3_5_lightning.jinja": "nemotron-3.5",
    "trl/qwen3_6.jinja": "qwen3.6",
    "trl/qwen3_8.jinja": "qwen3.8",
    "vllm/tool_chat_template_mistral3.jinja": "mistral-v3",
    "vllm/tool_chat_template_mistral_parallel.jinja": "mistral-v3",
}

LEAST = 0.95


def message_of(row: Mapping[str, Any]) -> Message:
    """The message that a template was given; the ids of its calls were counted."""
    expect = row["expect"]
    # Arguments that were given as text were compact.
    separators = (",", ":") if "--arguments-as-text" in row["id"] else None
    calls = [
        ToolCall(
            f"abcdef{n:03d}",
            call["name"],
            json.dumps(call["arguments"], ensure_ascii=False, separators=separators),
        )
        for n, call in enumerate(expect["tool_calls"])
    ]
    return Message(reasoning=expect["reasoning"] or None, content=expect["content"] or None, tool_calls=calls)


def names_of(row: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """The halves that the request of a row means: those of its model's family where that has a layout."""
    if row["template"] in FAMILIES:
        family = preset(FAMILIES[row["template"]])
        return family.reasoning, family.tools
    kwargs, prompt = row["chat_template_kwargs"], row["prompt_suffix"]
    return variant_names(row["reasoning_parser"], row["tool_parser"], kwargs, prompt)


def state_of(row: Mapping[str, Any]) -> PromptState | str:
    """What the prompt of a row wrote."""
    name, _ = names_of(row)
    half = reasoning_format(name) if name else None
    return prompt_state(half, row["prompt_suffix"]) if isinstance(half, Reasoning) else "absent"


def written(row: Mapping[str, Any]) -> str:
    """What the writer makes of a row, or why it refuses."""
    try:
        return write(
            *names_of(row),
            message_of(row),
            tools=row["tools"],
            thinking=state_of(row),
            history_calls=int("after-tool" in row["id"]),
        )
    except Inexpressible as refused:
        return f"refused: {refused}"


def same_text(row: Mapping[str, Any], text: str) -> bool:
    """Whether the writer's text is the row's, which ends before what ends the turn."""
    _, name = names_of(row)
    half = tool_format(name) if name else None
    ends = half.ends if isinstance(half, Channels) else ()
    return row["text"] in (text, *(text.removesuffix(end.text) for end in ends))


def pair_of(row: Mapping[str, Any]) -> str:
    """The parsers of a row."""
    return f"{row['tool_parser'] or '-'} + {row['reasoning_parser'] or '-'}"


def shares() -> Counter[str]:
    """For each pair of parsers how many rows the writer writes as the template does."""
    same: Counter[str] = Counter()
    for row in declared_rows("templates"):
        same[pair_of(row)] += same_text(row, written(row))
    return same


def main() -> int:
    """Compare every declared row; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance.templates_writer", description=__doc__)
    parser.add_argument("--show", action="store_true", help="print each difference")
    show = parser.parse_args().show
    same: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for row in declared_rows("templates"):
        pair = pair_of(row)
        text = written(row)
        total[pair] += 1
        alike = same_text(row, text)
        same[pair] += alike
        if show and not alike:
            print(f"{row['id']} [{pair}] after {row['prompt_suffix'][-30:]!r}")
            print(f"  template {row['text']!r}\n  writer   {text!r}")
    for pair in sorted(total):
        print(f"{pair}: {same[pair]} of {total[pair]}, {same[pair] / total[pair]:.0%}")
    share = sum(same.values()) / max(1, sum(total.values()))
    print(f"all: {sum(same.values())} of {sum(total.values())}, {share:.0%}")
    return int(bool(total) and share < LEAST)


if __name__ == "__main__":
    raise SystemExit(main())
