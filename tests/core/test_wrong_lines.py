"""``parse --jsonl``: whatever a line holds, it gives a result or an error in its place."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from typing import Any

import pytest

from unbraid.cli import cases, main
from unbraid.cli.cases import SINGLES_UP_TO, result_of

GOOD = {"reasoning_parser": "qwen3", "tool_parser": "hermes", "text": "r</think>a"}
VALUES: list[Any] = [0, 1, -1, 0.5, 1e400, True, False, "x", "", [], [1], [None], [[1]], [{}], {}, {"a": 1}]
FIELDS = (
    "reasoning_parser", "tool_parser", "tools", "tool_choice", "parallel_tool_calls", "chat_template_kwargs",
    "prompt", "text", "tokens", "chunks", "finish_reason", "arguments", "include_reasoning", "unknown_tools",
    "spans",
)  # fmt: skip
REFUSED: list[tuple[dict[str, Any], str]] = [
    *(({name: value}, name) for name in FIELDS[:2] for value in (0, True, [], {})),
    *(({"chat_template_kwargs": value}, "chat_template_kwargs") for value in (1, "x", [1])),
    ({"chunks": 0}, "chunks"),
    ({"chunks": "r</think>a"}, "chunks"),
    ({"chunks": [None]}, "chunks[0]"),
    ({"chunks": ["r", {}]}, "chunks[1]"),
    ({"chunks": [1]}, "chunks[0]"),
    ({"tokens": 0}, "tokens"),
    ({"tokens": True}, "tokens"),
    ({"tokens": {"abc": 1}}, "tokens"),
    ({"tokens": ["abc"]}, "tokens[0]"),
    ({"tokens": [[1, "a"]]}, "tokens[0]"),
    ({"tokens": [[1, 2, 3]]}, "tokens[0][1]"),
    ({"tokens": [[1, None, False]]}, "tokens[0][1]"),
    ({"tokens": [[1, "a", False], ["a", "x", False]]}, "tokens[1][0]"),
    ({"tokens": [[True, "x", False]]}, "tokens[0][0]"),
    ({"tokens": [[1, "x", "no"]]}, "tokens[0][2]"),
    ({"prompt": [[1]]}, "prompt[0]"),
    ({"prompt": 3}, "prompt"),
    ({"prompt": {}}, "prompt"),
    ({"spans": "yes"}, "spans"),
    ({"spans": 1}, "spans"),
    ({"text": 3}, "text"),
    ({"finish_reason": 3}, "finish_reason"),
    ({"include_reasoning": "false"}, "include_reasoning"),
    ({"parallel_tool_calls": 0}, "parallel_tool_calls"),
    ({"arguments": []}, "arguments"),
    ({"unknown_tools": {}}, "unknown_tools"),
    ({"tools": {}}, "tools"),
    ({"tools": [], "tool_choice": {}}, "tool_choice"),
    ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": [1]}}, "tool_choice.tools[0]"),
]


def run(lines: list[str], *, before: str = "") -> list[dict[str, Any]]:
    """Every line in one process."""
    done = subprocess.run(
        [sys.executable, "-m", "unbraid", "parse", "--jsonl"],
        input=(before + "\n".join(lines) + "\n").encode("utf-8", "surrogatepass"),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_wrong_type_is_an_error_in_place_with_its_path() -> None:
    lines = [json.dumps(line) for change, _ in REFUSED for line in ({**GOOD, **change}, GOOD)]
    results = run(lines)
    assert len(results) == len(lines)
    assert all(one["content"] == "a" for one in results[1::2])
    for (change, path), result in zip(REFUSED, results[::2], strict=True):
        assert result["error"]["code"] == "invalid_request", change
        assert path in result["error"]["message"], change


def test_every_field_takes_every_type_or_refuses_it() -> None:
    lines = [json.dumps({**GOOD, name: value}) for name in FIELDS for value in VALUES]
    lines += [json.dumps({name: value}) for name in FIELDS for value in VALUES]
    lines += [
        json.dumps({**GOOD, "text": None, "tokens": [[v, w, x]]})
        for v in VALUES
        for w in VALUES
        for x in VALUES
    ]
    lines += [json.dumps(value) for value in VALUES]
    results = run(lines)
    assert len(results) == len(lines)
    for line, result in zip(lines, results, strict=True):
        error = result.get("error", {"code": "none", "message": "none"})
        assert error["message"], line
        assert error["code"] in ("none", "invalid_request", "unknown_parser", "incompatible_pair"), line


def test_a_byte_order_mark_and_empty_lines_are_skipped() -> None:
    good = json.dumps(GOOD)
    results = run(["", "  ", good, "", "\ufeff" + good, "[" * 100_000, good], before="\ufeff")
    assert [one.get("error", {}).get("code") for one in results] == [
        None,
        "invalid_json",
        "invalid_json",
        None,
    ]
    assert len(run([good, good], before="\ufeff")) == 2


def test_a_fault_is_the_error_of_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("oops")

    monkeypatch.setattr(cases, "_read", broken)
    lines = tmp_path / "cases"
    lines.write_text(json.dumps(GOOD) + "\n" + json.dumps({"text": 1}) + "\n")
    assert main(["parse", "--jsonl", str(lines)]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first == {"error": {"code": "internal_error", "message": "KeyError: 'oops'"}}
    assert second["error"]["code"] == "invalid_request"


@pytest.mark.parametrize("length", [SINGLES_UP_TO, SINGLES_UP_TO + 1, 5 * SINGLES_UP_TO])
def test_the_work_for_a_long_text_is_bounded(length: int) -> None:
    for splits in (
        list(cases.text_splits("x" * length)),
        list(cases.token_splits([[1, "x", False]] * length)),
    ):
        longest = max(map(len, splits))
        assert longest <= SINGLES_UP_TO + 1
        assert (longest >= SINGLES_UP_TO) is (length == SINGLES_UP_TO)
        assert len(splits) >= cases.RANDOM_SPLITS
        assert all("".join(text for text, _ in pieces) == "x" * length for pieces in splits)


def test_a_long_text_is_still_split() -> None:
    text = "r</think>" + "a b <tool_cal " * 10_000
    result = result_of({**GOOD, "text": text, "chunks": [text[:70_000], text[70_000:]]})
    assert result["stream_equal"] is True
    assert result["content"] == text[9:]


@pytest.mark.parametrize(
    "args",
    [
        ["--chat-template-kwargs", "5"],
        ["--chat-template-kwargs", "[1]"],
        ["--chat-template-kwargs", "{"],
        ["--chat-template-kwargs", "[" * 100_000],
        ["--chunks", "half"],
        ["--chunks", ""],
        ["--chunks", "9" * 5_000],
        ["--tool-choice", ""],
        ["--tools", "/nowhere/tools.json"],
        ["--prompt", "/nowhere/prompt"],
    ],
    ids=lambda args: f"{args[0]} {args[1][:10]}",
)
def test_a_wrong_argument_is_a_clear_message(
    args: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Any
) -> None:
    source = tmp_path / "output"
    source.write_text("a")
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    try:
        code: Any = main(["parse", str(source), *args])
    except SystemExit as stopped:
        code = stopped.code
    shown = capsys.readouterr()
    assert (code, shown.out) == (2, "")
    assert args[0].removeprefix("--").replace("-", "_")[:5] in shown.err.replace("-", "_")
    assert "Traceback" not in shown.err


@pytest.mark.parametrize(
    "command", [["explain", "deepseek_v3"], ["parse", "--reasoning-parser", "deepseek_r1"]]
)
def test_what_is_printed_is_utf8_whatever_the_locale(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "unbraid", *command],
        input="｜".encode(),
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=True,
    )
    assert "｜" in done.stdout.decode()
