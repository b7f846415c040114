"""What depends only on the format, the request's shape and the start state: made once and shared."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from unbraid.machine.markers import Scanner, scanner
from unbraid.machine.steps import Step, first_literals, steps_of
from unbraid.syntax import (
    BLANK,
    NO_SPACE,
    Answer,
    Calls,
    Channels,
    Choice,
    GemmaObject,
    Joint,
    Lit,
    Pairs,
    Part,
    Reasoning,
    ResponseTemplate,
    Space,
    Tools,
    TypeTag,
    Ws,
)

if TYPE_CHECKING:
    from unbraid.codecs.closers import Closers

__all__ = [
    "Setup",
    "answer_of",
    "answers_end_thinking",
    "begin_of",
    "call_openers",
    "certain",
    "first_literals",
    "flat",
    "literals",
    "markers_of",
    "setup",
    "stems_of",
    "told_by_id",
    "unit_openers",
    "written_parts",
]


def flat(parts: tuple[Part, ...]) -> Iterator[Part]:
    """The parts in order, those of every option of a choice among them."""
    for part in parts:
        if isinstance(part, Choice):
            for option in part.options:
                yield from flat(option)
        else:
            yield part


def written_parts(parts: tuple[Part, ...]) -> list[Part]:
    """The parts that are written: of a choice the first option."""
    found: list[Part] = []
    for part in parts:
        found += written_parts(part.options[0]) if isinstance(part, Choice) else [part]
    return found


def _between(part: Pairs) -> Iterator[Lit]:
    """The markers between a key and its value."""
    for one in part.middle:
        if isinstance(one, TypeTag):
            yield from (one.open, one.close)
        elif isinstance(one, Lit):
            yield one


def literals(parts: tuple[Part, ...]) -> list[Lit]:
    """Every marker that stands in a sequence of parts."""
    found: list[Lit] = []
    for part in flat(parts):
        if isinstance(part, Lit):
            found.append(part)
        elif isinstance(part, Pairs):
            found += [part.open, *_between(part), part.close]
        elif isinstance(part, GemmaObject):
            found.append(Lit((part.quote,), special=True))
    return found


def markers_of(half: Reasoning | Tools | Joint) -> list[Lit]:
    """The markers of a half in the order in which they are declared, turn ends left out."""
    if isinstance(half, ResponseTemplate):
        return half.markers
    if isinstance(half, Channels):
        return list(half.frames)
    answer = [half.answer.open, half.answer.close] if half.answer else []
    if isinstance(half, Reasoning):
        return [half.open, half.close, *answer]
    section = [half.section.open, half.section.close] if half.section else []
    return [*section, *literals(half.call.parts), *answer]


def told_by_id(*halves: Reasoning | Tools | Joint | None) -> list[Lit]:
    """What may be a single token: every marker, turn ends and what stands in bodies among them."""
    found: list[Lit] = []
    for half in halves:
        if half is None:
            continue
        found += markers_of(half)
        if isinstance(half, ResponseTemplate):
            continue
        found.append(Lit(half.dropped, special=isinstance(half, Channels)))
        if isinstance(half, Channels):
            found += told_by_id(*(one.calls for one in half.routes))
            continue
        found.append(Lit(half.stems, special=True))
        if isinstance(half, Reasoning):
            found.append(Lit((*half.ends_at, *half.ignored)))
    return found


def call_openers(call: Calls) -> tuple[str, ...]:
    """The texts at which a call may begin; unmarked ones only for an anchored format."""
    return tuple(text for text, marked in first_literals(call.parts) if marked or call.anchor)


def unit_openers(tools: Tools) -> tuple[str, ...]:
    """What begins calls: the section's opener, or a call's own."""
    return tools.section.open.spellings if tools.section else call_openers(tools.call)


def _closers(call: Calls) -> tuple[str, ...]:
    """The last markers of a call, in every spelling."""
    first, *rest = call.parts
    markers = _last((first, *rest) if isinstance(first, Choice) else tuple(rest))
    return tuple(spelling for one in markers for spelling in one.spellings)


def _last(parts: tuple[Part, ...]) -> list[Lit]:
    """The last marker of a sequence, or of each option of a choice at its end."""
    for part in reversed(parts):
        if isinstance(part, Lit):
            return [part]
        if isinstance(part, Choice):
            return [one for option in part.options for one in _last(option[1:])]
        if not isinstance(part, Ws):
            break
    return []


def answer_of(reasoning: Reasoning | None, tools: Tools | None) -> Answer | None:
    """The markers around content that a pair declares."""
    return next((half.answer for half in (reasoning, tools) if half and half.answer), None)


def stems_of(reasoning: Reasoning | None, tools: Tools | None) -> tuple[str, ...]:
    """The special tokens that begin markers of several tokens."""
    return tuple(dict.fromkeys(one for half in (reasoning, tools) if half for one in half.stems))


def certain(marker: Lit, stems: tuple[str, ...]) -> bool:
    """Whether a marker is made of special tokens, and so counts wherever it stands."""
    return marker.special or marker.text.startswith(stems)


def answers_end_thinking(reasoning: Reasoning | None, tools: Tools | None) -> tuple[str, ...]:
    """The openers in front of content that end thinking."""
    answer = answer_of(reasoning, tools)
    if answer is None or not certain(answer.open, stems_of(reasoning, tools)):
        return ()
    return answer.open.spellings


SURE = ("call", "section", "dropped")
"""What a marker means whatever stands around it."""


@dataclass(frozen=True)
class Setup:
    """A pair of halves, compiled: scanners, the meaning of every marker, the steps of a call.

    ``sure`` are markers that count wherever they stand; ``behind_text`` is text behind
    which a call without a marker may begin. ``openers`` begin the next call or end the
    section, ``closers`` are a call's last markers. ``tables`` say where raw values end,
    each made when it is first asked for. ``constrained``: a grammar enforces calls.
    """

    reasoning: Reasoning | None
    tools: Tools | None
    content: Scanner
    thinking: Scanner
    inside: Scanner
    kinds: dict[str, str]
    call_openers: tuple[str, ...]
    bodies: tuple[str, ...]
    anchored: frozenset[str]
    dropped: tuple[str, ...]
    stems: tuple[str, ...]
    separators: str
    begin: Space
    end: Space
    ends_thinking: bool
    drafts: bool
    stays: bool
    constrained: bool = False
    answer: Answer | None = None
    behind: Scanner = field(default_factory=lambda: scanner(()))
    behind_answer: tuple[str, ...] = ()
    recover: Scanner = field(default_factory=lambda: scanner(()))
    sure: frozenset[str] = frozenset()
    behind_text: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    openers: tuple[str, ...] = ()
    closers: tuple[str, ...] = ()
    tables: dict[tuple[int, tuple[str, ...]], Closers] = field(default_factory=dict)


class _Markers:
    """What every marker means, and which are looked for in content and in thinking.

    ``by_id`` are those that are told by their ids.
    """

    def __init__(self, by_id: frozenset[str]) -> None:
        self.by_id = by_id
        self.kinds: dict[str, str] = {}
        self.content: list[str] = []
        self.thinking: list[str] = []

    def mean(self, kind: str, markers: Iterable[str]) -> None:
        """These markers are of this kind, whatever they were before."""
        self.kinds |= dict.fromkeys(markers, kind)

    def calls(
        self, tools: Tools, starts: tuple[str, ...], openers: tuple[str, ...], around: tuple[str, ...]
    ) -> tuple[str, ...]:
        """The markers of calls; those that are looked for inside a section are returned."""
        section = tools.section
        self.mean("section" if section else "call", starts)
        if section is None:
            return ()
        inside = (*openers, *section.close.spellings, *around)
        if section.bare:
            self.mean("call", openers)
            self.mean("end", section.close.spellings)
            self.content += inside
        return inside

    def region(self, reasoning: Reasoning, ending: tuple[str, ...]) -> None:
        """The markers of thinking; ``ending`` are others that are looked for in it."""
        opener, closer = reasoning.open.spellings, reasoning.close.spellings
        self.mean("open", opener)
        self.mean("close", closer)
        for one in reasoning.ends_at:
            self.kinds.setdefault(one, "implicit")
        self.thinking += (*closer, *ending, *(opener if self.by_id else ()))
        self.content += (*opener, *(closer if self.by_id or reasoning.bare_close else ()))

    def answer(self, answer: Answer, ending: tuple[str, ...]) -> None:
        """The markers around content, and of passages that cite; ``ending`` end thinking."""
        self.mean("answer", answer.open.spellings)
        self.mean("answer_end", answer.close.spellings)
        self.content += (*answer.open.spellings, *answer.close.spellings)
        self.thinking += ending
        if answer.cite is not None:
            passage = {answer.cite.open: "cite", answer.cite.close: "cite_end"}
            self.kinds |= passage
            self.content += passage
            self.thinking += passage

    def stray(self, tools: Tools, thinks: bool) -> None:
        """Markers inside calls that are told by their ids mean nothing elsewhere."""
        inner = [spelling for one in literals(tools.call.parts) for spelling in one.spellings]
        section = tools.section.close.spellings if tools.section else ()
        stray = [one for one in (*inner, *section) if one in self.by_id and one not in self.kinds]
        self.mean("stray", stray)
        self.content += stray
        self.thinking += stray if thinks else ()


def _policy(reasoning: Reasoning | None, ends: bool, called: bool) -> str:
    """What a call's opener means in open thinking; drafts need calls that can be confirmed."""
    policy = reasoning.tools_inside if reasoning else "text"
    if called and not ends:
        return policy
    return {"draft": "end", "stay": "end" if ends else "text"}.get(policy, policy)


def _dropped(reasoning: Reasoning | None, tools: Tools | None, around: tuple[str, ...]) -> tuple[str, ...]:
    """The markers of no strand that end nothing but the turn."""
    found = [*(tools.dropped if tools else ())]
    if reasoning:
        found += [*reasoning.dropped, *reasoning.ignored]
    return tuple(dict.fromkeys((*found, *around)))


@lru_cache(maxsize=256)
def setup(
    reasoning: Reasoning | None,
    named: Tools | None,
    ends: bool,
    by_id: frozenset[str] = frozenset(),
    around: tuple[str, ...] = (),
    *,
    offered: bool = True,
) -> Setup:
    """Compile a pair.

    ``ends``: a grammar enforces calls, whose opener ends thinking at once; ``by_id``: markers with an id;
    ``around``: what ends the message in whose body the calls stand. Without ``offered``
    tools, no call is read; the frame of the turn is all the same.
    """
    tools = named if offered else None
    answer = answer_of(reasoning, named)
    openers = call_openers(tools.call) if tools else ()
    starts = unit_openers(tools) if tools else ()
    unmarked = _unmarked(tools) if tools else frozenset()
    policy = _policy(reasoning, ends, tools is not None)
    dropped = _dropped(reasoning, named, around)
    markers = _Markers(by_id)
    markers.mean("dropped", dropped)
    markers.content += [*starts, *dropped]
    inside = markers.calls(tools, starts, openers, around) if tools else ()
    if reasoning:
        implicit = starts if tools else reasoning.ends_at
        ending = [one for one in implicit if one not in unmarked] if policy != "text" else []
        markers.region(reasoning, (*dropped, *ending))
    if answer is not None:
        markers.answer(answer, answers_end_thinking(reasoning, named))
    if by_id and tools:
        markers.stray(tools, reasoning is not None)
    kinds, content, thinking = markers.kinds, markers.content, markers.thinking
    return Setup(
        reasoning=reasoning,
        tools=tools,
        content=scanner(tuple(dict.fromkeys(content))),
        thinking=scanner(tuple(dict.fromkeys(thinking))),
        inside=scanner(inside),
        kinds=kinds,
        call_openers=openers,
        bodies=tuple(text for text, _ in first_literals(tools.call.parts)) if tools else (),
        anchored=unmarked,
        dropped=dropped,
        stems=stems_of(reasoning, named),
        begin=begin_of(reasoning, named),
        end=_end(reasoning, named),
        separators=BLANK + (tools.between.chars if tools and tools.between.any else ""),
        ends_thinking=policy == "end",
        drafts=policy == "draft",
        stays=policy == "stay",
        constrained=ends,
        answer=answer,
        behind=scanner(tuple(dict.fromkeys((*content, *(reasoning.ends_at if reasoning else ()))))),
        behind_answer=(*dropped, *starts),
        recover=scanner((*_recovery(tools), *around)) if tools else scanner(()),
        sure=frozenset(one for one, kind in kinds.items() if kind in SURE) - unmarked,
        behind_text=tools.call.behind if tools else (),
        steps=steps_of(tools.call.parts) if tools else (),
        openers=_openers(tools) if tools else (),
        closers=_closers(tools.call) if tools else (),
    )


def begin_of(*halves: Reasoning | Tools | None) -> Space:
    """The framing at the beginning of an output, of the first half that knows one."""
    return next((half.begin for half in halves if half and half.begin != NO_SPACE), NO_SPACE)


def _end(*halves: Reasoning | Tools | None) -> Space:
    """The framing between content and the turn's end, of the first half that knows one."""
    return next((half.end for half in halves if half and half.end != NO_SPACE), NO_SPACE)


def _unmarked(tools: Tools) -> frozenset[str]:
    """What begins a call of an anchored format and is no marker."""
    firsts = first_literals(tools.call.parts) if tools.call.anchor else []
    return frozenset(text for text, marked in firsts if not marked)


def _openers(tools: Tools) -> tuple[str, ...]:
    """What begins the next call or ends the section: proof that this one is over."""
    unmarked = _unmarked(tools)
    section = (*tools.section.open.spellings, *tools.section.close.spellings) if tools.section else ()
    return (*(one for one in call_openers(tools.call) if one not in unmarked), *section)


def _recovery(tools: Tools) -> tuple[str, ...]:
    """Where reading resumes behind a broken call: its closers, the section's, the next opener."""
    section = tools.section.close.spellings if tools.section else ()
    openers = [one for one in call_openers(tools.call) if one not in _unmarked(tools)]
    return tuple(dict.fromkeys((*_closers(tools.call), *section, *openers)))
