"""Response templates that each use one feature, registered for the laws: see ``test_samples.py``."""

from __future__ import annotations

from typing import Any

from unbraid.formats import register
from unbraid.response.load import load_template

START = "<|im_start|>assistant\n"
NAMED = {"type": "function", "function": {"name": "{name}", "arguments": "{content}"}}
OPENER = r"<call (?P<name>[^\s<>]+)>"
TAG = r"<p (?P<key>[^<>]+)>(?P<value>.*?)</p>"


def template(call: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """A template with these calls, thinking in tags and content outside."""
    thinking = {"open": "<think>", "close": "</think>"}
    return {"start_anchor": START, "fields": {"thinking": thinking, "tool_calls": call, **fields}}


CALLS: dict[str, dict[str, Any]] = {
    "capture": {"open_pattern": OPENER, "content": "json", "transform": NAMED},
    "each": {
        "open": "[CALLS]",
        "close": "[/CALLS]",
        "repeats": False,
        "content": "json",
        "transform": {"function": {"name": "{tool}", "arguments": "{args}"}},
        "transform_each": True,
    },
    "plain": {"open": "<calls>", "close": ["</calls>", "</call>"], "repeats": False, "content": "json"},
    "tags": {
        "open_pattern": OPENER,
        "content": "xml-inline",
        "content_args": {"tag_pattern": TAG},
        "transform": NAMED,
    },
    "bare": {
        "open_pattern": r"<\|tool_call>call:(?P<name>[\w.-]+)",
        "close": "<tool_call|>",
        "content": "json",
        "content_args": {"unquoted_keys": True, "string_delims": [['<|"|>', '<|"|>']]},
        "transform": NAMED,
    },
    "lines": {
        "open_pattern": OPENER,
        "content": "kv-lines",
        "content_args": {"kv_sep": "=", "line_sep": "<br>", "strip": False},
        "transform": NAMED,
    },
}
for _name, _call in CALLS.items():
    _full = {"close": "</call>", "repeats": True, **_call}
    register(f"sample_{_name}", load_template(template(_full)))
register(
    "sample_messages",
    load_template(
        {
            "start_anchor_pattern": r"<\|start\|>assistant",
            "fields": {
                "thinking": {"open": "<|channel|>analysis<|message|>", "close": "<|end|><|start|>assistant"},
                "content": {"open": "<|channel|>final<|message|>", "close": ["<|return|>", "<|end|>"]},
                "tool_calls": {
                    "open_pattern": r" to=(?P<name>[^\s<]+)<\|message\|>",
                    "close": ["<|end|><|start|>assistant", "<|call|>"],
                    "repeats": True,
                    "content": "json",
                    "transform": NAMED,
                },
            },
        }
    ),
)
