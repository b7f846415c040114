"""A warning when the model writes calls in another format than the server was told."""

from __future__ import annotations

import logging

from unbraid.server.record import Record
from unbraid.server.vocabulary import openers

__all__ = ["ForeignCalls"]

logger = logging.getLogger("unbraid.server")


class ForeignCalls:
    """Looks for the call openers of other formats in content; each is reported once."""

    def __init__(self, tool_parser: str | None) -> None:
        self._tool_parser = tool_parser
        self._reported: set[str] = set()

    def finished(self, record: Record) -> None:
        """Look at the messages of an answer."""
        for result in record.results:
            if result.message.content:
                self._look(result.message.content)

    def _look(self, content: str) -> None:
        for opener, names in openers().items():
            if opener in content and self._tool_parser not in names and opener not in self._reported:
                self._reported.add(opener)
                logger.warning(
                    "the content holds %s: this looks like a tool call of %s, and the tool parser is %s",
                    opener,
                    " or ".join(names),
                    self._tool_parser or "not set (--tool-call-parser)",
                )
