"""Log lines: one for each request, without what was asked and answered."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from unbraid.errors import EngineError
from unbraid.server.logs import _Json, _Text
from unbraid.server.observe import Observers
from unbraid.server.record import Record

from .faults import CHAT, PATHS, Scripted, body
from .helpers import CALL, NOT_THINKING, USER, WEATHER, raw, replay

PLAIN: Any = {"default_chat_template_kwargs": {"enable_thinking": False}}
PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def logged(caplog: pytest.LogCaptureFixture, log_format: str = "json") -> list[Any]:
    """The lines about requests."""
    lines = [record for record in caplog.records if record.name == "unbraid.requests"]
    if log_format == "text":
        return [_Text("%(levelname)s: %(message)s").format(line) for line in lines]
    return [json.loads(_Json().format(line)) for line in lines]


def run(engine: Any, *sent: tuple[str, dict[str, Any]], **options: Any) -> list[Any]:
    async def go() -> list[Any]:
        async with raw(engine, **{**PLAIN, **options}) as http:
            return [await http.post(path, json=one, headers={"x-request-id": "abc"}) for path, one in sent]

    return asyncio.run(go())


@pytest.fixture(autouse=True)
def _all(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("stream", [True, False], ids=["streamed", "whole"])
def test_a_request(path: str, stream: bool, caplog: pytest.LogCaptureFixture) -> None:
    engine = replay(CALL)
    (answer,) = run(engine, (path, body(path, stream)))
    (line,) = logged(caplog)
    assert answer.headers["x-request-id"] == engine.requests[0].request_id == line["request_id"] == "abc"
    assert line.pop("total_ms") >= line.pop("first_ms") >= 0
    assert line.pop("prompt_tokens") > 10
    assert line.pop("completion_tokens") > 10
    assert line.pop("time").endswith("+00:00")
    assert line == {
        "level": "INFO",
        "logger": "unbraid.requests",
        "message": "request",
        "request_id": "abc",
        "api": path,
        "status": 200,
        "outcome": "done",
        "model": "replay",
        "engine": "replay",
        "stream": stream,
        "choices": 1,
        "enforced": "none",
        "finish_reasons": ["tool_calls"],
        "reasoning_tokens": 0,
        "tool_calls": 1,
        "diagnostics": {},
    }


def test_nothing_of_prompts_answers_and_keys(caplog: pytest.LogCaptureFixture) -> None:
    secret = [{"role": "user", "content": "my-secret-question"}]
    asked = {"messages": secret, "tools": [WEATHER], **NOT_THINKING}
    text = "my-secret-answer" + CALL.replace("Oslo", "my-secret-city")
    answers = run(replay(text), (CHAT, asked), (CHAT, {**asked, "stream": True}), api_keys=("my-secret-key",))
    assert {answer.status_code for answer in answers} == {401}
    answers = run(replay(text), (CHAT, asked), (CHAT, {**asked, "stream": True}))
    assert {answer.status_code for answer in answers} == {200}
    assert len(logged(caplog)) == 2
    assert "my-secret" not in caplog.text
    assert "my-secret" not in "".join(map(str, logged(caplog)))


def test_prompts_are_logged_when_that_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    run(replay("the answer"), (CHAT, {"messages": USER, **NOT_THINKING}), log_prompts=True)
    (line,) = logged(caplog)
    assert "Hello" in line["prompt"]
    assert line["messages"][0]["content"] == "the answer"


def test_what_went_wrong(caplog: pytest.LogCaptureFixture) -> None:
    engine = Scripted([EngineError("gone")], ["a", KeyError("bug")])
    run(engine, (CHAT, {}), (CHAT, body(CHAT, False)), (CHAT, body(CHAT)))
    refused, failed, broken = logged(caplog)
    assert (refused["status"], refused["outcome"], refused["error"]) == (400, "refused", "invalid_request")
    assert "model" not in refused
    assert (failed["status"], failed["outcome"], failed["error"]) == (500, "failed", "engine_error")
    assert (broken["status"], broken["outcome"], broken["error"]) == (200, "failed", "internal_error")


def test_text_lines(caplog: pytest.LogCaptureFixture) -> None:
    run(replay("fine"), (CHAT, {**body(CHAT), "model": "my model"}), served_model_name=("my model",))
    (line,) = logged(caplog, "text")
    assert line.startswith(f"INFO: request request_id=abc api={CHAT} status=200 outcome=done total_ms=")
    assert 'model="my model" engine=replay stream=true choices=1' in line
    assert 'finish_reasons=["stop"]' in line
    assert line.isprintable()


def test_a_request_id_is_made_where_none_is_given() -> None:
    async def go() -> list[str]:
        async with raw(replay("x"), **PLAIN) as http:
            given = ["", "two words", "x" * 129]
            sent = [await http.post(CHAT, json=body(CHAT), headers={"x-request-id": one}) for one in given]
            return [one.headers["x-request-id"] for one in sent]

    ids = asyncio.run(go())
    assert len(set(ids)) == 3
    assert all(len(one) == 32 for one in ids)


def test_a_traceback_is_one_json_line() -> None:
    try:
        raise KeyError("bug")
    except KeyError as error:
        info = (type(error), error, error.__traceback__)
        record = logging.LogRecord("unbraid.server", logging.ERROR, "f", 1, "it %s", ("broke",), info)
    line = _Json().format(record)
    assert "\n" not in line
    read = json.loads(line)
    assert (read["message"], read["level"]) == ("it broke", "ERROR")
    assert "KeyError" in read["traceback"]


def test_the_page_names_every_field(caplog: pytest.LogCaptureFixture) -> None:
    run(Scripted([EngineError("gone")]), (CHAT, body(CHAT, False)), log_prompts=True)
    (line,) = logged(caplog)
    text = PAGE.read_text(encoding="utf-8").split("## Logs")[1]
    assert {f"`{field}`" for field in line if f"`{field}`" not in text} == set()


def test_an_observer_that_fails_is_logged_and_the_others_are_told(caplog: pytest.LogCaptureFixture) -> None:
    told: list[Record] = []

    class Broken:
        def finished(self, record: Record) -> None:
            raise RuntimeError("broken")

    class Other:
        def finished(self, record: Record) -> None:
            told.append(record)

    record = Record("/v1/x", "abc")
    Observers([Broken(), Other()]).finished(record)
    assert told == [record]
    assert "request abc could not be noted by all" in caplog.text
