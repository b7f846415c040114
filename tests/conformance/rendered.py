"""Round trips through the models' own chat templates: render an answer as history, read it back.

``python -m tests.conformance.rendered`` fetches the templates (see ``packages``) and
prints, for each, how many of the messages that it renders without loss are read back
as they were; ``--show`` prints each miss. White space at the rims and what a template
drops are its own business; everything else must come back.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from unbraid import InvalidRequest, Parser
from unbraid.engines.template import ChatTemplate
from unbraid.formats import reasoning_format
from unbraid.syntax import Reasoning

from .packages import PACKAGES, fetch

# The template's file, and the pair (reasoning, tools) that reads it.
TEMPLATES: dict[str, tuple[str | None, str | None]] = {
    "Apertus-8B-Instruct": ("apertus2509", "apertus"),
    "Apriel-1.6-15b-Thinker-fixed": ("apriel", "apriel"),
    "Bielik-11B-v3.0-Instruct": ("bielik", "bielik"),
    "ByteDance-Seed-OSS": ("seed_oss", "seed_oss"),
    "Cohere2MoE": ("cohere_command4", "cohere_command4"),
    "CohereForAI-c4ai-command-r-plus-tool_use": (None, "command_r"),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("cohere_command3", "cohere_command3"),
    "GLM-4.6": ("glm45", "glm45"),
    "GLM-4.7-Flash": ("glm47", "glm47"),
    "GigaChat3-10B-A1.8B": (None, "gigachat3"),
    "GigaChat3.1-10B-A1.8B": (None, "gigachat3"),
    "HuggingFaceTB-SmolLM3-3B": ("smollm3", "hermes"),
    "Kimi-K2-Instruct": (None, "kimi_k2"),
    "Kimi-K2-Thinking": ("kimi_k2", "kimi_k2"),
    "Kimi-K3": ("kimi_k3", "kimi_k3"),
    "LFM2-8B-A1B": (None, "lfm2"),
    "LFM2.5-8B-A1B": ("lfm2_thinking", "lfm2"),
    "LFM2.5-Instruct": (None, "lfm2"),
    "MiMo-VL": ("mimo", "hermes"),
    "MiniMax-M1": (None, "minimax_m1"),
    "MiniMax-M2": ("minimax_m2", "minimax_m2"),
    "MiniMax-M3": ("minimax_m3", "minimax_m3"),
    "Mistral-Small-3.2-24B-Instruct-2506": (None, "mistral"),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ("nemotron_v3", "qwen3_coder"),
    "NVIDIA-Nemotron-Nano-v2": ("nemotron_v2", "nemotron_v2"),
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": (None, "hermes"),
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": (None, "hermes"),
    "Qwen-QwQ-32B": ("deepseek_r1", "hermes"),
    "Qwen-Qwen2.5-7B-Instruct": (None, "hermes"),
    "Qwen-Qwen3-0.6B": ("qwen3", "hermes"),
    "Qwen3-Coder": (None, "qwen3_coder"),
    "Qwen3.5-4B": ("qwen3", "qwen3_coder"),
    "Reka-Edge": ("reka", "reka"),
    "Spark2.5": ("glm47", "spark25"),
    "StepFun3.5-Flash": ("step3p5", "step3p5"),
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": ("deepseek_r1", "deepseek_v3"),
    "deepseek-ai-DeepSeek-V3.1": ("deepseek_v3", "deepseek_v31"),
    "deepseek-ai-DeepSeek-V3.2": ("deepseek_v3", "deepseek_v32"),
    "deepseek-ai-DeepSeek-V4": ("deepseek_v4", "deepseek_v4"),
    "deepseek-ai-DeepSeek-V4-Flash-0731": ("deepseek_v4", "deepseek_v4"),
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": ("deepseek_r1", "deepseek_v3"),
    "fireworks-ai-llama-3-firefunction-v2": (None, "firefunction_v2"),
    "google-gemma-4-31B-it": ("gemma4", "gemma4"),
    "google-gemma-4-31B-it-interleaved": ("gemma4", "gemma4"),
    "ibm-granite-granite-4.0": (None, "granite4"),
    "ibm-granite-granite-4.1": (None, "granite4"),
    "inclusionai-ling-3.0-flash": ("ling3", "ling3"),
    "llama-cpp-deepseek-r1": ("deepseek_r1", "deepseek_v3"),
    "llm-jp-llm-jp-4.1-8b-thinking": ("openai_gptoss", "openai"),
    "meetkai-functionary-medium-v3.1": (None, "functionary_v31"),
    "meetkai-functionary-medium-v3.2": (None, "functionary_v32"),
    "meta-llama-Llama-3.1-8B-Instruct": (None, "llama3_json"),
    "meta-llama-Llama-3.2-3B-Instruct": (None, "llama3_json"),
    "meta-llama-Llama-3.3-70B-Instruct": (None, "llama3_json"),
    "mistralai-Mistral-Nemo-Instruct-2407": (None, "mistral"),
    "mistralai-Ministral-3-14B-Reasoning-2512": ("mistral", "mistral"),
    "moonshotai-Kimi-K2": (None, "kimi_k2"),
    "muse-glimmer": ("muse_glimmer", "muse_glimmer"),
    "openai-gpt-oss-120b": ("openai_gptoss", "openai"),
    "openbmb-MiniCPM5-1B": ("qwen3", "minicpm5"),
    "poolside-Laguna-S-2.1": ("poolside_v1", "poolside_v1"),
    "poolside-Laguna-XS-2.1": ("poolside_v1", "poolside_v1"),
    "poolside-Laguna-XS.2": ("poolside_v1", "poolside_v1"),
    "tencent-Hy3": ("hy_v3", "hy_v3"),
    "unsloth-Apriel-1.5": ("apriel", "apriel"),
    "unsloth-mistral-Devstral-Small-2507": (None, "mistral"),
    "upstage-Solar-Open-100B": ("solar_open", "solar_open"),
}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "book_berth",
            "description": "Books a berth in a harbour.",
            "parameters": {
                "type": "object",
                "properties": {
                    "harbour": {"type": "string", "description": "The harbour's name."},
                    "nights": {"type": "integer"},
                    "length": {"type": "number"},
                    "power": {"type": "boolean"},
                    "crew": {"type": "array", "items": {"type": "string"}},
                    "boat": {"type": "object", "properties": {"name": {"type": "string"}}},
                },
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "ring_bell",
            "description": "Rings the bell.",
            "parameters": {"type": "object", "properties": {}},
        },
    },
]
END = "<|end of the answer|>"
# Messages that a template writes as something else.
UNFAITHFUL = {
    ("openai-gpt-oss-120b", "said"): "content beside a call goes into the analysis channel",
    ("llm-jp-llm-jp-4.1-8b-thinking", "said"): "content beside a call goes into the analysis channel",
    ("LFM2.5-8B-A1B", "code"): "quotes inside a string are not escaped",
}
Half = Reasoning | None
PLAIN = {"harbour": "Kinsale", "nights": 2}
VALUES = {
    "harbour": 'Dún "A" <1> & 2',
    "length": 9.5,
    "power": True,
    "crew": ["Úna", "Bo"],
    "boat": {"name": "K"},
}
CODE = {"harbour": "if a < b:\n    print('x')\n"}
THOUGHT, TEXT = "The berth must be free.\nI look it up.", "I book it now."


def _calls(*calls: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"id": f"abcdef00{n}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for n, (name, arguments) in enumerate(calls)
    ]


@dataclass(frozen=True)
class Answer:
    """What the assistant says."""

    reasoning: str = ""
    content: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()

    def message(self) -> dict[str, Any]:
        """It as a message, its thinking under every name that templates read."""
        found: dict[str, Any] = {"role": "assistant", "content": self.content}
        if self.reasoning:
            found |= dict.fromkeys(("reasoning", "reasoning_content", "thinking"), self.reasoning)
        if self.calls:
            found["tool_calls"] = _calls(*self.calls)
        return found


ANSWERS = {
    "answer": Answer(content=TEXT),
    "thought": Answer(THOUGHT, TEXT),
    "call": Answer(calls=(("book_berth", PLAIN),)),
    "said": Answer(content=TEXT, calls=(("book_berth", PLAIN),)),
    "thought-call": Answer(THOUGHT, calls=(("book_berth", PLAIN),)),
    "all": Answer(THOUGHT, TEXT, (("book_berth", PLAIN), ("ring_bell", {}))),
    "nothing": Answer(calls=(("ring_bell", {}),)),
    "values": Answer(calls=(("book_berth", VALUES),)),
    "code": Answer(calls=(("book_berth", CODE),)),
}


@dataclass(frozen=True)
class Result:
    """One message through one template: ``lossy`` if it does not render all of it, or not as it prompts."""

    template: str
    answer: str
    status: str
    detail: str = ""


def rendered(template: ChatTemplate, answer: Answer, half: Half) -> tuple[str, str] | None:
    """The prompt, and the text behind it; None if the template refuses or has no clean cut.

    Thinking that the prompt closes in another spelling than history does is left out of the cut.
    """
    thinks = bool(answer.reasoning)
    kwargs: dict[str, Any] = dict.fromkeys(("enable_thinking", "thinking", "reasoning"), thinks)
    kwargs["reasoning_effort"] = "high" if thinks else "no_think"
    user = [{"role": "user", "content": "A berth in Kinsale, please."}]
    for names in (kwargs, {key: value for key, value in kwargs.items() if key != "reasoning_effort"}, {}):
        try:
            prompt = template.render(user, TOOLS, names)
            whole = template.render([*user, answer.message()], TOOLS, names, add_generation_prompt=False)
        except InvalidRequest:
            continue
        closed = prompt.rfind(half.open.text) if half and not thinks else -1
        for end in (len(prompt), closed if half and half.close.text in prompt[closed:] else -1):
            if end > 0 and whole.startswith(prompt[:end]):
                text = whole[end:].partition(END)[0]
                return prompt, text.removeprefix(half.close.text) if half and end == closed else text
    return None


def complete(text: str, answer: Answer) -> bool:
    """Whether all of a message stands in what the template wrote."""
    wanted = [*answer.reasoning.split("\n"), answer.content, *(name for name, _ in answer.calls)]
    return all(one in text for one in wanted)


def misses(parser: Parser, text: str, answer: Answer) -> Iterator[str]:
    """What does not come back."""
    message = parser.parse(text)
    for name, got, wanted in (
        ("reasoning", message.reasoning, answer.reasoning),
        ("content", message.content, answer.content),
    ):
        if (got or "").strip() != wanted.strip():
            yield f"{name}: {got!r}, not {wanted!r}"
    calls = [
        (call.name, json.loads(call.arguments) if call.complete else None) for call in message.tool_calls
    ]
    if calls != list(answer.calls):
        yield f"calls: {calls}, not {list(answer.calls)}"


def results() -> Iterator[Result]:
    """Every message through every template."""
    folder = fetch(PACKAGES["templates"])
    for name, pair in TEMPLATES.items():
        source = (folder / f"{name}.jinja").read_text(encoding="utf-8")
        template = ChatTemplate(source, {"bos_token": "", "eos_token": END})
        for kind, answer in ANSWERS.items():
            yield _result(name, template, pair, kind, answer)


def _result(
    name: str, template: ChatTemplate, pair: tuple[str | None, str | None], kind: str, answer: Answer
) -> Result:
    half = reasoning_format(pair[0]) if pair[0] else None
    found = rendered(template, answer, half if isinstance(half, Reasoning) else None)
    if found is None:
        return Result(name, kind, "lossy")
    parser = Parser(*pair, tools=TOOLS, prompt=found[0])
    text = found[1]
    text = text[: min((at for at in map(text.find, parser.plan.stop) if at >= 0), default=len(text))]
    disagree = parser.plan.thinking == "open" and not answer.reasoning
    if disagree or (name, kind) in UNFAITHFUL or not complete(text, answer):
        return Result(name, kind, "lossy")
    wrong = "; ".join(misses(parser, text, answer))
    return Result(name, kind, "wrong" if wrong else "right", f"{wrong} in {text!r}" if wrong else "")


def table(found: list[Result]) -> Mapping[str, Counter[str]]:
    """For each template how often which status."""
    counts: dict[str, Counter[str]] = {}
    for one in found:
        counts.setdefault(one.template, Counter())[one.status] += 1
    return counts


def main() -> int:
    """Print the table; 1 if a message was read wrong."""
    options = argparse.ArgumentParser(
        prog="python -m tests.conformance.rendered",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    options.add_argument("--show", action="store_true", help="print each miss")
    show = options.parse_args().show
    found = list(results())
    for name, counts in table(found).items():
        told = f"{counts['right']} of {counts['right'] + counts['wrong']} right, {counts['lossy']} lossy"
        print(f"{name:48} {told}")
    for one in found if show else ():
        if one.status == "wrong":
            print(f"{one.template}/{one.answer}: {one.detail}")
    total = Counter(one.status for one in found)
    print(
        f"{total['right']} of {total['right'] + total['wrong']} messages of {len(TEMPLATES)} templates right"
    )
    return int(bool(total["wrong"]))


if __name__ == "__main__":
    raise SystemExit(main())
