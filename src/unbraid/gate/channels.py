"""What the gate reads by in a format of channels: where thinking is over."""

from __future__ import annotations

from typing import Literal

from unbraid.machine.channels import ChannelMachine
from unbraid.machine.core import Run
from unbraid.machine.frames import Place
from unbraid.machine.headers import Header, route_of
from unbraid.machine.state import State
from unbraid.syntax import Channels

__all__ = ["Messages", "Phase"]

Phase = Literal["absent", "open", "over", "first", "header", "body", "between"]


class Messages(ChannelMachine):
    """Reads messages on from where a carry stands, up to a body that is no thinking.

    ``phase`` is a carry's, ``route`` the row of the routing table whose body is being read.
    ``over`` is where that body begins; ``implicit`` says that no header stands in
    front of it. ``begin`` is where the message begins whose header is being read.
    """

    def __init__(self, state: State, channels: Channels, phase: Phase, route: int, header: str) -> None:
        self.phase = phase
        self.route = route
        self.over: int | None = None
        self.implicit = False
        self.begin = 0
        super().__init__(state, channels, place=Place(header))

    def run(self) -> Run:
        """The messages from here on."""
        if self.phase == "first":
            yield from self.read_message(first=True)
        else:
            if self.phase == "body":
                counts = self.ends_of(self.channels.routes[self.route])
                yield from self.text_body("reasoning", self.frame.body, counts)
            if self.phase != "header":
                yield from self.between()
        while self.i < len(self.buf) or not self.eof:
            yield from self.read_message(first=False)

    def read_message(self, first: bool) -> Run:
        """Remember where the message begins."""
        self.phase = "first" if first else "header"
        self.begin = self.at()
        yield from super().read_message(first)

    def between(self) -> Run:
        """Behind a body there is no way back to it."""
        self.phase = "between"
        yield from super().between()

    def body(self, header: Header, held: list[str]) -> Run:
        """Read thinking; any other body is the end."""
        route = route_of(self.channels, header)[0]
        if route.strand == "reasoning":
            self.phase, self.route = "body", self.channels.routes.index(route)
            yield from super().body(header, held)
            return
        self.end(self.at(), not held)
        yield from self.rest_of_output()

    def unframed(self, calls: bool) -> Run:
        """Text or calls without a header are no thinking."""
        self.end(self.at(), True)
        yield from self.rest_of_output()

    def rest_of_output(self) -> Run:
        """What follows the end is not looked at."""
        while not self.eof:
            yield
        self.i = len(self.buf)

    def content(self, text: str) -> None:
        """Words of a header that are none end thinking as well."""
        if text:
            self.end(self.pos, True)

    def end(self, at: int, implicit: bool) -> None:
        """Thinking is over here, if it was not before."""
        if self.over is None:
            self.over, self.implicit = at, implicit
