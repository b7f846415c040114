"""Warnings when the model writes in another format than the server was told."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress

from unbraid.errors import UnbraidError
from unbraid.message import Message
from unbraid.parser import Parser
from unbraid.server.cures import call_cure, reasoning_cure, tells_a_format, thinking_markers
from unbraid.server.record import Record
from unbraid.server.setup import Setup
from unbraid.server.vocabulary import markers, openers
from unbraid.writer import write

__all__ = ["ForeignCalls", "ForeignThinking"]

logger = logging.getLogger("unbraid.server")

MOST_READ = 4096


class _Foreign:
    """Looks for texts in content; each is reported once."""

    def __init__(self, texts: Mapping[str, Sequence[str]]) -> None:
        self._texts = dict(texts)

    def finished(self, record: Record) -> None:
        """Look at the messages of an answer."""
        for result in record.results:
            content = result.message.content
            if content:
                for text in [one for one in self._texts if one in content]:
                    self._report(text, self._texts.pop(text), content[content.index(text) :])

    def _report(self, text: str, names: Sequence[str], content: str) -> None:
        """Warn of a text that ``content`` begins with."""
        raise NotImplementedError


class ForeignCalls(_Foreign):
    """Warns of tool calls in content, by the openers of other formats."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        own = setup.tool_parser
        super().__init__(
            {text: names for text, names in openers().items() if own not in names and tells_a_format(text)}
        )

    def _report(self, text: str, names: Sequence[str], content: str) -> None:
        logger.warning(
            "the content holds %s, which looks like a tool call, and the tool parser is %s: %s",
            text,
            self._setup.tool_parser or "not set",
            call_cure(_reading(names, content) or names, self._setup.reasoning_parser),
        )


class ForeignThinking(_Foreign):
    """Warns of thinking in content, by the markers of other formats. Those of calls are not its business."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        own = {text for one in markers(setup.reasoning_parser, setup.tool_parser) for text in one.spellings}
        own.update(openers())
        super().__init__({text: names for text, names in thinking_markers().items() if text not in own})

    def _report(self, text: str, names: Sequence[str], content: str) -> None:
        logger.warning(
            "the content holds %s, which looks like thinking, and the reasoning parser is %s: %s",
            text,
            self._setup.reasoning_parser or "not set",
            reasoning_cure(text, self._setup.tool_parser),
        )


def _reading(names: Sequence[str], content: str) -> list[str]:
    """Those formats that find a call where ``content`` begins; only those that write it so, if any do."""
    reading, writing = [], []
    for name in names:
        with suppress(UnbraidError):
            calls = Parser(tool_parser=name).parse(content[:MOST_READ]).tool_calls
            if calls:
                reading.append(name)
                if content.startswith(write(None, name, Message(tool_calls=calls[:1])).strip()):
                    writing.append(name)
    return writing or reading
