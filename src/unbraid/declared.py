"""Whether a declaration can be read: a wrong one is refused by the name of its field."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NoReturn, get_args

from unbraid.errors import InvalidRequest
from unbraid.machine.setup import flat
from unbraid.response.expression import Unreadable, expression
from unbraid.response.load import check_transform
from unbraid.suffixes import SUFFIX
from unbraid.syntax import (
    WHITE,
    Answer,
    Channels,
    Choice,
    Cite,
    Content,
    Elements,
    Envelope,
    Envelopes,
    Field,
    GemmaObject,
    Given,
    Id,
    IdMember,
    Joint,
    Json,
    Lit,
    Name,
    Named,
    Nothing,
    Pairs,
    Part,
    Pattern,
    PythonCalls,
    Reasoning,
    ResponseTemplate,
    Route,
    Section,
    Space,
    Switch,
    Tools,
    TypeTag,
    Variants,
    Ws,
)
from unbraid.syntax.wording import wording

__all__ = ["check_declaration"]

NAMING = (Name, Given, Envelope, Named, Envelopes, PythonCalls)
JSON_TYPES = ("string", "integer", "number", "boolean", "null", "object", "array")
ARGUMENTS = (Json, Envelope, Named, Envelopes, Pairs, Elements, Nothing, GemmaObject, PythonCalls)


def check_declaration(half: Reasoning | Tools | Joint) -> None:
    """Raise InvalidRequest when a field of ``half`` is not what the vocabulary says it is."""
    if isinstance(half, Tools):
        _tools(half)
    elif isinstance(half, Reasoning):
        _reasoning(half)
    elif isinstance(half, ResponseTemplate):
        _template(half)
    else:
        _channels(half)


def _channels(half: Channels) -> None:
    _literals("Channels", half, ("start",))
    _literals("Channels", half, (one for one in ("channel", "constrain", "body") if getattr(half, one)))
    if not isinstance(half.role, str):
        _refuse("Channels.role", "a text", half.role)
    if half.to is not None and (not isinstance(half.to, str) or half.to != half.to.rstrip(WHITE)):
        _refuse("Channels.to", "a text that doesn't end with white space, or None", half.to)
    _all("Channels.ends", half.ends, Lit)
    _texts("Channels", half, ("dropped", "models"))
    _all("Channels.routes", half.routes, Route, least=1)
    for n, route in enumerate(half.routes):
        here = f"Channels.routes[{n}]"
        _one_of(f"{here}.strand", route.strand, ("reasoning", "content", "call", "dropped"))
        _texts(here, route, ("ends", "to"))
        if route.body is None and half.body is None:
            _refuse(f"{here}.body", "a marker, where Channels.body is none", route.body)
        if route.body is not None:
            _literal(f"{here}.body", route.body)
        if route.calls is not None:
            _tools(route.calls, f"{here}.calls", marked=False)
        elif route.strand == "call" and not any("{name}" in one for one in route.to):
            _refuse(f"{here}.to", "a recipient with {name}, unless the body has calls of its own", route.to)
    if not any(route.strand == "content" and route.write is not None for route in half.routes):
        _refuse("Channels.routes", "routes of which one writes content", half.routes)


def _template(half: ResponseTemplate) -> None:
    _all("ResponseTemplate.fields", half.fields, Field, 1)
    _marker("ResponseTemplate.anchor", half.anchor)
    if sum(one.open is None for one in half.fields) > 1:
        _refuse("ResponseTemplate.fields", "fields of which one may be without an opener", half.fields)
    for n, one in enumerate(half.fields):
        field = f"ResponseTemplate.fields[{n}]"
        _one_of(f"{field}.strand", one.strand, ("reasoning", "content", "call"))
        for name in ("open", "close"):
            if getattr(one, name) is not None:
                _marker(f"{field}.{name}", getattr(one, name))
        content: Content | None = one.content
        while content is not None:
            if content.tag is not None:
                _marker(f"{field}.content.tag", content.tag)
            content = content.value
        if one.transform is not None:
            captures = expression(one.open.text).groups if isinstance(one.open, Pattern) else ()
            check_transform(one.transform, captures, one.each, f"{field}.transform")


def _marker(field: str, value: object) -> None:
    if not isinstance(value, Pattern):
        _literal(field, value)
        return
    try:
        expression(value.text)
    except Unreadable as problem:
        _refuse(field, f"an expression that can be read in linear time ({problem})", value.text)


def _refuse(field: str, wanted: str, found: object) -> NoReturn:
    raise InvalidRequest(f"{field} must be {wanted}, not {wording(found)}", param=field)


def _all(field: str, values: object, kind: type, least: int = 0) -> None:
    if (
        not isinstance(values, tuple)
        or len(values) < least
        or not all(isinstance(one, kind) for one in values)
    ):
        _refuse(field, f"a tuple of {kind.__name__}", values)


def _one_of(field: str, value: object, allowed: Iterable[str]) -> None:
    if value not in tuple(allowed):
        _refuse(field, "one of " + ", ".join(allowed), value)


def _literal(field: str, value: object) -> None:
    if not isinstance(value, Lit):
        _refuse(field, "a marker, lit(…) or token(…)", value)
    if not value.spellings or not all(isinstance(one, str) and one for one in value.spellings):
        _refuse(field, "a marker with a spelling", value)


def _literals(owner: str, half: object, names: Iterable[str]) -> None:
    for name in names:
        _literal(f"{owner}.{name}", getattr(half, name))


def _spaces(owner: str, half: object, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(half, name)
        if not isinstance(value, Space):
            _refuse(f"{owner}.{name}", "white space, space(…) or any_space(…)", value)


def _texts(owner: str, half: object, names: Iterable[str]) -> None:
    for name in names:
        _all(f"{owner}.{name}", getattr(half, name), str)


def _pattern(field: str, pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, TypeError):
        _refuse(field, "a regular expression", pattern)


def _reasoning(half: Reasoning) -> None:
    _literals("Reasoning", half, ("open", "close"))
    _spaces("Reasoning", half, ("lead", "trail", "after", "before", "begin", "end"))
    _texts("Reasoning", half, ("ends_at", "turns", "dropped", "ignored", "stems", "models"))
    _one_of("Reasoning.opened_by", half.opened_by, ("prompt", "output", "either"))
    _one_of("Reasoning.after_in", half.after_in, ("always", "output", "answer"))
    _one_of("Reasoning.tools_inside", half.tools_inside, ("end", "draft", "text", "stay"))
    if half.tools_inside == "end" and not half.ends_at:
        _refuse("Reasoning.ends_at", "the openers of calls, as tools_inside is end", half.ends_at)
    _answer("Reasoning.answer", half.answer)
    _chosen("Reasoning", half)
    if not isinstance(half.switch, Switch):
        _refuse("Reasoning.switch", "a Switch", half.switch)
    _texts("Reasoning.switch", half.switch, ("names", "off_words", "on_words"))
    if not isinstance(half.answer_if, str):
        _refuse("Reasoning.answer_if", "a variable's name", half.answer_if)
    if set(half.open.spellings) & set(half.close.spellings):
        _refuse("Reasoning.close", "another marker than Reasoning.open", half.close)


def _most(parts: tuple[Part, ...], kinds: tuple[type, ...]) -> int:
    """How many parts of these kinds one way through the parts holds at most."""
    ways = (
        max((_most(option, kinds) for option in one.options), default=0)
        if isinstance(one, Choice)
        else int(isinstance(one, kinds))
        for one in parts
    )
    return sum(ways)


def _tools(half: Tools, owner: str = "Tools", *, marked: bool = True) -> None:
    parts = getattr(half.call, "parts", None)
    _parts(f"{owner}.call.parts", parts)
    _texts(f"{owner}.call", half.call, ("behind",))
    assert isinstance(parts, tuple)
    enclosed = isinstance(half.section, Section) and not half.section.noise
    begins = half.call.anchor or _marked(parts[0]) or (enclosed and isinstance(parts[0], Choice))
    if marked and not begins:
        wanted = "a marker, unless the call is anchored or its section has no noise"
        _refuse(f"{owner}.call.parts[0]", wanted, parts[0])
    if not any(isinstance(one, NAMING) or (isinstance(one, Id) and one.name) for one in flat(parts)):
        _refuse(f"{owner}.call.parts", "parts that hold the function's name", parts)
    if not any(isinstance(one, ARGUMENTS) for one in flat(parts)):
        _refuse(f"{owner}.call.parts", "parts that hold the arguments", parts)
    if _most(parts, ARGUMENTS) > 1:
        _refuse(f"{owner}.call.parts", "parts that hold the arguments once", parts)
    if half.section is not None:
        if not isinstance(half.section, Section):
            _refuse(f"{owner}.section", "a Section", half.section)
        _literals(f"{owner}.section", half.section, ("open", "close"))
    _spaces(owner, half, ("before", "between", "after", "begin", "end"))
    if half.before_bare is not None:
        _spaces(owner, half, ("before_bare",))
    _answer(f"{owner}.answer", half.answer)
    _chosen(owner, half)
    _texts(owner, half, ("dropped", "stems", "models"))
    _one_of(f"{owner}.ids", half.ids, ("random", "nine"))
    _one_of(f"{owner}.content", half.content, ("before", "behind"))


def _chosen(owner: str, half: Reasoning | Tools) -> None:
    _texts(owner, half, ("suffixes",))
    for suffix in half.suffixes:
        if not SUFFIX.fullmatch(suffix):
            _refuse(f"{owner}.suffixes", "a colon and up to 32 letters, digits, dots, - or _", suffix)
    if half.variants is None:
        return
    if not isinstance(half.variants, Variants):
        _refuse(f"{owner}.variants", "Variants", half.variants)
    names = half.variants.names
    if not isinstance(names, tuple) or not names or not all(map(_is_pair, names)):
        _refuse(f"{owner}.variants.names", "pairs of a word and a half's name", names)


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(one, str) for one in value)


def _answer(field: str, answer: object) -> None:
    if answer is None:
        return
    if not isinstance(answer, Answer):
        _refuse(field, "an Answer", answer)
    _literals(field, answer, ("open", "close") if answer.end is None else ("open", "close", "end"))
    _spaces(field, answer, ("lead", "trail"))
    _one_of(f"{field}.written", answer.written, ("always", "empty", "alone", "calls"))
    _one_of(f"{field}.rest", answer.rest, ("content", "dropped"))
    if answer.cite is not None:
        if not isinstance(answer.cite, Cite):
            _refuse(f"{field}.cite", "a Cite", answer.cite)
        for name in ("open", "close", "end"):
            if not getattr(answer.cite, name):
                _refuse(f"{field}.cite.{name}", "a text", getattr(answer.cite, name))


def _marked(part: Part) -> bool:
    """Whether a call that begins with this part begins with a marker."""
    if isinstance(part, Choice):
        return all(_marked(option[0]) for option in part.options)
    return isinstance(part, Lit)


def _parts(field: str, parts: object) -> None:
    if not isinstance(parts, tuple) or not parts:
        _refuse(field, "a tuple of parts", parts)
    for n, part in enumerate(parts):
        here = f"{field}[{n}]"
        if not isinstance(part, get_args(Part)):
            _refuse(here, "a part of a call", part)
        if isinstance(part, Choice):
            for m, option in enumerate(part.options):
                _parts(f"{here}.options[{m}]", option)
        else:
            _part(here, part)
        if isinstance(part, Name) and n + 1 < len(parts):
            _not_run_on(f"{field}[{n + 1}]", "name", part.chars, parts[n + 1 :])


def _part(field: str, part: Part) -> None:
    if isinstance(part, Lit):
        _literal(field, part)
    elif isinstance(part, Name):
        _pattern(f"{field}.chars", part.chars)
    elif isinstance(part, Id):
        if part.name and not re.fullmatch(r"[^{}]*\{name\}(?::\{index\})?", str(part.pattern)):
            _refuse(f"{field}.pattern", "PREFIX{name}:{index}, or name=False with a pattern", part.pattern)
        _pattern(f"{field}.pattern", "" if part.name else part.pattern)
        if part.made and not _makes(part):
            _refuse(f"{field}.made", "a text of the pattern's shape, with {index}", part.made)
    elif isinstance(part, Envelope) and part.id is not None:
        if not isinstance(part.id, IdMember):
            _refuse(f"{field}.id", "an IdMember", part.id)
        if not isinstance(part.id.id, Id) or part.id.id.name or not part.id.id.made:
            _refuse(f"{field}.id.id", "an Id with name=False and made", part.id.id)
        _part(f"{field}.id.id", part.id.id)
    elif isinstance(part, Envelopes):
        if isinstance(part.item, Envelope):
            _part(f"{field}.item", part.item)
        brackets = (part.open.strip(), part.between.strip(), part.close.strip())
        if brackets not in (("[", ",", "]"), ("", "", "")):
            _refuse(field, "a row of objects in brackets with commas, or without either", brackets)
    elif isinstance(part, Pairs):
        _literal(f"{field}.open", part.open)
        _literal(f"{field}.close", part.close)
        _pattern(f"{field}.key_chars", part.key_chars)
        _texts(field, part, ("early", "wrappers"))
        _one_of(f"{field}.words", part.words, ("json", "python"))
        for n, one in enumerate(part.middle):
            _middle(f"{field}.middle[{n}]", one)
        _not_run_on(f"{field}.middle[0]", "key", part.key_chars, part.middle)
    elif isinstance(part, Elements):
        if not isinstance(part.mark, str) or not part.mark:
            _refuse(f"{field}.mark", "a text that is not empty", part.mark)
    elif isinstance(part, PythonCalls):
        _one_of(f"{field}.brackets", part.brackets, ("always", "optional", "never"))


def _makes(part: Id) -> bool:
    try:
        return all(re.fullmatch(part.pattern, part.made.format(index=n)) for n in (0, 1, 100))
    except (IndexError, KeyError, TypeError, ValueError):
        return False


def _has_word(tag: TypeTag, kind: str) -> bool:
    try:
        return isinstance(tag.word(kind), str)
    except (TypeError, ValueError, StopIteration):
        return False


def _middle(field: str, one: object) -> None:
    if isinstance(one, TypeTag):
        _literals(field, one, ("open", "close"))
        if not all(_has_word(one, kind) for kind in JSON_TYPES):
            _refuse(f"{field}.words", f"pairs with a word for {', '.join(JSON_TYPES)}", one.words)
    elif isinstance(one, Lit):
        _literal(field, one)
    elif not isinstance(one, Ws):
        _refuse(field, "a marker, white space or a TypeTag", one)


def _not_run_on(field: str, what: str, chars: str, behind: tuple[object, ...]) -> None:
    """No marker that may stand directly behind a name or a key begins with a character of it."""
    for marker in _next_markers(behind):
        if any(re.match(chars, text) for text in marker.spellings):
            _refuse(field, f"a marker that can't be read as more of the {what}", marker)


def _next_markers(parts: tuple[object, ...]) -> Iterator[Lit]:
    """The markers with which these parts may begin, some left out or empty."""
    for one in parts:
        if isinstance(one, Lit):
            yield one
            if not one.optional:
                return
        elif isinstance(one, TypeTag):
            yield one.open
            if one.absent is None:
                return
        elif isinstance(one, Pairs):
            yield one.open
        elif isinstance(one, Choice):
            for option in one.options:
                yield from _next_markers(option)
            return
        elif not isinstance(one, Ws | Elements | Nothing):
            return
