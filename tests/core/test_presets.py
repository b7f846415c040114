"""Names beside vLLM's: SGLang's, and model families."""

from __future__ import annotations

import argparse
import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from unbraid import IncompatiblePair, Parser, UnknownParser
from unbraid.cli.server_flags import add_flags, options_from
from unbraid.explain import describe, explain
from unbraid.formats import (
    preset,
    preset_names,
    reasoning_format,
    reasoning_names,
    sglang,
    tool_format,
    tool_names,
)
from unbraid.gate import Gate
from unbraid.pair import halves, with_family
from unbraid.syntax import Preset
from unbraid.tokens import TokenTable

F = [{"type": "function", "function": {"name": "f"}}]

# -- SGLang's names --------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "ours"), sglang.TOOLS.items())
def test_sglang_tool_names_resolve(name: str, ours: str) -> None:
    assert tool_format(f"sglang:{name}") is tool_format(ours)
    if name not in tool_names():
        assert tool_format(name) is tool_format(ours)


@pytest.mark.parametrize(("name", "ours"), sglang.REASONING.items())
def test_sglang_reasoning_names_resolve(name: str, ours: str) -> None:
    assert reasoning_format(f"sglang:{name}") is reasoning_format(ours)
    if name not in reasoning_names():
        assert reasoning_format(name) is reasoning_format(ours)


def test_a_name_of_both_is_vllm_s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sglang.TOOLS, "hermes", "qwen3_coder")
    assert tool_format("hermes") is not tool_format("sglang:hermes")
    assert tool_format("sglang:hermes") is tool_format("qwen3_coder")


def test_sglang_s_pythonic_is_llama_4_s_too() -> None:
    wrapped = "<|python_start|>[f(a=1)]<|python_end|>"
    assert Parser(None, "pythonic").parse(wrapped).content == wrapped
    for text in (wrapped + "<|eot|>", "[f(a=1)]<|eot_id|>"):
        message = Parser(None, "sglang:pythonic", tools=F).parse(text)
        assert (message.content, [call.arguments for call in message.tool_calls]) == (None, ['{"a": 1}'])


@pytest.mark.parametrize("name", ["sglang:", "sglang:hermess", "sglang:sglang:hermes", "vllm:hermes"])
def test_other_prefixes_are_unknown(name: str) -> None:
    with pytest.raises(UnknownParser):
        Parser(None, name)


def test_near_names_are_sglang_s_too() -> None:
    with pytest.raises(UnknownParser, match="qwen25"):
        Parser(None, "qwen-25")


def test_a_page_names_them() -> None:
    half = describe("hermes")["tools"]
    assert {"hermes", "qwen3_json"} <= set(half["names"])
    assert {"hermes", "qwen", "qwen25"} <= set(half["sglang"])
    assert explain("qwen25").startswith("# qwen25\n")


# -- model families --------------------------------------------------------------------------


@pytest.mark.parametrize("name", preset_names())
def test_a_family_is_a_pair(name: str) -> None:
    family = preset(name)
    reasoning, tools, channels = halves(family.reasoning, family.tools)
    assert reasoning or tools or channels
    assert family.models
    assert family.switch is None or (reasoning is not None and family.switch != reasoning.switch)
    parser = Parser(format=name)
    assert (parser.reasoning_parser, parser.tool_parser) == (family.reasoning, family.tools)
    assert explain(name).startswith(f"# {name}\n")


def test_a_model_stands_under_one_family() -> None:
    models = [model for name in preset_names() for model in preset(name).models]
    assert len(set(models)) == len(models)


@pytest.mark.parametrize(
    ("family", "reasoning", "tools"),
    [
        ("qwen3-coder", None, "qwen3_coder"),
        ("qwen3", "qwen3", "hermes"),
        ("kimi-k2", None, "kimi_k2"),
        ("gpt-oss", "openai_gptoss", "openai"),
        ("deepseek-v3.1", "deepseek_v3", "deepseek_v31"),
        ("glm-4.5", "glm45", "glm45"),
    ],
)
def test_the_usual_pairs(family: str, reasoning: str | None, tools: str | None) -> None:
    parser = Parser(format=family)
    assert (parser.reasoning_parser, parser.tool_parser) == (reasoning, tools)


@pytest.mark.parametrize("name", ["Qwen3-Coder", "qwen3_coder", " QWEN3 coder "])
def test_spellings_of_a_family(name: str) -> None:
    assert Parser(format=name).tool_parser == "qwen3_coder"


def test_a_half_beside_a_family_overrides_it() -> None:
    assert Parser("deepseek_r1", format="qwen3").reasoning_parser == "deepseek_r1"
    assert Parser("deepseek_r1", format="qwen3").tool_parser == "hermes"
    assert Parser(None, "qwen3_coder", format="qwen3").tool_parser == "qwen3_coder"
    assert Parser(None, "qwen3_coder", format="qwen3").reasoning_parser == "qwen3"
    with pytest.raises(IncompatiblePair):
        Parser(None, "hermes", format="gpt-oss")


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("qwen-3", "qwen3"),
        ("kimi-k3x", "kimi-k2"),
        ("deepseek-v3.l", "deepseek-v3.1"),
        ("Qwen/Qwen3-8B", "mean qwen3 or"),
        ("zai-org/GLM-4.6-FP8", "mean glm-4.6 or"),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", "mean qwen3-coder or"),
    ],
)
def test_an_unknown_family_suggests(wrong: str, near: str) -> None:
    with pytest.raises(UnknownParser, match=near) as caught:
        Parser(format=wrong)
    assert caught.value.param == "format"
    assert wrong in str(caught.value)


def test_a_family_like_no_other_says_where_all_are_listed() -> None:
    with pytest.raises(UnknownParser, match="`unbraid formats --presets` lists all names"):
        Parser(format="zzzzzzzzz")


def test_a_family_s_switch_is_the_parser_s_and_the_gate_s() -> None:
    tokenizer = TokenTable({n: bytes([n]) for n in range(256)})
    for kwargs, thinks in (
        ({}, False),
        ({"enable_thinking": None}, False),
        ({"enable_thinking": True}, True),
    ):
        parser = Parser(format="qwen3.5-small", chat_template_kwargs=kwargs)
        assert parser.thinking is thinks
        assert parser.plan.thinking == ("open" if thinks else "off")
        gate = Gate(None, tokenizer=tokenizer, format="qwen3.5-small")
        assert gate.begin(chat_template_kwargs=kwargs).phase == ("open" if thinks else "absent")
    assert Parser(format="qwen3.5").thinking
    assert Parser("qwen3", format="qwen3.5-small").thinking


def test_presets_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        preset("qwen3").tools = "x"  # type: ignore[misc]
    assert isinstance(preset("qwen3"), Preset)


# -- the command line ------------------------------------------------------------------------


def run(*arguments: str, given: str = "") -> str:
    done = subprocess.run(
        [sys.executable, "-m", "unbraid", *arguments],
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_parse_takes_a_family() -> None:
    text = 'a</think><tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    message = json.loads(run("parse", "--format", "qwen3", given=text))
    assert message["reasoning"] == "a"
    assert message["tool_calls"][0]["name"] == "f"


def test_formats_lists_families_and_aliases() -> None:
    families = json.loads(run("formats", "--presets", "--json"))
    assert sorted(families) == preset_names()
    assert "qwen3.5-small" in run("formats", "--presets")
    listed = run("formats")
    assert "qwen3_xml" in listed
    assert "sglang:qwen25" in listed


def test_explain_takes_a_family() -> None:
    assert run("explain", "deepseek-v3.1").startswith("# deepseek-v3.1\n")


NAMED = [
    ["--format", "qwen3"],
    ["--reasoning-parser", "qwen3", "--tool-parser", "hermes"],
    ["--reasoning-parser", "qwen3", "--tool-call-parser", "hermes"],
    ["--format", "qwen3-coder", "--reasoning-parser", "qwen3", "--tool-parser", "hermes"],
]


@pytest.mark.parametrize("names", NAMED, ids=" ".join)
def test_every_command_names_a_pair_alike(names: list[str], tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text('[{"type": "function", "function": {"name": "f"}}]', encoding="utf-8")
    asked = ["--tools", str(tools), "--thinking", "open"]
    grammar = run("grammar", *names, *asked)
    assert grammar == run("grammar", "hermes", "--reasoning-parser", "qwen3", *asked)
    assert json.loads(run("parse", *names, given="r</think>a"))["reasoning"] == "r"
    page = run("explain", *names).partition("\n")[2]
    assert page == explain(reasoning_parser="qwen3", tool_parser="hermes").partition("\n")[2] + "\n"
    flags = argparse.ArgumentParser()
    add_flags(flags)
    options = options_from(flags.parse_args(names))
    pair = with_family(options.format, options.reasoning_parser, options.tool_call_parser)
    assert pair[:2] == ("qwen3", "hermes")


def test_none_stands_over_the_family_s_thinking(tmp_path: Path) -> None:
    names = ["--format", "qwen3", "--reasoning-parser", "none"]
    text = '<think>a</think><tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    message = json.loads(run("parse", *names, given=text))
    assert (message["reasoning"], message["content"]) == (None, "<think>a</think>")
    assert message["tool_calls"][0]["name"] == "f"
    assert "## Thinking" not in run("explain", *names)


def test_a_response_template_is_a_file(tmp_path: Path) -> None:
    fields = {"thinking": {"open": "<plan>", "close": "</plan>"}, "content": {"close": "<end>"}}
    template = {"response_template": {"start_anchor": "<bot>", "fields": fields}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(template), encoding="utf-8")
    names = ["--reasoning-parser", "hf", "--response-template", str(tmp_path)]
    message = json.loads(run("parse", *names, given="<plan>a</plan>b<end>"))
    assert (message["reasoning"], message["content"]) == ("a", "b")
    assert "`<plan>`" in run("explain", *names)


def test_the_tool_parser_is_named_once(tmp_path: Path) -> None:
    wrong = ["grammar", "hermes", "--tool-parser", "hermes", "--tools", "-"]
    done = subprocess.run([sys.executable, "-m", "unbraid", *wrong], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "NAME and --tool-parser both name the tool parser" in done.stderr


def test_a_case_names_a_family() -> None:
    case = {"format": "qwen3", "text": "a</think>b"}
    result = json.loads(run("parse", "--jsonl", given=json.dumps(case)))
    assert (result["reasoning"], result["content"], result["stream_equal"]) == ("a", "b", True)
    tokens = [[1, "a", False], [2, "</think>", True], [3, "b", False]]
    result = json.loads(run("parse", "--jsonl", given=json.dumps({"format": "qwen3", "tokens": tokens})))
    assert (result["reasoning"], result["content"], result["stream_equal"]) == ("a", "b", True)


def test_plain_json_behind_thinking_is_said(tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text('[{"type": "function", "function": {"name": "f"}}]', encoding="utf-8")
    command = [sys.executable, "-m", "unbraid", "grammar", "--format", "qwen3", "--tools", str(tools)]
    for thinking, said in (("open", "enforce it behind thinking only: it holds none\n"), ("closed", "")):
        plain = [*command, "--dialect", "json_schema", "--thinking", thinking]
        done = subprocess.run(plain, capture_output=True, text=True, check=True)
        assert (json.loads(done.stdout)["type"], done.stderr) == ("array", said)


@pytest.mark.parametrize(
    ("dialect", "holds"),
    [
        ("lark", "start: "),
        ("gbnf", "root ::= "),
        ("structural_tag", '"type": "structural_tag"'),
        ("json_schema", '"type": "array"'),
    ],
)
def test_the_grammar_s_dialects(dialect: str, holds: str, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text('[{"type": "function", "function": {"name": "f"}}]', encoding="utf-8")
    assert holds in run("grammar", "hermes", "--tools", str(tools), "--dialect", dialect)


def test_a_word_is_a_switch_in_the_lists() -> None:
    listed = run("formats").partition("hy_v4 ")[2]
    assert "    switch: reasoning_effort\n" in listed.partition("tool_choice")[0]
    page = run("formats", "--markdown")
    assert "| `hy4` | Hy4 | hy_v4 | hy_v4 | on | `reasoning_effort` |" in page
    assert "| `glm-5.3` | GLM-5.3 | glm47 | glm47 | on |  |" in page
