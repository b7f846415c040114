"""From events to the items of a response, and to the stream's events that tell of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from unbraid.events import ContentDelta, Event, ReasoningDelta, ToolCallEnd, ToolCallStart
from unbraid.wire.chat import TokenLogprobs
from unbraid.wire.custom_input import CustomInput
from unbraid.wire.responses import (
    ArgumentsDelta,
    ArgumentsDone,
    CustomToolCallItem,
    FunctionCallItem,
    InputDelta,
    InputDone,
    Item,
    ItemAdded,
    ItemDone,
    ItemStatus,
    MessageItem,
    OutputText,
    PartAdded,
    PartDone,
    ReasoningItem,
    ReasoningText,
    ReasoningTextDelta,
    ReasoningTextDone,
    StreamEvent,
    TextDelta,
    TextDone,
)

__all__ = ["ItemWriter", "ToolNames"]


@dataclass(frozen=True)
class ToolNames:
    """What the names that the model sees stand for.

    ``custom`` are those of custom tools; ``spaces`` are those of tools in a namespace, with the
    namespace and the tool's own name.
    """

    custom: Collection[str] = ()
    spaces: Mapping[str, tuple[str, str]] = field(default_factory=dict)


class _Open(Protocol):
    """An item that is being written; each method gives the events that say so."""

    def begin(self) -> list[StreamEvent]: ...

    def feed(self, text: str, logprobs: Sequence[TokenLogprobs]) -> list[StreamEvent]: ...

    def end(self, status: ItemStatus) -> tuple[Item, list[StreamEvent]]: ...


class ItemWriter:
    """Makes the items of one answer: one item is open at a time, in the order of the events.

    ``id`` makes the items' own ids. Each method gives the stream's events that say what happened.
    """

    def __init__(self, id: str, names: ToolNames) -> None:
        self.items: list[Item] = []
        self._id = id
        self._names = names
        self._open: _Open | None = None

    def event(self, event: Event, logprobs: Sequence[TokenLogprobs] = ()) -> list[StreamEvent]:
        """An event of the parser; ``logprobs`` are those of the tokens of content."""
        if isinstance(event, ContentDelta):
            return self._text(_Content, event.text, logprobs)
        if isinstance(event, ReasoningDelta):
            return self._text(_Thinking, event.text, ())
        if isinstance(event, ToolCallStart):
            return [*self.close(), *self._begin(self._call(event))]
        if isinstance(event, ToolCallEnd):
            return self.close("completed" if event.complete else "incomplete")
        if self._open is None or not event.text:
            return []
        return self._open.feed(event.text, ())

    def close(self, status: ItemStatus = "completed") -> list[StreamEvent]:
        """The open item, if there is one, is over."""
        if self._open is None:
            return []
        item, events = self._open.end(status)
        self._open = None
        self.items.append(item)
        return [*events, ItemDone(len(self.items) - 1, item)]

    def _begin(self, one: _Open) -> list[StreamEvent]:
        self._open = one
        return one.begin()

    def _text(
        self, kind: type[_Content | _Thinking], text: str, logprobs: Sequence[TokenLogprobs]
    ) -> list[StreamEvent]:
        if not text:
            return []
        if isinstance(self._open, kind):
            return self._open.feed(text, logprobs)
        events = self.close()
        one = kind(self._id, len(self.items))
        events += self._begin(one)
        return events + one.feed(text, logprobs)

    def _call(self, start: ToolCallStart) -> _Call | _CustomCall:
        namespace, name = self._names.spaces.get(start.name, (UNSET, start.name))
        kind = _CustomCall if start.name in self._names.custom else _Call
        return kind(self._id, len(self.items), start.id, name, namespace)


class _Content:
    """A message item."""

    def __init__(self, id: str, index: int) -> None:
        self._id = f"msg_{id}{index:04x}"
        self._index = index
        self._parts: list[str] = []
        self._logprobs: list[TokenLogprobs] = []

    def begin(self) -> list[StreamEvent]:
        return [
            ItemAdded(self._index, MessageItem(self._id, "in_progress", [])),
            PartAdded(self._id, self._index, 0, OutputText("")),
        ]

    def feed(self, text: str, logprobs: Sequence[TokenLogprobs]) -> list[StreamEvent]:
        self._parts.append(text)
        self._logprobs += logprobs
        return [TextDelta(self._id, self._index, 0, text, list(logprobs))]

    def end(self, status: ItemStatus) -> tuple[Item, list[StreamEvent]]:
        part = OutputText("".join(self._parts), logprobs=self._logprobs)
        return MessageItem(self._id, status, [part]), [
            TextDone(self._id, self._index, 0, part.text, part.logprobs),
            PartDone(self._id, self._index, 0, part),
        ]


class _Thinking:
    """A reasoning item."""

    def __init__(self, id: str, index: int) -> None:
        self._id = f"rs_{id}{index:04x}"
        self._index = index
        self._parts: list[str] = []

    def begin(self) -> list[StreamEvent]:
        return [
            ItemAdded(self._index, ReasoningItem(self._id, "in_progress", [])),
            PartAdded(self._id, self._index, 0, ReasoningText("")),
        ]

    def feed(self, text: str, logprobs: Sequence[TokenLogprobs]) -> list[StreamEvent]:
        self._parts.append(text)
        return [ReasoningTextDelta(self._id, self._index, 0, text)]

    def end(self, status: ItemStatus) -> tuple[Item, list[StreamEvent]]:
        part = ReasoningText("".join(self._parts))
        return ReasoningItem(self._id, status, [part]), [
            ReasoningTextDone(self._id, self._index, 0, part.text),
            PartDone(self._id, self._index, 0, part),
        ]


class _Call:
    """A call of a function."""

    def __init__(self, id: str, index: int, call_id: str, name: str, namespace: str | UnsetType) -> None:
        self._index = index
        self._item = FunctionCallItem(f"fc_{id}{index:04x}", "in_progress", call_id, name, "", namespace)
        self._parts: list[str] = []

    def begin(self) -> list[StreamEvent]:
        return [ItemAdded(self._index, self._item)]

    def feed(self, text: str, logprobs: Sequence[TokenLogprobs]) -> list[StreamEvent]:
        self._parts.append(text)
        return [ArgumentsDelta(self._item.id, self._index, text)]

    def end(self, status: ItemStatus) -> tuple[Item, list[StreamEvent]]:
        item = replace(self._item, status=status, arguments="".join(self._parts))
        return item, [ArgumentsDone(item.id, self._index, item.name, item.arguments)]


class _CustomCall:
    """A call of a custom tool: what the model wrote as one string argument is the tool's input."""

    def __init__(self, id: str, index: int, call_id: str, name: str, namespace: str | UnsetType) -> None:
        self._index = index
        self._item = CustomToolCallItem(f"ctc_{id}{index:04x}", "in_progress", call_id, name, "", namespace)
        self._input = CustomInput()
        self._parts: list[str] = []

    def begin(self) -> list[StreamEvent]:
        return [ItemAdded(self._index, self._item)]

    def feed(self, text: str, logprobs: Sequence[TokenLogprobs]) -> list[StreamEvent]:
        return self._delta(self._input.feed(text))

    def end(self, status: ItemStatus) -> tuple[Item, list[StreamEvent]]:
        events = self._delta(self._input.end())
        item = replace(self._item, status=status, input="".join(self._parts))
        return item, [*events, InputDone(item.id, self._index, item.input)]

    def _delta(self, text: str) -> list[StreamEvent]:
        if not text:
            return []
        self._parts.append(text)
        return [InputDelta(self._item.id, self._index, text)]
