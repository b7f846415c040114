"""unbraid under the CanIToolCall suite: its adapter, and a command that prints the score.

``python -m tests.conformance.citc`` runs every fixture whose format is declared, whole
and in every stream that the suite counts, and exits with 1 when a fixture that is not
known to miss does. ``--ids`` feeds token ids beside the text, so that special tokens
are told by their ids; ``--arguments incremental`` streams arguments as they are
proved, which a suite that wants no cut calls cannot pass everywhere.

The suite's own command takes the adapter as
``canitoolcall run --engine tests.conformance.citc:UnbraidAdapter``.
"""

from __future__ import annotations

import argparse
import codecs
import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from canitoolcall.adapters.base import Adapter, ReplayInput, Support
from canitoolcall.adapters.worker import replay
from canitoolcall.chunking import DEFAULT_STRATEGIES
from canitoolcall.fixtures import Family, Fixture, load_families, load_fixtures
from canitoolcall.results import CaseResult, ParsedToolCall, ParseResult, Status, StreamAccumulator
from canitoolcall.runner import evaluate

import unbraid
from unbraid import Parser
from unbraid.events import ContentDelta, Event, ReasoningDelta, ToolCallArguments, ToolCallStart
from unbraid.tokens import TokenTable

from .replay import declared

# The parsers of each reference model: tool parser, reasoning parser.
PARSERS: dict[str, tuple[str, str | None]] = {
    "Qwen/Qwen3-0.6B": ("hermes", "qwen3"),
    "Qwen/Qwen3-4B-Instruct-2507": ("hermes", "qwen3"),
    "Qwen/Qwen3-4B-Thinking-2507": ("hermes", "qwen3"),
    "Qwen/Qwen3-Coder-30B-A3B-Instruct": ("qwen3_coder", "qwen3"),
    "Qwen/Qwen3-Coder-Next": ("qwen3_coder", "qwen3"),
    "Qwen/Qwen3.5-9B": ("qwen3_coder", "qwen3"),
    "Qwen/Qwen3.8-27B": ("qwen3_coder", "qwen3"),
    "deepseek-ai/DeepSeek-V3-0324": ("deepseek_v3", "deepseek_r1"),
    "deepseek-ai/DeepSeek-V3.1": ("deepseek_v31", "deepseek_v3"),
    "deepseek-ai/DeepSeek-V3.2": ("deepseek_v32", "deepseek_v3"),
    "deepseek-ai/DeepSeek-V4-Flash": ("deepseek_v4", "deepseek_v4"),
    "deepseek-ai/DeepSeek-V4.1-Flash": ("deepseek_v41", "deepseek_v41"),
    "google/gemma-4-31B-it": ("gemma4", "gemma4"),
    "meta-llama/Llama-3.3-70B-Instruct": ("llama3_json", None),
    "meta-llama/Llama-4-Scout-17B-16E-Instruct": ("llama4_pythonic", None),
    "mistralai/Devstral-Small-2507": ("mistral", "mistral"),
    "mistralai/Magistral-Small-2506": ("mistral", "mistral"),
    "mistralai/Magistral-Small-2509": ("mistral", "mistral"),
    "mistralai/Ministral-3-14B-Instruct-2512": ("mistral", "mistral"),
    "mistralai/Ministral-3-14B-Reasoning-2512": ("mistral", "mistral"),
    "mistralai/Mistral-7B-Instruct-v0.3": ("mistral", "mistral"),
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": ("mistral", "mistral"),
    "moonshotai/Kimi-K2-Instruct-0905": ("kimi_k2", "kimi_k2"),
    "moonshotai/Kimi-K2.6": ("kimi_k2", "kimi_k2"),
    "moonshotai/Kimi-K3": ("kimi_k3", "kimi_k3"),
    "openai/gpt-oss-20b": ("openai", "openai_gptoss"),
    "zai-org/GLM-4.5": ("glm45", "glm45"),
    "zai-org/GLM-4.7": ("glm47", "glm47"),
    "zai-org/GLM-5.3": ("glm47", "glm47"),
}

KNOWN: dict[str, str] = {
    "gemma4/vllm-text-before-call": (
        "wants the space before a call stripped; gemma4/sglang-text-before-call, the same, wants it kept"
    ),
    "llama/l4-truncated-missing-close-bracket": (
        "wants no call although the first of two is complete; a complete call survives a cut neighbour"
    ),
}

_CUT = "its arguments are given out before the call turns out to be cut or broken"

# With arguments given out as they are proved, a call that is cut later was announced.
KNOWN_INCREMENTAL: dict[str, str] = KNOWN | dict.fromkeys(
    (
        "qwen3-hermes/bug-sglang-30480-truncated-mid-arguments",
        "qwen3-hermes/vllm-invalid-json-missing-brace",
        "qwen3-hermes/truncated-mid-arguments-no-thinking",
        "qwen3-hermes/truncated-mid-arguments-thinking",
        "qwen3-hermes/truncated-second-parallel-call",
        "qwen3-xml/q38-truncated-in-parameter",
        "gpt-oss/harmony-truncated-in-arguments",
        "deepseek/v3-truncated-mid-arguments",
        "deepseek/v31-truncated-mid-arguments",
        "deepseek/v32-truncated-mid-arguments",
        "deepseek/v4-truncated-mid-arguments",
        "deepseek/v41-truncated-mid-arguments",
        "deepseek/v32-truncated-second-parallel-call",
        "deepseek/v4-truncated-second-parallel-call",
        "deepseek/v41-truncated-second-parallel-call",
        "deepseek/vllm-v3-malformed-missing-brace",
        "kimi/k26-truncated-inside-arguments",
        "kimi/k3-truncated-inside-argument",
        "glm/glm47-truncated-inside-arg-value",
        "glm/glm47-truncated-before-close-call",
        "glm/glm45-truncated-after-arg-key",
        "llama/l3-truncated-inside-parameters",
        "mistral/v13think-truncated-in-arguments",
        "gemma4/truncated-mid-string",
        "gemma4/truncated-before-close",
        "gemma4/truncated-second-parallel-call",
    ),
    _CUT,
)


@lru_cache(maxsize=1)
def piece_lengths() -> dict[str, list[int]]:
    """For every fixture the lengths in bytes of its tokens' texts."""
    path = Path(__file__).with_name("citc_piece_lengths.json")
    lengths: dict[str, list[int]] = json.loads(path.read_text(encoding="utf-8"))
    return lengths


@lru_cache(maxsize=1)
def families() -> dict[str, Family]:
    """The suite's families by slug."""
    return load_families()


@lru_cache(maxsize=512)
def pieces(fixture_id: str, text: str) -> tuple[bytes, ...]:
    """The bytes of each output token; raises ValueError when they don't make up the text."""
    data = text.encode()
    found: list[bytes] = []
    at = 0
    for length in piece_lengths()[fixture_id]:
        found.append(data[at : at + length])
        at += length
    if at != len(data):
        raise ValueError(f"{fixture_id}: the pieces hold {at} of {len(data)} bytes")
    return tuple(found)


def special_pieces(raw: ReplayInput) -> frozenset[bytes]:
    """Texts that, as one token, are a special token: markers and turn ends of the family."""
    return frozenset(one.encode() for one in (*families()[raw.family].markers, *raw.stop_tokens))


class Tokens:
    """A fixture's tokens as a table, an id for each piece (inferred lengths shift the suite's own ids)."""

    def __init__(self, raw: ReplayInput) -> None:
        texts = pieces(raw.fixture_id, raw.text)
        numbers: dict[bytes, int] = {}
        self.ids = [numbers.setdefault(text, len(numbers)) for text in texts]
        special = special_pieces(raw)
        self.table = TokenTable(
            {number: text for text, number in numbers.items()},
            [number for text, number in numbers.items() if text in special],
        )


class UnbraidAdapter(Adapter):
    """Whole calls only, markers told by their text. Units are positions in the list of tokens."""

    name = "unbraid"
    pinned_version = unbraid.__version__
    supports_text_deltas = True
    arguments: ClassVar[Literal["complete", "incremental"]] = "complete"
    by_ids: ClassVar[bool] = False

    def version(self) -> str:
        """The version of unbraid."""
        return unbraid.__version__

    def supports(self, family: str, model: str) -> Support:
        """Whether both halves of the model's format are declared."""
        names = PARSERS.get(model)
        if names is None:
            return Support(False, f"no parsers are named for {model}")
        if not declared(*names):
            return Support(False, f"{' + '.join(filter(None, names))} is not declared")
        return Support(True)

    def parser_config(self, raw: ReplayInput) -> dict[str, Any]:
        """Every input of the parser."""
        tool, reasoning = PARSERS[raw.model]
        return {
            "tool_parser": tool,
            "reasoning_parser": reasoning,
            "prompt": raw.generation_prompt,
            "arguments": self.arguments,
            "token_ids": self.by_ids,
        }

    def parser(self, raw: ReplayInput, tools: Sequence[Mapping[str, Any]], tokens: Tokens | None) -> Parser:
        """The parser of this fixture's request."""
        tool, reasoning = PARSERS[raw.model]
        return Parser(
            reasoning,
            tool,
            tools=list(tools),
            prompt=raw.generation_prompt,
            tokenizer=tokens.table if tokens else None,
            arguments=self.arguments,
        )

    def tokens(self, raw: ReplayInput) -> Tokens | None:
        """The fixture's tokens, where ids are fed."""
        return Tokens(raw) if self.by_ids else None

    def units(self, raw: ReplayInput) -> list[int]:
        """The positions of the output's tokens."""
        return list(range(len(pieces(raw.fixture_id, raw.text))))

    def special_token_ids(self, raw: ReplayInput) -> Collection[int]:
        """The positions of special tokens."""
        special = special_pieces(raw)
        return [n for n, piece in enumerate(pieces(raw.fixture_id, raw.text)) if piece in special]

    def parse(self, raw: ReplayInput, tools: Sequence[Mapping[str, Any]]) -> ParseResult:
        """The whole output at once."""
        try:
            tokens = self.tokens(raw)
            message = self.parser(raw, tools, tokens).parse(
                raw.text, token_ids=tokens.ids if tokens else None, finish_reason=finish(raw)
            )
        except Exception as error:
            return ParseResult(exception=f"{type(error).__name__}: {error}")
        calls = tuple(ParsedToolCall(call.name, call.arguments) for call in message.tool_calls)
        return ParseResult(message.content, message.reasoning, calls)

    def parse_stream(
        self, raw: ReplayInput, chunks: Sequence[Sequence[int]], tools: Sequence[Mapping[str, Any]]
    ) -> ParseResult:
        """Groups of tokens as deltas; a character whose bytes are not all there waits."""
        texts = pieces(raw.fixture_id, raw.text)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        deltas = [decoder.decode(b"".join(texts[unit] for unit in chunk)) for chunk in chunks]
        if deltas:
            deltas[-1] += decoder.decode(b"", True)
        tokens = self.tokens(raw)
        ids = [[tokens.ids[unit] for unit in chunk] for chunk in chunks] if tokens else None
        return self.feed(raw, deltas, ids, tools)

    def parse_stream_text(
        self, raw: ReplayInput, deltas: Sequence[str], tools: Sequence[Mapping[str, Any]]
    ) -> ParseResult:
        """Deltas of text, without ids."""
        return self.feed(raw, deltas, None, tools)

    def feed(
        self,
        raw: ReplayInput,
        deltas: Sequence[str],
        ids: Sequence[Sequence[int]] | None,
        tools: Sequence[Mapping[str, Any]],
    ) -> ParseResult:
        """Stream the deltas and accumulate the events as a client does."""
        got = StreamAccumulator()
        try:
            stream = self.parser(raw, tools, self.tokens(raw) if ids is not None else None).stream()
            for n, delta in enumerate(deltas):
                accumulate(got, stream.feed(delta, ids[n] if ids is not None else None))
            accumulate(got, stream.finish(finish(raw)))
        except Exception as error:
            return got.result(f"{type(error).__name__}: {error}")
        return got.result()


class IncrementalAdapter(UnbraidAdapter):
    """Arguments as they are proved."""

    arguments = "incremental"


class IdsAdapter(UnbraidAdapter):
    """Token ids beside the text: a marker that is a special token counts only where its id stands."""

    by_ids = True


class IncrementalIdsAdapter(IdsAdapter):
    """Both."""

    arguments = "incremental"


ADAPTERS: dict[tuple[str, bool], type[UnbraidAdapter]] = {
    ("complete", False): UnbraidAdapter,
    ("complete", True): IdsAdapter,
    ("incremental", False): IncrementalAdapter,
    ("incremental", True): IncrementalIdsAdapter,
}


def finish(raw: ReplayInput) -> str:
    """Why the engine stopped."""
    return "length" if raw.truncated else "stop"


def accumulate(got: StreamAccumulator, events: Iterable[Event]) -> None:
    """Merge events as a client merges deltas."""
    for event in events:
        if isinstance(event, ReasoningDelta):
            got.add_reasoning(event.text)
        elif isinstance(event, ContentDelta):
            got.add_content(event.text)
        elif isinstance(event, ToolCallStart):
            got.add_tool_call(event.index, name=event.name)
        elif isinstance(event, ToolCallArguments):
            got.add_tool_call(event.index, arguments=event.text)


@lru_cache(maxsize=1)
def fixtures() -> tuple[Fixture, ...]:
    """Every fixture of the suite, in its order."""
    return tuple(load_fixtures())


def supported(fixture: Fixture) -> bool:
    """Whether the fixture's format is declared."""
    return bool(UnbraidAdapter().supports(fixture.family, fixture.reference_model))


def run(adapter: Adapter, fixture: Fixture) -> CaseResult:
    """Replay one fixture by the suite's own rules."""
    family = families().get(fixture.family)
    return evaluate(fixture, family, replay(adapter, fixture, family, DEFAULT_STRATEGIES))


def reasons(case: CaseResult) -> list[str]:
    """What the suite objects to, once for each check, with the streams that it concerns."""
    found: dict[tuple[str, str], list[str]] = defaultdict(list)
    for row in case.checks:
        if row.status is not Status.PASS:
            found[row.check, row.detail or ""].append(row.strategy)
    return [f"{check} ({', '.join(where)}): {detail}" for (check, detail), where in found.items()]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the score; 1 when a fixture misses that is not known to."""
    options = argparse.ArgumentParser(prog="python -m tests.conformance.citc", description=__doc__)
    options.add_argument("--arguments", choices=("complete", "incremental"), default="complete")
    options.add_argument("--ids", action="store_true", help="feed token ids beside the text")
    options.add_argument("--only", default="", help="fixtures whose id holds this text")
    chosen = options.parse_args(argv)
    adapter = ADAPTERS[chosen.arguments, chosen.ids]()
    known = KNOWN_INCREMENTAL if chosen.arguments == "incremental" else KNOWN
    score: dict[str, Counter[str]] = defaultdict(Counter)
    unknown = 0
    for fixture in fixtures():
        if chosen.only not in fixture.id:
            continue
        case = run(adapter, fixture)
        score[fixture.family][case.status.value] += 1
        if case.status in (Status.PASS, Status.UNSUPPORTED):
            continue
        unknown += fixture.id not in known
        print(f"{case.status.value}: {fixture.id}")
        if fixture.id in known:
            print(f"    known: {known[fixture.id]}")
        else:
            print(*(f"    {line}" for line in reasons(case)), sep="\n")
    columns = ("pass", "soft_pass", "fail", "error", "unsupported")
    print(f"\n{'family':14}", *(f"{column:>11}" for column in columns))
    for family, counts in [*score.items(), ("all", sum(score.values(), Counter[str]()))]:
        print(f"{family:14}", *(f"{counts[column]:11d}" for column in columns))
    print(f"{unknown} not known to miss")
    return 1 if unknown else 0


if __name__ == "__main__":
    raise SystemExit(main())
