"""The page of operation: its command lines, its settings, its report and its warnings are the program's."""

from __future__ import annotations

import argparse
import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

import pytest
from tests.server.helpers import MARKERS

from unbraid.cli import serve
from unbraid.cli.config import with_config
from unbraid.cli.server_flags import options_from
from unbraid.engines.replay import byte_tokenizer
from unbraid.engines.template import TOOL_TEMPLATE
from unbraid.engines.vllm import VllmEngine
from unbraid.server.limits import Limits
from unbraid.server.options import Options
from unbraid.server.startup import prepare

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^unbraid serve (.*)$", f"{PAGE}\n{README}", re.M)
SOURCE = re.sub(
    r'"\s+f?"',
    "",
    "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "unbraid").rglob("*.py")),
)
WARNINGS = re.findall(r"^\| `([^`]+)` \| [a-z]", PAGE.partition("## What each warning means")[2], re.M)


class Flags(argparse.ArgumentParser):
    """The flags of ``unbraid serve``; a wrong one is an error of the test."""

    def __init__(self) -> None:
        super().__init__(add_help=False)
        serve.add_arguments(self)

    def error(self, message: str) -> NoReturn:
        raise AssertionError(message)


def block(kind: str) -> str:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.M | re.S)[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_command_lines(command: str) -> None:
    args = Flags().parse_args(shlex.split(command))
    options_from(args)
    assert args.engine
    assert args.format


def test_there_are_command_lines() -> None:
    assert len(COMMANDS) >= 8
    lines = re.findall(r"^```sh\n(.*?)^```$", README, re.M | re.S)[0].splitlines()
    assert [line.split()[0] for line in lines] == ["vllm", "pip", "unbraid"], "three lines"


def test_every_flag_that_is_named_is_there() -> None:
    known = set(Flags()._option_string_actions)
    engines = {"--port", "--model-path", "--enable-tokenizer-info-endpoint", "--presets", "--help"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z_.-]*[a-z]", PAGE))
    assert named - known - engines == set()


def test_settings(tmp_path: Path) -> None:
    file = tmp_path / "unbraid.toml"
    file.write_text(block("toml"), encoding="utf-8")
    args = with_config(Flags(), serve.add_arguments, file, ["--config", str(file)])
    assert options_from(args).default_chat_template_kwargs == {"enable_thinking": False}
    assert len(args.engine) == 2


def test_the_report_is_the_programs() -> None:
    engine = VllmEngine(
        "http://127.0.0.1:8000",
        tokenizer=byte_tokenizer(*MARKERS),
        chat_template=TOOL_TEMPLATE,
        model="qwen3-8b",
    )
    engine.version = "0.33.0"
    assert block("text").splitlines() == list(prepare(engine, Options(format="qwen3")).report)


@pytest.mark.parametrize("warning", WARNINGS)
def test_warnings_are_the_programs(warning: str) -> None:
    for piece in warning.split("…"):
        text = piece.strip(" ,()")
        assert text in SOURCE, text


def test_there_are_warnings() -> None:
    assert len(WARNINGS) == 11


def test_the_page_lists_every_limit() -> None:
    table = re.findall(r"^\| `(\w+)` \| (\d+) \|", PAGE.partition("## Limits")[2].partition("\n## ")[0], re.M)
    assert {name: int(most) for name, most in table} == asdict(Limits())
