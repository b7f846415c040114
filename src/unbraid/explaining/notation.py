"""A format as a grammar in EBNF."""

from __future__ import annotations

import json

from unbraid.explaining.response import template_grammar
from unbraid.machine.setup import answer_of, written_parts
from unbraid.syntax import (
    Channels,
    Choice,
    Elements,
    Envelope,
    Envelopes,
    GemmaObject,
    Given,
    Id,
    Joint,
    Json,
    Lit,
    Name,
    Named,
    Nothing,
    Pairs,
    Part,
    PythonCalls,
    Reasoning,
    ResponseTemplate,
    Space,
    Tools,
    TypeTag,
    Word,
    Ws,
    any_space,
)

__all__ = ["channels_of", "grammar", "written_id"]


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _lit(one: Lit) -> str:
    text = " | ".join(map(_text, one.spellings))
    text = f"( {text} )" if len(one.spellings) > 1 else text
    if one.repeats:
        text = f"{text} , {{ {text} }}"
    return f"[ {text} ]" if one.optional else text


def _white(text: str) -> str:
    """White space that is written as ``text`` and read as any."""
    return f"{_text(text)}~" if text else "ws"


def _framing(space: Space) -> list[str]:
    """Framing as an element of a sequence; nothing where none is written or tolerated."""
    if space.any:
        return [_white(space.text)]
    return [f"[ {_text(space.text)} ]"] if space.text else []


def written_id(half: Tools) -> Id | None:
    """The id that a call is written with."""
    for part in written_parts(half.call.parts):
        item = part.item if isinstance(part, Envelopes) else part
        if isinstance(item, Id):
            return item
        if isinstance(item, Envelope) and item.id is not None:
            return item.id.id
    return None


def _envelope(part: Envelope) -> str:
    members = [f'{_lit(Lit(part.name))} , ":" , NAME', f'{_lit(Lit(part.arguments))} , ":" , OBJECT']
    if part.id is not None:
        place = len(members) if part.id.last else 0
        members.insert(place, f'{_text(part.id.key)} , ":" , {_part(part.id.id)}')
    return " , ".join(('"{"', ' , "," , '.join(members), '"}"'))


def _part(part: Part) -> str:
    """One part of a call's template."""
    if isinstance(part, Lit):
        return _lit(part)
    if isinstance(part, Ws):
        return _white(part.text)
    if isinstance(part, Word):
        return f"WORD (* {part.text} *)"
    if isinstance(part, Given):
        return f"(* {part.name} *)"
    if isinstance(part, Id):
        return f"ID (* {part.pattern} *)"
    if isinstance(part, Envelope):
        return _envelope(part)
    if isinstance(part, Named):
        return '"{" , NAME , ":" , OBJECT , "}"'
    if isinstance(part, Envelopes):
        one = _part(part.item)
        around = (part.open, part.between, part.close)
        begin, between, end = ([_text(text)] if text else [] for text in around)
        return " , ".join([*begin, one, f"{{ {' , '.join([*between, one])} }}", *end])
    if isinstance(part, Pairs):
        middle = [_tag(one) if isinstance(one, TypeTag) else _part(one) for one in part.middle]
        steps = [_lit(part.open), "KEY", *middle, _text(part.pad) if part.pad else "", "VALUE"]
        steps += [_text(part.pad) if part.pad else "", _lit(part.close), _white(part.gap)]
        return f"{{ {' , '.join(filter(None, steps))} }}"
    if isinstance(part, Elements):
        tags = f'{_text(part.mark + "<")} , KEY , ">"', f'{_text(part.mark + "</")} , KEY , ">"'
        return f"{{ ELEMENT }} (* ELEMENT = {tags[0]} , ( VALUE | {{ ELEMENT }} ) , {tags[1]} *)"
    if isinstance(part, GemmaObject):
        return f"GEMMA_OBJECT (* strings between {part.quote} *)"
    if isinstance(part, Choice):
        return "( " + " | ".join(_sequence(option) for option in part.options) + " )"
    if isinstance(part, PythonCalls):
        return _python_calls(part)
    return {Name: "NAME", Json: "OBJECT", Nothing: "NOTHING"}[type(part)]


def _python_calls(part: PythonCalls) -> str:
    call = "PYTHON_CALL" if part.item is None else f"( PYTHON_CALL | {_envelope(part.item)} )"
    calls = f"{call} , {{ {_text(part.between)}~ , {call} }}"
    listed = f'"[" , {calls} , "]"'
    return {"always": listed, "never": calls, "optional": f"( {listed} | {calls} )"}[part.brackets]


def _tag(part: TypeTag) -> str:
    """The type of a value."""
    words = " | ".join(_text(word) for _, word in part.words)
    text = f"{_lit(part.open)} , ( {words} ) , {_lit(part.close)}"
    return text if part.absent is None else f"[ {text} ]"


def _sequence(parts: tuple[Part, ...]) -> str:
    return " , ".join(_part(part) for part in parts)


def channels_of(reasoning: object, tools: object) -> Channels:
    """The format of channels that the halves are."""
    return next(half for half in (reasoning, tools) if isinstance(half, Channels))


def grammar(reasoning: Reasoning | Joint | None, tools: Tools | Joint | None) -> list[str]:
    if isinstance(reasoning, ResponseTemplate):
        return template_grammar(reasoning)
    if isinstance(reasoning, Channels) or isinstance(tools, Channels):
        return _channel_grammar(channels_of(reasoning, tools))
    answer = answer_of(reasoning, tools if isinstance(tools, Tools) else None)
    content = f"[ {_lit(answer.open)} , CONTENT , {_lit(answer.close)} ]" if answer else "[ CONTENT ]"
    output = [*(["[ thinking ]"] if reasoning else []), content, *(["[ calls ]"] if tools else [])]
    lines = [f"output   = {' , '.join(output)} ;"]
    if reasoning:
        steps = [*_framing(reasoning.before), _lit(reasoning.open)]
        steps += [_text(reasoning.label)] if reasoning.label else []
        steps += [*_framing(reasoning.lead), "TEXT", *_framing(reasoning.trail), _lit(reasoning.close)]
        lines.append(f"thinking = {' , '.join([*steps, *_framing(reasoning.after)])} ;")
    if isinstance(tools, Tools):
        lines += _call_grammar(tools)
    legend = '(* "x"~ : written as x, any white space is read; ws: any white space *)'
    return [*lines, legend] if any('"~' in one or " ws " in one for one in lines) else lines


def _call_grammar(tools: Tools) -> list[str]:
    between = " , ".join([*_framing(tools.between), "call"])
    calls = f"call , {{ {between} }}"
    if tools.section:
        pad = _framing(any_space(tools.section.pad))
        calls = " , ".join([_lit(tools.section.open), *pad, calls, *pad, _lit(tools.section.close)])
    return [
        f"calls    = {' , '.join([*_framing(tools.before), calls, *_framing(tools.after)])} ;",
        f"call     = {_sequence(tools.call.parts)} ;",
    ]


def _channel_grammar(half: Channels) -> list[str]:
    ends = " | ".join(_text(one.text) for one in half.ends)
    role = f" , {_text(half.role)}" if half.role else ""
    parts = {
        "channel": f"{_text(half.channel.text)} , NAME" if half.channel else "",
        "recipient": f"{_text(half.to)} , NAME" if half.to else "NAME" if half.to == "" else "",
        "type": f'" " , [ {_text(half.constrain.text)} ] , NAME' if half.constrain else "",
    }
    said = {name: text for name, text in parts.items() if text}
    lines = [
        f"output  = header , body , {{ {_text(half.start.text)}{role} , header , body }} ;",
        f"header  = {{ {' | '.join(said) or 'NAME'} }} ;",
        *(f"{name} = {text} ;" for name, text in said.items()),
    ]
    bodies = " | ".join(_text(one.text) for one in half.bodies)
    bodies = f"( {bodies} )" if len(half.bodies) > 1 else bodies
    calls = next((one.calls for one in half.routes if one.calls is not None), None)
    inside = "( TEXT | calls )" if calls else "TEXT"
    end = f"( {ends} | END_OF_OUTPUT )" if ends else ""
    lines.append(f"body    = {' , '.join(filter(None, (bodies, inside, end)))} ;")
    return lines + (_call_grammar(calls) if calls else [])
