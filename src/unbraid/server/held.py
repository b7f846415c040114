"""Whether a finished answer is what was demanded of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Literal

from unbraid.errors import Unsupported
from unbraid.message import Message, ToolCall
from unbraid.server.normal import Ask

__all__ = ["Level", "breach", "check_patterns"]

Level = Literal["auto", "function", "parameter"]

_SHOWN = 200


def breach(ask: Ask, message: Message, level: Level) -> str | None:
    """What a message that the model ended by itself breaks of its request, or None.

    A demanded call must be there. A call must be whole and be one that may be made, as far as ``level``
    or the request hold it, and its arguments valid for the schema of a strict tool. Without a call
    the content must be valid for the answer's schema, if there is one.
    """
    tools = ask.tools
    if tools.choice != "none":
        for call in message.tool_calls:
            problem = _call(ask, call, level)
            if problem is not None:
                return problem
        if tools.forced and not message.tool_calls:
            return "a tool call was demanded, and the model made none"
    if ask.schema is None or message.tool_calls:
        return None
    return _content(message.content, ask.schema)


def check_patterns(ask: Ask, level: Level) -> None:
    """Raise Unsupported when a schema that an answer must be valid for holds a pattern no one can check."""
    for at, tool in enumerate(ask.tools.callable if ask.tools.choice != "none" else ()):
        if _strict(tool["function"], level):
            _compile(tool["function"].get("parameters"), f"tools[{at}].function.parameters")
    _compile(ask.schema, "response_format.json_schema.schema")


def _compile(schema: Any, path: str) -> None:
    for key, value in schema.items() if isinstance(schema, Mapping) else ():
        if key == "pattern" and isinstance(value, str):
            _matcher(value, path)
        if key == "patternProperties" and isinstance(value, Mapping):
            for pattern in value:
                _matcher(pattern, path)
        for inner in value if isinstance(value, list) else (value,):
            _compile(inner, f"{path}.{key}")


def _strict(function: Mapping[str, Any], level: Level) -> bool:
    return level == "parameter" or bool(function.get("strict"))


def _call(ask: Ask, call: ToolCall, level: Level) -> str | None:
    tools = ask.tools
    may = {tool["function"]["name"]: tool["function"] for tool in tools.callable}
    if isinstance(tools.choice, Mapping):
        name = tools.choice["function"]["name"]
        may = {name: may[name]}
    held = tools.forced or tools.limited or level != "auto"
    function = may.get(call.name)
    if function is None:
        return f"the model called {call.name!r}, which it may not" if held else None
    if not call.complete:
        return f"the call of {call.name} is not whole" if held or _strict(function, level) else None
    schema = function.get("parameters")
    if not _strict(function, level) or not isinstance(schema, dict):
        return None
    problem = _invalid(json.loads(call.arguments), schema)
    return None if problem is None else f"the arguments of {call.name} break its schema: {problem}"


def _content(content: str | None, schema: Mapping[str, Any]) -> str | None:
    try:
        value = json.loads(content or "")
    except (ValueError, RecursionError):
        return "the answer is no JSON"
    problem = _invalid(value, schema)
    return None if problem is None else f"the answer breaks its schema: {problem}"


def _invalid(value: Any, schema: Mapping[str, Any]) -> str | None:
    """The first way in which a value breaks a schema, or None."""
    from jsonschema.exceptions import ValidationError, best_match
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    validator = _validator_class()(dict(schema), registry=Registry())
    try:
        found = best_match(validator.iter_errors(value))
    except Unresolvable as error:
        return f"{error.ref} in the schema leads nowhere"
    except RecursionError:
        return "it is nested too deeply to be checked"
    assert found is None or isinstance(found, ValidationError)
    return None if found is None else f"{found.json_path}: {found.message[:_SHOWN]}"


# -- regular expressions, in linear time -----------------------------------------


@cache
def _validator_class() -> Any:
    """JSON Schema's validator whose patterns can't run away."""
    from jsonschema import Draft202012Validator, validators

    own = {"pattern": _pattern, "patternProperties": _pattern_properties}
    return validators.extend(Draft202012Validator, own)  # type: ignore[no-untyped-call]


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    from jsonschema import ValidationError

    if isinstance(value, str) and not _matches(pattern, value):
        yield ValidationError(f"{value[:_SHOWN]!r} does not match {pattern!r}")


def _pattern_properties(validator: Any, patterns: Mapping[str, Any], value: Any, _: Any) -> Iterator[Any]:
    for pattern, schema in patterns.items() if isinstance(value, dict) else ():
        for name, inner in value.items():
            if _matches(pattern, name):
                yield from validator.descend(inner, schema, path=name, schema_path=pattern)


def _matches(pattern: str, text: str) -> bool:
    """Whether a pattern is found in a text."""
    matcher = _matcher(pattern, "pattern")
    data = json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    return bool(matcher.try_consume_tokens(list(data)) == len(data) and matcher.is_accepting())


def _matcher(pattern: str, path: str) -> Any:
    from llguidance import LLMatcher

    grammar = LLMatcher.grammar_from_json_schema({"type": "string", "pattern": pattern})
    matcher = LLMatcher(_byte_tokenizer(), grammar)
    if matcher.is_error():
        raise Unsupported(f"the pattern {pattern[:_SHOWN]!r} can't be checked", param=path)
    return matcher


@cache
def _byte_tokenizer() -> Any:
    from llguidance import LLTokenizer, TokenizerWrapper

    return LLTokenizer(TokenizerWrapper(_Bytes()))


class _Bytes:
    """A vocabulary of single bytes, in the shape that llguidance asks for."""

    tokens = (*(bytes([byte]) for byte in range(256)), b"")
    eos_token_id = 256
    bos_token_id = None
    special_token_ids = (256,)

    def __call__(self, text: bytes | str) -> list[int]:
        return list(text.encode() if isinstance(text, str) else text)
