"""Calls as plain JSON: what a back end that knows JSON schemas alone makes a model write.

A forced call is then an array of ``{"name": …, "parameters": …}``, a named one its
arguments, in no format's own notation. Both are declarations like any other, so the
same machine reads them.
"""

from __future__ import annotations

from collections.abc import Sequence

from unbraid.errors import InvalidRequest
from unbraid.request import picked
from unbraid.syntax import Calls, Channels, Envelope, Envelopes, Given, Joint, Json, Tools

__all__ = ["ARRAY", "plain_calls"]

ARRAY = Calls(
    (Envelopes(Envelope(name=("name",), arguments=("parameters", "arguments"), both=True)),), anchor=True
)


def plain_calls(tool_choice: object, half: Tools | Joint | None) -> Tools:
    """How the calls of this choice are written; ``half`` is the format of the model.

    Raises InvalidRequest for a choice that demands no call.
    """
    ends: Sequence[str] = half.dropped if half is not None else ()
    if isinstance(half, Channels):
        ends = (*ends, *(one.text for one in half.ends))
    ids = half.ids if isinstance(half, Tools) else "random"
    choice = picked(tool_choice)
    if choice.named and choice.names:
        call = Calls((Given(next(iter(choice.names))), Json()), anchor=True)
        return Tools(call, dropped=tuple(ends), ids=ids, calls_per_turn=1)
    if choice.mode != "required":
        raise InvalidRequest(
            "only calls that tool_choice demands can be written as plain JSON: required, or a named choice",
            param="reads_as",
        )
    return Tools(ARRAY, dropped=tuple(ends), ids=ids)
