"""What each family does in its own doubtful cases; the number is that of the family's list of cases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.laws.reading import read_every_way, strands
from tests.support.hostile import tools_of
from unbraid import Parser, TokenTable

Row = tuple[str, dict[str, Any], str, str | None, str | None, list[tuple[str, str]]]

TYPES: dict[str, Any] = {
    "s": {"type": "string"},
    "n": {"type": "integer"},
    "x": {},
    "city": {"type": "string"},
    "nullable": {"type": ["string", "null"]},
    "on": {"type": "boolean"},
    "v": {"type": "null"},
    "o": {"type": "object"},
    "l": {"type": "array"},
}
TOOLS = tools_of("a", "f", "g", "b", "get", "clock", "weather", "ns.tool", "my-tool", "add", **TYPES)

# DeepSeek V3 and V3.1: markers with full-width bars.
S, E = "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"
B, M, C = "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"


FENCE = '{"s": "```"}'


def v3(name: str, arguments: str, kind: str = "function") -> str:
    return f"{B}{kind}{M}{name}\n```json\n{arguments}\n```{C}"


def v31(name: str, arguments: str) -> str:
    return f"{B}{name}{M}{arguments}{C}"


V3 = {"tool_parser": "deepseek_v3"}
V31 = {"tool_parser": "deepseek_v31"}
V31_OPEN = {"reasoning_parser": "deepseek_v3", **V31, "prompt": "<｜Assistant｜><think>"}

# Kimi K2.
KS, KE = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
KB, KM, KC = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
KIMI = {"tool_parser": "kimi_k2"}
KIMI_OPEN = {"reasoning_parser": "kimi_k2", **KIMI, "prompt": "<|im_assistant|>assistant<|im_middle|><think>"}

HERMES = {"tool_parser": "hermes"}
GEMMA = {"reasoning_parser": "gemma4", "tool_parser": "gemma4"}
GEMMA_OPEN = {**GEMMA, "prompt": "<|turn>model\n<|channel>thought\n"}
GLM = {"reasoning_parser": "glm45", "tool_parser": "glm45", "prompt": "<|assistant|>\n<think>"}
GLM_OFF = {
    "reasoning_parser": "glm47",
    "tool_parser": "glm47",
    "chat_template_kwargs": {"enable_thinking": False},
}
GRANITE = {"reasoning_parser": "granite"}
HARMONY = {"reasoning_parser": "openai_gptoss", "tool_parser": "openai"}
LLAMA = {"tool_parser": "llama3_json"}
PYTHON = {"tool_parser": "pythonic"}
LLAMA4 = {"tool_parser": "llama4_pythonic"}
MISTRAL = {"reasoning_parser": "mistral", "tool_parser": "mistral"}
QWEN = {"reasoning_parser": "qwen3", "tool_parser": "qwen3_coder"}


def envelope(name: str, arguments: str = "{}") -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


def pair(key: str, value: str) -> str:
    return f"<arg_key>{key}</arg_key><arg_value>{value}</arg_value>"


def parameter(key: str, value: str) -> str:
    return f"<parameter={key}>\n{value}\n</parameter>\n"


def function(body: str = "", name: str = "f") -> str:
    return f"<tool_call>\n<function={name}>\n{body}</function>\n</tool_call>"


def bare(name: str, parameters: str = "{}") -> str:
    return f'{{"name": "{name}", "parameters": {parameters}}}'


CALLS: list[Row] = [
    # DeepSeek: the section's calls are JSON, in any number, with text around the section kept.
    ("deepseek_v3-1", V3, f"{S}{v3('f', '{}')}{E}", None, None, [("f", "{}")]),
    ("deepseek_v3-2", V3, f"Sure.{S}{v3('f', '{}')}{E}", None, "Sure.", [("f", "{}")]),
    *(
        (f"deepseek_v3-3-{n}", options, f"{S}{write('f', arguments)}{E}", None, None, [("f", arguments)])
        for n, arguments in enumerate(
            ('{"n": 3}', "{}", '{"a": {"b": "c"}}', '{"l": ["x"]}', '{"on": true}', '{"l":["}"]}')
        )
        for options, write in ((V3, v3), (V31, v31))
    ),
    ("deepseek_v3-4", V31, f"A{S}{v31('f', '{}')}{E}B", None, "AB", [("f", "{}")]),
    ("deepseek_v3-6", V3, f"{S}{v3('f', FENCE)}{E}", None, None, [("f", FENCE)]),
    ("deepseek_v3-7", V3, f"{S}{v3('f', '{}', 'tool')}{E}", None, None, [("f", "{}")]),
    ("deepseek_v3-8", V31, f'{S}{v31("f", "{}")}{B}g{M}{{"n": ', None, None, [("f", "{}")]),
    ("deepseek_v3-9", V31_OPEN, f"r</think>{S}{v31('f', '{}')}{E}", "r", None, [("f", "{}")]),
    (
        "deepseek_v3-10",
        V31,
        f"{S}{v31('f', '{}')}\n{v31('g', '{}')}{E}",
        None,
        None,
        [("f", "{}"), ("g", "{}")],
    ),
    # DeepSeek R1 without an end: all of it is thinking; a prompt that closed thinking wins.
    ("deepseek_r1-1", {"reasoning_parser": "deepseek_r1"}, "Paris.", "Paris.", None, []),
    (
        "deepseek_r1-2",
        {"reasoning_parser": "deepseek_r1", "prompt": "<｜Assistant｜><think>\n\n</think>"},
        "Paris.",
        None,
        "Paris.",
        [],
    ),
    # Gemma 4.
    (
        "gemma4-1",
        GEMMA,
        '<|tool_call>call:weather{city:<|"|>a}<b,c:d<|"|>}<tool_call|>',
        None,
        None,
        [("weather", '{"city": "a}<b,c:d"}')],
    ),
    (
        "gemma4-2",
        GEMMA,
        "<|tool_call>call:f{on:true,v:null,o:{n:1},l:[1,2]}<tool_call|>",
        None,
        None,
        [("f", '{"on": true, "v": null, "o": {"n": 1}, "l": [1, 2]}')],
    ),
    (
        "gemma4-3",
        {**GEMMA, "tools": None},
        "<|tool_call>call:f{on:true,v:null,o:{n:1},l:[1,2]}<tool_call|>",
        None,
        None,
        [("f", '{"on": true, "v": null, "o": {"n": 1}, "l": [1, 2]}')],
    ),
    ("gemma4-4", GEMMA, "<|channel>thought\n<channel|>Hi", None, "Hi", []),
    ("gemma4-5", GEMMA_OPEN, "plan<channel|>Hi", "plan", "Hi", []),
    (
        "gemma4-6",
        GEMMA,
        "<|channel>thought\nr<|tool_call>call:clock{}<tool_call|>",
        "r",
        None,
        [("clock", "{}")],
    ),
    ("gemma4-7", GEMMA, "<|channel>thought\nr<channel|>A<|channel>thought\ns<channel|>B", "rs", "AB", []),
    ("gemma4-8", GEMMA, "A<|tool_call>call:clock{}<tool_call|>B", None, "AB", [("clock", "{}")]),
    (
        "gemma4-9",
        {**GEMMA, "tools": None},
        "<|tool_call>call:ns.tool-x{a:1}<tool_call|>",
        None,
        None,
        [("ns.tool-x", '{"a": 1}')],
    ),
    ("gemma4-10", GEMMA, "<|channel>thought\nplan", "plan", None, []),
    # GLM: drafts, verbatim values, reopened thinking.
    ("glm-1", GLM, "r<tool_call>g</tool_call>", "r", None, [("g", "{}")]),
    ("glm-2", GLM, "r</think><tool_call>zzz</tool_call>", "r", None, [("zzz", "{}")]),
    (
        "glm-3a",
        GLM,
        f"</think><tool_call>f\n{pair('s', 'v')}\n</tool_call>\n<tool_call>g\n</tool_call>",
        None,
        None,
        [("f", '{"s": "v"}'), ("g", "{}")],
    ),
    (
        "glm-3b",
        GLM,
        f"</think><tool_call>f{pair('s', 'v')}</tool_call><tool_call>g</tool_call>",
        None,
        None,
        [("f", '{"s": "v"}'), ("g", "{}")],
    ),
    (
        "glm-4",
        GLM,
        f"</think><tool_call>f{pair('s', ' x ')}</tool_call>",
        None,
        None,
        [("f", '{"s": " x "}')],
    ),
    (
        "glm-5",
        GLM,
        f"</think><tool_call>f{pair('s', 'a </tool_call> b')}</tool_call>",
        None,
        None,
        [("f", '{"s": "a </tool_call> b"}')],
    ),
    ("glm-6", GLM, "r</think>A<think>s</think>B", "rs", "AB", []),
    ("glm-7", GLM_OFF, "<think>r</think>A", "r", "A", []),
    ("glm-8", GLM_OFF, "A", None, "A", []),
    (
        "glm-9",
        {**GLM, "prompt": "<|user|><tool_call>f</tool_call></think><|assistant|>\n<think>"},
        "r",
        "r",
        None,
        [],
    ),
    (
        "glm-10",
        GLM,
        f"</think><tool_call>f{pair('s', 'a')}{pair('n', '3')}{pair('s', 'b')}</tool_call>",
        None,
        None,
        [("f", '{"s": "a", "n": 3}')],
    ),
    # Granite's phrases.
    ("granite-1", GRANITE, "Here's my thought process: a Here is my response: b", "a", "b", []),
    ("granite-2", GRANITE, "Here is the answer", None, "Here is the answer", []),
    ("granite-3", GRANITE, "Here is my thought process: a Here is x", "a Here is x", None, []),
    ("granite-4", GRANITE, "Here is my thought process: ", None, None, []),
    ("granite-5", GRANITE, " Here is my thought process: a", "a", None, []),
    ("granite-6a", GRANITE, "so Here", None, "so Here", []),
    ("granite-6b", GRANITE, "Here is my thought process: so Here", "so Here", None, []),
    # Hermes.
    (
        "hermes-1a",
        HERMES,
        '<tool_call>{"arguments": {"n": 1}, "id": "7", "name": "f"}</tool_call>',
        None,
        None,
        [("f", '{"n": 1}')],
    ),
    (
        "hermes-1b",
        HERMES,
        '<tool_call>{"name": "f", "type": "function", "parameters": {"n":1}}</tool_call>',
        None,
        None,
        [("f", '{"n":1}')],
    ),
    (
        "hermes-2",
        HERMES,
        envelope("f", '{"s": "a </tool_call> b"}'),
        None,
        None,
        [("f", '{"s": "a </tool_call> b"}')],
    ),
    (
        "hermes-3",
        HERMES,
        f"{envelope('f')}<tool_call>junk</tool_call>",
        None,
        "<tool_call>junk</tool_call>",
        [("f", "{}")],
    ),
    ("hermes-4", HERMES, "a <", None, "a <", []),
    ("hermes-5", HERMES, envelope("f", '"{\\"n\\": 1}"'), None, None, [("f", '{"n": 1}')]),
    ("hermes-6a", HERMES, '<tool_call>{"name": "f"}</tool_call>', None, None, [("f", "{}")]),
    ("hermes-6b", HERMES, envelope("f", "null"), None, None, [("f", "{}")]),
    ("hermes-8", HERMES, f"{envelope('f')} and so", None, " and so", [("f", "{}")]),
    (
        "hermes-9",
        HERMES,
        envelope("f", '{"o": {"s": "\\"}\\u00e9\\\\"}}'),
        None,
        None,
        [("f", '{"o": {"s": "\\"}\\u00e9\\\\"}}')],
    ),
    (
        "hermes-10",
        HERMES,
        '<tool_call>[{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"n": 1}}]</tool_call>',
        None,
        None,
        [("f", "{}"), ("g", '{"n": 1}')],
    ),
    # Kimi K2.
    ("kimi_k2-1", KIMI, f"{KS} {KB} functions.f:0 \n{KM} {{}} {KC}\n{KE}", None, None, [("f", "{}")]),
    (
        "kimi_k2-2",
        KIMI,
        f"{KS}{KB}functions.f:0{KM}{{}}{KB}functions.g:1{KM}{{}}{KC}{KE}",
        None,
        None,
        [("f", "{}"), ("g", "{}")],
    ),
    ("kimi_k2-3", KIMI, f"{KS}{KB}functions.f:0{KM}{KC}{KE}", None, None, [("f", "{}")]),
    ("kimi_k2-4", KIMI, f"{KS}{KB}functions.ns:f:3{KM}{{}}{KC}{KE}", None, None, [("ns:f", "{}")]),
    ("kimi_k2-5", KIMI, f"{KS}{KB}f{KM}{{}}{KC}{KE}", None, None, [("f", "{}")]),
    (
        "kimi_k2-6",
        KIMI,
        f'{KS}{KB}functions.f:0{KM}{{"s": "a {KC} b"}}{KC}{KE}',
        None,
        None,
        [("f", f'{{"s": "a {KC} b"}}')],
    ),
    (
        "kimi_k2-8",
        {**KIMI_OPEN, "prompt": f"{KS}{KB}f{KC}{KE}<|im_assistant|>assistant<|im_middle|><think>"},
        "r",
        "r",
        None,
        [],
    ),
    ("kimi_k2-9", KIMI, f"{KS}{KB}functions.f:0{KM}{{}}{KC}{KE}Done.", None, "Done.", [("f", "{}")]),
    # Harmony.
    ("gpt_oss-2", HARMONY, '<|channel|>final json<|message|>{"a":1}<|return|>', None, '{"a":1}', []),
    (
        "gpt_oss-3",
        HARMONY,
        ' to=functions.f<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"q":1}<|call|>',
        None,
        None,
        [("f", '{"q":1}')],
    ),
    (
        "gpt_oss-4",
        HARMONY,
        "<|channel|>commentary to=functions.f <|constrain|> json<|message|>{}<|call|>",
        None,
        None,
        [("f", "{}")],
    ),
    # 5 differs: arguments that are no object are no call, and stay readable as content.
    (
        "gpt_oss-5",
        HARMONY,
        "<|channel|>commentary to=functions.f code<|message|>print(1)<|call|>",
        None,
        "print(1)",
        [],
    ),
    (
        "gpt_oss-6a",
        HARMONY,
        "<|channel|>analysis to=functions.f json<|message|>{}<|call|>",
        None,
        None,
        [("f", "{}")],
    ),
    (
        "gpt_oss-6b",
        HARMONY,
        "<|channel|>final to=functions.f json<|message|>{}<|call|>",
        None,
        None,
        [("f", "{}")],
    ),
    (
        "gpt_oss-7a",
        HARMONY,
        '<|channel|>analysis to=browser.search code<|message|>{"q":1}<|call|>',
        '{"q":1}',
        None,
        [],
    ),
    ("gpt_oss-7b", HARMONY, "<|channel|>commentary to=python code<|message|>1+1<|call|>", None, None, []),
    ("gpt_oss-8", HARMONY, "<|channel|>commentary to=assistant json<|message|>{}<|call|>", None, None, []),
    (
        "gpt_oss-9",
        HARMONY,
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>analysis<|message|>b<|end|>"
        "<|start|>assistant<|channel|>final<|message|>c<|end|><|start|>assistant<|channel|>final<|message|>d<|return|>",
        "ab",
        "cd",
        [],
    ),
    (
        "gpt_oss-10",
        HARMONY,
        "<|channel|>commentary to=functions.f<|message|>{}<|call|>"
        '<|start|>assistant<|channel|>commentary to=functions.f<|message|>{"n": 1}<|call|>',
        None,
        None,
        [("f", "{}"), ("f", '{"n": 1}')],
    ),
    (
        "gpt_oss-12",
        HARMONY,
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>fi",
        "a",
        None,
        [],
    ),
    ("gpt_oss-13", HARMONY, "<|message|>Hi<|return|>", None, "Hi", []),
    ("gpt_oss-14", HARMONY, "Hi there", None, "Hi there", []),
    # 15: no tools were offered, so the text of the call is content; the frames of channels stay markup.
    (
        "gpt_oss-15",
        {**HARMONY, "tool_choice": "none"},
        '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"q":1}<|call|>',
        None,
        '{"q":1}',
        [],
    ),
    (
        "gpt_oss-16",
        HARMONY,
        "<|start|>assistant<|channel|>commentary<|message|>pre<|end|><|start|>assistant<|channel|>final<|message|>Hi",
        None,
        "preHi",
        [],
    ),
    ("gpt_oss-18a", HARMONY, "<|channel|>final<|message|>Hi<|return|>", None, "Hi", []),
    ("gpt_oss-18b", HARMONY, "<|channel|>final<|message|>Hi", None, "Hi", []),
    # Llama 3: an object at the start of a line that names a declared tool.
    ("llama_json-1", LLAMA, bare("a"), None, None, [("a", "{}")]),
    *(
        (
            f"llama_json-2-{n}",
            LLAMA,
            f"{bare('a')}{between}{bare('b')}",
            None,
            None,
            [("a", "{}"), ("b", "{}")],
        )
        for n, between in enumerate(("", ";", "; ", "\n"))
    ),
    ("llama_json-3", LLAMA, f"Sure.\n{bare('a')}", None, "Sure.", [("a", "{}")]),
    ("llama_json-4", LLAMA, '{"answer": 42}', None, '{"answer": 42}', []),
    (
        "llama_json-5",
        LLAMA,
        '<|python_tag|>brave_search.call(query="x")',
        None,
        '<|python_tag|>brave_search.call(query="x")',
        [],
    ),
    ("llama_json-6", LLAMA, '{"parameters": {"x": 1}, "name": "a"}', None, None, [("a", '{"x": 1}')]),
    ("llama_json-7", LLAMA, bare("a", '{"s": "a } ; { b"}'), None, None, [("a", '{"s": "a } ; { b"}')]),
    ("llama_json-9", LLAMA, bare("a", '"{\\"x\\": 1}"'), None, None, [("a", '{"x": 1}')]),
    ("llama_json-10", LLAMA, bare("a", "null"), None, None, [("a", "{}")]),
    (
        "llama_json-11",
        LLAMA,
        bare("get", '{"n": 1.0, "e": 1e3}'),
        None,
        None,
        [("get", '{"n": 1.0, "e": 1e3}')],
    ),
    # Mistral.
    ("mistral-1", MISTRAL, '[THINK]plan[TOOL_CALLS]add[ARGS]{"a": 1}', "plan", None, [("add", '{"a": 1}')]),
    ("mistral-2", MISTRAL, '[TOOL_CALLS]add{"a": 1}', None, None, [("add", '{"a": 1}')]),
    (
        "mistral-3",
        MISTRAL,
        '[TOOL_CALLS]add[CALL_ID]abcDEF123[ARGS]{"a":1}',
        None,
        None,
        [("add", '{"a":1}')],
    ),
    (
        "mistral-4",
        MISTRAL,
        '[TOOL_CALLS]get[ARGS]{"q": "a}b{\\"c"}',
        None,
        None,
        [("get", '{"q": "a}b{\\"c"}')],
    ),
    ("mistral-6", MISTRAL, '[TOOL_CALLS]add[ARGS]{"a": 1}[TOOL_CALLS]', None, None, [("add", '{"a": 1}')]),
    (
        "mistral-7a",
        MISTRAL,
        '[TOOL_CALLS] {"name":"add","arguments":{"a":1}}',
        None,
        None,
        [("add", '{"a":1}')],
    ),
    (
        "mistral-7b",
        MISTRAL,
        '[TOOL_CALLS][TOOL_CALLS][{"name":"add","arguments":{"a":1}}]',
        None,
        None,
        [("add", '{"a":1}')],
    ),
    # 8: without the marker it is no call; a required call is enforced with the marker.
    (
        "mistral-8",
        MISTRAL,
        '[{"name":"add","arguments":{"a":1}}]',
        None,
        '[{"name":"add","arguments":{"a":1}}]',
        [],
    ),
    ("mistral-10a", MISTRAL, "[THINK]a", "a", None, []),
    ("mistral-10b", MISTRAL, "[THINK][/THINK]x", None, "x", []),
    ("mistral-11", MISTRAL, '[TOOL_CALLS]add[ARGS]{"a": 1}</s>', None, None, [("add", '{"a": 1}')]),
    # Python lists.
    ("pythonic-1", PYTHON, "[f()]", None, None, [("f", "{}")]),
    ("pythonic-2", PYTHON, "Let me check.\n[a(x=1)]", None, "Let me check.", [("a", '{"x": 1}')]),
    ("pythonic-3", PYTHON, "[a(x=1)]\nDone", None, "\nDone", [("a", '{"x": 1}')]),
    *(
        (f"pythonic-4-{n}", PYTHON, text, None, text, [])
        for n, text in enumerate(("[1, 2, 3]", "[see](http://x)", "[]"))
    ),
    ("pythonic-5a", PYTHON, "[ns.tool(x=1)]", None, None, [("ns.tool", '{"x": 1}')]),
    ("pythonic-5b", PYTHON, "[my-tool(x=1)]", None, None, [("my-tool", '{"x": 1}')]),
    ("pythonic-6", PYTHON, "[a(x='l1\nl2')]", None, None, [("a", '{"x": "l1\\nl2"}')]),
    ("pythonic-7", PYTHON, "[a(s=']), b(')]", None, None, [("a", '{"s": "]), b("}')]),
    (
        "pythonic-8",
        PYTHON,
        "[a(x=-1.5, y=+2, z=(1, 2), w={'k': None})]",
        None,
        None,
        [("a", '{"x": -1.5, "y": 2, "z": [1, 2], "w": {"k": null}}')],
    ),
    ("pythonic-9", PYTHON, '[a("pos")]', None, '[a("pos")]', []),
    ("pythonic-10", PYTHON, "[a(from='x')]", None, None, [("a", '{"from": "x"}')]),
    ("pythonic-11", PYTHON, "[a(x=1)", None, None, [("a", '{"x": 1}')]),
    (
        "llama4_pythonic-1",
        LLAMA4,
        "Hi <|python_start|>[a(x=1)]<|python_end|> done",
        None,
        "Hi  done",
        [("a", '{"x": 1}')],
    ),
    (
        "llama4_pythonic-2",
        LLAMA4,
        "<|python_start|>print(1)<|python_end|>",
        None,
        "<|python_start|>print(1)<|python_end|>",
        [],
    ),
    ("llama4_pythonic-3", LLAMA4, "[a(x=1)]", None, None, [("a", '{"x": 1}')]),
    # Qwen3.
    ("qwen3-2", QWEN, "</think>Use the <tool_call> tag.", None, "Use the <tool_call> tag.", []),
    ("qwen3-3", QWEN, f"</think>A {function()} B", None, "A B", [("f", "{}")]),
    (
        "qwen3-4",
        QWEN,
        "</think><tool_call>\n<function=f>\n<parameter=s>\nab\n</function>\n</tool_call>",
        None,
        None,
        [("f", '{"s": "ab"}')],
    ),
    (
        "qwen3-5",
        QWEN,
        f"</think>{function(parameter('s', 'a') + parameter('s', 'b'))}",
        None,
        None,
        [("f", '{"s": "a"}')],
    ),
    (
        "qwen3-6",
        QWEN,
        f"</think>{function(parameter('s', chr(10) + 'x' + chr(10)))}",
        None,
        None,
        [("f", '{"s": "\\nx\\n"}')],
    ),
    (
        "qwen3-7a",
        QWEN,
        "</think><function=f>\n<parameter=n> 3 </parameter>\n</function>",
        None,
        None,
        [("f", '{"n": 3}')],
    ),
    ("qwen3-7b", QWEN, f"</think>{function(parameter('n', 'abc'))}", None, None, [("f", '{"n": "abc"}')]),
    (
        "qwen3-7c",
        QWEN,
        f"</think>{function(parameter('nullable', 'null'))}",
        None,
        None,
        [("f", '{"nullable": null}')],
    ),
    ("qwen3-9", QWEN, f"think{function(parameter('s', 'a'))}", "think", None, [("f", '{"s": "a"}')]),
    ("qwen3-10", {**QWEN, "chat_template_kwargs": {"enable_thinking": None}}, "r", "r", None, []),
    (
        "qwen3-11",
        {**QWEN, "prompt": "<|im_start|>assistant\nr</think>Hi<|im_end|>\n<|im_start|>assistant\n<think>\n"},
        "r",
        "r",
        None,
        [],
    ),
    (
        "qwen3-12",
        QWEN,
        '</think><tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>',
        None,
        None,
        [("f", "{}")],
    ),
]


@pytest.mark.parametrize(
    ("options", "text", "reasoning", "content", "calls"),
    [row[1:] for row in CALLS],
    ids=[row[0] for row in CALLS],
)
def test_case(
    options: dict[str, Any],
    text: str,
    reasoning: str | None,
    content: str | None,
    calls: list[tuple[str, str]],
) -> None:
    parser = Parser(**{"tools": TOOLS, **options})
    assert strands(read_every_way(parser, text)) == (reasoning, content, calls)


CUTS = [
    ("deepseek_v3-5", V31, f'{S}{B}f{M}{{"s": "ab', '{"s": "ab'),
    ("gemma4-11", GEMMA, '<|tool_call>call:weather{city:<|"|>Par', '{"city": "Par'),
    ("hermes-7", HERMES, '<tool_call>{"name": "f", "arguments": {"s": "ab', '{"s": "ab'),
    ("gpt_oss-17", HARMONY, '<|channel|>commentary to=functions.f<|message|>{"s": "ab', '{"s": "ab'),
    ("llama_json-8", LLAMA, '{"name": "a", "parameters": {"x": "tr', '{"x": "tr'),
    ("qwen3-8", QWEN, "</think><tool_call>\n<function=f>\n<parameter=s>\nabc\n</para", '{"s": "abc'),
]


@pytest.mark.parametrize(
    ("options", "text", "arguments"), [row[1:] for row in CUTS], ids=[row[0] for row in CUTS]
)
def test_cut_call_keeps_what_came(options: dict[str, Any], text: str, arguments: str) -> None:
    """A call that is cut keeps the arguments that are proved, is not complete, and leaks nothing."""
    message = read_every_way(Parser(**{"tools": TOOLS, **options}), text, "length")
    assert message.content is None
    assert [(call.arguments, call.complete) for call in message.tool_calls] == [(arguments, False)]
    assert message.finish_reason == "length"


SPELLED = [
    ("gemma4-12", GEMMA, "<|tool_call>call:f{}<tool_call|>"),
    ("mistral-5", MISTRAL, '[TOOL_CALLS]add[ARGS]{"a": 1}'),
    ("deepseek_v3-spelled", V31, f"{S}{v31('f', '{}')}{E}"),
    ("qwen3-2-spelled", {**QWEN, "prompt": "<|im_start|>assistant\n"}, "Use the <tool_call> tag."),
]


@pytest.mark.parametrize(("options", "text"), [row[1:] for row in SPELLED], ids=[row[0] for row in SPELLED])
def test_marker_of_ordinary_tokens_is_text(options: dict[str, Any], text: str) -> None:
    """The vocabulary holds the markers as special tokens; the model wrote the same characters one by one."""
    specials = [
        "<|tool_call>",
        "<tool_call|>",
        "[TOOL_CALLS]",
        "[ARGS]",
        "<tool_call>",
        "</tool_call>",
        S,
        E,
        B,
        M,
        C,
    ]
    table = TokenTable(
        {**{ord(char): char for char in text}, **{2_000_000 + n: one for n, one in enumerate(specials)}},
        range(2_000_000, 2_000_000 + len(specials)),
    )
    parser = Parser(**{"tools": TOOLS, **options}, tokenizer=table)
    message = read_every_way(parser, text, ids=[(char, [ord(char)]) for char in text])
    assert strands(message) == (None, text, [])


def test_qwen3_1_a_real_opener_without_a_call() -> None:
    """The opener's own token, with no call behind it, is content: the whole text."""
    table = TokenTable({1: "<tool_call>", 2: "Use the ", 3: " tag."}, [1])
    parser = Parser(**QWEN, tools=TOOLS, tokenizer=table, prompt="<|im_start|>assistant\n")
    pieces = [("Use the ", [2]), ("<tool_call>", [1]), (" tag.", [3])]
    assert strands(read_every_way(parser, "Use the <tool_call> tag.", ids=pieces)) == (
        None,
        "Use the <tool_call> tag.",
        [],
    )


def test_kimi_k2_7_an_end_marker_in_thought() -> None:
    table = TokenTable({1: "</think>", 2: "see ", 3: "</thi", 4: "nk>", 5: " in thought", 6: "Hi"}, [1])
    parser = Parser(**KIMI_OPEN, tokenizer=table)
    pieces = [
        ("see ", [2]),
        ("</thi", [3]),
        ("nk>", [4]),
        (" in thought", [5]),
        ("</think>", [1]),
        ("Hi", [6]),
    ]
    text = "".join(piece for piece, _ in pieces)
    assert strands(read_every_way(parser, text, ids=pieces)) == ("see </think> in thought", "Hi", [])


def test_kimi_k2_10_ids_continue() -> None:
    parser = Parser(**KIMI, history_calls=3)
    message = parser.parse(f"{KS}{KB}functions.f{KM}{{}}{KC}{KB}g{KM}{{}}{KC}{KE}")
    assert [call.id for call in message.tool_calls] == ["functions.f:3", "functions.g:4"]


def test_mistral_3_the_models_own_id() -> None:
    message = Parser(**MISTRAL).parse('[TOOL_CALLS]add[CALL_ID]abcDEF123[ARGS]{"a":1}')
    assert [call.id for call in message.tool_calls] == ["abcDEF123"]


HEADERS = [
    "<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.f<|constrain|>json<|message|>",
    "<|channel|>commentary to=functions.f json<|message|>",
    "<|channel|>commentary to=functions.f<|message|>",
    " to=functions.f<|channel|>commentary<|message|>",
    " to=functions.f<|channel|>commentary json<|message|>",
    " to=functions.f<|channel|>analysis <|constrain|>json<|message|>",
    "<|start|>assistant to=functions.f<|channel|>commentary<|message|>",
    "<|start|>assistant<|channel|>commentary to=functions.f <|constrain|>json<|message|>",
]


@pytest.mark.parametrize("header", HEADERS)
@pytest.mark.parametrize("end", ["<|call|>", "<|end|>", ""])
def test_gpt_oss_1_every_header_spelling(header: str, end: str) -> None:
    message = read_every_way(Parser(**HARMONY, tools=TOOLS), f'{header}{{"n": 1}}{end}')
    assert strands(message) == (None, None, [("f", '{"n": 1}')])


def test_gpt_oss_11_an_emoji_over_tokens() -> None:
    head = "<|channel|>commentary to=functions.f<|message|>"
    emoji = "😀".encode()
    specials = {1: "<|channel|>", 2: "<|message|>", 3: "<|call|>"}
    table = TokenTable(
        {
            **specials,
            4: "commentary to=functions.f",
            5: '{"q": "caf\u00e9 ',
            6: emoji[:2],
            7: emoji[2:],
            8: '"}',
        },
        specials,
    )
    pieces: list[tuple[str, list[int] | None]] = [("<|channel|>", [1]), ("commentary to=functions.f", [4])]
    pieces += [
        ("<|message|>", [2]),
        ('{"q": "café ', [5]),
        ("", [6]),
        ("😀", [7]),
        ('"}', [8]),
        ("<|call|>", [3]),
    ]
    text = head + '{"q": "café 😀"}<|call|>'
    message = read_every_way(Parser(**HARMONY, tokenizer=table), text, ids=pieces)
    assert strands(message) == (None, None, [("f", '{"q": "café 😀"}')])
