"""How values are written: JSON inside raw text, Python literals, Gemma's objects."""

from __future__ import annotations

import json
import re
from typing import Any, Literal, Protocol

from unbraid.constrain.patterns import char, negated, whole
from unbraid.constrain.tree import Marker, Node, Regex, Run, Space, Text, alt, json_node, seq

__all__ = ["AnswerText", "GemmaText", "JsonText", "Notation", "PythonText"]

GAP = Space(1, " ")
Order = Literal["declared", "required", "sorted"]
CONTROLS = "".join(map(chr, range(32)))


class Notation(Protocol):
    """What the writer of typed values asks of a notation.

    ``order`` of keys: as they are declared, the required ones first, or sorted.
    """

    comma: Node
    order: Order

    def string(self, least: int, most: int | None, pattern: str | None) -> Node:
        """Any string of that length, found by that pattern."""
        ...

    def literal(self, value: Any) -> Node | None:
        """Exactly this value, or None if it can't be written."""
        ...

    def key(self, key: str) -> Node | None:
        """A key of an object with what follows it, or None if it can't be written."""
        ...

    def any_key(self, taken: str) -> Node:
        """Any key that begins with none of the characters ``taken``."""
        ...


def _counted(unit: str, least: int, most: int | None) -> str:
    if not least and most is None:
        return f"(?:{unit})*"
    return f"(?:{unit}){{{least},{'' if most is None else most}}}"


class _Json:
    """What JSON's notations share: keys and whole values, in which none of the excluded texts stands."""

    comma: Node = seq(Text(","), GAP)
    order: Order = "declared"
    exclude: tuple[str, ...]

    def literal(self, value: Any) -> Node | None:
        text = json.dumps(value, ensure_ascii=False)
        return None if any(one in text for one in self.exclude) else Text(text)

    def key(self, key: str) -> Node | None:
        text = self.literal(key)
        return None if text is None else seq(text, Text(":"), GAP)


class JsonText(_Json):
    """JSON in which none of the excluded texts can stand, because their first characters don't.

    Only in strings does it matter: those characters are written as escapes there.
    """

    def __init__(self, exclude: tuple[str, ...]) -> None:
        first = {one.lstrip("\n")[0] for one in exclude}
        self.exclude = exclude
        self.forbidden = '"\\' + CONTROLS + "".join(sorted(first))
        escapes = [r'\\["\\nrt]', *(rf"\\u00{ord(one):02x}" for one in sorted(first) if ord(one) < 256)]
        self.unit = negated(self.forbidden) + "|" + "|".join(escapes)

    def string(self, least: int, most: int | None, pattern: str | None) -> Node:
        if pattern is not None:
            return seq(Text('"'), Regex(whole(pattern, self.forbidden), least, most), Text('"'))
        return Regex(f'"{_counted(self.unit, least, most)}"')

    def any_key(self, taken: str) -> Node:
        first = negated(self.forbidden + taken)
        return seq(Regex(f'"{first}{negated(self.forbidden)}{{0,63}}"'), Text(":"), GAP)


class AnswerText(_Json):
    """JSON as an answer: the excluded texts, whole, can't stand in its strings."""

    forbidden = '"\\' + CONTROLS
    unit = negated(forbidden) + r'|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})'

    def __init__(self, exclude: tuple[str, ...]) -> None:
        self.exclude = exclude

    def string(self, least: int, most: int | None, pattern: str | None) -> Node:
        if pattern is not None:
            text = Regex(whole(pattern, self.forbidden), least, most, self.exclude)
            return seq(Text('"'), text, Text('"'))
        text = Regex(f'"{_counted(self.unit, least, most)}"', exclude=self.exclude)
        return text if least or most is not None else json_node({"type": "string"}, self.exclude, text)

    def any_key(self, taken: str) -> Node:
        first = negated(self.forbidden + taken)
        key = Regex(f'"{first}{negated(self.forbidden)}{{0,63}}"', exclude=self.exclude)
        return seq(key, Text(":"), GAP)


class PythonText:
    """Python literals."""

    comma: Node = seq(Text(","), GAP)
    order: Order = "required"
    forbidden = "'\"\\" + CONTROLS

    def string(self, least: int, most: int | None, pattern: str | None) -> Node:
        if pattern is not None:
            return seq(Text("'"), Regex(whole(pattern, self.forbidden), least, most), Text("'"))
        escapes = r"\\[\\nrt'" + '"]'
        either = [
            Regex(
                f"{quote}{_counted(negated(quote + self.forbidden[2:]) + '|' + escapes, least, most)}{quote}"
            )
            for quote in "'\""
        ]
        return alt(either)

    def literal(self, value: Any) -> Node | None:
        return None if isinstance(value, float) and not -1e300 < value < 1e300 else Text(repr(value))

    def key(self, key: str) -> Node | None:
        return seq(Text(repr(key)), Text(":"), GAP)

    def any_key(self, taken: str) -> Node:
        first = negated(self.forbidden + taken)
        return seq(Regex(f"'{first}{negated(self.forbidden)}{{0,63}}'"), Text(":"), GAP)


class GemmaText:
    """Gemma's notation: bare keys, strings between quote markers, JSON's other words."""

    comma: Node = Text(",")
    plain = r"[\w.$@/+*=-]"

    def __init__(self, quote: Marker, order: Order = "required") -> None:
        self.quote = quote
        self.order = order

    def string(self, least: int, most: int | None, pattern: str | None) -> Node:
        quote = self.quote
        if pattern is not None:
            return seq(quote, Regex(whole(pattern, quote.text[0]), least, most), quote)
        return seq(quote, Run((quote.text,), least, most, end=quote))

    def literal(self, value: Any) -> Node | None:
        if isinstance(value, str):
            return None if self.quote.text in value else seq(self.quote, Text(value), self.quote)
        if isinstance(value, (dict, list)):
            return None
        return Text(json.dumps(value))

    def key(self, key: str) -> Node | None:
        if re.fullmatch(rf"{self.plain}{{1,256}}", key):
            return Text(key + ":")
        return None if self.quote.text in key else seq(self.quote, Text(key), self.quote, Text(":"))

    def any_key(self, taken: str) -> Node:
        letters = [(65, 90), (95, 95), (97, 122)]
        kept = "".join(
            char(code) for low, high in letters for code in range(low, high + 1) if chr(code) not in taken
        )
        return seq(Regex(f"[{kept}][A-Za-z0-9_.-]{{0,63}}"), Text(":"))
