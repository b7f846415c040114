"""Law 7: for any batching of the token ids the gate's boundary and count are the parser's."""

from __future__ import annotations

import random
import re
from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support import templates
from tests.support.hostile import (
    Pair,
    Tokenised,
    examples,
    halves,
    hostile,
    pairs,
    prompts,
    tokenise,
)
from unbraid import Span, TokenTable
from unbraid.gate import Gate
from unbraid.machine.headers import parse_header, route_of
from unbraid.machine.response import start_of
from unbraid.machine.setup import answers_end_thinking, first_literals, unit_openers
from unbraid.response.program import special_tokens
from unbraid.syntax import Pattern, ResponseTemplate

THINKING = [pair for pair in pairs() if pair.reasoning]
HARMONY = ("openai_gptoss", None)
HARMONY_MARKERS = tuple(
    f"<|{one}|>" for one in ("start", "channel", "message", "constrain", "end", "return", "call")
)
BYTES: dict[int, bytes | str] = {1000 + byte: bytes([byte]) for byte in range(256)}
SEEDS = st.integers(0, 2**16)


def batches(ids: list[int], seed: int) -> list[list[int]]:
    """The ids in random batches, some of them empty."""
    choose = random.Random(seed)
    found: list[list[int]] = []
    at = 0
    while at < len(ids):
        size = choose.randint(0, 7)
        found.append(ids[at : at + size])
        at += size
    return found


def ends(gate: Gate, tokens: Tokenised, split: list[list[int]], **start: Any) -> tuple[int, bool] | None:
    """Where a gate sees the end of thinking in these batches, drafts with the answer behind them."""
    carry = gate.begin(**start)
    for n, batch in enumerate(split):
        drafted, _ = gate.find_end([*batch, *(one for later in split[n + 1 :] for one in later)], carry)
        end, after = gate.find_end(batch, carry)
        again, _ = gate.find_end(batch, carry)
        assert end == again, "asking changes nothing"
        if end is not None:
            assert drafted == end, "what comes later changes nothing"
            return end.token, end.implicit
        carry = after
    return None


@pytest.mark.parametrize("pair", THINKING, ids=str)
def test_every_batching_has_the_same_boundary(pair: Pair) -> None:
    @settings(max_examples=examples(800))
    @given(hostile(pair, surrogates=False), st.sampled_from(prompts(pair)), SEEDS, st.booleans())
    def law(text, prompt, seed, constrained):
        tokens = tokenise(text, pair, seed)
        gate = Gate(pair.reasoning, pair.tools, tokenizer=tokens.tokenizer, constrained=constrained)
        whole = ends(gate, tokens, [tokens.ids], prompt=prompt)
        assert ends(gate, tokens, [[one] for one in tokens.ids], prompt=prompt) == whole
        assert ends(gate, tokens, batches(tokens.ids, seed), prompt=prompt) == whole

    law()


@pytest.mark.parametrize("pair", THINKING, ids=str)
def test_the_boundary_is_the_parsers(pair: Pair) -> None:
    """Thinking tokens are those whose first character the parser gave to reasoning.

    What a prompt began of a marker and the output makes text stands in the place of thinking.
    """

    @settings(max_examples=examples(800))
    @given(hostile(pair, surrogates=False), st.sampled_from(prompts(pair)), SEEDS, st.booleans())
    def law(text, prompt, seed, constrained):
        tokens = tokenise(text, pair, seed)
        gate = Gate(pair.reasoning, pair.tools, tokenizer=tokens.tokenizer, constrained=constrained)
        parser = pair.parser(tokenizer=tokens.tokenizer, prompt=prompt, constrained=constrained, spans=True)
        message = parser.parse(text, token_ids=tokens.ids)
        spans = message.spans or []
        begins = first_characters(tokens)
        kinds = [next((one.kind for one in spans if one.start <= at < one.end), "") for at in begins]
        carry = gate.begin(prompt=prompt)
        assert gate.count_thinking(tokens.ids, carry) == kinds.count("reasoning")
        places = zip(begins, tokens.ids, strict=True)
        special = {begin: one for begin, one in places if tokens.tokenizer.is_special(one)}
        output = Output(text, spans, special, tokens)
        template = halves(pair)[0]
        find = channel_end if pair.thinking is None else tag_end
        if isinstance(template, ResponseTemplate):
            find = template_end
        found = None if carry.phase == "over" else find(pair, output, carry.phase)
        if isinstance(template, ResponseTemplate) and start_of(template, prompt).pending:
            found = found if not spans or spans[0].kind in ("markup", "reasoning") else (0, True)
        end = gate.end_of(tokens.ids, carry)
        expected = None if found is None else (bisect_left(begins, found[0]), found[1])
        assert (end and (end.token, end.implicit)) == expected

    law()


def first_characters(tokens: Tokenised) -> list[int]:
    """The character in which each token begins."""
    data = b""
    begins: list[int] = []
    for one in tokens.ids:
        begins.append(len(data.decode("utf-8", "ignore")))
        data += tokens.tokenizer.token_bytes(one)
    return begins


@dataclass(frozen=True)
class Output:
    """A text, the parser's spans of it, and where its special tokens begin."""

    text: str
    spans: list[Span]
    special: dict[int, int]
    tokens: Tokenised

    def marker(self, at: int, spellings: Iterable[str]) -> str | None:
        """The longest of these markers that stands here and is its token, if it has one."""
        for one in sorted(spellings, key=len, reverse=True):
            token_id = self.tokens.tokenizer.token_id(one)
            if self.text.startswith(one, at) and (token_id is None or self.special.get(at) == token_id):
                return one
        return None


def tag_end(pair: Pair, output: Output, phase: str) -> tuple[int, bool] | None:
    """Where the spans say that the first thinking is over, and whether without a closer."""
    half, tools = pair.thinking, halves(pair)[1]
    assert half is not None
    first = set(half.ends_at)
    if tools is not None:
        first = set(unit_openers(tools))
    first |= set(answers_end_thinking(half, tools))
    opened = phase == "open"
    for span in output.spans:
        at = span.start
        if not opened:
            text = output.text[span.start : span.end]
            at += len(text) - len(text.lstrip())
            if at == span.end:
                continue
            opener = output.marker(at, half.open.spellings) if span.kind == "markup" else None
            if opener is None:
                return at, True
            opened = True
            at += len(opener)
        if span.kind not in ("reasoning", "framing", "markup"):
            return at, True
        if span.kind == "reasoning" and half.tools_inside == "stay" and tools is not None:
            bare = {text for text, is_marker in first_literals(tools.call.parts) if not is_marker}
            openers = (one for one in range(at, span.end) if output.marker(one, first - bare) is not None)
            if (place := next(openers, None)) is not None:
                return place, True
        while span.kind == "markup" and at < span.end:
            closer = output.marker(at, half.close.spellings)
            if closer is not None:
                return at + len(closer), False
            begun = output.marker(at, first)
            if begun is not None and at + len(begun) <= span.end:
                return at, True
            at += len(output.marker(at, (*half.open.spellings, *half.dropped)) or "x")
    return None


def channel_end(pair: Pair, output: Output, phase: str) -> tuple[int, bool] | None:
    """Where the spans say that the first body begins that is no thinking."""
    channels = halves(pair)[0]
    ends = [one.text for one in channels.ends]
    bodies = [one.text for one in channels.bodies]
    calls = [one.calls for one in channels.routes if one.calls is not None]
    openers = {text for half in calls for text in unit_openers(half) if text not in (*ends, *bodies)}
    begin, first = 0, phase == "first"
    for span in output.spans:
        if span.kind in ("markup", "name"):
            at = span.start
            while at < span.end:
                marker = output.marker(at, (*ends, *bodies, *openers))
                if marker in openers and first and not output.text[:at].strip():
                    return at, True
                at += len(marker or "x")
                if marker in bodies:
                    header = parse_header(
                        channels, output.text[begin : at - len(marker)], frozenset(), marker
                    )
                    if route_of(channels, header)[0].strand != "reasoning":
                        return at, False
                if marker:
                    begin = at
        elif span.kind == "framing" and first and not span.start:
            return 0, True
        elif span.kind in ("reasoning", "framing", "noise"):
            begin = span.end
        else:
            return span.start, True
    assert first or phase == "body"
    return None


def begins_region(template: ResponseTemplate, output: Output, at: int) -> bool:
    """Whether an expression opens a region here, each special token in it a token."""
    specials = sorted(special_tokens(template, output.tokens.tokenizer), key=len, reverse=True)
    find = re.compile("|".join(map(re.escape, specials)) or "(?!)").finditer
    for pattern in (one.open for one in template.fields if isinstance(one.open, Pattern)):
        found = re.compile(pattern.text, re.DOTALL).match(output.text, at)
        if found is not None:
            return all(
                output.marker(one.start(), (one.group(),)) for one in find(output.text, at, found.end())
            )
    return False


def template_end(pair: Pair, output: Output, phase: str) -> tuple[int, bool] | None:
    """Where the spans say that the first region of thinking ends, or something else comes in its place.

    White space in front of text is passed over; that at the beginning of an opener is the opener's.
    """
    half = halves(pair)[0]
    thinking = half.field("reasoning")
    closers = thinking.close.spellings
    begin = templates.begin(half)
    ends = [field.close for field in half.fields if field.open is None and field.close is not None]
    skipped = [begin, *(text for one in ends for text in one.spellings)]
    opened = phase == "open"
    for span in output.spans:
        at = span.start
        text = output.text[at : span.end]
        if opened and span.kind != "markup":
            continue
        if not opened and span.kind != "markup":
            if text.strip() and span.kind != "framing":
                begin = text if begins_region(half, output, at) else text.lstrip()
                return at + len(text) - len(begin), True
            continue
        while at < span.end:
            rest = output.text[at : span.end]
            if opened:
                closer = next((one for one in closers if rest.startswith(one)), None)
                return at + len(closer or rest), False
            if rest.startswith(thinking.open.text):
                opened = True
                at += len(thinking.open.text)
                continue
            skip = next((one for one in skipped if rest.startswith(one)), None)
            if skip is None:
                return at, True
            at += len(skip)
    return None


@pytest.mark.parametrize(
    ("names", "text", "token"),
    [
        (HARMONY, "<|channel|>analysis<|message|>think<|start|>assistant<|channel|>final<|message|>Hi", 9),
        (HARMONY, "<|channel|>analysis<|message|>think<|call|><|start|>assistant<|message|>Hi", 8),
        (HARMONY, "<|channel|>analysis<|message|>think<|call|>", None),
        (HARMONY, "<|channel|>analysis<|message|>think<|end|>  \n x", 5),
        (HARMONY, "<|channel|>analysis<|message|>think<|end|> <|end|>\n x", 7),
        (HARMONY, "Hello there", 0),
        (HARMONY, "  \u00a0Hello", 0),
        (("qwen3", None), "\u00a0<think>x</think>y", 4),
        (("qwen3", None), "\u3000 \n<think>", None),
        (("qwen3", None), "\u00a0y", 1),
    ],
)
def test_known_boundaries(names: tuple[str, str | None], text: str, token: int | None) -> None:
    """Tokens are special markers, words, and single white space."""
    special = ("<think>", "</think>", *HARMONY_MARKERS)
    pieces = re.findall("|".join(map(re.escape, special)) + r"|\s|[^<\s]+", text)
    table = {one: n for n, one in enumerate(dict.fromkeys((*special, *pieces)))}
    tokenizer = TokenTable({**BYTES, **{n: one for one, n in table.items()}}, [table[one] for one in special])
    gate = Gate(*names, tokenizer=tokenizer)
    ids = [table[one] for one in pieces]
    carry = gate.begin(prompt="x")
    end = gate.end_of(ids, carry)
    assert (end and end.token) == token
    for n in range(len(ids)):
        found, carry = gate.find_end(ids[n : n + 1], carry)
        assert len(carry.tail) < 64
        assert found is None or found == end


def test_a_spelled_end_is_thinking() -> None:
    """An end made of ordinary tokens ends nothing, however many there are."""
    pieces = BYTES | {1: "<|end|", 2: ">", 3: "</think", 7: "<think>", 8: "</think>"}
    pieces |= dict(enumerate(HARMONY_MARKERS, 9))
    tokenizer = TokenTable(pieces, range(7, 9 + len(HARMONY_MARKERS)))
    spelled = "<|start|>assistant<|channel|>analysis<|message|>"
    for names, prompt, first in ((HARMONY, spelled, 1), (("qwen3", None), "<think>", 3)):
        gate = Gate(*names, tokenizer=tokenizer)
        assert gate.find_end([first, 2] * 5000 + [8] * (first == 1), gate.begin(prompt))[0] is None
