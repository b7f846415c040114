"""Keys, other routes, and clients that leave."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import httpx
import pytest

from unbraid.engines.replay import Recording
from unbraid.server.background import serving

from .helpers import NOT_THINKING, USER, make_app, raw, replay

SLOW = Recording(["word "] * 500, delay=0.02)


def get(path: str, headers: dict[str, str] | None = None, **options: Any) -> httpx.Response:
    async def run() -> httpx.Response:
        async with raw(replay("x"), **options) as http:
            return await http.get(path, headers=headers)

    return asyncio.run(run())


@pytest.mark.parametrize("given", [None, "Bearer wrong", "secret", "Basic secret", "Bearer secret2"])
def test_a_wrong_key(given: str | None) -> None:
    headers = {} if given is None else {"authorization": given}
    answer = get("/v1/models", headers, api_keys=("secret",))
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "invalid_api_key"
    assert "secret" not in answer.text


def test_the_right_key() -> None:
    answer = get("/v1/models", {"authorization": "Bearer secret"}, api_keys=("secret",))
    assert answer.json()["data"][0]["id"] == "replay"
    assert get("/health", api_keys=("secret",)).json() == {"status": "ok"}


def test_the_key_is_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    get("/v1/models", {"authorization": "Bearer secret-key"}, api_keys=("secret-key",))
    assert "secret-key" not in caplog.text


def test_served_names() -> None:
    assert [one["id"] for one in get("/v1/models", served_model_name=("a", "b")).json()["data"]] == ["a", "b"]


def test_routes_that_are_not_there() -> None:
    answer = get("/v1/nothing")
    assert answer.status_code == 404
    assert answer.json()["error"]["type"] == "invalid_request_error"
    assert "POST /v1/chat/completions" in answer.json()["error"]["message"]
    wrong = get("/v1/chat/completions")
    assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")


def test_the_openapi_document() -> None:
    document = get("/openapi.json").json()
    schemas = document["components"]["schemas"]
    body = document["paths"]["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"]["$ref"] == "#/components/schemas/ChatRequest"
    assert "tool_choice" in schemas["ChatRequest"]["properties"]

    def references(value: Any) -> set[str]:
        if isinstance(value, dict):
            own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
            return own.union(*map(references, value.values()))
        return set().union(*map(references, value)) if isinstance(value, list) else set()

    assert references(document) <= {f"#/components/schemas/{name}" for name in schemas}


def test_the_docs_page_loads_nothing_from_elsewhere() -> None:
    answer = get("/docs")
    assert answer.headers["content-type"].startswith("text/html")
    assert "http://" not in answer.text
    assert "https://" not in answer.text
    assert "openapi.json" in answer.text


def test_events_come_one_by_one() -> None:
    engine = replay(Recording(["a", "b", "c"], delay=0.1))
    body = {"messages": USER, "stream": True, **NOT_THINKING}
    arrived = []
    with (
        serving(make_app(engine)) as url,
        httpx.stream("POST", f"{url}/v1/chat/completions", json=body) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines():
            if line.startswith("data: {"):
                arrived.append((time.monotonic(), json.loads(line[6:])["choices"][0]["delta"].get("content")))
    times = {content: when for when, content in arrived if content}
    assert times["c"] - times["a"] > 0.1


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("n", [1, 3])
def test_a_client_that_leaves_aborts_the_engine(stream: bool, n: int) -> None:
    engine = replay(SLOW)
    body = {"messages": USER, "stream": stream, "n": n, **NOT_THINKING}

    async def leave(url: str) -> None:
        async with httpx.AsyncClient() as http:
            asked = asyncio.ensure_future(http.post(f"{url}/v1/chat/completions", json=body))
            while engine.running < n:
                await asyncio.sleep(0.01)
            asked.cancel()
            await asyncio.gather(asked, return_exceptions=True)

    with serving(make_app(engine)) as url:
        asyncio.run(leave(url))
        deadline = time.monotonic() + 5
        while engine.running and time.monotonic() < deadline:
            time.sleep(0.01)
        assert (engine.running, engine.aborted) == (0, n)
        assert httpx.get(f"{url}/health").status_code == 200


def test_a_body_that_is_too_large() -> None:
    async def run() -> httpx.Response:
        async with raw(replay("x"), limits={"body_bytes": 100}) as http:
            return await http.post("/v1/chat/completions", json={"messages": USER, "pad": "x" * 200})

    assert asyncio.run(run()).status_code == 413


def test_a_failing_engine_is_an_error_of_the_server() -> None:
    from unbraid.errors import EngineError

    async def run() -> httpx.Response:
        async with raw(replay(Recording("", fault=EngineError("the engine is gone")))) as http:
            return await http.post("/v1/chat/completions", json={"messages": USER})

    answer = asyncio.run(run())
    assert answer.status_code == 500
    assert answer.json()["error"] == {
        "message": "the engine is gone",
        "type": "server_error",
        "param": None,
        "code": "engine_error",
    }
