"""A warning when the model writes calls in another format than the server was told."""

from __future__ import annotations

import logging

from unbraid.server.choice import Step
from unbraid.server.observe import Observer
from unbraid.server.plan import Job
from unbraid.server.vocabulary import openers

__all__ = ["ForeignCalls"]

logger = logging.getLogger("unbraid.server")


class ForeignCalls(Observer):
    """Looks for the call openers of other formats in content; each is reported once."""

    def __init__(self, tool_parser: str | None) -> None:
        self._tool_parser = tool_parser
        self._reported: set[str] = set()

    def step(self, job: Job, step: Step) -> None:
        """Look at a finished message."""
        content = None if step.result is None else step.result.message.content
        if not content:
            return
        for opener, names in openers().items():
            if opener in content and self._tool_parser not in names and opener not in self._reported:
                self._reported.add(opener)
                logger.warning(
                    "the content holds %s: this looks like a tool call of %s, and the tool parser is %s",
                    opener,
                    " or ".join(names),
                    self._tool_parser or "not set (--tool-call-parser)",
                )
