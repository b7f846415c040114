"""Law 6: every text that a grammar accepts parses into what the grammar meant."""

from __future__ import annotations

import codecs
import json
import os
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from tests.constrain.cases import PAIRS, TOOLS, WEATHER, function, markers, parser, states, thinking_of
from tests.constrain.helpers import accepts, vocabulary, walk
from unbraid.constrain import constrain
from unbraid.formats import reasoning_format, tool_format
from unbraid.message import Message
from unbraid.newlines import recovered
from unbraid.syntax import Channels, Elements, Lit, Reasoning, ResponseTemplate, Tools
from unbraid.writer import write

FUZZ = int(os.environ.get("UNBRAID_FUZZ") or 0)
WALKS = 200 if FUZZ else 12  # with markers as text, and again by id
ANSWER = {
    "type": "object",
    "properties": {"text": {"type": "string"}, "more": {"type": "array", "items": {"type": "string"}}},
    "required": ["text"],
    "additionalProperties": False,
}
CHOICES: dict[str, dict[str, Any]] = {
    "required": {"tool_choice": "required"},
    "named": {"tool_choice": {"type": "function", "function": {"name": "weather"}}},
    "auto": {"tool_choice": "auto"},
    "answer": {"tool_choice": "auto", "response_schema": ANSWER},
    "single": {
        "tool_choice": {
            "type": "allowed_tools",
            "allowed_tools": {"mode": "required", "tools": [function("weather"), function("ping")]},
        },
        "parallel_tool_calls": False,
    },
}
BITS = ("weather", "weather_now", "ping", "city", "days", '": "', "{", "\n", " ", '"}', "null", "[", "12")
KEYS = tuple(
    form.format(key)
    for key in (*WEATHER["properties"], "x", "name")
    for form in (', "{}": ', "<arg_key>{}</arg_key>", "<parameter={}>", ",{}:", ", {}=", '{{"{}":')
)
OPENERS = ("<tool_call>", "</think>", "<think>", "[TOOL_CALLS]", "[ping()]", "<|im_end|>")
OPENERS += ('{"name": "weather"', '{"text": "')
SCHEMAS = {
    "weather": {**WEATHER, "additionalProperties": False},
    "weather_now": {"type": "object"},
    "ping": {"type": "object", "maxProperties": 0},
}
VALID = {name: Draft202012Validator(schema) for name, schema in {**SCHEMAS, "": ANSWER}.items()}
ODD = {"duplicate_key"}


def content_markers(tool: str) -> tuple[str, ...]:
    """Markers that content may stand between: what is written is then more than what is read."""
    half = tool_format(tool)
    if isinstance(half, Channels):
        return tuple(one.text for one in half.bodies)
    if isinstance(half, Tools) and half.answer is not None:
        return (half.answer.close.text,)
    if isinstance(half, ResponseTemplate):
        content = half.field("content")
        return content.open.spellings if content and isinstance(content.open, Lit) else ()
    return ()


def strands_of(reasoning: str | None, thinking: str, rest: str) -> tuple[str, str]:
    """The texts as they are read: a family may write its line breaks as escapes."""
    half = reasoning_format(reasoning) if reasoning else None
    if isinstance(half, Reasoning) and half.escaped_newlines:
        return recovered(thinking), recovered(rest)
    return thinking, rest


def odd_codes(tool: str, choice: str) -> set[str]:
    """Diagnostics that an accepted text may have.

    A grammar can't tie the closing tag of an element of any name to its opener.
    """
    half = tool_format(tool)
    found = ODD | ({"not_a_call"} if choice == "answer" else set())
    elements = isinstance(half, Tools) and any(isinstance(part, Elements) for part in half.call.parts)
    return found | {"stray_marker"} if elements else found


def check(message: Message, choice: str, thinking: str, rest: str, text: str, tool: str) -> None:
    """What must hold of the message of an accepted text."""
    assert (message.reasoning or "").strip() == thinking.strip(), text
    odd = odd_codes(tool, choice)
    assert {one.code for one in message.diagnostics} <= odd, (message.diagnostics, text)
    for call in message.tool_calls:
        assert call.complete, text
        arguments = json.loads(call.arguments)
        assert isinstance(arguments, dict), text
        VALID[call.name].validate(arguments)
    count = len(message.tool_calls)
    messages = any(one in rest for one in content_markers(tool))
    if choice == "answer":
        assert count <= 16, text
        if not count:
            VALID[""].validate(json.loads(message.content or ""))
        return
    if choice == "auto":
        assert count <= 16, text
        said = (message.content or "").strip()
        assert rest.strip().startswith(said) or rest.strip().endswith(said) or messages, text
        if not count and not messages:
            assert (message.content or "").strip() == rest.strip(), text
    else:
        assert 1 <= count <= (16 if choice == "required" else 1), text
        assert message.content is None or messages, text
    if choice == "named":
        assert message.tool_calls[0].name == "weather", text
    elif choice == "single":
        assert message.tool_calls[0].name in ("weather", "ping"), text


def cases() -> list[Any]:
    found = []
    for reasoning, tool in PAIRS:
        for choice in CHOICES:
            for state in states(reasoning):
                for by in ("text", "tokens"):
                    if (
                        choice in ("single", "answer")
                        and (state not in ("off", "open") or by == "tokens")
                        and not FUZZ
                    ):
                        continue
                    name = f"{reasoning}+{tool}-{choice}-{state}-{by}"
                    found.append(pytest.param(reasoning, tool, choice, state, by, id=name))
    return found


@pytest.mark.parametrize(("reasoning", "tool", "choice", "state", "by"), cases())
def test_accepted_texts_parse(reasoning: str | None, tool: str, choice: str, state: str, by: str) -> None:
    special = markers(reasoning, tool, special=True if tool not in ("hermes", "glm45") else None)
    words = vocabulary(special if by == "tokens" else ())
    options = CHOICES[choice]
    tokenizer = words.table if by == "tokens" else None
    constraint = constrain(
        reasoning, tool, tools=TOOLS, **options, thinking=state, tokenizer=tokenizer, max_string=6
    )
    assert constraint is not None
    lark = constraint.lark()
    reader = parser(
        reasoning,
        tool,
        state,
        tools=TOOLS,
        tokenizer=tokenizer,
        markers=constraint.markers,
        **{key: value for key, value in options.items() if key != "response_schema"},
    )
    fragments = [*markers(reasoning, tool), *BITS, *OPENERS, *KEYS]
    done = seed = 0
    while done < WALKS:
        seed += 1
        assert seed < 12 * WALKS, f"{done} of {seed} walks ended"
        ids = walk(lark, words, seed, fragments=fragments, bias=(0.0, 0.3, 0.6)[seed % 3])
        if ids is None:
            continue
        done += 1
        text = words.decode(ids)
        thinking, rest = strands_of(reasoning, *thinking_of(reasoning, tool, state, text))
        message = reader.parse(text)
        check(message, choice, thinking, rest, text, tool)
        if by == "tokens":
            stream = reader.stream()
            decoder = codecs.getincrementaldecoder("utf-8")()
            for token_id in ids:
                stream.feed(decoder.decode(words.tokens[token_id]), [token_id])
            stream.finish("stop")
            check(stream.message, choice, thinking, rest, text, tool)


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_an_answer_holds_no_marker(reasoning: str | None, tool: str) -> None:
    """A marker in a string of an answer is refused, unless the answer is read with it."""
    constraint = constrain(reasoning, tool, tools=TOOLS, tool_choice="none", response_schema=ANSWER)
    assert constraint is not None
    lark = constraint.lark()
    reader = parser(reasoning, tool, "off", tools=TOOLS, tool_choice="none")
    whole = write(reasoning, tool, Message(content="ANSWER"), tools=TOOLS, thinking="closed")
    for marker in ("", *markers(reasoning, tool)):
        answer = json.dumps({"text": f"a{marker}b"}, ensure_ascii=False)
        text = whole.replace("ANSWER", answer)
        if accepts(lark, text):
            assert reader.parse(text).content == answer
        else:
            assert marker


def test_the_walk_finds_a_wrong_grammar() -> None:
    """A grammar that ends a raw value at its first closer only is caught: the check is not empty."""
    lark = (
        'start: "<tool_call>\\n<function=weather_now>\\n<parameter=zone>\\n" V '
        '"\\n</function>\\n</tool_call>"\n'
        'V: (/(?s:.*)/ & ~/(?s:.*)<\\/parameter>(?s:.*)/) "</parameter>"\n'
    )
    reader = parser(None, "qwen3_coder", "off", tools=TOOLS, tool_choice="required")
    words = vocabulary()
    fragments = ["</parameter>", "\n<parameter=zone>", "\n</function>", "\n</tool_call>"]
    wrong = 0
    for seed in range(100):
        ids = walk(lark, words, seed, fragments=fragments, bias=0.6)
        if ids is not None:
            (call,) = reader.parse(words.decode(ids)).tool_calls or [None]
            value = words.decode(ids).partition("zone>\n")[2].rpartition("\n</function>")[0]
            meant = value.removesuffix("</parameter>").removesuffix("\n")
            wrong += call is None or json.loads(call.arguments or "{}").get("zone") != meant
    assert wrong > 5
