"""The explainer: every format has a page and data, made from its declaration."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.messages import markers_of
from unbraid import IncompatiblePair, InvalidRequest, Message, UnknownParser, cli
from unbraid.explain import describe, explain
from unbraid.expressible import expressible
from unbraid.formats import reasoning_format, reasoning_names, tool_format, tool_names
from unbraid.syntax import Channels, Reasoning, Tools

NAMES = sorted({*reasoning_names(), *tool_names()})
SECTIONS = [
    "Grammar",
    "Markers",
    "Framing",
    "Cut and enforced",
    "What can't be written",
    "Examples",
    "States",
]


@pytest.mark.parametrize("name", NAMES)
def test_every_format_has_a_page(name: str) -> None:
    page = explain(name)
    assert page.startswith(f"# {name}\n")
    for section in SECTIONS:
        assert f"\n## {section}\n" in page
    assert ("\n## Thinking\n" in page) == (describe(name)["reasoning"] is not None)
    assert ("\n## Calls\n" in page) == (describe(name)["tools"] is not None)
    assert "stateDiagram-v2" in page
    assert page.count("````text") >= 1


@pytest.mark.parametrize("name", NAMES)
def test_every_marker_is_on_the_page(name: str) -> None:
    page = explain(name).replace("\\|", "|")
    halves = [reasoning_format(name)] if name in reasoning_names() else []
    halves += [tool_format(name)] if name in tool_names() else []
    for half in halves:
        texts = markers_of(half) - set(getattr(half, "turns", ())) - set(getattr(half, "dropped", ()))
        for text in texts:
            assert text.strip() in page or text.replace("\n", "⏎") in page or json.dumps(text)[1:-1] in page


@pytest.mark.parametrize("name", NAMES)
def test_data_is_plain_and_complete(name: str) -> None:
    data = json.loads(json.dumps(describe(name)))
    assert data["name"] == name
    if data["reasoning"]:
        assert {
            "names",
            "models",
            "markers",
            "opened_by",
            "switch",
            "default",
            "ends_early",
            "cut_policy",
        } <= data["reasoning"].keys()
    if data["tools"]:
        assert {"names", "models", "markers", "ids", "calls_per_turn", "cut_policy", "enforced"} <= data[
            "tools"
        ].keys()
        assert set(data["tools"]["enforced"]) == {"none", "auto", "required", "named"}


def test_a_half_is_described_as_declared() -> None:
    half = describe("qwen3")["reasoning"]
    assert half["names"] == ["qwen3"]
    assert half["opened_by"] == "either"
    assert half["switch"] == {"names": ["enable_thinking"], "null": "on"}
    assert half["default"] == "on"
    assert half["ends_early"] == {"tools_inside": "draft", "ends_at": ["<tool_call>"]}
    assert half["framing"]["after"] == {"text": "\n\n", "tolerates": "less of it"}
    assert describe("glm45")["reasoning"]["switch"]["null"] == "off"


def test_aliases_and_both_halves() -> None:
    assert describe("qwen3_json")["tools"]["names"] == ["hermes", "qwen3_json", "trinity"]
    assert describe("hermes")["reasoning"] is None
    both = describe("kimi_k2")
    assert isinstance(reasoning_format("kimi_k2"), Reasoning)
    assert isinstance(tool_format("kimi_k2"), Tools)
    assert both["reasoning"]
    assert both["tools"]["ids"] == "written by the model: functions.{name}:{index}"
    assert isinstance(tool_format("openai"), Channels)
    assert describe("openai")["reasoning"]["names"] == ["openai_gptoss"]


@pytest.mark.parametrize("name", ["minicpm5", "k2_horizon_json", "hf"])
def test_calls_that_count_as_a_whole_are_not_kept_when_cut(name: str) -> None:
    page = explain(tool_parser=name)
    assert "complete=false" not in page
    what = "a section of calls" if name == "k2_horizon_json" else "a call"
    assert f"- Cut, {what} that is not closed: span unfinished, in no strand." in page


def test_a_route_is_told_by_what_chooses_it() -> None:
    page = explain("inkling")
    assert "- marker `<|content_thinking|>`: reasoning." in page
    assert "anything else" not in page
    assert "- recipient `assistant`, `python`, `browser` or `container`: no strand." in explain("openai")
    assert '| `<atem:invoke name="` | opens a call |' in explain("muse")


def test_white_space_of_a_call_is_shown_as_it_is_written() -> None:
    page = explain("glm45")
    assert '"</arg_key>" , "\\n"~ , "<arg_value>" , VALUE , "</arg_value>" , "\\n"~ }' in page
    assert "- Ids: random, nine letters and digits." in explain("mistral")


def test_the_list_of_formats_says_once_what_is_enforced(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["formats"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line != line.rstrip()] == []
    assert len([line for line in lines if "tool_choice" in line]) == 4


def test_an_unknown_name() -> None:
    with pytest.raises(UnknownParser, match="`unbraid formats` lists all names"):
        explain("no_such_format")
    with pytest.raises(UnknownParser, match=r"did you mean glm-4\.6 or"):
        explain("zai-org/GLM-4.6")


def test_names_of_the_halves_and_of_a_family() -> None:
    assert "\nReasoning parser: deepseek_v3. Tool parser: deepseek_v31. Models:" in explain("deepseek-v3.1")
    assert "\nReasoning and tool parser: glm45. Models:" in explain("GLM-4.6")
    family = "The model family of this name has the reasoning parser qwen3 and the tool parser hermes."
    assert family in explain("qwen3")
    assert "The model family" not in explain("gemma-4")


def test_the_white_space_of_a_section_is_in_the_grammar() -> None:
    page = explain("minimax_m2")
    assert (
        '"<minimax:tool_call>" , "\\n"~ , call , { "\\n"~ , call } , "\\n"~ , "</minimax:tool_call>"' in page
    )


def test_a_level_is_a_switch() -> None:
    assert "- Level: `reasoning_effort`: off with `no_think`, `none`; on with any other word" in explain(
        "hy_v4"
    )


def test_the_grammar_is_drawn_from_the_parts() -> None:
    page = explain("hermes")
    assert 'call     = "<tool_call>" , "\\n"~ , ( "{" , "name"' in page
    assert "`<tool_call>` | opens a call" in page
    assert 'thinking = "<think>" , [ "\\n" ] , TEXT , [ "\\n" ] , "</think>" , [ "\\n\\n" ] ;' in explain(
        "qwen3"
    )


SAID_OF_BOTH = ("Framing", "Cut and enforced", "What can't be written", "States")


def sections(page: str) -> str:
    """The sections that say something of each half, their code left out."""
    found = [part for part in page.split("\n## ") if part.startswith(SAID_OF_BOTH)]
    assert len(found) == len(SAID_OF_BOTH)
    return re.sub(r"`[^`]*`|#\d+;", "", "\n".join(found)).lower()


@pytest.mark.parametrize("name", [name for name in NAMES if describe(name)["reasoning"] is None])
def test_a_page_of_calls_says_nothing_of_thinking(name: str) -> None:
    assert "thinking" not in sections(explain(name))


ALONE = [name for name in reasoning_names() if isinstance(reasoning_format(name), Reasoning)]


@pytest.mark.parametrize("name", ALONE)
def test_a_page_of_thinking_says_nothing_of_calls(name: str) -> None:
    said = sections(explain(reasoning_parser=name))
    assert "call" not in said
    assert "tool_choice" not in said


@pytest.mark.parametrize("name", ALONE)
def test_openers_that_end_thinking_can_t_be_written_in_it(name: str) -> None:
    """The page, the writer and the parser agree on what ends thinking where no tool parser is named."""
    half = describe(reasoning_parser=name)["reasoning"]
    page = explain(reasoning_parser=name)
    for opener in half["ends_early"]["ends_at"]:
        ends = expressible(name, None, Message(f"a {opener} b", "c"), thinking="open") is not None
        assert ends == (f"`{opener}`" in page.partition("## What can't be written")[2])
        assert ends == (f"`{opener}`" in page.partition("## Thinking")[2].partition("##")[0])


def test_a_pair_is_named_as_a_parser_takes_it() -> None:
    pair = describe(reasoning_parser="qwen3", tool_parser="qwen3_coder")
    assert (pair["name"], pair["reasoning"]["names"], pair["tools"]["names"]) == (
        "reasoning qwen3, tools qwen3_coder",
        ["qwen3"],
        describe("qwen3_coder")["tools"]["names"],
    )
    assert describe(tool_parser="kimi_k2")["reasoning"] is None
    assert describe(reasoning_parser="kimi_k2")["tools"] is None
    assert describe(reasoning_parser="openai_gptoss")["tools"] is not None
    assert describe(format="qwen3")["tools"]["names"][0] == "hermes"
    assert describe(format="qwen3", tool_parser="qwen3_coder")["tools"] == pair["tools"]
    assert explain(format="kimi-k2-thinking").partition("\n")[2] == explain("kimi_k2").partition("\n")[2]
    assert "\nReasoning parser: hy_v4:x. Models:" in explain(reasoning_parser="hy_v4:x")
    assert "\nReasoning and tool parser: hy_v4:x. Models:" in explain("hy_v4:x")


def test_a_family_is_explained_with_its_switch() -> None:
    assert describe("qwen3.5-small")["reasoning"]["default"] == "off"
    assert describe(format="qwen3.5-small")["reasoning"]["default"] == "off"
    assert describe(format="qwen3.5-small", reasoning_parser="qwen3")["reasoning"]["default"] == "on"
    assert "Without a switch or a prompt it is off." in explain("qwen3.5-small")
    assert describe("glm-5.3")["reasoning"]["switch"] is None


def test_wrong_ways_of_naming() -> None:
    for wrong in ({}, {"name": "hermes", "format": "qwen3"}, {"name": "qwen3", "tool_parser": "hermes"}):
        with pytest.raises(InvalidRequest, match="one of the two ways"):
            explain(**wrong)
    with pytest.raises(IncompatiblePair):
        explain(reasoning_parser="openai_gptoss", tool_parser="hermes")
    with pytest.raises(UnknownParser, match="unknown format 'hermess'"):
        describe(format="hermess")


TEMPLATE = {
    "start_anchor": "<bot>",
    "fields": {
        "thinking": {"open": "<plan>", "close": "</plan>"},
        "content": {"close": "<end>"},
        "tool_calls": {
            "open_pattern": r"<call (?P<name>\w+)>",
            "close": "</call>",
            "repeats": True,
            "content": "json",
            "transform": {"function": {"name": "{name}", "arguments": "{content}"}},
        },
    },
}


@pytest.mark.parametrize(
    "names", [{"name": "hf"}, {"reasoning_parser": "hf", "tool_parser": "hf"}, {"format": "beam"}], ids=str
)
def test_a_response_template_that_is_given_is_explained(names: dict[str, str]) -> None:
    for _ in range(2):
        page = explain(**names, response_template=TEMPLATE)  # type: ignore[arg-type]
        assert "| `<plan>` | opens thinking |" in page
        assert 'call     = ? /<call (?P<name>\\w+)>/ ? , JSON , ( "</call>" | END ) ;' in page
        assert "<plan>The user asks for Oslo.</plan><call get_weather>" in page
        assert "not written" not in page
        assert "parser: ." not in page
