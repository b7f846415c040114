"""What each family does in doubtful cases that the corpus can't say: ids, and many spellings of one thing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.laws.reading import read_every_way, strands
from tests.support.hostile import strings, tools_of
from unbraid import Parser, TokenTable
from unbraid.formats import TOOL_PARSERS, tool_format

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


def v31(name: str, arguments: str) -> str:
    return f"{B}{name}{M}{arguments}{C}"


V31 = {"tool_parser": "deepseek_v31"}

# Kimi K2.
KS, KE = "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"
KB, KM, KC = "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"
KIMI = {"tool_parser": "kimi_k2"}
KIMI_OPEN = {"reasoning_parser": "kimi_k2", **KIMI, "prompt": "<|im_assistant|>assistant<|im_middle|><think>"}

GEMMA = {"reasoning_parser": "gemma4", "tool_parser": "gemma4"}
HARMONY = {"reasoning_parser": "openai_gptoss", "tool_parser": "openai"}
MISTRAL = {"reasoning_parser": "mistral", "tool_parser": "mistral"}
QWEN = {"reasoning_parser": "qwen3", "tool_parser": "qwen3_coder"}


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


@pytest.mark.parametrize("name", ["mistral", "mistral_v3", "mistral_nemo", "mistral_small32"])
def test_mistral_an_id_in_an_object_counts_in_front_of_the_arguments(name: str) -> None:
    parser = Parser(None, name, spans=True, make_id=lambda: "own")
    text = (
        '[TOOL_CALLS][{"id": "abcDEF123", "name": "f", "arguments": {}}, {"id": "7", "name": "f", '
        '"arguments": {}}, {"name": "f", "arguments": {}, "id": "abcDEF124"}]'
    )
    message = parser.parse(text)
    assert [call.id for call in message.tool_calls] == ["abcDEF123", "own", "own"]
    spans = [span for span in message.spans or () if span.kind == "id"]
    assert [text[one.start : one.end] for one in spans] == ['"abcDEF123"', '"7"', '"abcDEF124"']
    assert [one.index for one in spans] == [0, 1, 2]


def test_cohere_an_id_is_a_number() -> None:
    parser = Parser(None, "cohere_command3", make_id=lambda: "own")
    items = (
        '{"tool_call_id": "12", "tool_name": "f", "parameters": {}}, {"tool_call_id": "x", "tool_name": "f"}'
    )
    message = parser.parse(f"<|START_ACTION|>[{items}]<|END_ACTION|>")
    assert [call.id for call in message.tool_calls] == ["12", "own"]


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


@pytest.mark.parametrize("name", sorted(TOOL_PARSERS))
def test_an_engine_is_not_told_to_stop_where_a_call_begins(name: str) -> None:
    stop = Parser(None, name).plan.stop
    for one in strings(tool_format(name)):
        assert not any(one != end and one.startswith(end) for end in stop), (one, stop)


def test_a_turn_end_that_begins_a_call_is_no_stop() -> None:
    assert Parser(None, "gigachat3").plan.stop == ("</s>",)
