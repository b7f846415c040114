"""One case of ``unbraid parse --jsonl``: the language-neutral test interface.

A case is parsed in one piece and in many splits; ``stream_equal`` says whether all
of them fold to the same message, diagnostics and spans included.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from unbraid import validate
from unbraid.errors import InvalidRequest
from unbraid.events import (
    ContentDelta,
    Event,
    ReasoningDelta,
    ToolCallArguments,
    ToolCallEnd,
    ToolCallStart,
)
from unbraid.message import Message
from unbraid.pair import declared_markers, with_family
from unbraid.parser import Parser
from unbraid.tokens import Tokenizer, TokenTable

__all__ = ["fold", "parser_of", "result_of", "splits_of", "text_splits", "token_splits", "tokens_of"]

Piece = tuple[str, list[int] | None]

EVERY_SPLIT_UP_TO = 400
"""Characters, or tokens, up to which every split in two is read."""
SINGLES_UP_TO = 50_000
"""Characters, or tokens, up to which they are read one by one; beyond, pieces grow with the text."""
RANDOM_SPLITS = 20
OPTIONS = (
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "chat_template_kwargs",
    "prompt",
    "arguments",
    "include_reasoning",
    "response_template",
    "unknown_tools",
    "history_calls",
)


def result_of(case: Any) -> dict[str, Any]:
    """The result of one case; raises an UnbraidError when the case can't be run."""
    if not isinstance(case, Mapping):
        raise InvalidRequest("a case must be a JSON object", param="case")
    validate.flag("spans", case.get("spans"), optional=True)
    reason = case.get("finish_reason", case.get("engine_finish", "stop"))
    validate.text("finish_reason", reason, optional=True)
    tokens = tokens_of(case)
    text = _text(case, tokens)
    whole = [(text, [token[0] for token in tokens] if tokens is not None else None)]
    message, _ = _read(parser_of(case), whole, reason)
    twin = parser_of(case, make_id=lambda: "made")
    expected, _ = _read(twin, whole, reason)
    equal = all(_same(twin, pieces, reason, expected) for pieces in splits_of(case))
    result = message.as_dict()
    if not case.get("spans"):
        result["spans"] = None
    result["stream_equal"] = equal
    return result


def tokens_of(case: Mapping[str, Any]) -> Any:
    """The tokens of a case, None when it has only text."""
    tokens = case.get("tokens")
    return case.get("ids") if tokens is None else tokens


def parser_of(case: Mapping[str, Any], **more: Any) -> Parser:
    """The parser of a case's request; raises an UnbraidError when it is none."""
    tokens = tokens_of(case)
    options = {name: case[name] for name in OPTIONS if case.get(name) is not None}
    tokenizer = _tokenizer(case, tokens) if tokens is not None else None
    return Parser(
        case.get("reasoning_parser"),
        case.get("tool_parser"),
        format=case.get("format"),
        tokenizer=tokenizer,
        spans=True,
        **{**options, **more},
    )


def splits_of(case: Mapping[str, Any]) -> Iterator[list[Piece]]:
    """The ways in which a case is fed: its own chunks, one by one, cut in two, at random."""
    tokens = tokens_of(case)
    chunks = case.get("chunks")
    if tokens is not None:
        yield from token_splits(tokens)
        return
    if chunks is not None:
        yield [(chunk, None) for chunk in chunks]
    yield from text_splits(_text(case, None))


def _text(case: Mapping[str, Any], tokens: Any) -> str:
    text = case.get("text")
    validate.text("text", text, optional=True)
    chunks = case.get("chunks")
    if chunks is not None:
        validate.instance("chunks", chunks, list, "a list of strings")
        for n, chunk in enumerate(chunks):
            validate.text(f"chunks[{n}]", chunk)
    if tokens is not None:
        _check_tokens(tokens)
        return "".join(token[1] for token in tokens)
    if text is None and chunks is not None:
        text = "".join(chunks)
    if not isinstance(text, str):
        raise InvalidRequest("a case needs text (a string) or tokens", param="text")
    if chunks is not None and "".join(chunks) != text:
        raise InvalidRequest("chunks must join to text", param="chunks")
    return text


def _check_tokens(tokens: Any) -> None:
    validate.instance("tokens", tokens, list, "a list of [id, text, special]")
    for n, token in enumerate(tokens):
        if not isinstance(token, list) or len(token) != 3:
            raise validate.wrong(f"tokens[{n}]", "[id, text, special]", token)
        if not isinstance(token[0], int) or isinstance(token[0], bool):
            raise validate.wrong(f"tokens[{n}][0]", "an int", token[0])
        validate.text(f"tokens[{n}][1]", token[1])
        if token[2] not in (True, False):
            raise validate.wrong(f"tokens[{n}][2]", "true or false", token[2])


def _tokenizer(case: Mapping[str, Any], tokens: Sequence[Any]) -> Tokenizer:
    """The tokens of the case as a vocabulary; markers that are always special are in it too."""
    pieces: dict[int, bytes | str] = {token[0]: token[1] for token in tokens}
    special = {token[0] for token in tokens if token[2]}
    present = {token[1] for token in tokens if token[2]}
    names = (case.get("format"), case.get("reasoning_parser"), case.get("tool_parser"))
    reasoning, tools, _ = with_family(*names)
    absent = [marker for marker in declared_markers(reasoning, tools) if marker not in present]
    lowest = min((0, *pieces))
    for n, marker in enumerate(absent, 1):
        pieces[lowest - n] = marker
        special.add(lowest - n)
    return TokenTable(pieces, special)


def _read(parser: Parser, pieces: Sequence[Piece], reason: str | None) -> tuple[Message, list[Event]]:
    stream = parser.stream()
    events: list[Event] = []
    for text, ids in pieces:
        events += stream.feed(text, ids)
    events += stream.finish(reason)
    return stream.message, events


def _same(parser: Parser, pieces: Sequence[Piece], reason: str | None, expected: Message) -> bool:
    for variant in (pieces, _padded(pieces)):
        message, events = _read(parser, variant, reason)
        if message != expected:
            return False
        if fold(events) != (message.reasoning, message.content, _calls(message)):
            return False
    return True


def _padded(pieces: Sequence[Piece]) -> list[Piece]:
    padded: list[Piece] = [("", None)]
    for piece in pieces:
        padded += [piece, ("", None)]
    return padded


def _calls(message: Message) -> list[tuple[str, str, bool]]:
    return [(call.name, call.arguments, call.complete) for call in message.tool_calls]


def fold(events: Sequence[Event]) -> tuple[str | None, str | None, list[tuple[str, str, bool]]]:
    """What a client builds from the events: reasoning, content, (name, arguments, complete) of each call."""
    reasoning: list[str] = []
    content: list[str] = []
    calls: list[tuple[str, list[str]]] = []
    complete: dict[int, bool] = {}
    for event in events:
        if isinstance(event, ReasoningDelta):
            reasoning.append(event.text)
        elif isinstance(event, ContentDelta):
            content.append(event.text)
        elif isinstance(event, ToolCallStart):
            calls.append((event.name, []))
        elif isinstance(event, ToolCallArguments):
            calls[event.index][1].append(event.text)
        elif isinstance(event, ToolCallEnd):
            complete[event.index] = event.complete
    folded = [(name, "".join(parts), complete.get(n, False)) for n, (name, parts) in enumerate(calls)]
    return "".join(reasoning) or None, "".join(content) or None, folded


def text_splits(text: str) -> Iterator[list[Piece]]:
    """A text whole, by characters, in every two halves if it is short, and at random."""
    yield [(text, None)]
    if len(text) <= SINGLES_UP_TO:
        yield [(char, None) for char in text]
    for cut in range(1, len(text) if len(text) <= EVERY_SPLIT_UP_TO else 0):
        yield [(text[:cut], None), (text[cut:], None)]
    for cuts in _random_cuts(len(text), 12):
        yield [(text[one], None) for one in cuts]


def token_splits(tokens: Sequence[Any]) -> Iterator[list[Piece]]:
    """Groups of tokens, and their text late or early by one token."""
    singles: list[Piece] = [(token[1], [token[0]]) for token in tokens]
    if len(tokens) <= SINGLES_UP_TO:
        yield singles
        yield [("", [token[0] for token in tokens]), *((token[1], None) for token in tokens)]
        yield [("", [tokens[0][0]]) if tokens else ("", None), *_late(tokens)]
    for cut in range(1, len(tokens) if len(tokens) <= EVERY_SPLIT_UP_TO else 0):
        yield [_joined(singles[:cut]), _joined(singles[cut:])]
    for cuts in _random_cuts(len(singles), 8):
        yield [_joined(singles[one]) for one in cuts]


def _random_cuts(length: int, usual: int) -> Iterator[list[slice]]:
    """Cuts at random; beyond ``SINGLES_UP_TO`` the number of pieces no longer grows with the length."""
    chance = random.Random(0)
    most = max(usual, usual * length // SINGLES_UP_TO)
    for _ in range(RANDOM_SPLITS):
        found: list[slice] = []
        at = 0
        while at < length:
            found.append(slice(at, at + chance.randint(1, most)))
            at = found[-1].stop
        yield found


def _late(tokens: Sequence[Any]) -> Iterator[Piece]:
    for n, token in enumerate(tokens):
        yield token[1], [tokens[n + 1][0]] if n + 1 < len(tokens) else None


def _joined(pieces: Sequence[Piece]) -> Piece:
    return "".join(text for text, _ in pieces), [one for _, ids in pieces for one in ids or ()]
