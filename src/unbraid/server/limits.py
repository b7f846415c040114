"""How much a request may hold. What is within these limits is read, checked and compiled in about a second.

``check_body`` counts before anything is decoded, ``check_limits`` looks at what a request means,
whichever API it came by, and ``check_names`` at what its tools are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unbraid.constrain.checks import DEPTH
from unbraid.errors import InvalidRequest
from unbraid.expressible import expressible
from unbraid.message import Message, ToolCall
from unbraid.server.normal import Ask
from unbraid.server.ways import MOST_WAYS, ways

__all__ = ["Limits", "check_body", "check_limits", "check_names"]


@dataclass(frozen=True)
class Limits:
    """The most of everything that one request may hold.

    ``body_bytes``: the body. ``json_values``: values in it, nested ones too, each of which
    takes memory. ``messages``; ``calls``: calls in one message; ``tools``; ``name_chars``: of a
    tool's name. Of a schema (a tool's parameters, an answer's): ``schema_depth``: objects and
    lists inside each other; ``schema_values``: values in it; ``schema_chars``: characters of
    all its strings; ``enum_values``: values in one enum; ``pattern_chars``: of one pattern.
    ``stops``: stop strings; ``stop_chars``: of one. ``choices``: the n of a request.
    ``max_tokens``: what a request may ask for. ``biases``: entries of logit_bias.
    ``template_chars``: of a request's own template. ``kwargs_values`` and ``kwargs_depth``:
    of chat_template_kwargs. ``grammar_chars``: of the grammar that is made.
    """

    body_bytes: int = 32 << 20
    json_values: int = 1_000_000
    messages: int = 10_000
    calls: int = 1_000
    tools: int = 1_000
    name_chars: int = 256
    schema_depth: int = DEPTH
    schema_values: int = 20_000
    schema_chars: int = 500_000
    enum_values: int = 1_000
    pattern_chars: int = 4_000
    stops: int = 4
    stop_chars: int = 1_000
    choices: int = 128
    max_tokens: int = 10_000_000
    biases: int = 1_024
    template_chars: int = 1 << 18
    kwargs_values: int = 1_000
    kwargs_depth: int = 16
    grammar_chars: int = 4_000_000


# -- the body -----------------------------------------------------------------

_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)


def check_body(body: bytes, limits: Limits) -> None:
    """Raise InvalidRequest for a body with more bytes or more JSON values than may be."""
    _at_most("the body", len(body), limits.body_bytes, "bytes", None)
    if _marks(body) >= limits.json_values and _marks(_STRING.sub(b"", body)) >= limits.json_values:
        raise InvalidRequest(f"the body holds more than {limits.json_values} JSON values")


def _marks(text: bytes) -> int:
    """The marks in front of JSON values, of which text in strings may hold some too."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


# -- the request --------------------------------------------------------------


def check_limits(ask: Ask, limits: Limits) -> None:
    """Raise InvalidRequest, with path and limit, for the first thing of which there is too much."""
    _at_most("messages", len(ask.messages), limits.messages, "messages", "messages")
    for n, message in enumerate(ask.messages):
        calls = f"messages[{n}].tool_calls"
        _at_most(calls, len(message.get("tool_calls") or ()), limits.calls, "calls", calls)
    _at_most("tools", len(ask.tools.shown), limits.tools, "tools", "tools")
    for n, tool in enumerate(ask.tools.shown):
        function = tool["function"]
        name = f"tools[{n}].function.name"
        _at_most(name, len(function["name"]), limits.name_chars, "characters", name)
        _check_schema(function.get("parameters"), f"tools[{n}].function.parameters", limits)
    _check_schema(ask.schema, "response_format.json_schema.schema", limits)
    _check_sampling(ask, limits)
    _at_most("chat_template", len(ask.template or ""), limits.template_chars, "characters", "chat_template")
    kwargs = _Held(ask.template_kwargs, "chat_template_kwargs")
    for _ in kwargs.walk(limits.kwargs_depth):
        _at_most(kwargs.where, kwargs.values, limits.kwargs_values, "values", kwargs.where)


def _at_most(what: str, count: int, most: int, unit: str, param: str | None) -> None:
    if count > most:
        raise InvalidRequest(f"{what} may hold at most {most} {unit}", param=param)


def _check_sampling(ask: Ask, limits: Limits) -> None:
    sampling = ask.sampling
    _at_most("stop", len(sampling.stop), limits.stops, "strings", "stop")
    for n, one in enumerate(sampling.stop):
        _at_most(f"stop[{n}]", len(one), limits.stop_chars, "characters", f"stop[{n}]")
    _at_most("logit_bias", len(sampling.logit_bias), limits.biases, "entries", "logit_bias")
    for word, value, least, most in (
        ("n", ask.n, 0, limits.choices),
        ("max_tokens", sampling.max_tokens, 0, limits.max_tokens),
        ("seed", sampling.seed, -(2**63), 2**63 - 1),
    ):
        if value is not None and not least <= value <= most:
            raise InvalidRequest(f"{word} must be between {least} and {most}", param=word)


def _check_schema(schema: Any, where: str, limits: Limits) -> None:
    held = _Held(schema, where)
    for key, value in held.walk(limits.schema_depth):
        _at_most(where, held.values, limits.schema_values, "values", where)
        _at_most(where, held.chars, limits.schema_chars, "characters", where)
        if key == "enum" and isinstance(value, list):
            _at_most(f"an enum in {where}", len(value), limits.enum_values, "values", where)
        elif key == "pattern" and isinstance(value, str):
            _at_most(f"a pattern in {where}", len(value), limits.pattern_chars, "characters", where)
    if held.combined and not ways(schema):
        raise InvalidRequest(
            f"{where} can be satisfied in more than {MOST_WAYS} ways by one value, or refers too deep",
            param=where,
        )


class _Held:
    """Walks everything that a JSON value holds, and counts."""

    def __init__(self, value: Any, where: str) -> None:
        self.value = value
        self.where = where
        self.values = 0
        self.chars = 0
        self.combined = False

    def walk(self, most: int) -> Iterator[tuple[Any, Any]]:
        """Every key of an object with its value, and None with every item of a list.

        Raises InvalidRequest where objects and lists nest deeper than ``most``.
        """
        stack: list[tuple[Any, int]] = [(self.value, 1)]
        while stack:
            value, depth = stack.pop()
            if not isinstance(value, (dict, list)):
                continue
            _at_most(self.where, depth, most, "levels", self.where)
            self.values += len(value)
            items = value.items() if isinstance(value, dict) else ((None, one) for one in value)
            for key, one in items:
                if key is not None:
                    self.chars += len(key)
                    self.combined |= key in _COMBINE
                if isinstance(one, str):
                    self.chars += len(one)
                yield key, one
                stack.append((one, depth + 1))


_COMBINE = frozenset(("$ref", "allOf", "anyOf", "oneOf"))

# -- names --------------------------------------------------------------------

_USUAL = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def check_names(
    tools: Sequence[Mapping[str, Any]],
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    format: str | None = None,
) -> None:
    """Raise InvalidRequest, naming the tool, for a name that can't be called.

    ``tools`` in OpenAI's shape; the others as for ``Parser``: what the pair's notation can't
    carry no model can write.
    """
    for n, tool in enumerate(tools):
        name = tool["function"]["name"]
        if _USUAL.fullmatch(name):
            continue
        where = f"tools[{n}].function.name"
        if _CONTROL.search(name):
            raise InvalidRequest(f"{where} holds control characters: {name[:80]!r}", param=where)
        if not name.strip():
            raise InvalidRequest(f"{where} is blank", param=where)
        if tool_parser is None and format is None:
            continue
        call = Message(tool_calls=[ToolCall("", name, "{}")])
        reason = expressible(reasoning_parser, tool_parser, call, format=format, tools=[tool])
        if reason is not None:
            told = reason.removeprefix("tool_calls[0].name: ")
            raise InvalidRequest(f"{where}: this format can't carry {name[:80]!r}: {told}", param=where)
