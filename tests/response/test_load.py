"""Loading a response template: where it may come from, and every error by its key."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from unbraid import IncompatiblePair, InvalidRequest, Message, Parser, TokenTable, ToolCall, write
from unbraid.response.load import load_template

RULE = {"function": {"name": "{content.name}", "arguments": "{content.arguments}"}}
TEMPLATE: dict[str, Any] = {
    "version": 1,
    "defaults": {"role": "assistant"},
    "start_anchor": "<|im_start|>assistant\n",
    "fields": {
        "thinking": {"open": "<think>", "close": "</think>"},
        "content": {"close": "<|im_end|>"},
        "tool_calls": {
            "open": "<tool_call>",
            "close": "</tool_call>",
            "repeats": True,
            "content": "json",
            "transform": RULE,
        },
    },
}
TEXT = '<think>a</think>b<tool_call>{"name": "f", "arguments": {"x": 1}}</tool_call>'


def changed(path: str, value: Any) -> dict[str, Any]:
    """The template with one value changed, or left out for ``...``."""
    template = copy.deepcopy(TEMPLATE)
    *outer, last = path.split(".")
    place = template
    for key in outer:
        place = place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return template


def read(source: object) -> tuple[str | None, str | None, list[tuple[str, str]]]:
    message = Parser("hf", "hf", response_template=source).parse(TEXT)
    return message.reasoning, message.content, [(one.name, one.arguments) for one in message.tool_calls]


# -- where it comes from ---------------------------------------------------------------


def test_every_place_of_a_template(tmp_path: Path) -> None:
    configuration = {"chat_template": "…", "response_template": TEMPLATE}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(configuration), encoding="utf-8")
    for source in (
        TEMPLATE,
        configuration,
        load_template(TEMPLATE),
        tmp_path,
        str(tmp_path / "tokenizer_config.json"),
        SimpleNamespace(response_template=TEMPLATE),
        SimpleNamespace(init_kwargs={"response_template": TEMPLATE}),
    ):
        assert read(source) == ("a", "b", [("f", '{"x": 1}')])


def test_a_tokenizer_brings_its_template() -> None:
    table = TokenTable({n: bytes([n]) for n in range(256)})
    table.response_template = changed("fields.thinking.open", "<plan>")  # type: ignore[attr-defined]
    message = Parser("hf", "hf", tokenizer=table).parse("<plan>a</think>b")
    assert (message.reasoning, message.content) == ("a", "b")


@pytest.mark.parametrize(
    "source",
    [{}, {"response_template": "text"}, {"response_schema": {}}, 3, "/no/such/folder", SimpleNamespace()],
)
def test_no_template(source: object) -> None:
    with pytest.raises(InvalidRequest) as caught:
        Parser("hf", "hf", response_template=source)
    assert caught.value.param == "response_template"


def test_a_template_for_another_format_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="hf or beam"):
        Parser("qwen3", "hermes", response_template=TEMPLATE)


def test_no_other_half_goes_with_it() -> None:
    for pair in (("hf", "hermes"), ("qwen3", "hf"), ("hf", "beam"), ("beam", "hf")):
        with pytest.raises(IncompatiblePair):
            Parser(*pair)


@pytest.mark.parametrize(("half", "field"), [("reasoning_parser", "thinking"), ("tool_parser", "tool_calls")])
def test_a_half_needs_its_field(half: str, field: str) -> None:
    with pytest.raises(InvalidRequest, match=field) as caught:
        Parser(**{half: "hf"}, response_template=changed(f"fields.{field}", ...))  # type: ignore[arg-type]
    assert caught.value.param == half


def test_the_order_of_fields_means_nothing() -> None:
    backwards = {**TEMPLATE, "fields": dict(reversed(TEMPLATE["fields"].items()))}
    assert read(backwards) == read(TEMPLATE)


def test_two_parsers_of_one_template_share_no_state() -> None:
    before = copy.deepcopy(TEMPLATE)
    first, second = (Parser("hf", "hf", response_template=TEMPLATE) for _ in range(2))
    streams = [first.stream(), second.stream(), first.stream()]
    for stream in streams:
        stream.feed(TEXT[:30])
    for stream in streams:
        stream.feed(TEXT[30:])
        stream.finish()
        assert (stream.message.reasoning, stream.message.content) == ("a", "b")
    assert before == TEMPLATE


def test_content_is_implicit_where_nothing_is() -> None:
    template = changed("fields.content", ...)
    assert read(template) == ("a", "b", [("f", '{"x": 1}')])


# -- every error -------------------------------------------------------------------------

CALL = "fields.tool_calls"
ERRORS: list[tuple[str, Any, str, str]] = [
    ("version", 2, "version", "must be 1"),
    ("version", True, "version", "number"),
    ("odd", 1, "odd", "unknown key"),
    ("defaults", [], "defaults", "dictionary"),
    ("defaults", {"content": []}, "defaults.content", "role"),
    ("fields", {}, "fields", "must hold a field"),
    ("fields", ..., "fields", "dictionary of fields"),
    ("fields.odd", {"open": "x"}, "fields.odd", "unknown field"),
    ("fields.content", "x", "fields.content", "dictionary"),
    ("fields.content.odd", 1, "fields.content.odd", "unknown key"),
    ("fields.thinking.open", ..., "fields", "only one field"),
    ("start_anchor", ..., "", "needs start_anchor"),
    ("start_anchor_pattern", "x", "start_anchor", "beside"),
    ("start_anchor", [], "start_anchor", "must hold a string"),
    ("start_anchor", 3, "start_anchor", "string or a list"),
    ("fields.thinking.open_pattern", "x", "fields.thinking.open", "beside"),
    ("fields.thinking.open", [], "fields.thinking.open", "must hold a string"),
    ("fields.thinking.open", ["a", ""], "fields.thinking.open", "none that is empty"),
    ("fields.thinking.close", [1], "fields.thinking.close", "list of strings"),
    ("fields.thinking.close_pattern", "x", "fields.thinking.close", "beside"),
    ("fields.thinking.content", "json", "fields.thinking", "content: text"),
    ("fields.content.transform", "{content}", "fields.content", "no transform"),
    (f"{CALL}.repeats", "yes", f"{CALL}.repeats", "true or false"),
    (f"{CALL}.optional", 1, f"{CALL}.optional", "true or false"),
    ("fields.content.join", "", "fields.content.join", "needs repeats"),
    (f"{CALL}.join", "", f"{CALL}.join", "can't be held"),
    (f"{CALL}.content", "yaml", f"{CALL}.content", "unknown parser"),
    (f"{CALL}.content_args", {"strip": False}, f"{CALL}.content_args.strip", "unknown key"),
    (f"{CALL}.content_args", {"string_delims": ["x"]}, f"{CALL}.content_args.string_delims[0]", "pair"),
    (f"{CALL}.content_args", {"allow_non_json": 1}, f"{CALL}.content_args.allow_non_json", "true or false"),
    (f"{CALL}.transform", {"name": "call {content}"}, f"{CALL}.transform.name", "whole string"),
    (f"{CALL}.transform", {"name": "{odd}"}, f"{CALL}.transform.name", "not defined"),
    (f"{CALL}.transform", {"x": [{1, 2}]}, f"{CALL}.transform.x[0]", "JSON"),
]


@pytest.mark.parametrize(("path", "value", "param", "message"), ERRORS)
def test_errors(path: str, value: Any, param: str, message: str) -> None:
    with pytest.raises(InvalidRequest, match=message) as caught:
        load_template(changed(path, value))
    assert caught.value.param == "response_template" + (f".{param}" if param else "")


PATTERNS: list[tuple[dict[str, Any], str, str]] = [
    ({"open_pattern": "("}, "open_pattern", "no regular expression"),
    ({"open_pattern": "(?P<n>x)", "transform": ...}, "open_pattern", "named groups need a transform"),
    ({"open_pattern": "x*"}, "open_pattern", "empty text"),
    ({"open_pattern": r"(?P<a>x)(?P=a)"}, "open_pattern", "back-reference"),
    ({"open": "x", "close": ..., "close_pattern": "(?P<n>x)"}, "close_pattern", "can't be used"),
    ({"open": "x", "transform": ..., "transform_each": True}, "transform_each", "needs transform"),
    ({"open": "x", "content": "xml-inline"}, "content_args.tag_pattern", "required"),
    (
        {"open": "x", "content": "xml-inline", "content_args": {"tag_pattern": "<(?P<key>x)>"}},
        "content_args.tag_pattern",
        "key and value",
    ),
    (
        {"open": "x", "content": "xml-inline", "content_args": {"tag_pattern": "("}},
        "content_args.tag_pattern",
        "no regular expression",
    ),
    (
        {"open": "x", "content": "kv-lines", "content_args": {"kv_sep": ""}},
        "content_args.kv_sep",
        "must not be empty",
    ),
    (
        {"open": "x", "content": "kv-lines", "content_args": {"value_parser": {}}},
        "content_args.value_parser.name",
        "required",
    ),
    (
        {"open": "x", "content": "kv-lines", "content_args": {"value_parser": {"name": "odd"}}},
        "content_args.value_parser.name",
        "unknown parser",
    ),
]


@pytest.mark.parametrize(("change", "param", "message"), PATTERNS)
def test_errors_of_calls(change: dict[str, Any], param: str, message: str) -> None:
    template = changed(f"{CALL}.open", ...)
    field = {**template["fields"]["tool_calls"], **change}
    template["fields"]["tool_calls"] = {key: one for key, one in field.items() if one is not ...}
    with pytest.raises(InvalidRequest, match=message) as caught:
        load_template(template)
    assert caught.value.param == f"response_template.{CALL}.{param}"


def test_a_template_that_is_given_twice_is_one() -> None:
    """Each time it is read anew, and what was made of the first reading serves the second."""
    called = Message("r", None, [ToolCall("", "get_tide", '{"port": "Cork"}')])
    first, second = (write("hf", "hf", called, response_template=TEMPLATE) for _ in range(2))
    assert first == second
    message = Parser("hf", "hf", response_template=TEMPLATE).parse(first)
    assert [(one.name, one.arguments) for one in message.tool_calls] == [("get_tide", '{"port": "Cork"}')]
