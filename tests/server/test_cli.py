"""The commands chat and demo, over recorded outputs."""

from __future__ import annotations

import argparse
import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from unbraid.cli import chat, demo, main, serve
from unbraid.cli.chat import Printer
from unbraid.engines.replay import Recording
from unbraid.errors import EngineError, InvalidRequest
from unbraid.server.background import serving
from unbraid.server.client import ChatClient
from unbraid.server.options import Options
from unbraid.server.startup import prepare
from unbraid.server.workers import Listening

from .helpers import CALL, WEATHER, make_app, replay

CUT = f"I think.\n</think>\n\nSo:\n{CALL}"


@contextmanager
def client_of(*recordings: Recording | str, **options: Any) -> Iterator[tuple[ChatClient, Any, str]]:
    engine = replay(*recordings, **options)
    with serving(make_app(engine)) as url:
        client = ChatClient(url)
        yield client, engine, url
        client.close()


def arguments(*given: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command")
    for module in (serve, chat, demo):
        module.add_parser(commands)
    return parser.parse_args(given)


BODY: dict[str, Any] = {
    "messages": [{"role": "user", "content": "Hello"}],
    "tools": [WEATHER],
    "chat_template_kwargs": {"enable_thinking": True},
}


def test_the_client_reads_streams_and_whole_answers_alike() -> None:
    shown: list[tuple[str, str]] = []
    with client_of(CUT) as (client, _, _):
        streamed = client.stream(BODY, lambda strand, text: shown.append((strand, text)))
        whole = client.whole(BODY)
    assert streamed.order == whole.order == ["reasoning", "content", "name", "arguments"]
    assert streamed.reasoning == whole.reasoning == "I think."
    assert streamed.message["tool_calls"][0]["function"] == whole.message["tool_calls"][0]["function"]
    assert "".join(text for strand, text in shown if strand == "arguments") == '{"city": "Oslo"}'


def test_the_client_reports_errors() -> None:
    with client_of(Recording("text", fault=RuntimeError())) as (client, _, url):
        with pytest.raises(EngineError, match="refused"):
            client.stream({**BODY, "tools": []}, lambda *_: None)
        with pytest.raises(EngineError, match="refused"):
            client.stream(BODY, lambda *_: None)
        with pytest.raises(EngineError, match="refused"):
            client.whole({**BODY, "n": 0})
    with pytest.raises(EngineError, match="can't be asked"):
        ChatClient(url).whole(BODY)
    with pytest.raises(EngineError, match=f"the server at {url}.* can't be asked"):
        ChatClient(url).stream(BODY, lambda *_: None)


def test_the_printer_names_strands_where_there_are_no_colours() -> None:
    out = io.StringIO()
    printer = Printer(out)
    for strand, text in (
        ("reasoning", "a"),
        ("reasoning", "b"),
        ("name", "f"),
        ("arguments", "{}"),
        ("name", "g"),
    ):
        printer.show(strand, text)  # type: ignore[arg-type]
    printer.end()
    assert out.getvalue() == "reasoning: ab\ncall: f {}\ncall: g\n"


def test_a_chat_with_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text(json.dumps([WEATHER]), encoding="utf-8")
    lines = iter(["Weather?", "sunny", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    with client_of(CALL, "It is sunny.") as (_, engine, url):
        args = arguments("chat", "--url", url, "--tools", str(tools), "--no-think", "--system", "Be brief.")
        assert chat.run(args) == 0
    printed = capsys.readouterr().out
    assert 'call: get_weather {"city": "Oslo"}' in printed
    assert "content: It is sunny." in printed
    prompt = engine.requests[1].prompt
    assert "Be brief." in prompt
    assert "<tool_response>\nsunny\n</tool_response>" in prompt


def test_a_chat_survives_errors(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = iter(["Hello", ""])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    with client_of(Recording("some", fault=RuntimeError())) as (_, _, url):
        assert chat.run(arguments("chat", "--url", url)) == 0
    assert "error: " in capsys.readouterr().out


def test_tools_that_can_not_be_read(tmp_path: Path) -> None:
    wrong = tmp_path / "tools.json"
    wrong.write_text("{}", encoding="utf-8")
    for path in (wrong, tmp_path / "missing.json"):
        with pytest.raises(InvalidRequest, match="--tools"):
            chat.run(arguments("chat", "--url", "http://127.0.0.1:1", "--tools", str(path)))


ARGUMENTS = '{"city": "O", "unit": "celsius"}'
FORCED = f'Hm.\n</think>\n\n<tool_call>\n{{"name": "get_weather", "arguments": {ARGUMENTS}}}\n</tool_call>'


@pytest.mark.parametrize(
    ("forced", "code"),
    [
        (FORCED, 0),
        (Recording(FORCED.replace("celsius", "kelvin"), "length"), 1),
        (Recording("Hm.", "length"), 1),
    ],
)
def test_the_demo_checks_what_it_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], forced: Any, code: int
) -> None:
    question = "Hm.\n</think>\n\nFour."
    recordings = (question, Recording("x", "length"), forced, forced, "no call")

    @contextmanager
    def replayed(_: Printer) -> Iterator[tuple[ChatClient, dict[str, float]]]:
        with client_of(*recordings, dialects=("llguidance",)) as (client, _, _):
            yield client, {}

    monkeypatch.setattr(demo, "_client", replayed)
    assert demo.run(arguments("demo")) == code
    printed = capsys.readouterr().out
    assert ("FAILED" in printed) == bool(code)
    assert "0 of 10" in printed


@pytest.mark.parametrize("flag", ["slots", "threads", "context"])
def test_numbers_of_the_engine_below_one(flag: str) -> None:
    with pytest.raises(InvalidRequest, match=f"{flag} must be 1 or more, not 0"):
        serve.prepared(arguments("serve", f"--{flag}", "0"))


NOBODY = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--engine", NOBODY], f"can't be reached.*is one running at {NOBODY}"),
        (["--engine-url", NOBODY], "can't be reached"),
        (["--engine", NOBODY, "--engine", "http://127.0.0.1:2"], "can't be reached"),
        (["--engine", NOBODY, "--engine", f"{NOBODY}/v1/"], f"{NOBODY} is given twice"),
        (["--engine", NOBODY, "--slots", "2"], "--slots is for a model in this process"),
        (["--engine", "127.0.0.1:8000"], "must be an address like"),
        (["--engine", "http://me:secret@127.0.0.1:1"], "takes no user and password"),
        (["--engine", NOBODY, "--engine-api-key-file", "/nowhere"], "--engine-api-key-file /nowhere can't"),
        (["--model", "Qwen/Qwen3-8B"], "without --engine, --model is a GGUF file"),
        (["--tokenizer", "somewhere"], "--tokenizer is for --engine"),
    ],
)
def test_flags_of_the_engine(given: list[str], told: str) -> None:
    with pytest.raises((EngineError, InvalidRequest), match=told) as refused:
        serve.prepared(arguments("serve", *given))
    assert "secret" not in str(refused.value)


def test_missing_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "EXTRA", ("json", "no_such_package"))
    for module, flags in ((serve, ["serve"]), (chat, ["chat"]), (demo, ["demo"])):
        with pytest.raises(EngineError, match=r"no_such_package.*unbraid\[serve\]"):
            module.run(arguments(*flags))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["serve", "--frmat", "x"], "there is no --frmat: did you mean --format?"),
        (
            ["serve", "--served-modelname=x"],
            "there is no --served-modelname: did you mean --served-model-name?",
        ),
        (["serve", "Qwen/Qwen3-8B"], "there is no Qwen/Qwen3-8B; unbraid serve --help"),
        (["chat", "--ulr", "x"], "did you mean --url?"),
    ],
)
def test_flags_that_do_not_exist(given: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(given)
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_the_report_of_the_start_in_the_log(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.INFO)
    setup = prepare(replay("x"), Options())
    caplog.clear()
    serve._report(setup, Listening(port=9000), "json")
    assert caplog.messages == [*setup.report, "docs: http://127.0.0.1:9000/docs"]
    assert capsys.readouterr().err == ""
    serve._report(setup, Listening(port=9000), "text")
    assert capsys.readouterr().err.splitlines() == caplog.messages
