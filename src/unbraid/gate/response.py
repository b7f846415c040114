"""What the gate reads by in a response template: where thinking is over."""

from __future__ import annotations

from unbraid.machine.response import ResponseMachine, Start
from unbraid.machine.state import State
from unbraid.syntax import Field, ResponseTemplate

__all__ = ["Regions"]


class Regions(ResponseMachine):
    """Reads regions on, up to the end of thinking.

    ``inside``: thinking is open; ``pending`` is what the prompt wrote of a marker.
    ``over`` is where it ends; ``implicit`` says that no closer stands in front of it.
    """

    def __init__(self, state: State, template: ResponseTemplate, inside: bool, pending: str) -> None:
        self.inside = inside
        self.over: int | None = None
        self.implicit = False
        field = template.field("reasoning") if inside else None
        explicit = field if field is not None and field.open is not None else None
        super().__init__(state, template, start=Start(explicit, pending=pending))

    def opened(self, field: Field, length: int) -> None:
        """A region of thinking begins, or something else in its place."""
        super().opened(field, length)
        if field.strand == "reasoning":
            self.inside = True
        else:
            self.end(self.at() - length, True)

    def closed(self, field: Field) -> None:
        """Thinking is over unless it may come again."""
        if field.strand == "reasoning":
            self.inside = False
            self.end(self.at(), False)

    def say(self, text: str, strand: str) -> None:
        """Text that is no thinking begins in its place."""
        if strand != "reasoning" and text.strip():
            begin = self.pos + sum(map(len, self.white)) + len(text) - len(text.lstrip())
            self.end(begin, True)
        super().say(text, strand)

    def end(self, at: int, implicit: bool) -> None:
        """Thinking is over here, if it was not before."""
        field = self.template.field("reasoning")
        if self.over is None and field is not None and not field.repeats:
            self.over, self.implicit = max(at, 0), implicit
