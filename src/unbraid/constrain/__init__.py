"""Grammars: which texts may the model write, given a format, the tools and the request.

``constrain`` builds one dialect-neutral grammar of the whole output, thinking
included, from the same declaration that the parser reads. A ``Constraint`` gives it as
llguidance's Lark, as xgrammar's structural tag or as llama.cpp's GBNF; it is to be enforced from the first
token of the output.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from unbraid import validate
from unbraid.constrain.build import Limits, Thinking, build, marker_maker
from unbraid.constrain.channels import build_channels
from unbraid.constrain.checks import TOO_MUCH
from unbraid.constrain.gbnf import to_gbnf
from unbraid.constrain.lark import to_lark
from unbraid.constrain.plain import plain_schema
from unbraid.constrain.request import Demand, demand
from unbraid.constrain.response import build_response
from unbraid.constrain.tree import Grammar, json_node
from unbraid.constrain.xgrammar import to_structural_tag
from unbraid.effort import Spent, bounded
from unbraid.errors import InvalidRequest, Unsupported
from unbraid.pair import read_pair, with_family
from unbraid.request import picked
from unbraid.response.program import special_tokens
from unbraid.syntax import Channels, Joint, Reasoning, Tools
from unbraid.tokens import Tokenizer

__all__ = ["Constraint", "constrain"]

_Halves = tuple[Reasoning | None, Tools | None, Joint | None]
_NONE = ("off", "closed")


@dataclass(frozen=True)
class Constraint:
    """A grammar of the whole output, to be enforced from the first token unless ``starts`` says otherwise.

    ``handles_thinking``: thinking is part of it, so no gate is needed. ``markers``:
    ``tokens`` if markers that are one special token are named by id, which the parser
    must be told (``markers=``); ``reads_as``: the output is in the format's own
    notation (``native``), or plain JSON (``json``), which the parser must be told as well and
    which holds no thinking. ``starts``: whether it is to be enforced from the first token of the
    ``output``, or of the ``answer`` only, behind thinking, which ``Gate`` finds: plain JSON in front
    of which thinking may come, and which would be thinking itself if it began the output.
    ``enforced`` says in words what it holds.
    """

    grammar: Grammar = field(repr=False)
    markers: Literal["tokens", "text"]
    enforced: str
    handles_thinking: bool = True
    reads_as: Literal["native", "json"] = "native"
    starts: Literal["output", "answer"] = "output"
    schema: Mapping[str, Any] | None = field(default=None, repr=False)

    def lark(self) -> str:
        """The grammar for llguidance."""
        with _nested():
            return to_lark(self.grammar)

    def structural_tag(self) -> dict[str, Any]:
        """The grammar for xgrammar, as plain dicts; raises Unsupported if it can't hold it."""
        with _nested():
            return to_structural_tag(self.grammar)

    def gbnf(self) -> str:
        """The grammar for llama.cpp without llguidance; raises Unsupported if it can't hold it."""
        with _nested():
            return to_gbnf(self.grammar)

    def json_schema(self) -> dict[str, Any]:
        """The JSON schema of the output, or of the answer behind thinking: see ``starts``.

        Raises Unsupported unless the constraint was made with ``reads_as="json"``.
        """
        if self.schema is None:
            raise Unsupported(
                'a JSON schema holds no markup: make the constraint with reads_as="json"', param="reads_as"
            )
        return copy.deepcopy(dict(self.schema))

    @property
    def digest(self) -> str:
        """The SHA-256 of the structural tag's canonical JSON: equal for equal requests.

        Where xgrammar can't hold the grammar it is that of the Lark text.
        """
        try:
            text = json.dumps(
                self.structural_tag(), sort_keys=True, separators=(",", ":"), ensure_ascii=False
            )
        except Unsupported:
            text = self.lark()
        return hashlib.sha256(text.encode()).hexdigest()


def constrain(
    reasoning_parser: str | None = None,
    tool_parser: str | None = None,
    *,
    format: str | None = None,
    tools: Sequence[Mapping[str, Any]] | None = None,
    tool_choice: Any = "auto",
    parallel_tool_calls: bool | None = True,
    thinking: Thinking = "off",
    strict_level: Literal["auto", "function", "parameter"] = "auto",
    response_schema: Any = None,
    tokenizer: Tokenizer | None = None,
    markers: Literal["tokens", "text"] | None = None,
    reads_as: Literal["native", "json"] = "native",
    max_calls: int = 16,
    max_white: int = 64,
    max_string: int | None = None,
    bound_raw: bool = True,
    label: bool = False,
    response_template: object = None,
) -> Constraint | None:
    """The grammar of one request's output, or None when nothing has to be enforced.

    Args:
        reasoning_parser, tool_parser, format: names as for ``Parser``.
        tools, tool_choice, parallel_tool_calls: as in the request; ``allowed_tools`` is read in both
            of OpenAI's shapes. Nothing is changed.
        thinking: how the output begins: ``open`` (the prompt opened thinking), ``output`` (the model
            writes the opener, and must), ``optional`` (it may), ``off`` or ``closed`` (none comes).
        strict_level: ``auto`` holds the schemas of tools with ``strict: true``; ``function`` holds
            envelope and names of every request; ``parameter`` takes every tool as strict.
        response_schema: a JSON schema for the answer; with tools, calls or such an answer.
        tokenizer: makes markers that are one special token be named by id.
        markers: ``text`` spells them as text all the same.
        reads_as: ``json`` demands the calls as plain JSON, behind thinking: an array of
            ``{"name", "parameters"}``, or the arguments of a named call.
        max_calls, max_white, max_string: bounds of calls a turn, of white space in a row, of strings.
        bound_raw: whether ``max_string`` holds for strings in answers and in other notations than JSON
            too. GBNF counts text without a marker dearly: long bounds make it a narrower text.
        label: with ``open``, whether the label behind the opener is still to come.
        response_template: as for ``Parser``.

    Raises:
        InvalidRequest: a wrong option, tool or choice; Unsupported: what this format can't hold;
        UnknownParser, BrokenFormat, IncompatiblePair: about the names.
    """
    _check_options(thinking, strict_level, reads_as, markers, max_calls, max_white, max_string)
    reasoning_parser, tool_parser, _ = with_family(format, reasoning_parser, tool_parser)
    found = read_pair(reasoning_parser, tool_parser, response_template, tokenizer)
    with _nested():
        wanted = demand(
            tools,
            tool_choice,
            parallel=parallel_tool_calls,
            level=strict_level,
            schema=response_schema,
            max_calls=_most(found[1] or found[2], max_calls),
        )
    if reads_as == "json":
        return _plain(found, wanted, thinking, picked(tool_choice).named, max_string)
    if wanted is None:
        return None
    if wanted.mode != "none" and tool_parser is None:
        raise InvalidRequest("calls can only be enforced with a tool parser", param="tool_parser")
    if markers == "tokens" and tokenizer is None:
        raise InvalidRequest("markers by token id need tokenizer=", param="markers")
    by_id = tokenizer if markers != "text" else None
    limits = Limits(max_calls, max_white, max_string, max_string if bound_raw else None)
    grammar, named = _grammar(found, wanted, thinking, limits, by_id, label=label)
    return Constraint(grammar, "tokens" if named else "text", _describe(wanted, f"thinking {thinking}"))


def _check_options(
    thinking: object,
    strict_level: object,
    reads_as: object,
    markers: object,
    max_calls: object,
    max_white: object,
    max_string: object,
) -> None:
    """Refuse an option of a wrong type, or a word that is none."""
    validate.one_of("thinking", thinking, ("open", "output", "optional", "off", "closed"))
    validate.one_of("strict_level", strict_level, ("auto", "function", "parameter"))
    validate.one_of("reads_as", reads_as, ("native", "json"))
    if markers is not None:
        validate.one_of("markers", markers, ("tokens", "text"))
    validate.count("max_calls", max_calls, least=1)
    validate.count("max_white", max_white)
    validate.count("max_string", max_string, least=1, optional=True)


def _grammar(
    found: _Halves,
    wanted: Demand,
    thinking: Thinking,
    limits: Limits,
    tokenizer: Tokenizer | None,
    *,
    label: bool,
) -> tuple[Grammar, bool]:
    """The grammar in the pair's own notation, and whether a marker in it is named by id."""
    reasoning, tools, joint = found
    ids: dict[str, int | None] = {}
    maker = marker_maker(None)
    if tokenizer is not None:
        find = tokenizer.token_id
        maker = marker_maker(lambda text: ids.setdefault(text, find(text)))
    with _nested():
        if isinstance(joint, Channels):
            grammar = build_channels(joint, wanted, thinking, limits, maker)
        elif joint is not None:
            specials = tuple(special_tokens(joint, tokenizer)) if tokenizer is not None else ()
            grammar = build_response(joint, wanted, thinking, limits, maker, specials)
        elif reasoning is None and thinking not in _NONE:
            raise InvalidRequest(f"thinking={thinking!r} needs a reasoning parser", param="thinking")
        else:
            grammar = build(reasoning, tools, wanted, thinking, limits, maker, label=label)
    return grammar, any(token_id is not None for token_id in ids.values())


def _plain(
    found: _Halves, wanted: Demand | None, thinking: Thinking, one: bool, max_string: int | None
) -> Constraint:
    """The calls as plain JSON; thinking, if any comes, stands in front and is not held."""
    reasoning, _, _ = found
    thinks = thinking not in _NONE
    if thinks and reasoning is None:
        raise Unsupported(
            f"no thinking is read in front of plain JSON here: thinking must be off, not {thinking}",
            param="thinking",
        )
    wanted = wanted or Demand("none")
    with _nested():
        schema = plain_schema(wanted, named=one, max_string=max_string)
        grammar = Grammar(json_node(schema), {})
    said = (
        f"thinking {thinking}, not held: enforce it where the answer starts"
        if thinks
        else f"thinking {thinking}"
    )
    return Constraint(
        grammar,
        "text",
        _describe(wanted, said),
        handles_thinking=False,
        reads_as="json",
        starts="answer" if thinks else "output",
        schema=schema,
    )


@contextmanager
def _nested() -> Iterator[None]:
    """Schemas that refer ever deeper are refused where the recursion ends, others by what they cost."""
    try:
        with bounded():
            yield
    except RecursionError:
        raise Unsupported("the schemas refer too deep into each other to be held", param="tools") from None
    except Spent:
        raise Unsupported(TOO_MUCH.format("the schemas of the request"), param="tools") from None


def _most(half: Tools | Joint | None, max_calls: int) -> int:
    """The calls that one turn may hold: a format's own limit counts too."""
    own = half.calls_per_turn if half is not None else None
    return max_calls if own is None else min(own, max_calls)


def _describe(wanted: Demand, thinking: str) -> str:
    names = ", ".join(f"{tool.name}{' (strict)' if tool.strict else ''}" for tool in wanted.tools)
    calls = {
        "none": "no call",
        "auto": f"up to {wanted.most} whole calls of {names}, or none",
        "required": f"1 to {wanted.most} calls of {names}" if wanted.most > 1 else f"one call of {names}",
    }[wanted.mode]
    parts = [thinking, calls]
    if wanted.schema is not None:
        parts.append("an answer by the response schema")
    return "; ".join(parts)
