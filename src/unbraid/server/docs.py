"""The OpenAPI document and a page that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from unbraid.server.apis.messages_request import CountRequest, MessagesRequest
from unbraid.server.apis.responses_request import InputMessage, ResponsesRequest
from unbraid.server.requests import ChatRequest
from unbraid.wire.chat import ChatCompletion, ChatCompletionChunk
from unbraid.wire.messages import MessageAnswer, MessageEvent, MessagesError, TokenCount
from unbraid.wire.responses import Response, StreamEvent

__all__ = ["openapi", "openapi_json", "page"]


class ApiErrorBody(msgspec.Struct):
    """What went wrong; ``param`` is the path of the field that was."""

    message: str
    type: str
    param: str | None
    code: str | None


class ErrorResponse(msgspec.Struct):
    """The body of every error."""

    error: ApiErrorBody


class Model(msgspec.Struct):
    """A model that is served."""

    id: str
    object: str
    created: int
    owned_by: str


class ModelList(msgspec.Struct):
    """The models that are served."""

    object: str
    data: list[Model]


class Health(msgspec.Struct):
    """Whether the engine answers."""

    status: str


@dataclass(frozen=True)
class _Route:
    """A route that is asked about conversations: the types of its body, its answer, and a stream's events."""

    path: str
    summary: str
    request: Any
    whole: Any
    event: Any = None
    error: Any = ErrorResponse


_ROUTES = (
    _Route("/v1/chat/completions", "Answer a conversation", ChatRequest, ChatCompletion, ChatCompletionChunk),
    _Route("/v1/responses", "Answer a conversation with items", ResponsesRequest, Response, StreamEvent),
    _Route(
        "/v1/messages",
        "Answer a conversation with blocks",
        MessagesRequest,
        MessageAnswer,
        MessageEvent,
        MessagesError,
    ),
    _Route(
        "/v1/messages/count_tokens",
        "Count the tokens of a conversation",
        CountRequest,
        TokenCount,
        error=MessagesError,
    ),
)
_SIMPLE = {
    "/v1/models": ("The models that are served", ModelList),
    "/health": ("Whether the engine answers", Health),
}
_ERRORS = {
    "400": "The request is wrong, or can't be enforced",
    "401": "The API key is missing or wrong",
    "404": "There is no such model",
    "413": "The body is too large",
    "429": "Too many requests are running",
    "500": "The server or its engine failed",
    "502": "The answer is not what was demanded",
    "503": "There is no engine, or the server is busy or shutting down",
    "504": "The engine was silent for too long",
}


def openapi() -> dict[str, Any]:
    """The server's OpenAPI 3.1 document."""
    from unbraid import __version__

    schemas, components = _schemas()
    paths = {route.path: {"post": _create(route, schemas)} for route in _ROUTES}
    for path, (summary, kind) in _SIMPLE.items():
        paths[path] = {"get": {"summary": summary, "responses": {"200": _answer(summary, schemas[kind])}}}
    paths["/v1/responses/{response_id}"] = {"get": _nothing_kept(schemas[ErrorResponse])}
    return {
        "openapi": "3.1.0",
        "info": {"title": "unbraid", "version": __version__},
        "paths": paths,
        "components": {"schemas": components},
    }


@cache
def openapi_json() -> bytes:
    """The document as JSON, made when it is first asked for."""
    return msgspec.json.encode(openapi())


def _schemas() -> tuple[dict[Any, Any], dict[str, Any]]:
    """The schema of each type that is sent or received, and the components that they refer to."""
    types = [kind for _, kind in _SIMPLE.values()]
    for route in _ROUTES:
        types += [route.request, route.whole, route.error]
        types += [] if route.event is None else [route.event]
    kinds = list(dict.fromkeys(types))
    found, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    components[InputMessage.__name__]["required"].remove("type")
    return dict(zip(kinds, found, strict=True)), components


def _create(route: _Route, schemas: Mapping[Any, Any]) -> dict[str, Any]:
    content = {"application/json": {"schema": schemas[route.whole]}}
    if route.event is not None:
        content["text/event-stream"] = {"schema": schemas[route.event]}
    return {
        "summary": route.summary,
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": schemas[route.request]}},
        },
        "responses": {
            "200": {"description": "The answer", "content": content},
            **{code: _answer(text, schemas[route.error]) for code, text in _ERRORS.items()},
        },
    }


def _nothing_kept(error: Any) -> dict[str, Any]:
    return {
        "summary": "Always 404: no responses are kept",
        "parameters": [
            {
                "name": "response_id",
                "in": "path",
                "required": True,
                "schema": {"type": "string", "minLength": 1},
            }
        ],
        "responses": {code: _answer(_ERRORS[code], error) for code in ("401", "404")},
    }


def _answer(text: str, schema: Any) -> dict[str, Any]:
    return {"description": text, "content": {"application/json": {"schema": schema}}}


def page() -> str:
    """A page of HTML that shows the document; it loads nothing from elsewhere."""
    return _PAGE


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>unbraid API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.45 ui-monospace, monospace }
h2 code { background: #8882; padding: .15em .4em; border-radius: .3em }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem }
td { border-top: 1px solid #8884; padding: .3em .6em; vertical-align: top }
td:first-child { white-space: nowrap }
</style>
<h1>unbraid API</h1>
<p>From <a href="openapi.json">openapi.json</a>.</p>
<main>Loading.</main>
<script>
const make = (tag, text, ...inside) => {
  const node = document.createElement(tag);
  if (text) node.textContent = text;
  node.append(...inside);
  return node;
};
const link = ref => {
  const name = ref.split("/").pop();
  const node = make("a", name);
  node.href = "#" + name;
  return node;
};
const shape = s => {
  if (!s || s === true || !Object.keys(s).length) return [make("span", "any")];
  if (s.$ref) return [link(s.$ref)];
  const many = s.anyOf || s.oneOf;
  if (many) return many.flatMap((one, n) => n ? [" or ", ...shape(one)] : shape(one));
  if (s.enum) return [make("code", s.enum.map(v => JSON.stringify(v)).join(" | "))];
  if (s.type === "array") return ["list of ", ...shape(s.items)];
  const bounds = ["minimum", "exclusiveMinimum", "maximum", "minLength", "minItems"]
    .filter(k => k in s).map(k => k + " " + s[k]).join(", ");
  return [make("span", s.type + (bounds ? " (" + bounds + ")" : ""))];
};
fetch("openapi.json").then(r => r.json()).then(api => {
  const main = document.querySelector("main");
  main.textContent = "";
  for (const [path, methods] of Object.entries(api.paths))
    for (const [method, one] of Object.entries(methods)) {
      main.append(make("h2", "", make("code", method.toUpperCase() + " " + path)), make("p", one.summary));
      const rows = make("table");
      const row = (what, s) => rows.append(make("tr", "", make("td", what), make("td", "", ...shape(s))));
      for (const [type, c] of Object.entries(one.requestBody?.content || {})) row("body, " + type, c.schema);
      for (const [status, r] of Object.entries(one.responses))
        for (const [type, c] of Object.entries(r.content)) row(status + ", " + type, c.schema);
      main.append(rows);
    }
  for (const [name, s] of Object.entries(api.components.schemas)) {
    const title = make("h2", name);
    title.id = name;
    main.append(title, make("p", s.description || ""));
    const rows = make("table");
    for (const [field, inner] of Object.entries(s.properties || {}))
      rows.append(make("tr", "", make("td", "", make("code", field)), make("td", "", ...shape(inner))));
    main.append(rows);
  }
});
</script>
"""
