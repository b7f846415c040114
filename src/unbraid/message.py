"""The result of a parse: three strands, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = ["Citation", "Diagnostic", "Message", "Span", "ToolCall"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the output, ``start`` to ``end`` in characters, and what it was read as.

    ``kind`` is one of reasoning, content, name, id, arguments, framing, markup,
    noise, unfinished, broken, dropped. The spans of a message cover its whole
    text in order. ``index`` is the call that a span belongs to, if any.
    """

    kind: str
    start: int
    end: int
    index: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """The span as plain data, ``index`` left out when there is none."""
        plain: dict[str, Any] = {"kind": self.kind, "start": self.start, "end": self.end}
        if self.index is not None:
            plain["index"] = self.index
        return plain


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something in the output that was repaired, refused, dropped or looks wrong.

    ``code`` is a stable snake_case name, ``start`` and ``end`` are characters of
    the output, ``expected`` says what would have been right there and ``hint``
    what a user can do about it.
    """

    code: str
    start: int
    end: int
    expected: str = ""
    hint: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The diagnostic as plain data."""
        return {
            "code": self.code,
            "start": self.start,
            "end": self.end,
            "expected": self.expected,
            "hint": self.hint,
        }


@dataclass(frozen=True, slots=True)
class Citation:
    """A passage that cites: ``text`` stands at ``start`` to ``end`` in characters of its strand.

    ``strand`` is ``content`` or ``reasoning``. ``sources`` are pairs: the number of a
    tool call, and the numbers of those of its results that are cited.
    """

    strand: str
    start: int
    end: int
    text: str
    sources: tuple[tuple[int, tuple[int, ...]], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """The citation as plain data."""
        return {
            "strand": self.strand,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "sources": [{"call": call, "results": list(results)} for call, results in self.sources],
        }


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call. ``arguments`` is JSON text; when ``complete`` it is a whole JSON object."""

    id: str
    name: str
    arguments: str
    complete: bool = True

    def as_dict(self) -> dict[str, Any]:
        """The call as plain data."""
        return {"id": self.id, "name": self.name, "arguments": self.arguments, "complete": self.complete}


@dataclass(frozen=True, slots=True)
class Message:
    """The three strands of one output.

    ``reasoning`` and ``content`` are None when empty. ``finish_reason`` is the
    engine's, or ``tool_calls`` when the output ended by itself with a complete
    call. ``spans`` is None unless it was asked for. ``citations`` are those of formats
    that cite, in the order of their ends.
    """

    reasoning: str | None = None
    content: str | None = None
    tool_calls: list[ToolCall] = field(default_factory=list)
    finish_reason: str | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    spans: list[Span] | None = None
    citations: list[Citation] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """The message as plain data, ready for JSON; ``citations`` is left out when there are none."""
        plain: dict[str, Any] = {
            "reasoning": self.reasoning,
            "content": self.content,
            "tool_calls": [call.as_dict() for call in self.tool_calls],
            "finish_reason": self.finish_reason,
            "diagnostics": [diagnostic.as_dict() for diagnostic in self.diagnostics],
            "spans": None if self.spans is None else [span.as_dict() for span in self.spans],
        }
        if self.citations:
            plain["citations"] = [citation.as_dict() for citation in self.citations]
        return plain
