"""The flags of unbraid serve: help, old names, and a TOML file in their place."""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path
from typing import Any

import pytest

from unbraid.cli import serve
from unbraid.cli.config import with_config
from unbraid.cli.engine_flags import KINDS
from unbraid.cli.old_flags import CURES, WITHOUT_EFFECT
from unbraid.cli.server_flags import options_from
from unbraid.engines import connect
from unbraid.errors import InvalidRequest
from unbraid.server.options import Options

GROUPS = ["engine", "formats", "prompts", "enforcement", "limits", "API", "logs", "operation"]


def make() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="unbraid serve", **serve.ABOUT)
    serve.add_arguments(parser)
    return parser


def parse(*given: str) -> argparse.Namespace:
    return make().parse_args(given)


# -- help -----------------------------------------------------------------------------


def test_every_flag_has_help_and_a_group() -> None:
    old = {*CURES, *WITHOUT_EFFECT}
    for action in make()._actions:
        if action.help == argparse.SUPPRESS:
            assert set(action.option_strings) <= old
        else:
            assert action.help, action.option_strings
            assert not action.help.endswith("."), "a phrase, like all of them"
            assert action.help[0].islower() or not action.help[0].isalpha() or action.help.startswith("Unix")
    groups = [group.title for group in make()._action_groups if group._group_actions]
    assert groups == ["options", *GROUPS]
    assert all(group.description for group in make()._action_groups if group.title in GROUPS)


def test_the_help_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = make().format_help()
    assert max(map(len, text.splitlines())) <= 100
    assert "--engine URL" in text.split("\n\n")[0], "the usage is short and shows how to begin"
    assert len(text.split("\n\n")[0].splitlines()) == 1


def test_the_kinds_of_engines_are_those_that_can_be_opened() -> None:
    assert set(connect.KINDS) <= set(KINDS)


# -- old names ------------------------------------------------------------------------


@pytest.mark.parametrize("flag", CURES)
@pytest.mark.parametrize("value", [[], ["4"]])
def test_old_flags_are_refused_with_the_cure(
    flag: str, value: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse(flag, *value)
    told = capsys.readouterr().err
    assert f"{flag} {CURES[flag]}" in told
    for cure in re.findall(r"--[a-z-]+", CURES[flag]):
        assert cure in make().format_help(), "the cure is a flag"


@pytest.mark.parametrize("flag", WITHOUT_EFFECT)
def test_old_flags_without_effect(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert vars(parse(flag)) == vars(parse())
    assert f"{flag} has no effect" in capsys.readouterr().err


def test_A14_enable_reasoning(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse("--enable-reasoning")
    assert "--reasoning-parser" in capsys.readouterr().err


def test_a_command_line_of_vllm() -> None:
    args = parse(
        "--enable-auto-tool-choice",
        "--tool-call-parser",
        "hermes",
        "--reasoning-parser",
        "qwen3",
        "--tool-parser-plugin",
        "one.py",
        "--structured-outputs-config.enable_in_reasoning",
        "true",
    )
    options = options_from(args)
    assert (options.tool_call_parser, options.reasoning_parser) == ("hermes", "qwen3")
    assert args.tool_parser_plugin == ["one.py"]


# -- values ---------------------------------------------------------------------------


def test_values() -> None:
    options = options_from(
        parse(
            "--enforce",
            "check",
            "--reasoning-effort-map",
            '{"max": "high"}',
            "--api-key",
            "a",
            "--api-key",
            "b",
            "--structured-outputs-config",
            '{"enable_in_reasoning": false, "backend": "auto"}',
        )
    )
    assert options.enforce == "check"
    assert options.reasoning_effort_map == {"max": "high"}
    assert options.api_keys == ("a", "b")
    assert options.enable_in_reasoning is False
    assert options_from(parse()).enable_in_reasoning is True
    both = (
        "--structured-outputs-config",
        '{"enable_in_reasoning": false}',
        "--structured-outputs-config.enable_in_reasoning",
        "true",
    )
    assert options_from(parse(*both)).enable_in_reasoning is True


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--structured-outputs-config", '{"backend": "outlines"}'], "backend is the engine's own choice"),
        (["--structured-outputs-config", '{"disable_any_whitespace": true}'], "disable_any_whitespace"),
        (["--structured-outputs-config", '{"enable_in_reasoning": 1}'], "true or false"),
        (["--structured-outputs-config", "[]"], "must be a JSON object"),
        (["--reasoning-effort-map", '{"huge": "high"}'], "no effort 'huge'"),
        (["--reasoning-effort-map", '{"max": 3}'], "max must be a text"),
        (["--reasoning-effort-map", "{"], "is no JSON"),
        (["--drain-seconds", "-1"], "--drain-seconds"),
    ],
)
def test_wrong_values(given: list[str], told: str) -> None:
    with pytest.raises(InvalidRequest, match=told):
        options_from(parse(*given))


@pytest.mark.parametrize(
    "given",
    [
        ("--workers", "0"),
        ("--workers", "two"),
        ("--port", "70000"),
        ("--structured-outputs-config.enable_in_reasoning", "maybe"),
    ],
)
def test_numbers(given: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parse(*given)
    assert given[0] in capsys.readouterr().err


def run(*given: str) -> Any:
    args = parse(*given)
    args.argv = list(given)
    return serve.run(args)


def test_wrong_combinations(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="--workers needs --engine"):
        run("--workers", "2")
    with pytest.raises(InvalidRequest, match="go together"):
        run("--ssl-keyfile", str(tmp_path))
    with pytest.raises(InvalidRequest, match="is no file"):
        run("--ssl-keyfile", str(tmp_path), "--ssl-certfile", str(tmp_path))


# -- a file ---------------------------------------------------------------------------

CONFIG = """
host = "0.0.0.0"
drain_seconds = 5
trust-request-chat-template = true
reasoning-content-alias = false

[engine]
engine = ["http://127.0.0.1:8001", "http://127.0.0.1:8002"]
engine-kind = "vllm"

[model]
format = "qwen3"
served_model_name = ["a", "b"]
default-chat-template-kwargs = {enable_thinking = false}

[structured-outputs-config]
enable_in_reasoning = false

[any.name.at.all]
port = 9000
api-key = "one"
"""


def configured(tmp_path: Path, text: str, *given: str) -> argparse.Namespace:
    file = tmp_path / "unbraid.toml"
    file.write_text(text, encoding="utf-8")
    argv = ["--config", str(file), *given]
    return with_config(make(), serve.add_arguments, file, argv)


def test_a_file_with_flags(tmp_path: Path) -> None:
    args = configured(tmp_path, CONFIG)
    assert (args.host, args.port, args.drain_seconds) == ("0.0.0.0", 9000, 5)
    assert args.engine == ["http://127.0.0.1:8001", "http://127.0.0.1:8002"]
    assert (args.engine_kind, args.format, args.served_model_name) == ("vllm", "qwen3", ["a", "b"])
    assert json.loads(args.default_chat_template_kwargs) == {"enable_thinking": False}
    assert args.trust_request_chat_template is True
    assert args.reasoning_content_alias is False
    options = options_from(args)
    assert options.enable_in_reasoning is False
    assert options.api_keys == ("one",)
    assert options.default_chat_template_kwargs == {"enable_thinking": False}


def test_the_command_line_wins(tmp_path: Path) -> None:
    args = configured(
        tmp_path,
        CONFIG,
        "--port",
        "8000",
        "--engine-url",
        "http://127.0.0.1:9",
        "--api-key=two",
        "--format=glm-4.5",
    )
    assert args.port == 8000, "also with the value that it has without a file"
    assert args.engine == ["http://127.0.0.1:9"]
    assert args.api_key == ["two"]
    assert args.format == "glm-4.5"
    assert args.host == "0.0.0.0"


def test_an_empty_file_changes_nothing(tmp_path: Path) -> None:
    args = configured(tmp_path, "")
    args.config = None
    assert vars(args) == vars(parse())
    assert options_from(args) == options_from(parse()) == Options()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("prot = 1", "unknown name 'prot': did you mean port?"),
        ("[engine]\nenginekind = 'vllm'", "unknown name 'enginekind': did you mean engine-kind?"),
        ("zzz = 1", "unknown name 'zzz': the names are those of the flags"),
        ("config = 'other.toml'", "unknown name 'config'"),
        ("port = 70000", "argument --port: must be a number from 0 to 65535"),
        ("enforce = 'maybe'", "argument --enforce: invalid choice"),
        ("port = [1, 2]", "port takes one value, no list"),
        ("trust-request-chat-template = 'yes'", "trust-request-chat-template must be true or false"),
        ("port = 1\n[a]\nport = 2", "port and port are the same flag"),
        ("engine-url = 'http://a'\nengine = 'http://b'", "are the same flag"),
        ("enable-reasoning = true", "--enable-reasoning was removed"),
        ("api-key = [1979-05-27]", "has a value of a kind that no flag takes"),
        ("port = ", "is no TOML"),
    ],
)
def test_what_is_wrong_in_a_file(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(InvalidRequest, match=re.escape(told)) as refused:
        configured(tmp_path, text)
    assert "unbraid.toml" in str(refused.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="can't be read"):
        run("--config", str(tmp_path / "nowhere.toml"))
    file = tmp_path / "unbraid.toml"
    file.write_text("workers = 2", encoding="utf-8")
    with pytest.raises(InvalidRequest, match="--workers needs --engine"):
        run("--config", str(file))
