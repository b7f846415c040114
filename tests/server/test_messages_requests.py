"""What a Messages request means, and what is refused by the path of its field."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import Any

import pytest

from tests.core.test_switches import SWITCHES, half_of
from unbraid import Parser
from unbraid.engines.template import ChatTemplate
from unbraid.server.apis.messages_chat import ask
from unbraid.server.apis.messages_request import MessagesRequest, decode
from unbraid.server.normal import Ask
from unbraid.server.plan import plan, template_kwargs
from unbraid.server.setup import Setup
from unbraid.server.startup import prepare

from .anthropic_helpers import BODY, NOT_THINKING, THINKING, TIME_TOOL, WEATHER_TOOL, post
from .helpers import USER, Options, replay


def meant(**fields: Any) -> Ask:
    return ask(decode(json.dumps({**BODY, **fields}).encode(), MessagesRequest))


def text(*parts: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": part} for part in parts]


def use(id: str, name: str = "f", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, **fields}


def user(*content: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def model(*content: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def chat(messages: list[Any], **fields: Any) -> list[tuple[Any, ...]]:
    """The messages for the template: role, text, thinking, calls, and a result's call and tool."""
    found = []
    for one in meant(messages=messages, **fields).messages:
        calls = [
            (call["id"], call["function"]["name"], call["function"]["arguments"])
            for call in one.get("tool_calls", ())
        ]
        said = (one["role"], one["content"], one.get("reasoning"), calls)
        found.append((*said, one.get("tool_call_id"), one.get("name")))
    return found


def line(role: str, content: str | None, reasoning: str | None = None, calls: Any = ()) -> tuple[Any, ...]:
    return (role, content, reasoning, list(calls), None, None)


HELLO = line("user", "Hello")


@pytest.mark.parametrize(
    ("system", "lines"),
    [
        (None, []),
        ("", []),
        ("Be brief.", [line("system", "Be brief.")]),
        (text("One.", "Two."), [line("system", "One.\nTwo.")]),
        (
            [{"type": "text", "text": "One.", "cache_control": {"type": "ephemeral"}}],
            [line("system", "One.")],
        ),
    ],
)
def test_system(system: Any, lines: list[Any]) -> None:
    assert chat(USER, system=system) == [*lines, HELLO]


def test_a_system_message_stays_where_it_is() -> None:
    messages = [
        *USER,
        {"role": "assistant", "content": "Hi"},
        {"role": "system", "content": text("Now", "x")},
    ]
    messages.append(user(*text("Go")))
    lines = [HELLO, line("assistant", "Hi"), line("system", "Now\nx"), line("user", "Go")]
    assert chat(messages) == lines


def test_messages_of_one_role_are_one_turn() -> None:
    messages = [
        user(*text("a", "b")),
        {"role": "user", "content": "c"},
        model(*text("d", "e")),
        {"role": "assistant", "content": "f"},
        {"role": "user", "content": "g"},
    ]
    assert chat(messages) == [line("user", "a\nb\nc"), line("assistant", "de\nf"), line("user", "g")]


def test_results_come_before_the_text_of_their_turn() -> None:
    calls = [("1", "f", {"a": [1]}), ("2", "g", {})]
    messages = [
        *USER,
        model(*text("Let me see."), use("1", a=[1]), use("2", "g")),
        user(*text("And?"), result("2", content=text("x", "y")), result("1", content="no", is_error=True)),
        user(result("3"), *text("So?")),
    ]
    assert chat(messages) == [
        HELLO,
        line("assistant", "Let me see.", None, calls),
        ("tool", "x\ny", None, [], "2", "g"),
        ("tool", "Error: no", None, [], "1", "f"),
        ("tool", "", None, [], "3", None),
        line("user", "And?\nSo?"),
    ]


def test_calls_without_text_and_results_alone() -> None:
    messages = [*USER, model(use("1")), user(result("1", content="x"))]
    assert chat(messages) == [
        HELLO,
        line("assistant", None, None, [("1", "f", {})]),
        ("tool", "x", None, [], "1", "f"),
    ]
    assert meant(messages=messages).history_calls == 1


def test_thinking_of_the_history() -> None:
    thoughts = [
        {"type": "thinking", "thinking": "One.", "signature": "dW5icmFpZA=="},
        {"type": "redacted_thinking", "data": "xyz"},
        *text("So."),
        {"type": "thinking", "thinking": "Two."},
    ]
    messages = [*USER, model(*thoughts, use("1")), user(result("1"))]
    assert chat(messages)[1] == line("assistant", "So.", "One.Two.", [("1", "f", {})])
    hidden = {"type": "thinking", "thinking": "", "signature": "x"}
    assert chat([*USER, model(hidden, *text("So.")), *USER])[1] == line("assistant", "So.")


def test_a_request_is_not_changed() -> None:
    engine = replay("x", dialects=("llguidance",))
    setup = prepare(engine, Options(reasoning_parser="qwen3", tool_call_parser="hermes"))
    messages = [*USER, model(use("1", a={"b": 1})), user(result("1"))]
    body = json.dumps({**BODY, "messages": messages, "tools": [WEATHER_TOOL], "tool_choice": {"type": "any"}})
    request = decode(body.encode(), MessagesRequest)
    before = copy.deepcopy(request)
    plan(ask(request), setup, engine, "request")
    assert request == before


# -- going on with the last message ------------------------------------------------------


def test_the_last_message_of_the_model_is_continued() -> None:
    engine = replay(" it is.")
    messages = [*USER, {"role": "assistant", "content": "Here"}]
    answer = asyncio.run(post(engine, {"messages": messages}))
    assert answer.json()["content"] == text(" it is.")
    assert engine.requests[0].prompt.endswith("<|im_start|>assistant\nHere")


def test_thinking_before_the_text_to_continue() -> None:
    engine = replay(" it is.")
    thought = {"type": "thinking", "thinking": "Hm.", "signature": ""}
    answer = asyncio.run(post(engine, {"messages": [*USER, model(thought, *text("Here"))], **THINKING}))
    assert answer.json()["content"] == text(" it is.")
    assert engine.requests[0].prompt.endswith("assistant\n<think>\nHm.\n</think>\n\nHere")


def test_an_empty_last_message_is_as_none() -> None:
    assert not meant(messages=[*USER, {"role": "assistant", "content": ""}]).continue_final_message
    assert chat([*USER, {"role": "assistant", "content": ""}]) == [HELLO]


THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": ""}


@pytest.mark.parametrize(
    ("messages", "fields", "path"),
    [
        ([*USER, model(use("1"))], {}, "messages[1]"),
        ([*USER, model(THOUGHT)], {}, "messages[1]"),
        ([model()], {}, "messages[0]"),
        ([*USER, model(*text("Here"))], THINKING, "thinking"),
    ],
)
def test_what_can_not_be_continued(messages: Any, fields: Any, path: str) -> None:
    refused({"messages": messages, **fields}, path)


# -- fields --------------------------------------------------------------------------------


def test_sampling() -> None:
    found = meant(temperature=0.5, top_p=0.9, top_k=7, stop_sequences=["a", "b"], metadata={"user_id": "u"})
    sampling = found.sampling
    assert (sampling.temperature, sampling.top_p, sampling.top_k) == (0.5, 0.9, 7)
    assert (sampling.stop, sampling.max_tokens) == (("a", "b"), 4000)
    assert found.user == "u"


@pytest.mark.parametrize(
    ("choice", "seen"),
    [
        (None, "auto"),
        ({"type": "auto"}, "auto"),
        ({"type": "any"}, "required"),
        ({"type": "none"}, "none"),
        ({"type": "tool", "name": "get_time"}, {"type": "function", "function": {"name": "get_time"}}),
    ],
)
def test_tool_choice(choice: Any, seen: Any) -> None:
    tools = [{**WEATHER_TOOL, "cache_control": {"type": "ephemeral"}, "type": "custom", "strict": True}]
    found = meant(tools=[*tools, TIME_TOOL], tool_choice=choice)
    assert found.tools.choice == seen
    assert found.parallel_tool_calls
    function = found.tools.shown[0]["function"]
    assert function == {
        "name": "get_weather",
        "description": WEATHER_TOOL["description"],
        "parameters": WEATHER_TOOL["input_schema"],
        "strict": True,
    }


def test_no_tools() -> None:
    for choice in (None, {"type": "auto"}, {"type": "none"}):
        assert meant(tools=[], tool_choice=choice).tools.choice == "none"


def test_the_headers_of_the_api_are_taken() -> None:
    from .helpers import raw

    async def run() -> int:
        headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "a-2026-01-01,b"}
        async with raw(replay("x")) as http:
            return (await http.post("/v1/messages?beta=true", json=BODY, headers=headers)).status_code

    assert asyncio.run(run()) == 200


# -- thinking --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(SWITCHES))
@pytest.mark.parametrize("on", [True, False])
def test_every_family_s_switch_is_turned(name: str, on: bool) -> None:
    """By its own variables, whatever the server's defaults say."""
    switch = half_of(name).switch
    for default in ({}, switch.turned(not on)):
        setup = Setup(ChatTemplate(""), ("m",), name, template_kwargs=default, switch=switch)
        kwargs = template_kwargs(meant(**(THINKING if on else NOT_THINKING)), setup)
        if switch.turned(on):
            assert Parser(name, chat_template_kwargs=kwargs).thinking is on
        else:
            assert set(kwargs) == {"enable_thinking"}
            assert not switch.variables


def test_a_count_of_tokens_is_a_number() -> None:
    assert half_of("seed_oss").switch.turned(True) == {"thinking_budget": -1, "enable_thinking": True}
    assert half_of("seed_oss").switch.turned(False) == {"thinking_budget": 0, "enable_thinking": False}


def test_levels_are_words() -> None:
    assert half_of("hy_v3").switch.turned(False) == {"reasoning_effort": "no_think"}
    assert half_of("minimax_m3").switch.turned(True) == {"thinking_mode": "enabled"}
    setup = Setup(ChatTemplate(""), ("m",), "hy_v3", switch=half_of("hy_v3").switch)
    low = {"output_config": {"effort": "low"}}
    assert template_kwargs(meant(**THINKING, **low), setup)["reasoning_effort"] == "low"
    assert template_kwargs(meant(**THINKING), setup)["reasoning_effort"] == "high"
    assert template_kwargs(meant(**NOT_THINKING, **low), setup)["reasoning_effort"] == "no_think"


# -- refused -----------------------------------------------------------------------------


def refused(body: dict[str, Any], path: str) -> str:
    """The message of a refusal, which begins with the path of the field."""
    engine = replay("x", dialects=("llguidance",))
    answer = asyncio.run(post(engine, body))
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["type"] == "invalid_request_error"
    message = answer.json()["error"]["message"]
    assert message.startswith(path), message
    assert message.removeprefix(path)[0] in ": ", message
    assert not engine.requests
    return str(message)


def content(*blocks: Any) -> dict[str, Any]:
    return {"messages": [*USER, {"role": "assistant", "content": "Hi"}, user(*text("a"), *blocks)]}


IMAGE = {"type": "image", "source": {"type": "url", "url": "http://127.0.0.1/x.png"}}
DOCUMENT = {"type": "document", "source": {"type": "text", "data": "x", "media_type": "text/plain"}}
SCHEMA = {"type": "object", "properties": {"a": 5}}


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"max_tokens": None}, "max_tokens"),
    ({"max_tokens": 0}, "max_tokens"),
    ({"model": None}, "model"),
    ({"messages": []}, "messages"),
    ({"messages": [{"role": "tool", "content": "x"}]}, "messages[0].role"),
    ({"messages": [{"role": "user"}]}, "messages[0].content"),
    (content(IMAGE), "messages[2].content[1].type"),
    (content(DOCUMENT), "messages[2].content[1].type"),
    (content({"type": "server_tool_use"}), "messages[2].content[1].type"),
    (content(result("1", content=[IMAGE])), "messages[2].content[1].content[0].type"),
    (content(use("1")), "messages[2].content[1]"),
    (content(THOUGHT), "messages[2].content[1]"),
    ({"messages": [*USER, model(result("1")), *USER]}, "messages[1].content[0]"),
    ({"messages": [{"role": "system", "content": [THOUGHT]}, *USER]}, "messages[0].content[0]"),
    ({"system": [IMAGE]}, "system[0].type"),
    ({"system": [{"text": "x"}]}, "system[0].type"),
    ({"system": 5}, "system"),
    ({"tools": [{"name": "f"}]}, "tools[0].input_schema"),
    ({"tools": [{"name": "", "input_schema": {}}]}, "tools[0].name"),
    ({"tools": [TIME_TOOL, TIME_TOOL]}, "tools[1].name"),
    ({"tools": [TIME_TOOL, {"type": "web_search_20250305", "name": "s"}]}, "tools[1].type"),
    ({"tools": [{"name": "s", "type": "bash_20250124"}]}, "tools[0].type"),
    ({"tool_choice": {"type": "any"}}, "tool_choice"),
    ({"tools": [TIME_TOOL], "tool_choice": {"type": "tool", "name": "g"}}, "tool_choice.name"),
    ({"tools": [TIME_TOOL], "tool_choice": {"type": "tool"}}, "tool_choice.name"),
    ({"tools": [TIME_TOOL], "tool_choice": {"type": "all"}}, "tool_choice.type"),
    (
        {"tools": [TIME_TOOL, {"name": "g", "strict": True, "input_schema": SCHEMA}]},
        "tools[1].input_schema.properties.a",
    ),
    (
        {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        "output_config.format.schema.properties.a",
    ),
    ({"output_config": {"format": {"type": "text"}}}, "output_config.format.type"),
    ({"output_config": {"effort": "some"}}, "output_config.effort"),
    ({"thinking": {"type": "enabled"}}, "thinking.budget_tokens"),
    ({"thinking": {"type": "enabled", "budget_tokens": 1023}}, "thinking.budget_tokens"),
    ({"thinking": {"type": "enabled", "budget_tokens": 4000}}, "thinking.budget_tokens"),
    ({"thinking": {"type": "between_tools"}}, "thinking.type"),
    ({"stop_sequences": list("abcde")}, "stop_sequences"),
    ({"stop_sequences": ["a", ""]}, "stop_sequences[1]"),
    ({"temperature": -1}, "temperature"),
    ({"top_p": 0}, "top_p"),
    ({"top_k": -1}, "top_k"),
    ({"stream": 1}, "stream"),
    ({"chat_template_kwargs": {"messages": []}}, "chat_template_kwargs"),
]


@pytest.mark.parametrize(("body", "path"), WRONG, ids=str)
def test_the_path_of_what_is_wrong(body: dict[str, Any], path: str) -> None:
    refused(body, path)


def nested(levels: int) -> Any:
    found: Any = {}
    for _ in range(levels):
        found = {"properties": {"a": found}}
    return found


def test_what_nests_too_deep() -> None:
    refused({"tools": [{"name": "f", "input_schema": nested(300)}]}, "tools[0].input_schema")
    shape = {"type": "json_schema", "schema": nested(300)}
    refused({"output_config": {"format": shape}}, "output_config.format.schema")
    refused({"messages": [*USER, model(use("1", a=nested(300))), user(result("1"))]}, "messages")
    refused({"metadata": nested(300)}, "metadata")


def test_limits_name_the_fields_of_this_api() -> None:
    calls = [use(str(n)) for n in range(2000)]
    results = user(*(result(str(n)) for n in range(2000)))
    messages = [{"role": "user", "content": "a"}, *USER, model(*calls), results]
    refused({"messages": messages}, "messages[2].content")
    refused({"tools": [{"name": "f", "input_schema": {"enum": ["x" * 10**6]}}]}, "tools[0].input_schema")
    refused({"max_tokens": 2**60}, "max_tokens")


def test_a_foreign_type_is_named() -> None:
    assert "'image' is not supported" in refused(content(IMAGE), "messages[2].content[1].type")
    tools = [{"type": "web_search_20250305", "name": "s"}]
    assert "'web_search_20250305' is not supported" in refused({"tools": tools}, "tools[0].type")
