"""What an API is to the server: a way to read requests, and to write what happens as its answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from unbraid.server.choice import Ended, Result, Step
from unbraid.server.normal import Ask
from unbraid.server.plan import Job

__all__ = ["Api", "Incoming", "Writer"]


@dataclass(frozen=True)
class Incoming:
    """A request as it came: its body, its headers in lower case, and the id that it goes by."""

    body: bytes
    headers: Mapping[str, str]
    request_id: str


class Writer(Protocol):
    """Writes one streamed answer; each method gives the bytes to send, perhaps none."""

    def step(self, index: int, step: Step) -> bytes:
        """What choice ``index`` proved."""
        ...

    def finish(self, results: Sequence[Result]) -> bytes:
        """The end of an answer whose choices all ended, in the order in which they did."""
        ...

    def fail(self, error: Exception) -> bytes:
        """The end of an answer in which a choice failed."""
        ...


class Api(Protocol):
    """One API: pure mappings from its requests to an ``Ask``, and from events to its answers."""

    path: str

    def read(self, incoming: Incoming) -> Ask:
        """What a request means. Raises InvalidRequest or ApiError, naming fields as this API does."""
        ...

    def whole(self, job: Job, ended: Sequence[Ended]) -> Any:
        """The body of a whole answer, for msgspec to encode; ``ended`` are the choices in order."""
        ...

    def writer(self, job: Job) -> Writer:
        """A writer for one streamed answer."""
        ...

    def failure(self, error: BaseException, request_id: str | None = None) -> tuple[int, Any]:
        """The HTTP status and the body for an error, of which request if that is known."""
        ...
