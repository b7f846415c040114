"""Values as XML has them: character data as it is, entities elsewhere."""

from __future__ import annotations

import re

__all__ = ["CDATA", "CDATA_END", "MARKUP", "decoded"]

CDATA = "<![CDATA["
CDATA_END = "]]>"
MARKUP = "\n<&"
"""A value that holds one of these is written as character data."""

_ENTITY = re.compile("&(?:(amp|lt|gt|quot|apos)|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


def decoded(text: str) -> str:
    """The text with its entities decoded; what is none stays."""
    return _ENTITY.sub(_character, text)


def _character(found: re.Match[str]) -> str:
    name, decimal, digits = found.groups()
    if name:
        return _NAMED[name]
    code = int(decimal) if decimal else int(digits, 16)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else found.group()
