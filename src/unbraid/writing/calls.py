"""Calls: the parts of a call's template, each in its canonical spelling."""

from __future__ import annotations

import re
from collections.abc import Sequence

from unbraid.literals import encode_entities, quote
from unbraid.machine.names import single
from unbraid.machine.setup import written_parts
from unbraid.message import ToolCall
from unbraid.syntax import (
    MAX_NAME,
    NAME_CHARS,
    WHITE,
    Choice,
    Elements,
    Envelope,
    Envelopes,
    GemmaObject,
    Given,
    Id,
    Json,
    Lit,
    Name,
    Named,
    Nothing,
    Pairs,
    Part,
    PythonCalls,
    Word,
    Ws,
)
from unbraid.writing.elements import write_elements
from unbraid.writing.gemma import write_gemma
from unbraid.writing.pair import Pair, fail
from unbraid.writing.pairs import write_pairs
from unbraid.writing.values import check_object, members, python_literal, same_value

__all__ = ["check_name", "write_calls"]

_PYTHON_NAME = r"[\w.-]"


def write_calls(pair: Pair, calls: Sequence[ToolCall], history_calls: int, *, first: int = 0) -> str:
    """All calls of a message, in their section if there is one; raises Inexpressible.

    ``first`` is the number of the first call in its message.
    """
    tools = pair.tools
    assert tools is not None
    if tools.calls_per_turn is not None and len(calls) > tools.calls_per_turn:
        raise fail("tool_calls", f"at most {tools.calls_per_turn} call can be written in one turn")
    for n, call in enumerate(calls):
        _check_call(pair, call, f"tool_calls[{first + n}]")
    written = written_parts(tools.call.parts)
    if any(isinstance(part, (PythonCalls, Envelopes)) for part in written):
        texts = [_CallWriter(pair, calls, first, history_calls).sequence(tools.call.parts, ())]
    else:
        texts = [
            _CallWriter(pair, calls[n : n + 1], first + n, history_calls).sequence(tools.call.parts, ())
            for n in range(len(calls))
        ]
    text = tools.between.text.join(texts)
    if tools.section:
        section = tools.section
        text = f"{section.open.text}{section.pad}{text}{section.pad}{section.close.text}"
    return text + tools.after.text


def _check_call(pair: Pair, call: ToolCall, path: str) -> None:
    if not call.complete:
        raise fail(path, "the call is incomplete")
    tools = pair.tools
    declared = tools is not None and (tools.call.anchor or tools.call.atomic)
    if declared and pair.offered is not None and call.name not in pair.offered:
        raise fail(f"{path}.name", "the format calls only declared tools")
    if tools and tools.call.needs_required:
        text = check_object(call.arguments, f"{path}.arguments", repeated=False)
        missing = pair.typer(call.name).required.difference(key for key, _ in members(text))
        for key in sorted(missing):
            raise fail(f"{path}.arguments.{key}", "a required key is missing")


def check_name(name: str, chars: str, path: str) -> str:
    """The name, if it is one to 256 of ``chars``; raises Inexpressible."""
    if len(name) > MAX_NAME:
        raise fail(path, f"a function's name has at most {MAX_NAME} characters")
    if not re.fullmatch(f"{chars}+", name):
        raise fail(path, f"a function's name is made of {chars}")
    return name


class _CallWriter:
    """Writes one call, or the calls of one list."""

    def __init__(self, pair: Pair, calls: Sequence[ToolCall], index: int, history_calls: int) -> None:
        self.pair = pair
        self.calls = calls
        self.call = calls[0]
        self.index = index
        self.history_calls = history_calls
        self.path = f"tool_calls[{index}]"

    def sequence(self, parts: tuple[Part, ...], outer: tuple[Part, ...]) -> str:
        """Parts in order; ``outer`` are those behind them."""
        return "".join(self.part(part, (*parts[n + 1 :], *outer)) for n, part in enumerate(parts))

    def part(self, part: Part, rest: tuple[Part, ...]) -> str:
        """One part; ``rest`` are the parts behind it."""
        if isinstance(part, Lit):
            return part.text if part.written else ""
        if isinstance(part, Ws):
            return part.text
        if isinstance(part, Word):
            return part.text.format(number=self.index + 1)
        if isinstance(part, Choice):
            return self.sequence(part.options[0], rest)
        if isinstance(part, Name):
            return self.name(part)
        if isinstance(part, Given):
            return self.given(part)
        if isinstance(part, Id):
            return self.id(part)
        if isinstance(part, Envelopes):
            items = [self.envelope(part.item, call, n) for n, call in enumerate(self.calls)]
            return part.open + part.between.join(items) + part.close
        if isinstance(part, PythonCalls):
            text = part.between.join(self.python(call, n) for n, call in enumerate(self.calls))
            return text if part.brackets == "never" else f"[{text}]"
        return self.arguments(part, rest)

    def arguments(
        self, part: Json | Envelope | Named | Pairs | Elements | Nothing | GemmaObject, rest: tuple[Part, ...]
    ) -> str:
        """The part that holds this call's arguments."""
        call, path = self.call, f"{self.path}.arguments"
        if isinstance(part, Json):
            return check_object(call.arguments, path, repeated=True)
        if isinstance(part, (Envelope, Named)):
            return self.envelope(part, call, 0)
        if isinstance(part, Nothing):
            if not same_value(check_object(call.arguments, path, repeated=True), "{}"):
                raise fail(path, "the format writes no arguments")
            return ""
        if isinstance(part, Elements):
            return write_elements(part, self.pair.typer(call.name), call.arguments, path)
        if isinstance(part, Pairs):
            return write_pairs(self.pair, part, rest, call.name, call.arguments, path)
        return write_gemma(part, self.pair.typer(call.name), call.arguments, path)

    def given(self, part: Given) -> str:
        """A name that is not written, and is always the same."""
        if self.call.name != part.name:
            raise fail(f"{self.path}.name", f"only {part.name!r} can be called")
        return ""

    def name(self, part: Name) -> str:
        """The function's name."""
        name, path = self.call.name, f"{self.path}.name"
        if single(name, part.twice, self.pair.offered) != name:
            raise fail(path, "a declared name that is written twice is read once")
        return check_name(encode_entities(name, part.entities), part.chars, path)

    def id(self, part: Id) -> str:
        """The id, which holds the name: the call's own where it has the pattern, else a counted one."""
        call = self.call
        if not part.name:
            return self.own_id(part, call, 0)
        check_name(call.name, NAME_CHARS, f"{self.path}.name")
        prefix, _, suffix = part.pattern.partition("{name}")
        own = re.escape(prefix + call.name) + re.escape(suffix).replace(r"\{index\}", "[0-9]+")
        if re.fullmatch(own, call.id):
            text = call.id
        else:
            text = part.pattern.format(name=call.name, index=self.history_calls + self.index)
        return check_name(text, NAME_CHARS, f"{self.path}.name")

    def own_id(self, part: Id, call: ToolCall, n: int) -> str:
        """The id of the ``n``-th call here: its own where it has the pattern, else a counted one."""
        if re.fullmatch(part.pattern, call.id):
            return call.id
        if not part.made:
            raise fail(f"tool_calls[{self.index + n}].id", f"the id is no {part.pattern}")
        return part.made.format(index=self.history_calls + self.index + n)

    def envelope(self, part: Envelope | Named, call: ToolCall, n: int) -> str:
        """One JSON envelope."""
        path = f"tool_calls[{self.index + n}]"
        name = quote(call.name)
        if not call.name or call.name != call.name.strip(WHITE) or len(name) - 2 > MAX_NAME:
            raise fail(
                f"{path}.name", f"a name is 1 to {MAX_NAME} characters of JSON without white space around it"
            )
        arguments = check_object(call.arguments, f"{path}.arguments", repeated=True)
        if isinstance(part, Named):
            return f"{{{name}: {arguments}}}"
        written = [f'"{part.name[0]}": {name}', f'"{part.arguments[0]}": {arguments}']
        if part.id is not None:
            place = len(written) if part.id.last else 0
            written.insert(place, f'"{part.id.key}": "{self.own_id(part.id.id, call, n)}"')
        return f"{{{', '.join(written)}}}"

    def python(self, call: ToolCall, n: int) -> str:
        """One call in Python's spelling."""
        path = f"tool_calls[{n}]"
        check_name(call.name, _PYTHON_NAME, f"{path}.name")
        if not (call.name[0].isalpha() or call.name[0] == "_"):
            raise fail(f"{path}.name", "a name begins with a letter")
        text = check_object(call.arguments, f"{path}.arguments", repeated=False)
        keywords = []
        for key, value in members(text):
            where = f"{path}.arguments.{key}"
            if not key.isidentifier() or not re.fullmatch(r"\w+", key) or len(key) > MAX_NAME:
                raise fail(where, f"a key is an identifier of at most {MAX_NAME} characters")
            keywords.append(f"{key}={python_literal(value, where)}")
        return f"{call.name}({', '.join(keywords)})"
