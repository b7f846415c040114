"""What each template makes of each value of its variables, written out by hand.

A column is a value: true, false, null, 0, "false", absent. ``+`` thinks, ``-`` does not.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.laws.reading import read_every_way, strands
from tests.support.hostile import open_prompt, turn_prompt
from unbraid import InvalidRequest, Parser, TokenTable
from unbraid.formats import REASONING_PARSERS, reasoning_format
from unbraid.formats.registry import INLINE_PARSERS
from unbraid.gate import Gate
from unbraid.syntax import Reasoning, ResponseTemplate

ABSENT = "absent"
VALUES: list[Any] = [True, False, None, 0, "false", ABSENT]

TRUTH_ON = "+---++"  # the template tests truth, and thinks when nothing is said
TRUTH_OFF = "+---+-"  # the template tests truth, and doesn't
ONLY_FALSE = "+-++++"  # only false is off
NULL_UNSET = "+-+-++"  # truth, but null says nothing

SWITCHES: dict[str, dict[str, str]] = {
    "apertus": {"enable_thinking": TRUTH_OFF},
    "apriel": {},
    "bielik": {"enable_thinking": TRUTH_OFF},
    "cohere_command3": {"reasoning": TRUTH_ON},
    "cohere_command4": {"reasoning": TRUTH_ON, "reasoning_effort": TRUTH_ON},
    "deepseek_r1": {},
    "deepseek_v3": {"thinking": TRUTH_OFF, "enable_thinking": TRUTH_OFF},
    "deepseek_v4": {"thinking": TRUTH_ON, "enable_thinking": TRUTH_ON},
    "deepseek_v41": {"thinking": TRUTH_ON, "enable_thinking": TRUTH_ON},
    "ernie45": {},
    "exaone4": {"enable_thinking": TRUTH_OFF},
    "gemma4": {"enable_thinking": TRUTH_OFF},
    "gigachat35": {},
    "glm45": {"thinking": TRUTH_ON, "enable_thinking": TRUTH_ON},
    "glm47": {"thinking": TRUTH_ON, "enable_thinking": TRUTH_ON},
    "granite": {"thinking": TRUTH_OFF},
    "granite_thinking_parser": {"enable_thinking": TRUTH_ON},
    "holo2": {"thinking": NULL_UNSET, "enable_thinking": NULL_UNSET},
    "hunyuan_a13b": {"enable_thinking": ONLY_FALSE},
    "hy_v3": {},
    "hy_v4": {},
    "iquest_q1": {"thinking": NULL_UNSET, "enable_thinking": NULL_UNSET},
    "k2_horizon": {},
    "k2_horizon_low": {},
    "k2_horizon_medium": {},
    "kimi": {},
    "kimi_k2": {"thinking": ONLY_FALSE, "enable_thinking": ONLY_FALSE},
    "kimi_k3": {"thinking": TRUTH_ON, "enable_thinking": TRUTH_ON},
    "lfm2_thinking": {},
    "ling3": {"thinking": TRUTH_ON, "enable_thinking": TRUTH_ON},
    "mimo": {"enable_thinking": NULL_UNSET},
    "minicpmv": {"enable_thinking": ONLY_FALSE},
    "minimax_m1": {},
    "minimax_m2": {},
    "minimax_m3": {},
    "mistral": {},
    "nemotron_v2": {},
    "nemotron_v3": {"enable_thinking": TRUTH_ON},
    "nemotron_v3_ultra": {"enable_thinking": TRUTH_ON},
    "olmo3": {},
    "plamo3": {"enable_thinking": TRUTH_ON},
    "poolside_laguna_s": {"thinking": TRUTH_ON, "enable_thinking": TRUTH_ON},
    "poolside_v1": {"thinking": TRUTH_OFF, "enable_thinking": TRUTH_OFF},
    "qwen3": {"enable_thinking": ONLY_FALSE},
    "qwen3_thinking": {},
    "reka": {"enable_thinking": TRUTH_OFF},
    "rwkv": {"enable_thinking": TRUTH_OFF},
    "seed_oss": {"thinking_budget": TRUTH_ON, "enable_thinking": TRUTH_ON},
    "smollm3": {"enable_thinking": TRUTH_ON},
    "spark25": {"enable_thinking": TRUTH_ON},
    "step3": {},
    "step3p5": {},
    "trinity": {},
}

# Words of a level, of budgets too: what the template makes of each, nothing else being said.
WORDS: dict[str, tuple[str, dict[Any, bool]]] = {
    "cohere_command4": ("reasoning_effort", {"none": False, "no_think": True, "high": True, None: False}),
    "deepseek_v4": ("reasoning_effort", {"none": False, "low": True, "high": True, "max": True, None: True}),
    "deepseek_v41": ("reasoning_effort", {"none": False, "low": True, "high": True, "max": True, None: True}),
    "hy_v3": (
        "reasoning_effort",
        {"no_think": False, "none": False, "low": True, "high": True, "": False, None: False},
    ),
    "hy_v4": ("reasoning_effort", {"no_think": False, "none": False, "high": True, "": True, None: True}),
    "ling3": ("thinking_option", {"on": True, "off": False}),
    "minimax_m3": ("thinking_mode", {"enabled": True, "adaptive": True, "disabled": False, None: True}),
    "seed_oss": ("thinking_budget", {-1: True, 512: True, 0: False}),
}

# Several variables at once: what is on wins; a word of the level wins over both.
TOGETHER: list[tuple[str, dict[str, Any], bool]] = [
    ("cohere_command4", {"reasoning": True, "reasoning_effort": "none"}, False),
    ("deepseek_v3", {"thinking": True, "enable_thinking": False}, True),
    ("deepseek_v3", {"thinking": None, "enable_thinking": True}, True),
    ("deepseek_v3", {"thinking": False, "enable_thinking": None}, False),
    ("deepseek_v4", {"thinking": True, "reasoning_effort": "none"}, False),
    ("deepseek_v4", {"thinking": False, "reasoning_effort": "high"}, False),
    ("deepseek_v41", {"enable_thinking": True, "reasoning_effort": "none"}, False),
    ("glm45", {"thinking": False, "enable_thinking": True}, True),
    ("glm45", {"thinking": None, "enable_thinking": None}, False),
    ("glm47", {"thinking": False, "enable_thinking": 0}, False),
    ("holo2", {"thinking": None, "enable_thinking": None}, True),
    ("holo2", {"thinking": False, "enable_thinking": None}, False),
    ("holo2", {"thinking": None, "enable_thinking": False}, False),
    ("holo2", {"thinking": False, "enable_thinking": True}, True),
    ("kimi_k2", {"thinking": False, "enable_thinking": False}, False),
    ("kimi_k2", {"thinking": False, "enable_thinking": True}, True),
    ("ling3", {"thinking_option": "off", "enable_thinking": True}, False),
    ("poolside_v1", {"thinking": True, "enable_thinking": False}, True),
    ("poolside_laguna_s", {"thinking": False, "enable_thinking": False}, False),
    ("iquest_q1", {"thinking": None, "enable_thinking": False}, False),
    ("seed_oss", {"thinking_budget": 0, "enable_thinking": False}, False),
    ("seed_oss", {"thinking_budget": 512, "enable_thinking": False}, True),
]

CASES = [
    (name, variable, value, column == "+")
    for name, variables in SWITCHES.items()
    for variable, columns in variables.items()
    for value, column in zip(VALUES, columns, strict=True)
]


def half_of(name: str) -> Reasoning:
    half = reasoning_format(name)
    assert isinstance(half, Reasoning)
    return half


def given(variable: str, value: Any) -> dict[str, Any]:
    return {} if value == ABSENT else {variable: value}


def thinks(name: str, kwargs: dict[str, Any], on: bool) -> None:
    """Without a prompt the switch decides, for the parser's answers and for its reading."""
    parser = Parser(name, chat_template_kwargs=kwargs)
    assert parser.thinking is on
    half = half_of(name)
    written = half.opened_by == "output" and not half.switch.opens_prompt(kwargs)
    assert parser.plan.thinking == (("optional" if written else "open") if on else "off")
    expected = ("x", None, []) if on and not written else (None, "x", [])
    assert strands(read_every_way(parser, "x")) == expected


def test_every_half_is_in_the_table() -> None:
    tags = {name for name in REASONING_PARSERS if isinstance(reasoning_format(name), Reasoning)}
    assert set(SWITCHES) == tags
    for name, variables in SWITCHES.items():
        level = {WORDS[name][0]} if name in WORDS else set()
        assert {*variables, *level} == set(half_of(name).switch.variables), name


@pytest.mark.parametrize(("name", "variable", "value", "on"), CASES, ids=str)
def test_a_value(name: str, variable: str, value: Any, on: bool) -> None:
    thinks(name, given(variable, value), on)


@pytest.mark.parametrize(
    ("name", "kwargs", "on"),
    [(name, {variable: word}, on) for name, (variable, words) in WORDS.items() for word, on in words.items()],
    ids=str,
)
def test_a_word(name: str, kwargs: dict[str, Any], on: bool) -> None:
    thinks(name, kwargs, on)


# A value that is no word: where the template tests the level's truth too it is read so, elsewhere refused.
NO_WORDS: list[Any] = [3, 0, 1.5, True, False, ["high"], {"effort": "high"}]
LEVELS = {
    "cohere_command4": "+-++-++",
    "deepseek_v4": "refused",
    "deepseek_v41": "refused",
    "hy_v3": "refused",
    "hy_v4": "refused",
    "ling3": "refused",
    "minimax_m3": "refused",
}


def test_every_level_is_in_the_table() -> None:
    switches = {name: half_of(name).switch for name in SWITCHES}
    assert set(LEVELS) == {name for name, one in switches.items() if one.off_words or one.on_words}


@pytest.mark.parametrize("value", NO_WORDS, ids=str)
@pytest.mark.parametrize("name", LEVELS)
def test_a_value_that_is_no_word(name: str, value: Any) -> None:
    variable, _ = WORDS[name]
    kwargs = {variable: value}
    if LEVELS[name] != "refused":
        thinks(name, kwargs, LEVELS[name][NO_WORDS.index(value)] == "+")
        return
    gate = Gate(name, tokenizer=TokenTable({n: bytes([n]) for n in range(256)}))
    for prompt in (None, "", open_prompt(half_of(name))):
        with pytest.raises(InvalidRequest, match=f"{variable} must be a word") as caught:
            Parser(name, chat_template_kwargs=kwargs, prompt=prompt)
        assert caught.value.param == f"chat_template_kwargs.{variable}"
        with pytest.raises(InvalidRequest, match=f"{variable} must be a word"):
            gate.begin(prompt, kwargs)


@pytest.mark.parametrize(("name", "kwargs", "on"), TOGETHER, ids=str)
def test_several_variables(name: str, kwargs: dict[str, Any], on: bool) -> None:
    thinks(name, kwargs, on)


@pytest.mark.parametrize("name", [name for name in SWITCHES if not (SWITCHES[name] or name in WORDS)])
def test_no_switch(name: str) -> None:
    """A half without variables thinks whatever a request says."""
    kwargs = {"thinking": False, "enable_thinking": False, "thinking_budget": 0}
    thinks(name, kwargs, True)


@pytest.mark.parametrize(("name", "variable", "value", "on"), CASES, ids=str)
def test_the_prompt_decides_over_the_switch(name: str, variable: str, value: Any, on: bool) -> None:
    half = half_of(name)
    kwargs = given(variable, value)
    opened = Parser(name, chat_template_kwargs=kwargs, prompt=open_prompt(half))
    assert (opened.thinking, opened.plan.thinking) == (True, "open")
    assert strands(read_every_way(opened, "x")) == ("x", None, [])
    off = Parser(name, chat_template_kwargs=kwargs, prompt=turn_prompt(half) + half.empty_when_off)
    assert strands(read_every_way(off, "x")) == (None, "x", [])
    if half.empty_when_off:
        assert (off.thinking, off.plan.thinking) == (False, "closed")
    else:
        assert (off.thinking, off.plan.thinking) == (on, "optional" if on else "off")


# A response template's switch doesn't move where an output begins: it says whether thinking is asked for.
TEMPLATES = {"beam": TRUTH_ON, "hf": TRUTH_ON}
PING = [{"type": "function", "function": {"name": "ping"}}]


def test_every_response_template_is_in_the_table() -> None:
    found = {name: reasoning_format(name) for name in REASONING_PARSERS}
    assert set(TEMPLATES) == {name for name, half in found.items() if isinstance(half, ResponseTemplate)}


@pytest.mark.parametrize(
    ("name", "value", "on"),
    [
        (name, value, column == "+")
        for name, columns in TEMPLATES.items()
        for value, column in zip(VALUES, columns, strict=True)
    ],
    ids=str,
)
def test_a_value_of_a_response_template_s_switch(name: str, value: Any, on: bool) -> None:
    kwargs = given("enable_thinking", value)
    parser = Parser(name, name, tools=PING, tool_choice="required", chat_template_kwargs=kwargs)
    assert (parser.thinking, parser.plan.thinking) == (on, "optional")
    assert strands(read_every_way(parser, "x")) == (None, "x", [])
    half = reasoning_format(name)
    assert isinstance(half, ResponseTemplate)
    demanded = on and half.demands_thinking
    constraint = parser.constraint()
    assert constraint is not None
    assert constraint.enforced.startswith("thinking output" if demanded else "thinking optional")
    gate = Gate(name, name, tokenizer=TokenTable({n: bytes([n]) for n in range(256)}))
    assert (gate.begin(None, kwargs).phase == "over") is not on


@pytest.mark.parametrize("name", INLINE_PARSERS)
@pytest.mark.parametrize("value", VALUES, ids=str)
def test_thinking_that_stays_in_the_content_has_no_switch(name: str, value: Any) -> None:
    kwargs = given("enable_thinking", value)
    assert half_of(name).switch.variables == ()
    assert Parser(name, chat_template_kwargs=kwargs).thinking
