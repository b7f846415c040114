"""The text that a custom tool is called with, out of the arguments that the model wrote for it.

The model sees a custom tool as a function with one string, ``{"input": "…"}``; the tool gets the string.
"""

from __future__ import annotations

import json
import re

__all__ = ["CUSTOM_PARAMETERS", "CustomInput"]

CUSTOM_PARAMETERS = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
    "additionalProperties": False,
}
"""The parameters of the function that stands for a custom tool."""

_HEAD = '{"input":"'
_GAPS = (0, 1, 8, 9)
"""Places of the head that may have white space in front of them."""
_WHOLE = re.compile(r'(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\[^u])*')
_HALF_PAIR = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}$")


class CustomInput:
    """Reads the string out of fragments of arguments, which may be cut anywhere.

    Arguments that do not begin as they should are given whole at the end: the string in them
    if there is one, else the arguments themselves.
    """

    def __init__(self) -> None:
        self._seen: list[str] = []
        self._head = 0
        self._odd = False
        self._rest = ""
        self._closed = False

    def feed(self, text: str) -> str:
        """The next of the string that ``text`` proves."""
        if self._head < len(_HEAD) and not self._odd:
            self._seen.append(text)
            text = self._after_head(text)
        elif self._odd:
            self._seen.append(text)
        if self._odd or self._closed or not text:
            return ""
        return self._string(text)

    def end(self) -> str:
        """What is left when the arguments are over."""
        if not self._odd:
            return ""
        text = "".join(self._seen)
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return text
        found = value.get("input") if isinstance(value, dict) else None
        return _clean(found) if isinstance(found, str) else text

    def _after_head(self, text: str) -> str:
        for at, char in enumerate(text):
            if char == _HEAD[self._head]:
                self._head += 1
                if self._head == len(_HEAD):
                    self._seen.clear()
                    return text[at + 1 :]
            elif not (char.isspace() and self._head in _GAPS):
                self._odd = True
                break
        return ""

    def _string(self, text: str) -> str:
        data = self._rest + text
        found = _WHOLE.match(data)
        assert found is not None
        whole = found[0]
        self._closed = data[len(whole) :].startswith('"')
        half = None if self._closed else _HALF_PAIR.search(whole)
        if half is not None:
            whole = whole[: half.start()]
        self._rest = data[len(whole) :]
        return _clean(json.loads(f'"{whole}"', strict=False))


def _clean(text: str) -> str:
    """Half a surrogate pair is no character: it becomes the replacement character."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
