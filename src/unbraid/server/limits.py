"""How much a request may hold. What is within these limits is read, checked and compiled in about a second.

``check_body`` counts before anything is decoded, ``check_limits`` looks at what a request means,
whichever API it came by, and ``check_names`` at what its tools are called.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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
    json_values: int = 500_000
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

_STRING = re.compile(rb'"[^"]*"')
_QUOTES = 4  # around a value that is a string, and around its key


def check_body(body: bytes, limits: Limits) -> None:
    """Raise InvalidRequest for a body with more bytes or more JSON values than may be."""
    _at_most("the body", len(body), limits.body_bytes, "bytes", None)
    most = limits.json_values
    if body.count(b'"') > _QUOTES * most or _marks(body) >= most:
        bare = body.replace(rb"\\", b"").replace(rb"\"", b"")
        if bare.count(b'"') > _QUOTES * most or _marks(_STRING.sub(b"", bare)) >= most:
            raise InvalidRequest(f"the body holds more than {most} JSON values")


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
    kwargs = "chat_template_kwargs"
    held = _held(ask.template_kwargs, kwargs, limits.kwargs_depth)
    _at_most(kwargs, held.values, limits.kwargs_values, "values", kwargs)


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
    held = _held(schema, where, limits.schema_depth)
    _at_most(where, held.values, limits.schema_values, "values", where)
    _at_most(where, held.chars, limits.schema_chars, "characters", where)
    _at_most(f"an enum in {where}", held.enum, limits.enum_values, "values", where)
    _at_most(f"a pattern in {where}", held.pattern, limits.pattern_chars, "characters", where)
    if (held.combined or held.options > MOST_WAYS) and not ways(schema):
        raise InvalidRequest(
            f"{where} can be satisfied in more than {MOST_WAYS} ways by one value, or refers too deep",
            param=where,
        )


@dataclass
class _Held:
    """What a JSON value holds: values, characters of strings and keys, the longest enum and pattern.

    ``options``: of all unions. ``combined``: whether there is a word by which the ways to satisfy
    a schema are multiplied; without one they are at most as many as the options.
    """

    values: int = 0
    chars: int = 0
    enum: int = 0
    pattern: int = 0
    options: int = 0
    combined: bool = False

    def note(self, value: dict[str, Any]) -> None:
        """Note the keys of an object, and what their words say if it is a schema."""
        for key, one in value.items():
            self.chars += len(key)
            if isinstance(one, str):
                self.chars += len(one)
                if key == "pattern":
                    self.pattern = max(self.pattern, len(one))
                elif key == "$ref":
                    self.combined = True
            elif isinstance(one, list):
                if key == "enum":
                    self.enum = max(self.enum, len(one))
                elif key in ("anyOf", "oneOf"):
                    self.options += len(one)
                    self.combined |= key == "oneOf" and "anyOf" in value
                elif key == "allOf":
                    self.combined = True


def _held(value: Any, where: str, most: int) -> _Held:
    """What ``value`` holds. Raises InvalidRequest where objects and lists nest deeper than ``most``."""
    held = _Held()
    level = [value] if isinstance(value, (dict, list)) else []
    depth = 0
    while level:
        depth += 1
        _at_most(where, depth, most, "levels", where)
        below: list[Any] = []
        for one in level:
            held.values += len(one)
            if isinstance(one, dict):
                held.note(one)
                below += [inner for inner in one.values() if isinstance(inner, (dict, list))]
            else:
                held.chars += sum(len(inner) for inner in one if isinstance(inner, str))
                below += [inner for inner in one if isinstance(inner, (dict, list))]
        level = below
    return held


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
