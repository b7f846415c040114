r"""Escapes of half a character (``\ud83d`` alone) in JSON text, which strict readers of JSON refuse."""

from __future__ import annotations

import re

__all__ = ["Mender"]

_HIGH = r"\\u[dD][89abAB][0-9a-fA-F]{2}"
_LOW = r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_ESCAPE = re.compile(
    rf"{_HIGH}{_LOW}"
    rf"|(?P<begun>{_HIGH}(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z|\\(?:u[0-9a-fA-F]{{0,3}})?\Z)"
    rf"|(?P<half>{_HIGH}|{_LOW})"
    r"|\\.",
    re.DOTALL,
)


class Mender:
    r"""Writes ``\ufffd`` for each escape of half a character, in text that comes in pieces."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> str:
        """The text that is certain; an escape that may go on is held, at most eleven characters."""
        if not self._held and "\\" not in text:
            return text
        text, self._held = self._held + text, ""
        return _ESCAPE.sub(self._mended, text)

    def end(self) -> str:
        """What is held, as it is: the text was cut there."""
        held, self._held = self._held, ""
        return held

    def _mended(self, found: re.Match[str]) -> str:
        if found["begun"] is not None:
            self._held = found["begun"]
            return ""
        return found[0] if found["half"] is None else r"\ufffd"
