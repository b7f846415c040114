"""A small client of chat completions: the three strands as they arrive."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

from unbraid.errors import EngineError

__all__ = ["Answer", "ChatClient", "Strand"]

Strand = Literal["reasoning", "content", "name", "arguments"]
Show = Callable[[Strand, str], None]


@dataclass
class Answer:
    """An answer put together; ``order`` are its strands in the order in which they began."""

    reasoning: str = ""
    content: str = ""
    calls: list[dict[str, Any]] = field(default_factory=list)
    finish_reason: str | None = None
    order: list[Strand] = field(default_factory=list)

    @property
    def message(self) -> dict[str, Any]:
        """The answer as a message for the history."""
        made: dict[str, Any] = {"role": "assistant", "content": self.content or None}
        if self.reasoning:
            made["reasoning"] = self.reasoning
        if self.calls:
            made["tool_calls"] = self.calls
        return made

    def add(self, strand: Strand, text: str) -> None:
        """Add a piece of a strand; a name comes after its call was begun with ``begin``."""
        if not self.order or self.order[-1] != strand:
            self.order.append(strand)
        if strand == "reasoning":
            self.reasoning += text
        elif strand == "content":
            self.content += text
        else:
            self.calls[-1]["function"][strand] += text

    def begin(self, call_id: str) -> None:
        """Begin a call."""
        self.calls.append({"id": call_id, "type": "function", "function": {"name": "", "arguments": ""}})


class ChatClient:
    """Talks to one server; ``url`` is its root, such as ``http://127.0.0.1:8000``."""

    def __init__(self, url: str, api_key: str | None = None) -> None:
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        root = url.rstrip("/").removesuffix("/v1")
        self._http = httpx.Client(base_url=root, headers=headers, timeout=httpx.Timeout(600, connect=10))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def stream(self, body: Mapping[str, Any], show: Show) -> Answer:
        """Ask and show each piece as it comes. Raises EngineError for an error of the server."""
        answer = Answer()
        for event in self._events({**body, "stream": True}):
            for choice in event.get("choices", ()):
                for strand, text in _pieces(answer, choice.get("delta", {})):
                    answer.add(strand, text)
                    show(strand, text)
                answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
        return answer

    def whole(self, body: Mapping[str, Any]) -> Answer:
        """Ask for the answer in one piece. Raises EngineError for an error of the server."""
        try:
            response = self._http.post("/v1/chat/completions", json={**body, "stream": False})
        except httpx.HTTPError as error:
            raise EngineError(f"the server at {self._http.base_url} can't be asked: {error}") from error
        value = _object(response.status_code, response.text)
        choice = value["choices"][0]
        answer = Answer(finish_reason=choice["finish_reason"])
        message = choice["message"]
        for strand, text in _pieces(answer, message):
            answer.add(strand, text)
        return answer

    def _events(self, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            with self._http.stream("POST", "/v1/chat/completions", json=body) as response:
                if response.status_code != 200:
                    _object(response.status_code, response.read().decode("utf-8", "replace"))
                for line in response.iter_lines():
                    if line.startswith("data: {"):
                        yield _object(200, line[6:])
        except httpx.ConnectError as error:
            raise EngineError(f"the server at {self._http.base_url} can't be asked: {error}") from error
        except httpx.HTTPError as error:
            raise EngineError(f"the connection to the server broke: {error}") from error


def _pieces(answer: Answer, part: Mapping[str, Any]) -> Iterator[tuple[Strand, str]]:
    """The pieces of a delta, or of a whole message; calls are begun in ``answer``."""
    thinking = part.get("reasoning") or part.get("reasoning_content")
    if thinking:
        yield "reasoning", thinking
    if part.get("content"):
        yield "content", part["content"]
    for call in part.get("tool_calls") or ():
        if call.get("id"):
            answer.begin(call["id"])
        function = call.get("function", {})
        if function.get("name"):
            yield "name", function["name"]
        if function.get("arguments"):
            yield "arguments", function["arguments"]


def _object(status: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise EngineError(f"the server answered with HTTP {status} and no JSON") from error
    if not isinstance(value, dict) or "error" in value:
        detail = value.get("error") if isinstance(value, dict) else None
        message = detail.get("message") if isinstance(detail, dict) else text[:200]
        raise EngineError(f"the server refused (HTTP {status}): {message}")
    return value
