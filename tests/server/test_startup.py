"""Flags and start-up checks; the numbers are those of the list of known traps."""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
from typing import Any

import pytest

from unbraid.cli.server_flags import add_flags, options_from
from unbraid.engines.fleet import Fleet
from unbraid.engines.replay import byte_tokenizer
from unbraid.engines.vllm import VllmEngine
from unbraid.errors import (
    EngineUnavailable,
    IncompatiblePair,
    InvalidRequest,
    TokenizerMismatch,
    UnknownParser,
)
from unbraid.server.normal import normalise
from unbraid.server.options import Options
from unbraid.server.plan import plan as plan_of
from unbraid.server.requests import decode
from unbraid.server.startup import prepare

from .helpers import CALL, MARKERS, NOT_THINKING, USER, WEATHER, raw, replay

GPT_OSS = "{{ '<|start|>assistant' }}{{ '<|channel|>' }}"
HARMONY = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|return|>", "<|call|>")
PLAIN = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
OPENING = PLAIN + "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"


def parse(*arguments: str) -> Options:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return options_from(parser.parse_args(arguments))


def report(engine: Any = None, **options: Any) -> str:
    return "\n".join(prepare(engine or replay("x"), Options(**options)).report)


@pytest.mark.parametrize("text", ["[]", "{", "1"])
@pytest.mark.parametrize("flag", ["--default-chat-template-kwargs", "--reasoning-config"])
def test_flags_with_bad_json(flag: str, text: str) -> None:
    with pytest.raises(InvalidRequest, match=flag):
        parse(flag, text)


ON = {"enable_thinking": True}
TURN = "; a request turns it with "
THINKING: list[tuple[dict[str, Any], str]] = [
    ({"format": "qwen3.5"}, "left to the model when a request says nothing" + TURN
     + "chat_template_kwargs enable_thinking, or reasoning_effort"),
    ({"format": "qwen3.5-small"}, "off when a request says nothing" + TURN
     + "chat_template_kwargs enable_thinking, or reasoning_effort"),
    ({"format": "qwen3.5-small", "default_chat_template_kwargs": ON}, "left to the model when a request says "
     "nothing" + TURN + "chat_template_kwargs enable_thinking, or reasoning_effort"),
    ({"format": "qwen3.5-small", "tool_call_parser": "hermes"}, "off when"),
    ({"format": "qwen3.5-small", "reasoning_parser": "qwen3"}, "left to the model when"),
    ({"format": "qwen3.5-small", "reasoning_parser": "minimax_m2"}, "left to the model when"),
    ({"format": "glm-5.3"}, "left to the model when a request says nothing"),
    ({"format": "glm-5"}, "left to the model when a request says nothing" + TURN
     + "chat_template_kwargs thinking, enable_thinking, or reasoning_effort"),
    ({"reasoning_parser": "hy_v4"}, "left to the model when a request says nothing" + TURN
     + "reasoning_effort"),
    ({"reasoning_parser": "ling3", "default_chat_template_kwargs": {"thinking_option": "off"}},
     "off when a request says nothing" + TURN
     + "chat_template_kwargs thinking, enable_thinking, thinking_option, or reasoning_effort"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "said"), THINKING, ids=str)
def test_the_report_says_the_family_s_thinking(options: dict[str, Any], said: str) -> None:
    """The family's switch where it has one, under the server's own variables; the template opens nothing."""
    lines = report(chat_template=PLAIN, markers="text", **options).splitlines()
    (line,) = [one.removeprefix("thinking: ") for one in lines if one.startswith("thinking: ")]
    assert line == said if TURN in said else line.startswith(said)


@pytest.mark.parametrize(
    ("options", "plan"),
    [
        ({"format": "qwen3.5"}, "optional"),
        ({"format": "qwen3.5-small"}, "off"),
        ({"format": "qwen3.5-small", "default_chat_template_kwargs": ON}, "optional"),
    ],
)
def test_requests_are_read_by_the_family_s_switch(options: dict[str, Any], plan: str) -> None:
    engine = replay("x")
    setup = prepare(engine, Options(chat_template=PLAIN, markers="text", **options))
    body = json.dumps({"messages": USER}).encode()
    job = plan_of(normalise(*decode(body)), setup, engine, "request")
    assert job.parser.plan.thinking == plan


def test_a_level_that_is_no_word_is_refused_at_the_start() -> None:
    with pytest.raises(InvalidRequest, match="thinking_option must be a word"):
        report(
            chat_template=PLAIN,
            markers="text",
            reasoning_parser="ling3",
            default_chat_template_kwargs={"thinking_option": True},
        )


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_s_level_that_is_no_word_is_a_bad_request(stream: bool) -> None:
    async def run() -> Any:
        options = {"reasoning_parser": "ling3", "chat_template": PLAIN, "markers": "text"}
        async with raw(replay("x"), **options) as http:
            kwargs = {"thinking_option": True}
            body = {"messages": USER, "chat_template_kwargs": kwargs, "stream": stream}
            return await http.post("/v1/chat/completions", json=body)

    answer = asyncio.run(run())
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == "chat_template_kwargs.thinking_option"


def test_flags() -> None:
    options = parse(
        "--reasoning-parser", "qwen3", "--thinking-token-budget", "7", "--chat-template", "unbraid"
    )
    assert (options.reasoning_parser, options.thinking_token_budget) == ("qwen3", 7)
    with pytest.raises(InvalidRequest, match="can't be read"):
        parse("--chat-template", "/nowhere/at/all")
    with pytest.raises(InvalidRequest, match="--thinking-token-budget"):
        parse("--thinking-token-budget", "-2")


def test_B1_calls_of_another_family_are_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)

    async def run(**options: Any) -> list[str]:
        async with raw(replay(CALL), **options) as http:
            body = {"messages": USER, "tools": [WEATHER], **NOT_THINKING}
            for _ in range(2):
                answer = (await http.post("/v1/chat/completions", json=body)).json()
                assert answer["choices"][0]["message"]["content"] == CALL
        texts = [record.message for record in caplog.records]
        caplog.clear()
        return texts

    wrong, unset = asyncio.run(run(tool_call_parser="pythonic")), asyncio.run(run(tool_call_parser=None))
    assert len(wrong) == len(unset) == 1
    assert "hermes" in wrong[0]
    assert "pythonic" in wrong[0]
    assert all("--tool-call-parser hermes (or " in one for one in (*wrong, *unset))
    assert asyncio.run(run_own(caplog)) == []


async def run_own(caplog: pytest.LogCaptureFixture) -> list[str]:
    async with raw(replay(CALL)) as http:
        await http.post("/v1/chat/completions", json={"messages": USER, **NOT_THINKING})
    return [record.message for record in caplog.records]


def contents(caplog: pytest.LogCaptureFixture, *outputs: str, **options: Any) -> list[str]:
    """The warnings for answers with these contents."""
    caplog.set_level(logging.WARNING)
    caplog.clear()

    async def run() -> None:
        async with raw(replay(*outputs), **options) as http:
            for _ in outputs:
                body = {"messages": USER, **NOT_THINKING}
                assert (await http.post("/v1/chat/completions", json=body)).status_code == 200

    asyncio.run(run())
    return [record.message for record in caplog.records]


def test_B3_thinking_of_another_family_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    told = contents(caplog, *["<think>Hm.</think>Hi"] * 2, reasoning_parser=None)
    assert len(told) == 2, "once for each marker"
    assert all("--reasoning-parser qwen3 (or " in one for one in told), "the usual partner of hermes first"
    assert all("not set" in one for one in told)
    assert contents(caplog, "Hm.</think>Hi", reasoning_parser=None)[0].startswith(
        "the content holds </think>"
    )
    (told_of_seed,) = contents(caplog, "<seed:think>Hm.")
    assert "the reasoning parser is qwen3: --reasoning-parser seed_oss reads it" in told_of_seed


def test_B1_the_cure_is_a_parser_that_reads_the_call(caplog: pytest.LogCaptureFixture) -> None:
    written = "<tool_call>\n<function=f>\n<parameter=a>\n1\n</parameter>\n</function>\n</tool_call>"
    for cut in (written, written[:60]):
        told = contents(caplog, cut, tool_call_parser="pythonic")
        assert told[0].startswith("the content holds <tool_call>")
        assert "--tool-call-parser qwen3_coder" in told[0]
        assert "hermes" not in told[0]


def test_B3_what_is_no_sign_of_a_format_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    assert contents(caplog, '```json\n{"a": 1}\n```\nfrom functools import cache') == []
    assert contents(caplog, "<think>Hm.</think>Write <think> or </think>.") == []


def test_B2_a_tool_parser_needs_no_other_switch() -> None:
    assert prepare(replay("x"), Options(tool_call_parser="hermes")).tool_parser == "hermes"
    with pytest.raises(InvalidRequest, match="--tool-call-parser"):
        prepare(replay("x"), Options(enable_auto_tool_choice=True))

    async def run() -> Any:
        async with raw(replay("x"), tool_call_parser=None) as http:
            body = {"messages": USER, "tools": [WEATHER], "tool_choice": "required"}
            return await http.post("/v1/chat/completions", json=body)

    answer = asyncio.run(run())
    assert answer.status_code == 400
    assert "--tool-call-parser" in answer.json()["error"]["message"]


def test_B3_a_template_that_opens_thinking() -> None:
    (told,) = [one for one in report(chat_template=OPENING).splitlines() if one.startswith("warning: ")]
    assert "no reasoning parser" in told
    assert "--reasoning-parser qwen3 (or " in report(chat_template=OPENING, tool_call_parser="hermes")
    assert "no reasoning parser" not in report(chat_template=OPENING, reasoning_parser="qwen3")
    assert "no reasoning parser" not in report(chat_template=PLAIN)


def test_B5_markers_that_are_not_in_the_vocabulary() -> None:
    with pytest.raises(TokenizerMismatch) as refused:
        prepare(replay("x", model="small"), Options(tool_call_parser="kimi_k2"))
    assert isinstance(refused.value, TypeError)
    for part in ("kimi_k2", "<|tool_calls_section_begin|>", "small", "hermes", "--markers text"):
        assert part in str(refused.value)
    assert "as text" in report(tool_call_parser="kimi_k2", markers="text")


def test_unknown_names() -> None:
    with pytest.raises(UnknownParser, match="hermes") as refused:
        prepare(replay("x"), Options(tool_call_parser="herms"))
    assert isinstance(refused.value, KeyError)
    with pytest.raises(UnknownParser, match="qwen3"):
        prepare(replay("x"), Options(reasoning_parser="qwen"))


def test_a_family_names_both_halves() -> None:
    setup = prepare(replay("x"), Options(format="qwen3.5"))
    assert (setup.reasoning_parser, setup.tool_parser) == ("qwen3", "qwen3_coder")
    setup = prepare(
        replay("x"), Options(format="qwen3.5", reasoning_parser="none", tool_call_parser="hermes")
    )
    assert (setup.reasoning_parser, setup.tool_parser) == (None, "hermes")
    with pytest.raises(UnknownParser, match="qwen3"):
        prepare(replay("x"), Options(format="qwen33"))


@pytest.mark.parametrize("name", ["none", "None", "NONE"])
def test_none_is_unset(name: str) -> None:
    assert prepare(replay("x"), Options(reasoning_parser=name)).reasoning_parser is None


@pytest.mark.parametrize("pair", [("openai_gptoss", "hermes"), ("qwen3", "openai")])
def test_a_wrong_pair_is_refused_with_the_fix(pair: tuple[str, str]) -> None:
    with pytest.raises(
        IncompatiblePair, match="--reasoning-parser openai_gptoss --tool-call-parser openai"
    ) as refused:
        prepare(replay("x", special=HARMONY), Options(reasoning_parser=pair[0], tool_call_parser=pair[1]))
    assert isinstance(refused.value, TypeError)


def test_gpt_oss_is_recognised() -> None:
    setup = prepare(replay("x", special=HARMONY, chat_template=GPT_OSS), Options())
    assert (setup.reasoning_parser, setup.tool_parser) == ("openai_gptoss", "openai")
    assert "gpt-oss" in "\n".join(setup.report)


def test_the_default_model() -> None:
    engine = replay(
        "x", special=("<|im_start|>", "<|im_end|>"), chat_template=PLAIN, dialects=("llguidance",)
    )
    text = report(engine, default_model=True, thinking_token_budget=256)
    for part in (
        "qwen3",
        "hermes",
        "unbraid's own",
        "enable_thinking",
        "ordinary text <think>",
        "llguidance",
        "256",
    ):
        assert part in text


def test_the_report_names_special_tokens() -> None:
    text = report(reasoning_parser="qwen3", tool_call_parser="hermes")
    assert "special tokens <think> </think> <tool_call> </tool_call>" in text
    assert "takes no grammar" in text
    assert "tool_choice" in report()


GRAMMAR = ("llguidance",)
HELD = [
    (
        {"dialects": GRAMMAR},
        {},
        "enforced by a grammar (llguidance) from the first token, thinking included;",
    ),
    ({"dialects": ("structural_tag",)}, {}, "enforced by a structural tag from the first token"),
    ({"dialects": ("gbnf", "json_schema")}, {}, "enforced by a grammar (GBNF) from the first token"),
    ({"dialects": GRAMMAR}, {"enforce": "check"}, "thinking included, else checked; strict level: auto"),
    ({"dialects": GRAMMAR}, {"tool_strict_level": "parameter"}, "strict level: parameter"),
    ({}, {"enforce": "check"}, "checked in the finished answer, for the engine takes no grammar"),
    ({}, {}, "refused, for the engine takes no grammar; --enforce check checks"),
    ({"dialects": GRAMMAR}, {"enforce": "off"}, "not enforced, for --enforce is off"),
]


@pytest.mark.parametrize(("engine", "options", "line"), HELD)
def test_the_report_says_how_demands_are_held(
    engine: dict[str, Any], options: dict[str, Any], line: str
) -> None:
    held = "tool_choice required and named, strict tools and response_format: "
    (told,) = [
        one
        for one in report(replay("x", **engine), tool_call_parser="hermes", **options).splitlines()
        if one.startswith(held)
    ]
    assert line in told
    without = report(replay("x", **engine), **options)
    assert "tool_choice: auto leaves calls in the content" in without
    assert "\nresponse_format: " in without


def test_the_report_names_the_engines() -> None:
    assert report().startswith("engine: recorded outputs\nmodel: replay\n")
    vllm = VllmEngine(
        "http://127.0.0.1:1/", "secret", tokenizer=byte_tokenizer(), chat_template=PLAIN, model="m"
    )
    vllm.version = "0.33.0"
    assert report(vllm).startswith("engine: vLLM 0.33.0 at http://127.0.0.1:1\nmodel: m\n")
    assert "secret" not in report(vllm)

    async def absent() -> Any:
        raise EngineUnavailable("nobody answers")

    fleet = Fleet({"http://a": replay("x"), "http://b": replay("x")}, {"http://c": absent})
    told = report(fleet).splitlines()
    assert told[:3] == [
        "engine: recorded outputs at http://a",
        "engine: recorded outputs at http://b",
        "engine: http://c, not reached yet",
    ]


def test_a_template_without_tools() -> None:
    other = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}"
    assert "doesn't show tools" in report(replay("x", chat_template=other), tool_call_parser="hermes")
    with pytest.raises(InvalidRequest, match="--chat-template"):
        prepare(replay("x", chat_template=None), Options())
    with pytest.raises(InvalidRequest, match="no valid Jinja"):
        prepare(replay("x"), Options(chat_template="{% if %}"))


def test_the_end_of_thinking() -> None:
    assert prepare(replay("x"), Options(reasoning_parser="qwen3")).end_text == "\n</think>\n\n"
    config = {"reasoning_end_str": "\nEnough.</think>\n"}
    assert prepare(replay("x"), Options(reasoning_config=config)).end_text == config["reasoning_end_str"]
    with pytest.raises(InvalidRequest, match="reasoning_stop"):
        prepare(replay("x"), Options(reasoning_config={"reasoning_stop": "x"}))
    with pytest.raises(InvalidRequest, match="must be a text"):
        prepare(replay("x"), Options(reasoning_config={"reasoning_end_str": 1}))


def test_strict_levels() -> None:
    assert prepare(replay("x"), Options(tool_strict_level="function")).strict_level == "function"
    with pytest.raises(InvalidRequest, match="strict-level"):
        prepare(replay("x"), Options(tool_strict_level="most"))


def test_markers_of_the_helpers_are_known() -> None:
    engine = replay("x")
    assert all(engine.tokenizer.token_id(marker) for marker in MARKERS)
