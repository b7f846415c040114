"""GBNF, judged by a matcher of its own: law 6 in both directions, and what must be refused."""

from __future__ import annotations

import codecs
import json
import os
import random
from typing import Any

import pytest

from tests.constrain.cases import PAIRS, TOOLS, function, halves, markers, parser, states, thinking_of
from tests.constrain.gbnf import Matcher, matcher, walk
from tests.constrain.helpers import vocabulary
from tests.constrain.llama import llama
from tests.constrain.test_law6 import BITS, CHOICES, KEYS, OPENERS, check, strands_of
from tests.constrain.test_written import CALLS, REQUESTS, WRITER_STATES, answers_before_calls, rendered
from unbraid.constrain import constrain
from unbraid.message import Message, ToolCall
from unbraid.syntax import Channels, Tools
from unbraid.writer import write

FUZZ = int(os.environ.get("UNBRAID_FUZZ") or 0)
WALKS = 100 if FUZZ else 3
UNBRAID_PAIRS = [pytest.param(*pair, id=f"{pair[0]}+{pair[1]}") for pair in PAIRS]


def grammar(reasoning: str | None, tool: str, state: str, **options: Any) -> str:
    """The GBNF of a request."""
    found = constrain(reasoning, tool, **{"tools": TOOLS, **options}, thinking=state)
    assert found is not None
    return found.gbnf()


def pieces(text: str, ids: dict[str, int]) -> list[str | int]:
    """The characters of a text, with the markers in ``ids`` as tokens."""
    found: list[str | int] = []
    at = 0
    while at < len(text):
        marker = max((one for one in ids if text.startswith(one, at)), key=len, default=None)
        found.append(text[at] if marker is None else ids[marker])
        at += 1 if marker is None else len(marker)
    return found


@pytest.mark.parametrize(("reasoning", "tool"), UNBRAID_PAIRS)
def test_written_messages_are_accepted(reasoning: str | None, tool: str) -> None:
    """What a family writes is an output of the grammar, with markers as text and by id."""
    for n, state in enumerate(states(reasoning)):
        options = REQUESTS[n % len(REQUESTS)]
        match = Matcher(grammar(reasoning, tool, state, **options))
        for calls in CALLS:
            text = rendered(reasoning, tool, state, calls)
            assert match.accepts(text), (state, options, text[match.read(text)[0] :], text)
    state = states(reasoning)[0]
    special = markers(reasoning, tool, special=True)
    table = vocabulary(special).table
    ids = {one: found for one in special for found in [table.token_id(one)] if found is not None}
    match = Matcher(grammar(reasoning, tool, state, tool_choice="required", tokenizer=table))
    for calls in CALLS:
        text = pieces(rendered(reasoning, tool, state, calls), ids)
        assert match.accepts(text), (state, text)


@pytest.mark.parametrize(("reasoning", "tool"), [one for one in PAIRS if answers_before_calls(one[1])])
def test_content_before_calls_is_accepted_under_auto(reasoning: str | None, tool: str) -> None:
    _, half = halves(reasoning, tool)
    bare = isinstance(half, Tools) and half.call.anchor and not half.before.any
    content = "Let me look.\n" if bare else "Let me look."
    state = states(reasoning)[-1]
    text = rendered(reasoning, tool, state, "small", content)
    assert matcher(grammar(reasoning, tool, state)).accepts(text), text


@pytest.mark.parametrize("choice", sorted(CHOICES))
@pytest.mark.parametrize(("reasoning", "tool"), UNBRAID_PAIRS)
def test_accepted_texts_parse(reasoning: str | None, tool: str, choice: str) -> None:
    """Every text that the grammar accepts parses into what the grammar meant."""
    options = CHOICES[choice]
    fragments = [*markers(reasoning, tool), *BITS, *OPENERS, *KEYS]
    found = states(reasoning)
    turn = PAIRS.index((reasoning, tool)) + sorted(CHOICES).index(choice)
    for state in found if FUZZ else found[turn % len(found) :][:1]:
        match = Matcher(grammar(reasoning, tool, state, **options, max_string=6))
        reader = parser(
            reasoning, tool, state, tools=TOOLS, markers="text",
            **{key: value for key, value in options.items() if key != "response_schema"},
        )  # fmt: skip
        done = seed = 0
        while done < WALKS:
            seed += 1
            assert seed < 16 * WALKS, f"{done} of {seed} walks ended"
            items = walk(match, seed, fragments=fragments, bias=(0.0, 0.3, 0.6)[seed % 3])
            if items is None:
                continue
            done += 1
            text = "".join(map(str, items))
            thinking, rest = strands_of(reasoning, *thinking_of(reasoning, tool, state, text))
            check(reader.parse(text), choice, thinking, rest, text, tool)


@pytest.mark.parametrize(("reasoning", "tool"), UNBRAID_PAIRS)
def test_accepted_tokens_parse(reasoning: str | None, tool: str) -> None:
    """With markers by id too. A marker's token astray in thinking is dropped, so none is tried there."""
    words = vocabulary(markers(reasoning, tool, special=True))
    found = states(reasoning)
    turn = PAIRS.index((reasoning, tool))
    state, choice = found[turn % len(found)], ("required", "auto", "named")[turn % 3]
    options: dict[str, Any] = {**CHOICES[choice], "tokenizer": words.table}
    constraint = constrain(reasoning, tool, tools=TOOLS, thinking=state, max_string=6, **options)
    assert constraint is not None
    match = Matcher(constraint.gbnf())
    reader = parser(reasoning, tool, state, tools=TOOLS, markers=constraint.markers, **options)
    tried = [*markers(reasoning, tool), *BITS, *OPENERS, *KEYS]
    fragments = [one for one in tried if one not in words.special]
    done = seed = 0
    while done < WALKS:
        seed += 1
        assert seed < 16 * WALKS, f"{done} of {seed} walks ended"
        items = walk(match, seed, fragments=fragments, bias=(0.0, 0.3, 0.6)[seed % 3])
        if items is None:
            continue
        done += 1
        text = "".join(one if isinstance(one, str) else words.tokens[one].decode() for one in items)
        stream = reader.stream()
        decoder = codecs.getincrementaldecoder("utf-8")()
        for token_id in words.encode(text):
            stream.feed(decoder.decode(words.tokens[token_id]), [token_id])
        stream.finish("stop")
        thinking, rest = strands_of(reasoning, *thinking_of(reasoning, tool, state, text))
        check(stream.message, choice, thinking, rest, text, tool)


LOOSE = [
    function(
        "weather",
        {
            "type": "object",
            "properties": {
                "city": {"type": "string"},
                "days": {"type": ["integer", "string"]},
                "z": {"type": "integer"},
            },
        },
    ),
    function("ping"),
    function("other"),
]


def written(
    reasoning: str | None, tool: str, state: str, calls: list[tuple[str, dict[str, Any]]], **more: Any
) -> str:
    """The canonical text of these calls, whatever tools were declared."""
    ids = [f"functions.{name}:{n}" for n, (name, _) in enumerate(calls)]
    found = [
        ToolCall(ids[n] if tool == "kimi_k2" else f"call{n}", name, json.dumps(arguments))
        for n, (name, arguments) in enumerate(calls)
    ]
    thought = "so it is" if reasoning is not None and state != "off" else None
    message = Message(reasoning=thought, tool_calls=found, **more)
    return write(reasoning, tool, message, tools=LOOSE, thinking=WRITER_STATES[state])


@pytest.mark.parametrize(("reasoning", "tool"), UNBRAID_PAIRS)
def test_wrong_outputs_are_refused(reasoning: str | None, tool: str) -> None:
    """Calls of other tools, calls without a required key, too many of them, none at all."""
    found = states(reasoning)
    state = found[PAIRS.index((reasoning, tool)) % len(found)]
    match = Matcher(grammar(reasoning, tool, state, tool_choice="required", parallel_tool_calls=False))
    right = [("weather", {"city": "Oslo", "days": 3})]
    assert match.accepts(written(reasoning, tool, state, right))
    _, half = halves(reasoning, tool)
    wrong = {
        "undeclared tool": written(reasoning, tool, state, [("other", {})]),
        "missing key": written(reasoning, tool, state, [("weather", {"days": 3})]),
        "wrong type": written(reasoning, tool, state, [("weather", {"city": "Oslo", "days": "x"})]),
        "out of bounds": written(reasoning, tool, state, [("weather", {"city": "Oslo", "days": 21})]),
        "undeclared key": written(reasoning, tool, state, [("weather", {"city": "Oslo", "days": 3, "z": 1})]),
        "no call": written(reasoning, tool, state, [], content="Hello."),
        "nothing": "",
    }
    if not isinstance(half, Channels) and half.calls_per_turn != 1:
        wrong["two calls"] = written(reasoning, tool, state, [*right, ("ping", {})])
    if reasoning is not None and state != "off":
        whole = written(reasoning, tool, state, right)
        wrong["an end while it thinks"] = whole[: whole.index("so it is") + 8]
    for what, text in wrong.items():
        assert not match.accepts(text), (what, text)


def mutant(text: str, rng: random.Random) -> str:
    """A text with a piece left out, doubled, or another character in it."""
    low = rng.randrange(len(text))
    high = min(len(text), low + rng.choice((1, 1, 3, 12)))
    piece = rng.choice(("", text[low:high] * 2, rng.choice("<>{}\"\\'\n ｜é0x")))
    return text[:low] + piece + text[high:]


@pytest.mark.parametrize(("reasoning", "tool"), UNBRAID_PAIRS)
def test_llama_cpp_agrees(reasoning: str | None, tool: str) -> None:
    """The engine's own sampler takes and refuses the same texts, written ones and mutants of them."""
    found = states(reasoning)
    turn = PAIRS.index((reasoning, tool))
    state, choice = found[turn % len(found)], ("required", "auto")[turn % 2]
    gbnf = grammar(reasoning, tool, state, tool_choice=choice)
    match, engine = Matcher(gbnf), llama()
    rng = random.Random(turn)
    refused = 0
    for calls in CALLS:
        text = rendered(reasoning, tool, state, calls)
        assert engine.accepts(gbnf, text), text
        for _ in range(4):
            wrong = mutant(text, rng)
            accepted = match.accepts(wrong)
            assert engine.accepts(gbnf, wrong) == accepted, wrong
            refused += not accepted
    assert refused
