"""Hostile outputs, requests and splits for the law tests, made from the declarations of the registry.

A format is tested by being registered: its markers are collected from its declaration,
and plausible calls are composed part by part. Nothing here knows a family.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from hypothesis import strategies as st

from unbraid import Parser, TokenTable
from unbraid.codecs.elements import ITEM
from unbraid.formats import reasoning_format, tool_format
from unbraid.syntax import (
    Channels,
    Choice,
    Elements,
    Envelope,
    Envelopes,
    GemmaObject,
    Id,
    Joint,
    Json,
    Lit,
    Name,
    Named,
    Pairs,
    Pattern,
    PythonCalls,
    Reasoning,
    ResponseTemplate,
    Tools,
    TypeTag,
    Word,
    Ws,
)

from . import channels, templates
from .pairing import REASONING, TOOLS, Names, families, foreign

Half = Reasoning | Tools | Joint
Piece = tuple[str, "list[int] | None"]

FUZZ = int(os.environ.get("UNBRAID_FUZZ") or 0)
"""How many times as many examples; 0: the few that are the same in every run."""


@dataclass(frozen=True)
class Pair:
    """Two names as a user gives them; either may be missing."""

    reasoning: str | None
    tools: str | None

    def __str__(self) -> str:
        return f"{self.reasoning or '-'}+{self.tools or '-'}"

    @property
    def halves(self) -> list[Half]:
        """The declarations of the halves that are named."""
        found: list[Half] = []
        if self.reasoning:
            found.append(reasoning_format(self.reasoning))
        if self.tools:
            found.append(tool_format(self.tools))
        return found

    @property
    def thinking(self) -> Reasoning | None:
        """The half of tag thinking, if that is what was named."""
        half = reasoning_format(self.reasoning) if self.reasoning else None
        return half if isinstance(half, Reasoning) else None

    def parser(self, **options: Any) -> Parser:
        """A parser of this pair."""
        return Parser(self.reasoning, self.tools, **options)


@cache
def pairs() -> list[Pair]:
    """Every half alone and in its families, and every tools half with a foreign one of thinking."""
    alone: list[Names] = [*((name, None) for name in REASONING), *((None, name) for name in TOOLS)]
    return [Pair(*names) for names in dict.fromkeys([*alone, *families(), *foreign()])]


def examples(total: int) -> int:
    """Examples for each pair, so that all pairs together get about ``total``."""
    return max(15, total * (FUZZ or 1) // len(pairs()))


# -- markers ------------------------------------------------------------------

_NO_MARKER = {
    "models", "key_chars", "chars", "switch", "name", "arguments", "extra", "ids", "strand", "opened_by",
    "tools_inside", "kind",
}  # fmt: skip


def strings(part: Any) -> Iterator[str]:
    """Every text that a declaration writes."""
    if isinstance(part, str):
        if part.strip() and "{" not in part:
            yield part
    elif isinstance(part, Pattern):
        yield from templates.texts(part)
    elif isinstance(part, (tuple, list)):
        for one in part:
            yield from strings(one)
    elif isinstance(part, Mapping):
        for one in part.values():
            yield from strings(one)
    elif dataclasses.is_dataclass(part):
        for one in dataclasses.fields(part):
            if one.name not in _NO_MARKER:
                yield from strings(getattr(part, one.name))


@cache
def markers(pair: Pair) -> tuple[str, ...]:
    """The markers of a pair and what else its declaration writes."""
    found = [text for half in pair.halves for text in strings(half)]
    return tuple(dict.fromkeys(found))


@cache
def tokens_of(pair: Pair) -> tuple[str, ...]:
    """The markers of a pair that are one special token."""
    found: list[str] = []

    def walk(part: Any) -> None:
        if isinstance(part, Lit):
            found.extend(part.spellings if part.special else ())
        elif isinstance(part, GemmaObject):
            found.append(part.quote)
        elif isinstance(part, (tuple, list)):
            for one in part:
                walk(one)
        elif dataclasses.is_dataclass(part):
            for one in dataclasses.fields(part):
                walk(getattr(part, one.name))

    for half in pair.halves:
        walk(half)
        found += templates.specials(half) if isinstance(half, ResponseTemplate) else half.dropped
        found += getattr(half, "ignored", ())
    return tuple(dict.fromkeys(found))


FOREIGN = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "[TOOL_CALLS]",
    "<|channel|>",
    "<|im_end|>",
    "```",
    "\\n",
    "\\r\\n",
    "`$\\",
)
JSON_ATOMS = (
    "{", "}", "[", "]", '"', ":", ",", "{}", "[]", '{"a": 1}', '{"a": "x", "b": [1, {"c": null}]}', '"a"',
    "null", "true", "-1.5e3", "012", "\\", '\\"', "\\u00e9", "\\ud83d", "\\u12", "\\x",
    '{"name": "f", "arguments": {',
    '{"name": "f", "parameters": {}}', '"name"', '"arguments"', '{"a": 1, "a": 2}', "NaN", '{"a":1}}',
)  # fmt: skip
PYTHON_ATOMS = (
    "[f(a=1)]",
    "f(",
    "a=",
    ")",
    "('x',)",
    "True",
    "None",
    "'",
    '"""',
    "\\'",
    "{'k': 1}",
    "[ping()]",
    "=",
)
SPACES = (" ", "\n", "\n\n", "\t", "\r\n", "  \n ", " " * 70)
WORDS = (
    "Hi",
    "a",
    "f",
    "get_weather",
    "ping",
    "no",
    "thought",
    "It is 4.",
    "x",
    "días",
    "😀",
    "｜",
    "▁",
    "e\u0301",
    "\u200b",
)
RAW = ("\x00", "\x1f", "\x7f", "\u2028", "\ud83d", "\ude00", "\ufffd", "\ufeff")

NAMES = ("f", "get_weather", "ping", "ns.tool-x", "typed")
VALUES: tuple[Any, ...] = (
    "Oslo", "", " x ", "a\nb", "</tool_call>", 'q"\\', "días 😀", "3", "null", 3, -1.5, True, None, [], {},
    ["a", 1, [None]], {"k": {"l": "m"}}, "line\n\n", "x" * 40,
)  # fmt: skip
KEYS = ("city", "days", "tags", "a", "user-id", "x")

SCHEMAS: tuple[Any, ...] = (
    None,
    [],
    [{"type": "function", "function": {"name": name}} for name in ("f", "ping")],
    [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}},
        {"type": "function", "function": {
            "name": "get_weather",
            "parameters": {"type": "object", "properties": {
                "city": {"type": "string"}, "days": {"type": "integer"}, "tags": {"type": "array"},
                "x": {"anyOf": [{"type": "integer", "minimum": 10}, {"type": "string"}]},
                "a": {"type": ["string", "null"]}}}}},
        {"type": "function", "function": {
            "name": "typed",
            "parameters": {"type": "object", "properties": {
                "city": {"enum": ["Oslo", 3]}, "days": {"type": "boolean"}, "a": {"$ref": "#/$defs/o"}},
                "$defs": {"o": {"type": "object"}}}}},
        {"type": "function", "function": {"name": "ns.tool-x", "parameters": None}},
        {"type": "function", "function": {"name": "ping", "parameters": {"type": "object"}}},
    ],
)  # fmt: skip


# -- plausible calls ----------------------------------------------------------


class First(random.Random):
    """Chance that always takes what a model most often writes."""

    def random(self) -> float:
        return 0.5

    def choice(self, seq: Any) -> Any:
        return seq[0]

    def randint(self, a: int, b: int) -> int:
        return a


def _python(value: Any) -> str:
    return repr(value)


def _raw(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _gemma(value: Any, quote: str) -> str:
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_gemma(one, quote)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(_gemma(one, quote) for one in value) + "]"
    return json.dumps(value)


def _element(part: Elements, key: str, value: Any) -> str:
    if isinstance(value, dict):
        inner = "".join(_element(part, *one) for one in value.items())
    elif isinstance(value, list) and not any(isinstance(one, list) for one in value):
        inner = "".join(_element(part, ITEM, one) for one in value)
    else:
        inner = _raw(value)
    return f"{part.mark}<{key}>{inner}{part.mark}</{key}>"


def write_parts(parts: Sequence[Any], name: str, arguments: dict[str, Any], choose: random.Random) -> str:
    """Text that these parts might be written as; a guess for tests, not the writer."""
    out: list[str] = []
    for part in parts:
        if isinstance(part, Lit):
            left_out = not part.written if isinstance(choose, First) else choose.random() < 0.5
            if not (part.optional and left_out):
                out.append(choose.choice(part.spellings))
        elif isinstance(part, Ws):
            out.append(choose.choice((part.text, part.text, "", " ", "\n")))
        elif isinstance(part, Name):
            out.append(name)
        elif isinstance(part, Id):
            out.append(
                part.pattern.format(name=name, index=choose.randint(0, 3)) if part.name else "abcDEF123"
            )
        elif isinstance(part, Word):
            out.append(part.text.format(number=1))
        elif isinstance(part, Json):
            out.append(json.dumps(arguments, ensure_ascii=choose.random() < 0.5))
        elif isinstance(part, Envelope):
            out.append(_envelope(part, name, arguments, choose))
        elif isinstance(part, Envelopes):
            many = [write_parts((part.item,), name, arguments, choose) for _ in range(choose.randint(1, 2))]
            out.append(part.open + part.between.join(many) + part.close)
        elif isinstance(part, Named):
            out.append(json.dumps({name: arguments}))
        elif isinstance(part, Pairs):
            for key, value in arguments.items():
                out += [
                    part.open.text,
                    key,
                    *(_middle(one, value, choose) for one in part.middle),
                    part.pad,
                    _raw(value),
                    part.pad,
                ]
                out += [part.close.text, part.gap]
        elif isinstance(part, Elements):
            out += [_element(part, key, value) for key, value in arguments.items()]
        elif isinstance(part, GemmaObject):
            if part.strings:
                out.append(_gemma(arguments, choose.choice((part.quote, part.quote, '"'))))
            else:
                quoted = (f"{key}:{part.quote}{_raw(value)}{part.quote}" for key, value in arguments.items())
                out.append("{" + ",".join(quoted) + "}")
        elif isinstance(part, PythonCalls):
            keywords = ", ".join(f"{key}={_python(value)}" for key, value in arguments.items())
            call = f"{name}({keywords})"
            out.append(call if part.brackets == "never" else f"[{call}]")
        elif isinstance(part, Choice):
            out.append(write_parts(choose.choice(part.options), name, arguments, choose))
        else:
            out += list(strings(part))
    return "".join(out)


def _middle(part: Lit | Ws | TypeTag, value: Any, choose: random.Random) -> str:
    if not isinstance(part, TypeTag):
        return part.text
    if part.absent is not None and choose.random() < 0.3:
        return ""
    kind = "string" if isinstance(value, str) else choose.choice(part.words)[0]
    return f"{part.open.text}{part.word(kind)}{part.close.text}"


def _envelope(part: Envelope, name: str, arguments: dict[str, Any], choose: random.Random) -> str:
    items = [(part.name[0], name), (choose.choice(part.arguments), arguments)]
    if choose.random() < 0.2:
        items.append(("id", "1"))
    if choose.random() < 0.3:
        items.reverse()
    return json.dumps(dict(items))


def write_call(half: Tools | Joint, name: str, arguments: dict[str, Any], choose: random.Random) -> str:
    """One plausible call of a tools half."""
    if isinstance(half, ResponseTemplate):
        return templates.call(half, name, arguments)
    if isinstance(half, Channels):
        calls = channels.route(half, "call").calls
        body = write_call(calls, name, arguments, choose) if calls else json.dumps(arguments)
        start = channels.begin(half) if choose.random() < 0.6 else ""
        ends = [one.text for one in half.ends] or [""]
        return start + channels.head(half, "call", name) + body + choose.choice(ends)
    call = write_parts(half.call.parts, name, arguments, choose)
    if choose.random() < 0.3:
        call += half.between.text + write_parts(half.call.parts, name, arguments, choose)
    if half.section and choose.random() < 0.9:
        call = half.section.open.text + call + (half.section.close.text if choose.random() < 0.8 else "")
    return call


def has_thinking(half: Joint) -> bool:
    """Whether a format that is both halves has thinking at all."""
    return not isinstance(half, Channels) or any(one.strand == "reasoning" for one in half.routes)


def write_thinking(half: Reasoning | Joint, choose: random.Random) -> str:
    """One plausible piece of thinking."""
    if isinstance(half, Joint):
        return thought(half, "plan")
    opener = half.open.text + half.label + half.lead.text if choose.random() < 0.7 else ""
    return f"{opener}plan{half.trail.text}{half.close.text}{half.after.text}"


@st.composite
def plausible(draw: st.DrawFn, pair: Pair) -> str:
    """A piece of thinking or a call as the pair's own model may write it."""
    choose = random.Random(draw(st.integers(0, 2**16)))
    half = draw(st.sampled_from(pair.halves))
    thinks = isinstance(half, Joint) and has_thinking(half) and choose.random() < 0.4
    if isinstance(half, Reasoning) or thinks:
        return write_thinking(half, choose)
    name = draw(st.sampled_from((*NAMES, "unknown")))
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=3, unique=True))
    arguments = {key: draw(st.sampled_from(VALUES)) for key in keys}
    return write_call(half, name, arguments, choose)


@st.composite
def piece_of(draw: st.DrawFn, whole: st.SearchStrategy[str]) -> str:
    """A beginning, an end or a middle of a text."""
    text = draw(whole)
    start = draw(st.integers(0, len(text)))
    return text[start:] if draw(st.booleans()) else text[:start]


@cache
def hostile(pair: Pair, surrogates: bool = True) -> st.SearchStrategy[str]:
    """Outputs that mean no good, of this pair."""
    own = st.sampled_from(markers(pair) or ("x",))
    calls = plausible(pair)
    atom = st.one_of(
        own,
        own,
        piece_of(own),
        calls,
        calls,
        piece_of(calls),
        st.sampled_from(WORDS),
        st.sampled_from(SPACES),
        st.sampled_from(JSON_ATOMS),
        st.sampled_from(PYTHON_ATOMS),
        st.sampled_from(FOREIGN),
        st.sampled_from(RAW),
        st.text(max_size=6),
    )
    found = st.lists(atom, max_size=12).map("".join)
    if surrogates:
        return found
    return found.map(lambda text: text.encode("utf-8", "ignore").decode())


# -- requests -----------------------------------------------------------------


def prompts(pair: Pair) -> list[str | None]:
    """Ends of prompts that open, close, half write or don't mention thinking."""
    half = pair.thinking
    if half is None:
        both = next((one for one in pair.halves if isinstance(one, Channels)), None)
        if both is None:
            other = next((one for one in pair.halves if isinstance(one, ResponseTemplate)), None)
            return templates.prompts(other) if other is not None else [None]
        start = channels.begin(both)
        opened = start + channels.head(both, "reasoning") if has_thinking(both) else start
        return [None, start, opened, "x"]
    turn = half.turns[0] if half.turns else "\n"
    opened = f"{turn}{half.open.text}{half.label}"
    return [
        None,
        turn,
        opened,
        opened + half.lead.text,
        f"{turn}{half.open.text}",
        opened + half.lead.text + "so far",
        turn + half.empty_when_off,
        f"{half.close.text}{turn}",
    ]


@st.composite
def requests(draw: st.DrawFn, pair: Pair) -> dict[str, Any]:
    """Options of a parser of this pair."""
    options: dict[str, Any] = {
        "tools": draw(st.sampled_from(SCHEMAS)),
        "prompt": draw(st.sampled_from(prompts(pair))),
        "make_id": lambda: "call",
        "spans": True,
    }
    names = pair.thinking.switch.names if pair.thinking else ()
    if names and draw(st.booleans()):
        options["chat_template_kwargs"] = {names[0]: draw(st.booleans())}
    if pair.thinking and pair.thinking.answer_if and draw(st.booleans()):
        options.setdefault("chat_template_kwargs", {})[pair.thinking.answer_if] = True
    rare = draw(st.integers(0, 15))
    if rare == 1:
        options["parallel_tool_calls"] = False
    elif rare == 2:
        options["unknown_tools"] = "text"
    elif rare == 3:
        options["constrained"] = True
    elif rare == 4:
        options["max_calls"] = 0
    elif rare == 5:
        options["tool_choice"] = "none"
    return options


@dataclass(frozen=True)
class Case:
    """An output with the request that it answers."""

    pair: Pair
    text: str
    options: dict[str, Any] = field(default_factory=dict)
    finish: str | None = "stop"

    def parser(self, **more: Any) -> Parser:
        """The parser of this request."""
        return self.pair.parser(**{**self.options, **more})


@st.composite
def cases(draw: st.DrawFn, pair: Pair) -> Case:
    """Hostile outputs with hostile requests."""
    return Case(
        pair,
        draw(hostile(pair)),
        draw(requests(pair)),
        draw(st.sampled_from(("stop", "stop", "length", None))),
    )


# -- splits -------------------------------------------------------------------


def pieces_of(text: str, choose: random.Random, longest: int) -> list[str]:
    """A text in random pieces, some of them empty."""
    pieces: list[str] = []
    at = 0
    while at < len(text):
        size = choose.randint(0, longest)
        pieces.append(text[at : at + size])
        at += size
    return pieces


def splits(text: str, seed: int, count: int = 4) -> list[list[str]]:
    """Single characters, two halves, and random pieces of several sizes."""
    choose = random.Random(seed)
    cut = choose.randint(0, len(text))
    return [
        list(text),
        [text[:cut], text[cut:]],
        *(pieces_of(text, choose, longest) for longest in (2, 5, 12, 40)[:count]),
    ]


@dataclass(frozen=True)
class Tokenised:
    """A text as tokens: ids, the text that each completes, and their tokenizer."""

    ids: list[int]
    texts: list[str]
    tokenizer: TokenTable


def tokenise(text: str, pair: Pair, seed: int) -> Tokenised:
    """Make tokens of a text: its markers one special token or ordinary ones, characters cut in bytes.

    All special tokens of the pair are in the vocabulary, used or not, and so is every byte.
    """
    choose = random.Random(seed)
    specials = tokens_of(pair)
    extra = [one for one in markers(pair) if one not in specials and choose.random() < 0.5]
    table: dict[bytes, int] = {one.encode(): n for n, one in enumerate((*specials, *extra))}
    special = set(table.values())
    known = sorted((*specials, *extra), key=len, reverse=True)
    ordinary: dict[bytes, int] = {bytes([byte]): 500_000 + byte for byte in range(256)}
    ids: list[int] = []
    texts: list[str] = []

    def add(data: bytes, done: str, by: dict[bytes, int]) -> None:
        token_id = by.get(data)
        if token_id is None:
            token_id = by[data] = 1000 + len(ordinary)
        ids.append(token_id)
        texts.append(done)

    at = 0
    while at < len(text):
        marker = next((one for one in known if text.startswith(one, at)), None)
        if marker is not None and choose.random() < 0.7:
            add(marker.encode(), marker, table)
            at += len(marker)
            continue
        size = choose.randint(1, 4)
        following = [
            place for one in known if (place := text.find(one, at + 1, at + size + len(one) - 1)) > 0
        ]
        stop = min([at + size, *following]) if following else at + size
        chunk = text[at:stop]
        data = chunk.encode()
        if len(data) > len(chunk) and choose.random() < 0.5:
            cut = choose.randint(1, len(data) - 1)
            whole = len(data[:cut].decode("utf-8", "ignore"))
            add(data[:cut], chunk[:whole], ordinary)
            add(data[cut:], chunk[whole:], ordinary)
        else:
            add(data, chunk, ordinary)
        at += len(chunk)
    pieces = {token_id: data for data, token_id in (*table.items(), *ordinary.items())}
    return Tokenised(ids, texts, TokenTable(pieces, special))


def token_splits(tokens: Tokenised, seed: int) -> list[list[Piece]]:
    """Groups of tokens; ids that run ahead of their text; ids behind it once the first ones came."""
    choose = random.Random(seed)
    ids, texts = tokens.ids, tokens.texts
    singles: list[Piece] = [(text, [one]) for text, one in zip(texts, ids, strict=True)]
    found: list[list[Piece]] = [singles, [("", list(ids)), *((text, None) for text in texts)]]
    for longest in (3, 9):
        grouped: list[Piece] = []
        at = 0
        while at < len(ids):
            size = choose.randint(0, longest)
            grouped.append(("".join(texts[at : at + size]), ids[at : at + size]))
            at += size
        found.append(grouped)
    lag = choose.randint(1, 4)
    late: list[Piece] = []
    for n in range(len(ids) + lag):
        given = ids[:1] if n == 0 else ids[n - lag : n - lag + 1] if n - lag >= 1 else []
        late.append((texts[n] if n < len(texts) else "", given))
    found.append(late)
    ahead: list[Piece] = []
    for n in range(-lag, len(ids)):
        given = ids[n + lag : n + lag + 1]
        ahead.append((texts[n] if n >= 0 else "", given))
    found.append(ahead)
    return found


# -- well-behaved outputs, composed from the declarations ------------------------


def matched_pairs() -> list[Pair]:
    """The pairs of ``families`` that have both halves."""
    return [Pair(*names) for names in families() if None not in names]


def halves(pair: Pair) -> tuple[Any, Any]:
    """The two declarations of a pair, None for a half that is not named."""
    return (
        reasoning_format(pair.reasoning) if pair.reasoning else None,
        tool_format(pair.tools) if pair.tools else None,
    )


def open_prompt(half: Reasoning | Joint) -> str:
    """The end of a prompt whose template opens thinking."""
    if isinstance(half, ResponseTemplate):
        return templates.begin(half) + templates.head(half, "reasoning")
    if isinstance(half, Channels):
        return channels.begin(half) + channels.head(half, "reasoning")
    return f"{turn_prompt(half)}{half.open.text}{half.label}{half.lead.text}"


def turn_prompt(half: Reasoning | Joint) -> str:
    """The end of a prompt that only begins the turn."""
    if isinstance(half, ResponseTemplate):
        return templates.begin(half)
    if isinstance(half, Channels):
        return channels.begin(half)
    return half.turns[0] if half.turns else "\n"


def thought(half: Reasoning | Joint, text: str, *, opener: bool = True) -> str:
    """Thinking as the model writes it, up to where its answer begins."""
    if isinstance(half, ResponseTemplate):
        return templates.thought(half, text, opener=opener)
    if isinstance(half, Channels):
        opening = channels.head(half, "reasoning") if opener else ""
        return opening + text + channels.end(half, "reasoning") + channels.begin(half)
    opening = f"{half.open.text}{half.label}{half.lead.text}" if opener else ""
    return f"{opening}{text}{half.trail.text}{half.close.text}{half.after.text}"


def end_of_thinking(half: Reasoning | Joint) -> str:
    """What ends thinking, without the beginning of a next message."""
    if isinstance(half, ResponseTemplate):
        return templates.end(half, "reasoning")
    return channels.end(half, "reasoning") if isinstance(half, Channels) else half.close.text


def answer(half: Any, text: str) -> str:
    """An answer as the model writes it, behind thinking or without."""
    if isinstance(half, ResponseTemplate):
        return templates.head(half, "content") + text
    if isinstance(half, Channels):
        return channels.head(half, "content") + text
    return text


def native_call(pair: Pair, name: str, arguments: dict[str, Any]) -> str:
    """One call as the model writes it, at the start of its turn or behind thinking."""
    half = halves(pair)[1]
    text = write_call(half, name, arguments, First())
    return text.removeprefix(channels.begin(half)) if isinstance(half, Channels) else text


def native_calls(pair: Pair, *calls: tuple[str, dict[str, Any]]) -> str:
    """Several calls of one turn."""
    half = halves(pair)[1]
    if isinstance(half, ResponseTemplate):
        return "".join(native_call(pair, *call) for call in calls)
    if isinstance(half, Channels):
        return channels.begin(half).join(native_call(pair, *call) for call in calls)
    listed = next((part for part in half.call.parts if isinstance(part, PythonCalls)), None)
    if listed is not None:
        alone = replace(listed, brackets="never")
        inner = listed.between.join(write_parts((alone,), *call, First()) for call in calls)
        around = "" if listed.brackets == "never" else "[]"
        text = around[:1] + inner + around[1:]
        parts = [part for part in half.call.parts if not (isinstance(part, Lit) and not part.written)]
        return "".join(text if part is listed else write_parts((part,), "", {}, First()) for part in parts)
    texts = [write_parts(half.call.parts, name, arguments, First()) for name, arguments in calls]
    text = half.between.text.join(texts)
    return half.section.open.text + text + half.section.close.text if half.section else text


def tools_of(*names: str, **properties: Any) -> list[dict[str, Any]]:
    """Tools in OpenAI's shape, all with the same properties."""
    schema = {"type": "object", "properties": properties}
    return [{"type": "function", "function": {"name": name, "parameters": schema}} for name in names]


CITY = {"city": {"type": "string"}, "days": {"type": "integer"}}
WEATHER = tools_of("get_weather", "get_time", **CITY)
