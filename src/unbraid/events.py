"""What a stream gives out, in order, as text arrives.

Events are small slots classes that nobody changes after they were made. Folding
them gives the message: reasoning and content are joined in order, the argument
fragments of one ``index`` are joined to that call's arguments.
"""

from __future__ import annotations

__all__ = [
    "ContentDelta",
    "Event",
    "ReasoningDelta",
    "ToolCallArguments",
    "ToolCallEnd",
    "ToolCallStart",
]


class _Slots:
    __slots__: tuple[str, ...] = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.__slots__)))

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"


class ReasoningDelta(_Slots):
    """Text of the model's thinking; fires as soon as no marker can still begin in it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class ContentDelta(_Slots):
    """Text for the user; fires as soon as no marker can still begin in it."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


class ToolCallStart(_Slots):
    """A call is announced: its name is whole. ``index`` counts from 0; ``id`` and ``name`` come once."""

    __slots__ = ("id", "index", "name")

    def __init__(self, index: int, id: str, name: str) -> None:
        self.index = index
        self.id = id
        self.name = name


class ToolCallArguments(_Slots):
    """The next fragment of a call's arguments, JSON text that is never taken back."""

    __slots__ = ("index", "text")

    def __init__(self, index: int, text: str) -> None:
        self.index = index
        self.text = text


class ToolCallEnd(_Slots):
    """A call is over. ``complete``: its end was proved, and its arguments are a whole JSON object."""

    __slots__ = ("complete", "index")

    def __init__(self, index: int, complete: bool) -> None:
        self.index = index
        self.complete = complete


Event = ReasoningDelta | ContentDelta | ToolCallStart | ToolCallArguments | ToolCallEnd
