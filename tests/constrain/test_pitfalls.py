"""The known traps of enforced calls, by their numbers, and what a request may ask for."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from tests.constrain.cases import PAIRS, TOOLS, function, halves, markers, parser, states
from tests.constrain.helpers import Vocabulary, accepts, begins, matcher, vocabulary
from unbraid.constrain import Constraint, constrain
from unbraid.errors import InvalidRequest, UnknownParser, Unsupported
from unbraid.prompts import prompt_state
from unbraid.syntax import Reasoning

SEARCH = function(
    "web_search", {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
)
CALL = "<tool_call>web_search<arg_key>q</arg_key><arg_value>x</arg_value></tool_call>"
HERMES = '<tool_call>\n{"name": "web_search", "arguments": {"q": "x"}}\n</tool_call>'


def made(reasoning: str | None, tool: str | None, **options: Any) -> Constraint:
    found = constrain(reasoning, tool, **{"tools": [SEARCH], **options})
    assert found is not None
    return found


# -- D-2, D-3: the batch at the boundary ------------------------------------------------


class Recorded(Vocabulary):
    """The tokens of the recorded batch, its markers special ones, on top of the bytes."""

    def __init__(self) -> None:
        marks = ("</think>", "<tool_call>", "<arg_key>", "</tool_call>", "</arg_key>", "<arg_value>")
        super().__init__((*marks, "</arg_value>"), words=("web", "_search"))

    def ids(self, *pieces: str) -> list[int]:
        return [one for piece in pieces for one in self.encode(piece)]


BATCH = (".", "</think>", "<tool_call>", "web", "_search", "<arg_key>")
REST = ("q", "</arg_key>", "<arg_value>", "x", "</arg_value>", "</tool_call>")


def test_d02_boundary_batch_is_accepted_in_every_batching() -> None:
    words = Recorded()
    lark = made("glm45", "glm45", tool_choice="required", thinking="open", tokenizer=words.table).lark()
    ids = words.ids(*BATCH)
    assert len(ids) == 6
    assert begins(lark, ids, words) == len(ids)
    one_by_one = matcher(lark, words)
    assert all(one_by_one.try_consume_tokens([token]) == 1 for token in ids)
    tail = matcher(lark, words)
    assert tail.try_consume_tokens([*ids[:3], *words.encode("zebra")]) == 3
    assert tail.try_consume_tokens(ids[3:]) == len(ids) - 3
    assert accepts(lark, words.ids(*BATCH, *REST), words)


def test_d02_rollback_over_the_boundary() -> None:
    words = Recorded()
    lark = made("glm45", "glm45", tool_choice="required", thinking="open", tokenizer=words.table).lark()
    ids = words.ids(*BATCH)
    match = matcher(lark, words)
    assert match.try_consume_tokens(ids) == len(ids)
    match.rollback(len(ids) - 1)
    assert match.try_consume_tokens(ids[1:]) == len(ids) - 1


def test_d02_without_the_prefix_the_first_token_is_refused() -> None:
    """Half of the cure, enforced from the first token: the recorded crash."""
    words = Recorded()
    lark = made("glm45", "glm45", tool_choice="required", thinking="off", tokenizer=words.table).lark()
    assert begins(lark, words.ids(*BATCH), words) == 0


def test_d02_the_prefix_applied_behind_the_boundary_does_not_force_the_call() -> None:
    """The other half: a grammar with thinking that first sees the tokens behind it takes any prose."""
    words = Recorded()
    lark = made("glm45", "glm45", tool_choice="required", thinking="open", tokenizer=words.table).lark()
    behind = words.ids(*BATCH[2:])
    assert begins(lark, behind, words) == 0
    prose = words.encode("no call at all")
    assert begins(lark, prose, words) == len(prose)
    assert not matcher(lark, words).is_accepting()


@pytest.mark.parametrize("last", ["end", "bonus"])
def test_d03_the_end_as_last_token_of_a_batch(last: str) -> None:
    words = Recorded()
    lark = made("glm45", "glm45", tool_choice="required", thinking="open", tokenizer=words.table).lark()
    ids = words.ids(*BATCH, *REST)
    cut = 2 if last == "end" else 1
    match = matcher(lark, words)
    assert match.try_consume_tokens(ids[:cut]) == cut
    if last == "bonus":
        assert match.consume_token(ids[1])
    allowed = match.compute_logit_bias()
    assert allowed[words.table.token_id("<tool_call>") or 0]
    assert not allowed[ord("a")]
    assert match.try_consume_tokens(ids[2:]) == len(ids) - 2


@pytest.mark.parametrize("by", ["text", "tokens"])
def test_d03_the_implicit_end(by: str) -> None:
    words = vocabulary(markers("kimi_k2", "kimi_k2") if by == "tokens" else ())
    tokenizer = words.table if by == "tokens" else None
    lark = made("kimi_k2", "kimi_k2", tool_choice="required", thinking="open", tokenizer=tokenizer).lark()
    call = (
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.web_search:0<|tool_call_argument_begin|>"
        '{"q": "x"}<|tool_call_end|><|tool_calls_section_end|>'
    )
    assert accepts(lark, "need data" + call, words)
    assert accepts(lark, "need data</think>" + call, words)
    assert not accepts(lark, "need data<|tool_calls_section_begin|>" + call, words)
    read = parser("kimi_k2", "kimi_k2", "open", tools=[SEARCH], tool_choice="required").parse(
        "need data" + call
    )
    assert (read.reasoning, len(read.tool_calls)) == ("need data", 1)


# -- D-4, D-5, D-6: white space, non-strict and strict arguments -----------------------


@pytest.mark.parametrize("space", ["", "\n", "\n\n", " "])
def test_d04_white_space_at_the_junctions(space: str) -> None:
    for tool, call in (("hermes", HERMES), ("glm45", CALL)):
        reasoning = {"hermes": "qwen3", "glm45": "glm45"}[tool]
        lark = made(reasoning, tool, tool_choice="required", thinking="open").lark()
        assert accepts(lark, f"a\n</think>{space}{call}{space}{call}{space}")


def test_d04_white_space_is_bounded() -> None:
    lark = made(None, "hermes", tool_choice="required", max_white=3).lark()
    assert accepts(lark, "\n\n\n" + HERMES)
    assert not accepts(lark, "\n\n\n\n" + HERMES)
    assert not accepts(made(None, "hermes", tool_choice="required").lark(), "\n" * 65 + HERMES)


@pytest.mark.parametrize("arguments", ["3", "[]", "null", '"x"'])
def test_d05_non_strict_arguments_are_an_object(arguments: str) -> None:
    lark = made(None, "hermes", tool_choice="required").lark()
    head = '<tool_call>\n{"name": "web_search", "arguments": '
    assert not accepts(lark, head + arguments + "}\n</tool_call>")


ODD = {"type": "object", "properties": {key: {} for key in ("user-id", "a.b", "1a", "z")}, "required": ["z"]}


@pytest.mark.parametrize("keys", [(), ("user-id",), ("z", "1a", "a.b"), ("extra", "a.b")])
def test_d05_non_strict_keys(keys: tuple[str, ...]) -> None:
    tools = [function("f", ODD)]
    texts = {
        "hermes": '<tool_call>{"name": "f", "arguments": {'
        + ", ".join(f'"{key}": 1' for key in keys)
        + "}}</tool_call>",
        "glm47": "<tool_call>f"
        + "".join(f"<arg_key>{key}</arg_key><arg_value>v</arg_value>" for key in keys)
        + "</tool_call>",
        "qwen3_coder": "<tool_call>\n<function=f>\n"
        + "".join(f"<parameter={key}>\nv\n</parameter>\n" for key in keys)
        + "</function>\n</tool_call>",
        "gemma4": "<|tool_call>call:f{" + ",".join(f"{key}:1" for key in keys) + "}<tool_call|>",
    }
    for tool, text in texts.items():
        lark = made(None, tool, tools=tools, tool_choice="required").lark()
        assert accepts(lark, text), (tool, text)
        (call,) = parser(None, tool, "off", tools=tools, tool_choice="required").parse(text).tool_calls
        assert set(json.loads(call.arguments)) == set(keys)


STRICT = {
    "type": "object",
    "properties": {"user-id": {"type": "integer"}, "q": {"type": "string"}},
    "required": ["user-id"],
}


@pytest.mark.parametrize(
    ("arguments", "fine"),
    [
        ({"user-id": 1}, True),
        ({"user-id": 1, "q": "x"}, True),
        ({"q": "x"}, False),
        ({"user-id": 1, "other": 2}, False),
        ({"user-id": "x"}, False),
    ],
)
def test_d06_strict(arguments: dict[str, Any], fine: bool) -> None:
    tools = [function("f", STRICT, True)]
    pairs = "".join(
        f"<arg_key>{key}</arg_key><arg_value>{value}</arg_value>" for key, value in arguments.items()
    )
    texts = {
        "hermes": '<tool_call>\n{"name": "f", "arguments": ' + json.dumps(arguments) + "}\n</tool_call>",
        "glm45": f"<tool_call>f{pairs}</tool_call>",
        "gemma4": "<|tool_call>call:f"
        + json.dumps(arguments, sort_keys=True)
        .replace(" ", "").replace('"user-id"', "user-id").replace('"q"', "q")
        .replace('"other"', "other").replace('"x"', '<|"|>x<|"|>')
        + "<tool_call|>",
    }  # fmt: skip
    for tool, text in texts.items():
        for choice in ("required", "auto"):
            lark = made(None, tool, tools=tools, tool_choice=choice).lark()
            assert accepts(lark, text) is fine, (tool, text)


def test_d06_a_value_cannot_smuggle_in_a_second_pair() -> None:
    lark = made(None, "glm45", tools=[function("f", STRICT, True)], tool_choice="required").lark()
    smuggled = "1</arg_value><arg_key>q</arg_key><arg_value>x</arg_value><arg_key>z</arg_key><arg_value>"
    text = f"<tool_call>f<arg_key>user-id</arg_key><arg_value>{smuggled}</arg_value></tool_call>"
    assert not accepts(lark, text)


# -- D-7 to D-16 ------------------------------------------------------------------------


def test_d07_markers_by_id_cannot_be_spelled() -> None:
    words = vocabulary(("<tool_call>", "</tool_call>", "<think>", "</think>"))
    found = made("qwen3", "hermes", tool_choice="required", thinking="open", tokenizer=words.table)
    assert found.markers == "tokens"
    spelled = list(b"a</think>\n<tool_call>")
    assert begins(found.lark(), spelled, words) == len(b"a</think")
    text = made(
        "qwen3", "hermes", tool_choice="required", thinking="open", tokenizer=words.table, markers="text"
    )
    assert text.markers == "text"
    assert begins(text.lark(), spelled, words) == len(spelled)


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_d08_calls_are_bounded(reasoning: str | None, tool: str) -> None:
    call = {
        "hermes": HERMES,
        "glm45": CALL,
        "mistral": '[TOOL_CALLS]web_search[ARGS]{"q": "x"}',
        "gemma4": '<|tool_call>call:web_search{q:<|"|>x<|"|>}<tool_call|>',
    }.get(tool)
    if call is None:
        return
    lark = made(reasoning, tool, tool_choice="required", max_calls=3).lark()
    assert accepts(lark, call * 3)
    assert not accepts(lark, call * 4)
    assert accepts(made(reasoning, tool, tool_choice="required").lark(), call * 16)
    single = made(reasoning, tool, tool_choice="required", parallel_tool_calls=False).lark()
    assert accepts(single, call)
    assert not accepts(single, call * 2)


ANSWER = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("thinking", ["off", "open"])
def test_d09_auto_with_a_schema_allows_a_call_and_an_answer(thinking: str) -> None:
    before = "so\n</think>\n\n" if thinking == "open" else ""
    lark = made("qwen3", "hermes", response_schema=ANSWER, thinking=thinking).lark()
    assert accepts(lark, before + HERMES)
    assert accepts(lark, before + '{"ok": true}')
    assert not accepts(lark, before + "Sure.")
    assert not accepts(lark, before + '{"ok": 1}')


@pytest.mark.parametrize(
    "tool", ["llama3_json", "pythonic", "gemma4", "glm45", "mistral", "kimi_k2", "openai"]
)
def test_d09_in_other_formats(tool: str) -> None:
    lark = made(None, tool, response_schema=ANSWER).lark()
    head = "<|channel|>final <|constrain|>json<|message|>" if tool == "openai" else ""
    assert accepts(lark, head + '{"ok": true}')
    text = {
        "llama3_json": '{"name": "web_search", "parameters": {"q": "x"}}',
        "pythonic": "[web_search(q='x')]",
        "glm45": CALL,
    }.get(tool)
    assert text is None or accepts(lark, text)


def test_d09_schema_alone_works_with_thinking() -> None:
    for options in ({"tools": None}, {"tool_choice": "none"}):
        lark = made("qwen3", None, response_schema=ANSWER, thinking="open", **options).lark()
        assert accepts(lark, 'x</think>\n\n{"ok": false}')
        assert not accepts(lark, '{"ok": false}')


@pytest.mark.parametrize(
    "half", ["<tool_call>foo", "<tool_call>", "a <tool_call> b", "<tool_call>{}</tool_call>"]
)
def test_d10_half_triggers_are_refused(half: str) -> None:
    lark = made(None, "hermes", tools=TOOLS).lark()
    assert not accepts(lark, half)
    assert accepts(lark, "a <tool_cal")
    assert accepts(lark, 'Sure.\n\n<tool_call>\n{"name": "ping", "arguments": {}}\n</tool_call>')


@pytest.mark.parametrize(("reasoning", "tool"), PAIRS)
def test_d11_required_cannot_end_without_a_call(reasoning: str | None, tool: str) -> None:
    for state in states(reasoning):
        lark = made(reasoning, tool, tools=TOOLS, tool_choice="required", thinking=state).lark()
        for prose in ("", "Hello.", "\n"):
            assert not accepts(lark, prose), (state, prose)


def test_d12_an_earlier_end_marker_decides_nothing() -> None:
    (half, _) = halves("qwen3", "hermes")
    assert isinstance(half, Reasoning)
    prompt = "<|im_start|>user\nwhat is </think>?<|im_end|>\n<|im_start|>assistant\n"
    assert prompt_state(half, prompt).thinking == "absent"


def test_d14_a_constraint_needs_no_chat_state() -> None:
    lark = made(None, "hermes", tool_choice="required").lark()
    assert begins(lark, "x") == 0
    assert accepts(lark, HERMES)


NAMES = ("root", "ws", "tool", "tools", "start", "get-weather", "get", "get_", "T0", "r0")


SPELLED = {
    "hermes": '<tool_call>{{"name": "{}", "arguments": {{}}}}</tool_call>',
    "qwen3_coder": "<tool_call>\n<function={}>\n</function>\n</tool_call>",
    "glm45": "<tool_call>{}\n</tool_call>",
    "glm47": "<tool_call>{}</tool_call>",
    "mistral": "[TOOL_CALLS]{}[ARGS]{{}}",
    "llama3_json": '{{"name": "{}", "parameters": {{}}}}',
    "pythonic": "[{}()]",
    "llama4_pythonic": "[{}()]",
    "gemma4": "<|tool_call>call:{}{{}}<tool_call|>",
    "kimi_k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.{}:0"
    "<|tool_call_argument_begin|>{{}}<|tool_call_end|><|tool_calls_section_end|>",
    "deepseek_v31": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>{}<｜tool▁sep｜>{{}}"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek_v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{}"
    "\n```json\n{{}}\n```"
    "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "openai": "<|channel|>commentary to=functions.{} <|constrain|>json<|message|>{{}}<|call|>",
}
"""A call without arguments in each format."""


@pytest.mark.parametrize("tool", sorted(SPELLED))
def test_d16_names_never_become_rules(tool: str) -> None:
    names = [*NAMES, "a.b"] if tool in ("pythonic", "llama4_pythonic") else [*NAMES, "a.b", "1a"]
    tools = [function(name, {"type": "object", "properties": {}}, True) for name in names]
    written = SPELLED[tool]
    lark = made(None, tool, tools=tools, tool_choice="required").lark()
    reader = parser(None, tool, "off", tools=tools, tool_choice="required")
    for name in names:
        text = written.format(name)
        assert accepts(lark, text), text
        assert [call.name for call in reader.parse(text).tool_calls] == [name]
    assert not accepts(lark, written.format("ge"))
    assert not accepts(lark, written.format("get_x"))


@pytest.mark.parametrize("inner", ["{}", '{"name": "web_search"}', '{"arguments": {"q": "x"}}'])
def test_d16_elements_without_name_or_arguments_are_refused(inner: str) -> None:
    lark = made(None, "hermes", tool_choice="required").lark()
    assert not accepts(lark, f"<tool_call>{inner}</tool_call>")


def test_d16_a_name_that_the_format_cannot_carry_is_refused() -> None:
    for tool, name in (("pythonic", "1a"), ("glm45", "two words"), ("openai", "a b"), ("hermes", " f")):
        with pytest.raises(Unsupported) as caught:
            constrain(None, tool, tools=[function("ok"), function(name)], tool_choice="required")
        assert caught.value.param == "tools[1].function.name"


# -- the request ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"tools": None},
        {"tools": []},
        {"tools": [SEARCH]},
        {"tools": [SEARCH], "parallel_tool_calls": False},
        {"tools": TOOLS, "tool_choice": "none"},
        {"tools": [SEARCH], "tool_choice": None},
    ],
)
def test_nothing_to_enforce_is_none(options: dict[str, Any]) -> None:
    assert constrain("qwen3", "hermes", thinking="open", **options) is None


def test_levels() -> None:
    assert constrain(None, "hermes", tools=[SEARCH]) is None
    function_level = made(None, "hermes", strict_level="function").lark()
    assert accepts(function_level, '<tool_call>{"name": "web_search", "arguments": {"q": 3}}</tool_call>')
    assert not accepts(function_level, '<tool_call>{"name": "other", "arguments": {}}</tool_call>')
    every = made(None, "hermes", strict_level="parameter").lark()
    assert not accepts(every, '<tool_call>{"name": "web_search", "arguments": {"q": 3}}</tool_call>')


@pytest.mark.parametrize("shape", ["nested", "flat"])
@pytest.mark.parametrize("mode", ["auto", "required"])
def test_g01_allowed_tools(shape: str, mode: str) -> None:
    inner = {"mode": mode, "tools": [{"type": "function", "function": {"name": "ping"}}]}
    choice = (
        {"type": "allowed_tools", "allowed_tools": inner}
        if shape == "nested"
        else {"type": "allowed_tools", **inner}
    )
    lark = made(None, "hermes", tools=TOOLS, tool_choice=choice).lark()
    assert accepts(lark, '<tool_call>{"name": "ping", "arguments": {}}</tool_call>')
    assert not accepts(lark, '<tool_call>{"name": "weather_now", "arguments": {}}</tool_call>')
    assert accepts(lark, "Hi") is (mode == "auto")


def test_named_is_exactly_one_call_of_that_tool() -> None:
    lark = made(None, "hermes", tools=TOOLS, tool_choice={"type": "function", "name": "ping"}).lark()
    ping = '<tool_call>{"name": "ping", "arguments": {}}</tool_call>'
    assert accepts(lark, ping)
    assert not accepts(lark, ping * 2)
    assert not accepts(lark, ping.replace("ping", "weather_now"))


@pytest.mark.parametrize(
    ("options", "param"),
    [
        ({"tools": [], "tool_choice": "required"}, "tools"),
        ({"tool_choice": {"type": "function", "function": {"name": "nope"}}}, "tool_choice"),
        ({"tool_choice": "sometimes"}, "tool_choice"),
        (
            {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": []}}},
            "tool_choice.allowed_tools.tools",
        ),
        ({"tool_choice": "required", "thinking": "perhaps"}, "thinking"),
        ({"tool_choice": "required", "max_calls": 0}, "max_calls"),
        ({"tool_choice": "required", "max_calls": True}, "max_calls"),
        ({"tool_choice": "required", "max_white": -1}, "max_white"),
        ({"tool_choice": "required", "max_string": 0}, "max_string"),
        ({"tool_choice": "required", "markers": "ids"}, "markers"),
        ({"tool_choice": "required", "markers": "tokens"}, "markers"),
        (
            {"tool_choice": "required", "tools": [{"type": "function", "function": {}}]},
            "tools[0].function.name",
        ),
        ({"tool_choice": "required", "tools": [SEARCH, SEARCH]}, "tools[1].function.name"),
        ({"tool_choice": "required", "thinking": "open"}, "thinking"),
        ({"response_schema": {"not": {}}}, "response_schema.not"),
    ],
)
def test_wrong_requests_name_the_parameter(options: dict[str, Any], param: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        constrain(None, "hermes", **{"tools": [SEARCH], **options})
    assert caught.value.param == param
    with pytest.raises(UnknownParser):
        constrain(None, "no_such", tools=[SEARCH], tool_choice="required")


def test_g_the_request_is_never_changed_and_the_result_is_deterministic() -> None:
    tools, schema = copy.deepcopy(TOOLS), copy.deepcopy(ANSWER)
    options: dict[str, Any] = {"tools": tools, "response_schema": schema, "max_string": 4, "thinking": "open"}
    first = constrain("qwen3", "qwen3_coder", **options)
    second = constrain("qwen3", "qwen3_coder", **copy.deepcopy(options))
    assert (tools, schema) == (TOOLS, ANSWER)
    assert first is not None and second is not None  # noqa: PT018
    assert (first.digest, first.lark()) == (second.digest, second.lark())
    assert first.handles_thinking
    assert first.reads_as == "native"
