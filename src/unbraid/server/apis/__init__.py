"""The APIs that the server speaks, each a pure mapping of the same events."""

from __future__ import annotations

from unbraid.server.api import Api
from unbraid.server.apis.chat import ChatApi
from unbraid.server.apis.messages import CountApi, MessagesApi
from unbraid.server.apis.responses import ResponsesApi

__all__ = ["api_of", "apis"]


def apis() -> tuple[Api, ...]:
    """All of them."""
    return (ChatApi(), CountApi(), MessagesApi(), ResponsesApi())


def api_of(path: str) -> Api:
    """The API that a path belongs to; chat completions where it is none's."""
    return next((api for api in apis() if path.startswith(api.path)), apis()[0])
