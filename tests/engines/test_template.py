"""Chat templates: Hugging Face's names, the sandbox, and the tool-aware template."""

from __future__ import annotations

import re
from typing import Any

import pytest

from unbraid.engines.template import TOOL_TEMPLATE, ChatTemplate, knows_tools
from unbraid.errors import InvalidRequest

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
CALL = {"id": "1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Zürich"}'}}
USER = {"role": "user", "content": "Hi"}


def own(messages: list[dict[str, Any]], **options: Any) -> str:
    return ChatTemplate(TOOL_TEMPLATE).render(messages, **options)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ bos_token }}{{ messages[0].content }}", "<s>Hi"),
        ("{% if true %}\n    a\n    {% endif %}\nb", "    a\nb"),
        ("{{ {'k': '<é>'} | tojson }}", '{"k": "<é>"}'),
        ("{{ [1] | tojson(indent=2) }}", "[\n  1\n]"),
        ("{% for n in range(9) %}{% if n == 2 %}{% break %}{% endif %}{{ n }}{% endfor %}", "01"),
        ("{% generation %}a{% endgeneration %}", "a"),
        (
            "{{ style }} {{ add_generation_prompt }} {{ tools is none }} {{ documents is none }}",
            "big True True True",
        ),
        ("{% set ns = namespace(n=0) %}{% set ns.n = 3 %}{{ ns.n }}", "3"),
    ],
)
def test_names_and_layout(source: str, text: str) -> None:
    template = ChatTemplate(source, {"bos_token": "<s>", "style": "small"})
    assert template.render([USER], kwargs={"style": "big"}) == text


def test_the_date() -> None:
    assert re.fullmatch(r"\d{4}-\d\d", ChatTemplate("{{ strftime_now('%Y-%m') }}").render([USER]))


def test_arguments_are_objects_for_the_template() -> None:
    source = "{% for c in messages[0].tool_calls %}{{ c.function.arguments.city }}{% endfor %}"
    message = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    assert ChatTemplate(source).render([message]) == "Zürich"
    assert CALL["function"]["arguments"] == '{"city": "Zürich"}'
    cut = {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": '{"a'}}]}
    assert ChatTemplate("{{ messages[0].tool_calls[0].function.arguments }}").render([cut]) == '{"a'


@pytest.mark.parametrize(
    "source",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ raise_exception.__globals__['json'] }}",
        "{{ strftime_now.__code__.co_names }}",
        "{% for n in range(10 ** 9) %}{% endfor %}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{{ nothing.at.all }}",
        "{{ nothing | tojson }}",
        "{{ 1 / 0 }}",
        "{{ 'a' + 1 }}",
        "{% include 'other' %}",
    ],
)
def test_a_hostile_or_broken_template_is_refused(source: str) -> None:
    with pytest.raises(InvalidRequest):
        ChatTemplate(source).render([USER])


def test_a_template_may_change_its_own_copies_only() -> None:
    message = {"role": "user", "content": "Hi", "parts": [1]}
    kwargs = {"list": [1]}
    source = (
        "{%- set _ = messages.append(1) %}{%- set _ = messages[0].update(role='x') %}{{ messages | length }}"
        "{%- set _ = messages[0].parts.append(2) %}{%- set _ = list.append(2) %}{{ messages[0].role }}"
    )
    assert ChatTemplate(source).render([message], kwargs=kwargs) == "2x"
    assert message == {"role": "user", "content": "Hi", "parts": [1]}
    assert kwargs == {"list": [1]}


def test_what_a_template_raises_is_the_message() -> None:
    template = ChatTemplate("{{ raise_exception('roles must alternate') }}")
    with pytest.raises(InvalidRequest, match=r"^roles must alternate$") as caught:
        template.render([USER])
    assert caught.value.param == "messages"
    assert not template.opens("<think>")


def test_a_template_that_is_no_jinja_names_the_line() -> None:
    for action in (ChatTemplate, knows_tools):
        with pytest.raises(InvalidRequest, match="line 2"):
            action("\n{% if %}")


def test_reserved_names_are_refused() -> None:
    with pytest.raises(InvalidRequest, match="messages"):
        own([USER], kwargs={"messages": []})


def test_knows_tools() -> None:
    assert knows_tools("{% if tools %}{% endif %}")
    assert knows_tools(TOOL_TEMPLATE)
    assert not knows_tools("{{ messages }} tools {% set tools = 1 %}{{ tools }}")


def test_a_plain_conversation() -> None:
    messages = [{"role": "system", "content": "Be brief."}, USER]
    assert own(messages) == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    )
    parts = [{"role": "user", "content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]}]
    assert own(parts) == "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"


def test_thinking() -> None:
    template = ChatTemplate(TOOL_TEMPLATE)
    assert template.opens("<|im_start|>assistant\n<think>", {"enable_thinking": True})
    assert template.opens("<think>\n\n</think>", {"enable_thinking": False})
    assert template.opens("<|im_start|>assistant")
    assert own([USER], kwargs={"enable_thinking": False}).endswith("<think>\n\n</think>\n\n")
    assert own([USER], kwargs={"enable_thinking": True}).endswith("<think>\n")


def test_tools_calls_and_results() -> None:
    call = {
        "role": "assistant",
        "content": "Let me see.",
        "reasoning": "\nsure\n",
        "tool_calls": [CALL, CALL],
    }
    results = [{"role": "tool", "content": "sun"}, {"role": "tool", "content": "rain"}]
    text = own([USER, call, *results], tools=[TOOL])
    assert '<tools>\n{"name": "weather", "parameters": {"type": "object"}}\n</tools>' in text
    block = '<tool_call>\n{"name": "weather", "arguments": {"city": "Zürich"}}\n</tool_call>'
    assert (
        "<|im_start|>assistant\n<think>\nsure\n</think>\n\n"
        f"Let me see.\n{block}\n{block}<|im_end|>\n"
        "<|im_start|>user\n<tool_response>\nsun\n</tool_response>\n<tool_response>\nrain\n</tool_response><|im_end|>\n"
        "<|im_start|>assistant\n"
    ) in text
    assert text.endswith("<|im_start|>assistant\n")


def test_reasoning_before_the_last_user_message_is_dropped() -> None:
    answer = {"role": "assistant", "content": "Hi", "reasoning_content": "hmm"}
    assert "hmm" not in own([USER, answer, USER])
    assert "<think>\nhmm\n</think>\n\nHi" in own([USER, USER, answer], add_generation_prompt=False)


@pytest.mark.parametrize("content", ["e", "end", "The answer is ", "<|im_start|>assistant\n"])
def test_the_final_message_can_be_continued(content: str) -> None:
    text = own([USER, {"role": "assistant", "content": content}], continue_final_message=True)
    assert text == f"<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n{content}"


def test_what_can_not_be_continued() -> None:
    for messages in ([], [{"role": "assistant", "content": None}]):
        with pytest.raises(InvalidRequest, match="no final text message"):
            own(messages, continue_final_message=True)
    with pytest.raises(InvalidRequest, match="does not show"):
        ChatTemplate("nothing").render([USER], continue_final_message=True)
