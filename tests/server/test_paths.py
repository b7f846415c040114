"""Errors say the name that a field has in the request that was sent."""

from __future__ import annotations

import pytest

from unbraid.errors import InvalidRequest, Unsupported
from unbraid.server.paths import named_as, renamed
from unbraid.wire.errors import ApiError

PATHS = (("tools[1].function", "tools[0].tools[1]"), ("messages", "input"))


@pytest.mark.parametrize(
    ("param", "found"),
    [
        ("messages", "input"),
        ("messages[3]", "input[3]"),
        ("messages_of", "messages_of"),
        ("tools[1].function.parameters.type", "tools[0].tools[1].parameters.type"),
        ("tools[10].function", "tools[10].function"),
        (None, None),
    ],
)
@pytest.mark.parametrize("kind", [InvalidRequest, Unsupported])
def test_the_request_s_own_name(kind: type[InvalidRequest], param: str | None, found: str | None) -> None:
    with pytest.raises(kind) as caught, named_as(PATHS):
        raise kind(f"{param} is wrong", param=param)
    assert caught.value.param == found
    assert str(caught.value) == f"{found} is wrong"


def test_what_an_error_carries_stays() -> None:
    error = renamed(ApiError(413, "messages: too many", code="too_many", param="messages"), PATHS)
    assert isinstance(error, ApiError)
    assert (error.status, error.code, error.param, str(error)) == (
        413,
        "too_many",
        "input",
        "input: too many",
    )
    other = KeyError("messages")
    assert renamed(other, PATHS) is other
