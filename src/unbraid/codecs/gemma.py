"""Gemma's object notation: ``{city:<|"|>Oslo<|"|>,days:3,tags:[…]}``."""

from __future__ import annotations

import re
from collections.abc import Generator
from functools import lru_cache

from unbraid.codecs.json_text import nothing_here
from unbraid.literals import escape, string_value
from unbraid.machine.core import Cut, Run
from unbraid.machine.keys import Keys
from unbraid.machine.lanes import UNSAFE, Lane
from unbraid.machine.markers import scanner
from unbraid.machine.names import read_chars
from unbraid.machine.reader import Reader
from unbraid.schema import Slot, bare, json_kind, quote
from unbraid.syntax import MAX_DEPTH, MAX_NAME, MAX_WHITE, WHITE, GemmaObject

__all__ = ["read_gemma"]

KEY = r"[^:{}\[\],<>\"]"
BARE = re.compile(r"[^,{}\[\]()<]*")
_CUT = rf"[{WHITE}]{{0,{MAX_WHITE}}},?[{WHITE}]{{0,{MAX_WHITE}}}"
_WORD = r"[\w.+-]{0,64}"
ITEM_CUT = re.compile(rf"{_CUT}{_WORD}\Z")
MEMBER_CUT = re.compile(rf"{_CUT}(?:{KEY}{{1,64}}(?::[{WHITE}]{{0,{MAX_WHITE}}}{_WORD})?)?\Z")
JSON_TEXT = r'[^"\\\x00-\x1f{first}]*(?:\\[^\x00-\x1f][^"\\\x00-\x1f{first}]*)*'
CLOSERS = {"{": "}", "(": ")", "[": "]"}


@lru_cache(maxsize=16)
def _lane(quote_marker: str) -> Lane:
    scan = scanner((quote_marker,))
    return Lane(re.compile(f"[{scan.first}{UNSAFE}]").search, scan.decided, escape)


@lru_cache(maxsize=16)
def _members(quote_marker: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Match an item or a closer, and a member or a closer.

    The groups are a comma, a closer, a key, an opener, a quoted text and a word.
    """
    mark, first = re.escape(quote_marker), re.escape(quote_marker[0])
    value = rf"(?:([{{\[])|{mark}([^{first}]*){mark}|([^,{{}}\[\]()<\"{WHITE}][^,{{}}\[\]()<]*)(?=[,}}\])]))"
    begin = rf"[{WHITE}]*(,?)[{WHITE}]*(?:([}}\])])|"
    key = rf"({KEY}{{1,{MAX_NAME}}}(?!{KEY})):[{WHITE}]*"
    return re.compile(f"{begin}(){value})"), re.compile(f"{begin}{key}{value})")


@lru_cache(maxsize=16)
def _json_text(first: str) -> re.Pattern[str]:
    return re.compile(JSON_TEXT.format(first=first))


class Frame:
    """An object or a list that is open."""

    __slots__ = ("closer", "first", "keys", "slot")

    def __init__(self, opener: str, slot: Slot | None) -> None:
        self.closer = CLOSERS[opener]
        self.slot = slot
        self.keys: Keys | set[str] | None = None if opener == "[" else set()
        self.first = True


def read_gemma(m: Reader, part: GemmaObject) -> Run:
    """Read the arguments' object; a call without one has none."""
    opener = yield from m.peek()
    if opener not in ("{", "("):
        if not opener:
            raise Cut
        yield from nothing_here(m)
        m.end_call(True)
        return
    m.announce(m.call.name)
    yield from GemmaReader(m, part).object(opener)
    m.end_call(True)


def takes_string(part: GemmaObject, slot: Slot | None) -> bool:
    """Whether a quoted value is a string, whatever it spells."""
    if not part.strings:
        return slot is not None and slot.streams and not slot.untyped
    return slot is None or slot.untyped or "string" in slot.kinds


def quoted_json(part: GemmaObject, text: str, slot: Slot | None) -> tuple[str, str | None]:
    """The JSON text of a quoted value, and a diagnostic code or None."""
    if takes_string(part, slot):
        return quote(text), None
    if slot is None or slot.untyped:
        return (text.strip(WHITE) if json_kind(text) else quote(text)), None
    return slot.coerce_quoted(text) if part.strings else slot.coerce(text)


class GemmaReader:
    """Reads one object with an explicit stack."""

    def __init__(self, m: Reader, part: GemmaObject) -> None:
        self.m = m
        self.part = part
        self.quote = part.quote
        self.scan = scanner((part.quote,))
        self.lane = _lane(part.quote)
        self.item, self.member_pattern = _members(part.quote)
        self.markers = (part.quote, *m.setup.closers, *m.openers())
        self.text = _json_text(scanner(self.markers).first)
        self.stack: list[Frame] = []
        self.muted = -1

    def put(self, text: str) -> None:
        """Give out argument text, unless it belongs to a repeated key."""
        if self.muted < 0:
            self.m.args(text)

    @property
    def kind(self) -> str:
        """What the text of a value is accounted as."""
        return "arguments" if self.muted < 0 else "dropped"

    def object(self, opener: str) -> Run:
        """Read from the opening brace to its closer."""
        m = self.m
        self.open(opener, None)
        while self.stack:
            self.whole_members()
            if not self.stack:
                break
            frame = self.stack[-1]
            if not m.eof and (ITEM_CUT if frame.keys is None else MEMBER_CUT).match(m.buf, m.i):
                yield
                continue
            yield from m.white_run(WHITE, "arguments")
            char = yield from m.peek()
            if not char:
                raise Cut
            if char == frame.closer:
                self.close()
            elif frame.first or char == ",":
                yield from self.member(frame, char)
            else:
                m.fail("broken_call", f", or {frame.closer}")

    def whole_members(self) -> None:
        """Read the members, items and closers that stand here whole, all at once; not in a repeated key."""
        m = self.m
        at = m.i
        out: list[str] = []
        while self.stack and self.muted < 0 and at < len(m.buf):
            frame = self.stack[-1]
            found = (self.item if frame.keys is None else self.member_pattern).match(m.buf, at)
            if found is None:
                break
            closer = found[2]
            if closer:
                if closer != frame.closer or (found[1] and frame.first):
                    break
                self.stack.pop()
                out.append("}" if closer == ")" else closer)
            elif not self.step(frame, found, out):
                break
            at = found.end()
        if out:
            m.args("".join(out))
        m.take(at - m.i, "arguments")

    def step(self, frame: Frame, found: re.Match[str], out: list[str]) -> bool:
        """Go on with a member or an item; False when it is not the usual one."""
        comma, _, key, opener, quoted, word = found.groups()
        if bool(comma) == frame.first or (opener and len(self.stack) >= MAX_DEPTH):
            return False
        if (
            quoted is not None
            and self.m.alignment
            and not self.marks(found.start(5) - len(self.quote), found.end(5))
        ):
            return False
        before = "" if frame.first else ", "
        if frame.keys is None:
            slot = frame.slot.item() if frame.slot else None
        else:
            key = key.strip(WHITE)
            if not key or key in frame.keys:
                return False
            slot = self.slot_of(frame, key)
            frame.keys.add(key)
            before += f"{quote(key)}: "
        frame.first = False
        if opener:
            self.stack.append(Frame(opener, slot))
            out.append(before + opener)
        elif quoted is not None:
            out.append(
                before + self.quoted_value(quoted, slot, found.start(5) - len(self.quote), found.end())
            )
        else:
            out.append(before + self.bare_value(word.strip(WHITE), slot, found.end()))
        return True

    def marks(self, *places: int) -> bool:
        """Whether the quote markers at these places of the buffer count."""
        return all(self.m.is_marker(self.quote, place) for place in places)

    def slot_of(self, frame: Frame, key: str) -> Slot | None:
        """The type of a member."""
        parent = frame.slot if len(self.stack) > 1 else self.m.typer()
        return parent.property(key) if parent else None

    def quoted_value(self, text: str, slot: Slot | None, start: int, end: int) -> str:
        """The JSON text of a quoted value that stands at ``buf[start:end]``."""
        value, code = quoted_json(self.part, text, slot)
        if code is not None:
            self.m.note(code, self.m.base + start, self.m.base + end, "a value of the parameter's type")
        return value

    def bare_value(self, text: str, slot: Slot | None, end: int) -> str:
        """The JSON text of a bare word that ends at ``buf[end]``."""
        value, code = slot.coerce_bare(text) if slot else (bare(text) or quote(text), None)
        if code is not None:
            place = self.m.base + end
            self.m.note(code, place - len(text), place, "a value of the parameter's type")
        return value

    def open(self, opener: str, slot: Slot | None) -> None:
        """Enter an object or a list."""
        if len(self.stack) >= MAX_DEPTH:
            self.m.fail("too_deep", f"at most {MAX_DEPTH} levels")
        self.stack.append(Frame(opener, slot))
        if len(self.stack) == 1:
            self.stack[0].keys = self.m.call.keys
        self.put("[" if opener == "[" else "{")
        self.m.take(1, self.kind)

    def close(self) -> None:
        """Leave it."""
        frame = self.stack.pop()
        self.put("]" if frame.keys is None else "}")
        self.m.take(1, self.kind)
        self.unmute()

    def unmute(self) -> None:
        """A repeated key's value ends where its frame is on top again."""
        if self.muted == len(self.stack):
            self.muted = -1

    def member(self, frame: Frame, char: str) -> Run:
        """Read a key and its value, or an item."""
        m = self.m
        if char == "," and not frame.first:
            m.take(1, "arguments")
            yield from m.white_run(WHITE, "arguments")
            if (yield from m.peek()) == frame.closer:
                return
        before = "" if frame.first else ", "
        frame.first = False
        if frame.keys is None:
            slot = frame.slot.item() if frame.slot else None
        else:
            start = m.at()
            key = yield from self.key()
            if key in frame.keys:
                m.note("duplicate_key", start, m.at(), "each key once")
                if self.muted < 0:
                    self.muted = len(self.stack)
            frame.keys.add(key)
            before += f"{quote(key)}: "
            slot = self.slot_of(frame, key)
        yield from self.value(before, slot)

    def key(self) -> Generator[None, None, str]:
        """Read a key, bare or quoted, and its colon."""
        m = self.m
        if (yield from m.literal((self.quote,))) is not None:
            pieces: list[str] = []
            yield from self.quoted(pieces)
            key = "".join(pieces)
        else:
            key = yield from read_chars(m, KEY, "a key")
            m.take(len(key), "arguments")
            key = key.strip(WHITE)
        yield from m.white_run(WHITE, "arguments")
        if (yield from m.peek()) != ":":
            if m.eof and m.i >= len(m.buf):
                raise Cut
            m.fail("broken_call", ":")
        m.take(1, "arguments")
        yield from m.white_run(WHITE, "arguments")
        return key

    def value(self, before: str, slot: Slot | None) -> Run:
        """Read one value."""
        m = self.m
        if (yield from m.literal((self.quote,))) is not None:
            yield from self.string(before, slot)
            self.unmute()
            return
        char = yield from m.peek()
        if not char:
            raise Cut
        if char in "{[":
            self.put(before)
            self.open(char, slot)
            return
        start = m.at()
        string = (yield from self.json_string()) if char == '"' else None
        if string is not None:
            m.note("missing_marker", start, start, self.quote)
            self.put(before + self.quoted_value(string, slot, start - m.base, m.i))
        else:
            text = yield from self.bare()
            self.put(before + self.bare_value(text, slot, m.i))
        self.unmute()

    def string(self, before: str, slot: Slot | None) -> Run:
        """Read a quoted string; it streams unless the schema wants another type."""
        m = self.m
        if self.muted < 0 and takes_string(self.part, slot):
            m.args(before + '"')
            yield from self.quoted(None)
            m.args('"')
            return
        pieces: list[str] = []
        start = m.at()
        yield from self.quoted(pieces)
        if self.muted < 0:
            text, code = quoted_json(self.part, "".join(pieces), slot)
            if code is not None:
                m.note(code, start, m.at(), "a value of the parameter's type")
            m.args(before + text)

    def quoted(self, pieces: list[str] | None) -> Run:
        """Read raw text between two quote markers, into ``pieces`` or out."""
        m = self.m
        m.take(len(self.quote), self.kind)
        at = m.i
        while True:
            found = self.scan.search(m.buf, at)
            stop = found.start() if found else len(m.buf)
            counts: bool | None = None
            if found is not None and found.group() in self.scan.markers:
                counts = m.is_marker(self.quote, stop)
            if counts is False:
                at = stop + 1
                continue
            if stop > m.i:
                if pieces is None:
                    m.args(escape(m.buf[m.i : stop]))
                else:
                    pieces.append(m.buf[m.i : stop])
                m.take(stop - m.i, self.kind)
            if counts:
                m.take(len(self.quote), self.kind)
                return
            if m.eof:
                raise Cut
            if pieces is None:
                m.args_lane(self.lane)
            yield
            at = m.i

    def json_string(self) -> Generator[None, None, str | None]:
        """Read a JSON string that is the whole value; None, nothing consumed, if it ends elsewhere."""
        m = self.m
        m.i += 1
        pieces = ['"']
        while True:
            found = self.text.match(m.buf, m.i)
            assert found is not None
            pieces.append(found.group())
            m.i = found.end()
            char = m.buf[m.i : m.i + 1]
            if m.buf[m.i :] in ("", "\\"):
                if m.eof:
                    m.put_back("".join(pieces))
                    raise Cut
                yield
            elif char in '"\\' or char < " " or (yield from m.literal(self.markers)) is not None:
                break
            else:
                pieces.append(char)
                m.i += 1
        text = "".join(pieces)
        value = string_value(text + '"') if char == '"' else None
        behind = (yield from self.behind_string()) if value is not None else ""
        if not behind.startswith((",", "}", "]", ")")):
            m.put_back(text)
            if value is not None and not behind and m.eof:
                raise Cut
            return None
        m.i += 1
        m.mark(self.kind, len(text) + 1)
        return value

    def behind_string(self) -> Generator[None, None, str]:
        """What stands behind the quote here, white space between."""
        m = self.m
        while True:
            behind = m.buf[m.i + 1 : m.i + MAX_WHITE + 2].lstrip(WHITE)
            if behind or len(m.buf) > m.i + MAX_WHITE + 1 or m.eof:
                return behind
            yield

    def bare(self) -> Generator[None, None, str]:
        """Read a bare word up to what ends it, trimmed."""
        m = self.m
        pieces: list[str] = []
        while True:
            found = BARE.match(m.buf, m.i)
            assert found is not None
            pieces.append(found.group())
            m.take(found.end() - m.i, self.kind)
            if m.i < len(m.buf):
                break
            if m.eof:
                raise Cut
            yield
        text = "".join(pieces).strip(WHITE)
        if not text or m.buf[m.i] not in ",}])":
            m.fail("broken_call", "a value")
        return text
