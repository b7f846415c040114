"""Items out of events: one is open at a time, and each is closed."""

from __future__ import annotations

from unbraid.events import ContentDelta, Event, ReasoningDelta, ToolCallArguments, ToolCallEnd, ToolCallStart
from unbraid.wire.response_items import ItemWriter, ToolNames
from unbraid.wire.responses import (
    CustomToolCallItem,
    FunctionCallItem,
    ItemAdded,
    ItemDone,
    MessageItem,
    ReasoningItem,
    StreamEvent,
)


def names_of(events: list[StreamEvent]) -> list[str]:
    return [str(event.__struct_config__.tag).removeprefix("response.") for event in events]


def test_each_kind_opens_and_closes() -> None:
    writer = ItemWriter("x", ToolNames(custom=("note",), spaces={"crm__f": ("crm", "f")}))
    events: list[Event] = [
        ReasoningDelta("a"),
        ReasoningDelta("b"),
        ContentDelta("c"),
        ToolCallStart(0, "id0", "crm__f"),
        ToolCallArguments(0, "{}"),
        ToolCallEnd(0, True),
        ToolCallStart(1, "id1", "note"),
        ToolCallArguments(1, '{"input": "d"}'),
        ToolCallEnd(1, False),
        ContentDelta("e"),
    ]
    made: list[StreamEvent] = []
    for event in events:
        made += writer.event(event)
    made += writer.close("incomplete")
    added = [event for event in made if isinstance(event, ItemAdded)]
    done = [event for event in made if isinstance(event, ItemDone)]
    assert [event.output_index for event in added] == [event.output_index for event in done] == list(range(5))
    assert [event.item for event in done] == writer.items
    assert [event.item.id for event in added] == [item.id for item in writer.items]
    assert len({item.id for item in writer.items}) == 5
    thought, content, call, note, last = writer.items
    assert isinstance(thought, ReasoningItem)
    assert (thought.content[0].text, thought.status) == ("ab", "completed")
    assert isinstance(content, MessageItem)
    assert (content.content[0].text, content.status) == ("c", "completed")
    assert isinstance(call, FunctionCallItem)
    assert (call.namespace, call.name, call.arguments, call.call_id) == ("crm", "f", "{}", "id0")
    assert isinstance(note, CustomToolCallItem)
    assert (note.name, note.input, note.status) == ("note", "d", "incomplete")
    assert isinstance(last, MessageItem)
    assert (last.content[0].text, last.status) == ("e", "incomplete")


def test_what_says_nothing_makes_nothing() -> None:
    writer = ItemWriter("x", ToolNames())
    assert writer.event(ContentDelta("")) == writer.event(ReasoningDelta("")) == writer.close() == []
    assert names_of(writer.event(ToolCallStart(0, "id", "f"))) == ["output_item.added"]
    assert writer.event(ToolCallArguments(0, "")) == []
    assert names_of(writer.event(ToolCallEnd(0, True))) == [
        "function_call_arguments.done",
        "output_item.done",
    ]
    assert writer.close() == []


def test_an_item_that_was_given_does_not_change() -> None:
    writer = ItemWriter("x", ToolNames())
    [added] = writer.event(ToolCallStart(0, "id", "f"))
    writer.event(ToolCallArguments(0, "{}"))
    writer.event(ToolCallEnd(0, True))
    assert isinstance(added, ItemAdded)
    assert isinstance(added.item, FunctionCallItem)
    assert (added.item.arguments, added.item.status) == ("", "in_progress")
