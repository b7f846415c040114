"""Nested elements named after the arguments, with a mark in front of every tag.

Text up to the next tag is a leaf, which the schema types; an element with elements in
it is an object, or a list. A tag always counts: the mark is no text that values hold.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import lru_cache
from typing import NamedTuple, NoReturn

from unbraid.literals import escape
from unbraid.machine.core import Cut, Run
from unbraid.machine.lanes import UNSAFE, Lane
from unbraid.machine.markers import Scanner, scanner
from unbraid.machine.reader import Reader
from unbraid.schema import Slot, quote
from unbraid.syntax import MAX_DEPTH, MAX_NAME, WHITE, Elements, Lit

__all__ = ["ITEM", "KEY", "holds_list", "leaf_json", "read_elements"]

KEY = r"[^\s\x1c-\x1f<>=\"'/]"
"""A character of a name; engines of expressions disagree about the four separators."""

ITEM = "item"
"""An element of a list."""

TEXT = "$text"
"""The key of text beside elements."""


class Tag(NamedTuple):
    """A tag that stands in the text: its length, its name, whether it closes."""

    length: int
    name: str
    closes: bool


class Held(NamedTuple):
    """A leaf that may turn out to be the first of a list."""

    key: str
    before: str
    text: str
    slot: Slot
    start: int
    end: int


class Frame:
    """An element that is open: its type and, of an object, its keys.

    ``listing`` is the key and the type of a list that repeated elements make; ``texts``
    stand beside its elements.
    """

    __slots__ = ("first", "held", "keys", "listing", "muted", "name", "slot", "texts")

    def __init__(self, name: str, slot: Slot | None, keys: set[str] | None, muted: bool) -> None:
        self.name = name
        self.slot = slot
        self.keys = keys
        self.muted = muted
        self.first = True
        self.held: Held | None = None
        self.listing: tuple[str, Slot] | None = None
        self.texts: list[str] = []


@lru_cache(maxsize=16)
def _scan(mark: str) -> tuple[Scanner, Lane, re.Pattern[str], re.Pattern[str]]:
    """Where a tag begins, the lane of text, a whole tag, and one that is not there yet."""
    scan = scanner((mark + "<",))
    begin = re.escape(mark + "<")
    lane = Lane(re.compile(f"[{scan.first}{UNSAFE}]").search, scan.decided, escape)
    whole = re.compile(f"{begin}(/?)({KEY}{{1,{MAX_NAME}}})>")
    return scan, lane, whole, re.compile(f"{begin}/?{KEY}{{0,{MAX_NAME}}}\\Z")


def holds_list(slot: Slot, child: str) -> bool:
    """Whether an element of this type, the first in it named ``child``, is a list."""
    if slot.untyped or ("array" in slot.kinds) == ("object" in slot.kinds):
        return child == ITEM
    return "array" in slot.kinds


def leaf_json(slot: Slot, text: str) -> tuple[str, str | None]:
    """The JSON text of a leaf, and a diagnostic code or None: empty is an empty list or object, or null."""
    if not text.strip(WHITE) and not slot.untyped and "string" not in slot.kinds:
        for kind, value in (("array", "[]"), ("object", "{}"), ("null", "null")):
            if kind in slot.kinds:
                return value, None
    return slot.coerce(text)


def read_elements(m: Reader, part: Elements) -> Run:
    """Read every element up to what follows the last one, which is not consumed."""
    yield from ElementReader(m, part).read()


class ElementReader:
    """Reads the elements of one call with an explicit stack."""

    def __init__(self, m: Reader, part: Elements) -> None:
        self.m = m
        self.part = part
        self.scan, self.lane, self.tag_at, self.tag_cut = _scan(part.mark)
        behind = [one for one in m.rest if isinstance(one, Lit)][:1]
        self.ends = (*(text for one in behind for text in one.spellings), *m.openers())
        self.stack = [Frame("", None, set(), False)]

    @property
    def top(self) -> Frame:
        return self.stack[-1]

    def put(self, text: str) -> None:
        """Give out argument text, unless it belongs to a repeated key."""
        if not self.top.muted:
            self.m.args(text)

    def read(self) -> Run:
        """Read up to the end of the call."""
        m = self.m
        while True:
            yield from self.between()
            if len(self.stack) == 1 and (yield from m.literal(self.ends)) is not None:
                break
            tag = yield from self.tag()
            if tag is None:
                if (yield from m.literal(self.ends)) is None:
                    self.fail()
                break
            if tag.closes:
                if not self.close(tag):
                    break
            else:
                yield from self.element(tag)
        while len(self.stack) > 1:
            m.note("missing_marker", m.at(), m.at(), self.closer(self.top.name))
            self.leave()
        if not m.call.announced:
            m.announce(m.call.name)
            m.args("{")
        self.flush()
        m.args("}")

    def fail(self) -> NoReturn:
        """What stands here is no element, or it is cut by the end of the output."""
        m = self.m
        if m.i >= len(m.buf) or (m.eof and self.tag_cut.match(m.buf, m.i)) or m.is_cut():
            raise Cut
        m.fail("broken_call" if m.call.announced else "not_a_call", self.ends[0] if self.ends else "a tag")

    def closer(self, name: str) -> str:
        return f"{self.part.mark}</{name}>"

    def tag(self) -> Generator[None, None, Tag | None]:
        """The tag that stands here, not consumed."""
        m = self.m
        begin = yield from m.literal((self.part.mark + "<",))
        found = (yield from m.whole(self.tag_at, self.tag_cut)) if begin else None
        return Tag(len(found.group()), found[2], bool(found[1])) if found else None

    def between(self) -> Run:
        """White space between tags is framing; text there is kept beside an object's elements."""
        m = self.m
        if m.blank_here():
            yield from m.white_run(WHITE)
        if len(self.stack) == 1 or (yield from m.literal((self.part.mark + "<",))) is not None:
            return
        if m.i >= len(m.buf):
            raise Cut
        text, marker = yield from m.collect(self.scan, lambda marker, at: True)
        kind = "dropped" if self.top.muted or self.top.keys is None else "arguments"
        m.mark(kind, len(text))
        if kind == "dropped":
            m.note("text_beside_items", m.at() - len(text), m.at(), "an item")
        self.top.texts.append(text)
        if marker is None:
            raise Cut

    # -- tags -----------------------------------------------------------------

    def close(self, tag: Tag) -> bool:
        """Read a closing tag, that of the innermost element; False when it ends the call."""
        m = self.m
        if tag.name != self.top.name:
            if self.closer(tag.name) in self.ends:
                return False
            if not m.call.announced:
                self.fail()
            m.note("stray_marker", m.at(), m.at() + tag.length, "the tag of the innermost element")
        m.take(tag.length, "markup")
        if len(self.stack) > 1:
            self.leave()
        return True

    def leave(self) -> None:
        """The innermost element is over."""
        self.flush()
        frame = self.top
        if frame.keys is None:
            self.put("]")
        else:
            text = "".join(frame.texts)
            if text:
                key = TEXT
                while key in frame.keys:
                    key = "$" + key
                self.put(f"{'' if frame.first else ', '}{quote(key)}: {quote(text)}")
            self.put("}")
        self.stack.pop()

    def flush(self) -> None:
        """What was held, as no more elements of its name follow."""
        frame = self.top
        held, frame.held = frame.held, None
        if held is not None:
            self.leaf(held.before, held.text, held.slot, held.start, held.end)
        if frame.listing is not None:
            frame.listing = None
            self.put("]")

    def leaf(self, before: str, text: str, slot: Slot, start: int, end: int) -> None:
        """Give out a leaf."""
        value, code = leaf_json(slot, text)
        if code is not None and not self.top.muted:
            self.m.note(code, start, end, "a value of the parameter's type")
        self.put(before + value)

    def element(self, tag: Tag) -> Run:
        """Read an element's tag, and its text if it is a leaf."""
        m = self.m
        if not m.call.announced:
            m.announce(m.call.name)
            m.args("{")
        frame = self.top
        start = m.at()
        muted = frame.muted
        before = "" if frame.first else ", "
        if frame.keys is None:
            slot = frame.slot.item() if frame.slot else Slot(None, None)
        elif self.repeats(tag.name):
            slot, before = self.another(), ", "
        else:
            self.flush()
            before = "" if frame.first else ", "
            parent = frame.slot if len(self.stack) > 1 else m.typer()
            slot = parent.property(tag.name) if parent else Slot(None, None)
            if tag.name in frame.keys:
                muted = True
                m.note("duplicate_key", start, start + tag.length, "each key once")
            else:
                frame.keys.add(tag.name)
                m.call.keys.add(tag.name)
                before += f"{quote(tag.name)}: "
        m.take(tag.length, "markup")
        if not muted:
            frame.first = False
        yield from self.content(tag.name, slot, before, muted)

    def repeats(self, name: str) -> bool:
        """Whether an element makes a list with the one before it."""
        frame = self.top
        if frame.listing is not None:
            return frame.listing[0] == name
        return frame.held is not None and frame.held.key == name

    def another(self) -> Slot:
        """The type of a further item; a held leaf is the first one, and is given out."""
        frame = self.top
        held, frame.held = frame.held, None
        if held is not None:
            item = held.slot if held.slot.untyped else held.slot.item()
            frame.listing = held.key, item
            self.leaf(held.before + "[", held.text, item, held.start, held.end)
        assert frame.listing is not None
        return frame.listing[1]

    def content(self, name: str, slot: Slot, before: str, muted: bool) -> Run:
        """Read what stands behind an element's tag: a leaf to its end, or the beginning of elements."""
        m = self.m
        kind = "dropped" if muted else "arguments"
        if slot.streams and not slot.untyped and not muted:
            self.put(before + '"')
            yield from self.text(kind, stream=True)
            self.put('"')
            yield from self.end_of_leaf(name)
            return
        start = m.at()
        text = yield from self.text(kind, stream=False)
        tag = yield from self.tag()
        if tag is not None and not tag.closes:
            if len(self.stack) > MAX_DEPTH:
                m.fail("too_deep", f"at most {MAX_DEPTH} levels")
            listed = holds_list(slot, tag.name)
            if not muted:
                self.put(before + ("[" if listed else "{"))
            self.stack.append(Frame(name, slot, None if listed else set(), muted))
            if text.strip(WHITE):
                self.top.texts.append(text)
            return
        listable = slot.untyped or ("array" in slot.kinds and "string" not in slot.kinds)
        if listable and not muted and self.top.keys is not None and self.top.listing is None:
            self.top.held = Held(name, before, text, slot, start, m.at())
        elif not muted:
            self.leaf(before, text, slot, start, m.at())
        yield from self.end_of_leaf(name)

    def text(self, kind: str, *, stream: bool) -> Generator[None, None, str]:
        """Read text up to a tag; it is given out as it comes, or returned."""
        m = self.m
        pieces: list[str] = []
        while True:
            found = self.scan.search(m.buf, m.i)
            stop = found.start() if found else len(m.buf)
            piece = m.buf[m.i : stop]
            if stream:
                self.put(escape(piece))
            else:
                pieces.append(piece)
            m.take(stop - m.i, kind)
            if found is not None and found.group() in self.scan.markers:
                return "".join(pieces)
            if m.eof:
                raise Cut
            if stream:
                m.args_lane(self.lane)
            yield

    def end_of_leaf(self, name: str) -> Run:
        """Read the closing tag of a leaf; another tag proves that it is missing."""
        m = self.m
        tag = yield from self.tag()
        if tag is None and m.eof and self.tag_cut.match(m.buf, m.i):
            raise Cut
        if tag is not None and tag.closes and (tag.name == name or self.closer(tag.name) not in self.ends):
            if tag.name != name:
                m.note("stray_marker", m.at(), m.at() + tag.length, self.closer(name))
            m.take(tag.length, "markup")
            return
        m.note("missing_marker", m.at(), m.at(), self.closer(name))
