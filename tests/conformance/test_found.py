"""Outputs that these suites, cut and spliced, once got wrong: every split of each gives one message."""

from __future__ import annotations

import pytest

from unbraid import Parser

from .cases import conserved, differences
from .replay import CountedIds, splits, stream

FOUND = {
    "nothing": ("hermes", "qwen3", ""),
    "long key": ("llama3_json", None, '{"name": "f", "argum' + "e" * 40 + '": {}} and text'),
    "long key, escape at the limit": ("hermes", None, '<tool_call>{"' + "a" * 31 + '\\n": 1}</tool_call>'),
    "long key, control character": ("hermes", None, '<tool_call>{"' + "a" * 32 + '\tb": 1}</tool_call>'),
}


@pytest.mark.parametrize("name", FOUND)
def test_found(name: str) -> None:
    tool, reasoning, text = FOUND[name]
    make_id = CountedIds()
    parser = Parser(reasoning, tool, make_id=make_id, spans=True)
    message = parser.parse(text)
    assert not list(conserved(text, message))
    for pieces in splits(text).values():
        make_id.reset()
        streamed, _ = stream(parser, pieces, "stop")
        assert not list(differences(message.as_dict(), streamed.as_dict()))


def test_framing_behind_thinking_that_the_prompt_closed() -> None:
    prompt = "<|assistant|>\n<think></think>"
    assert Parser("glm45", "glm45", prompt=prompt).parse("\nHello").content == "Hello"
    assert Parser("glm45", "glm45", prompt=prompt + "\n").parse("\nHello").content == "\nHello"
    off = {"enable_thinking": False}
    assert Parser("glm45", "glm45", chat_template_kwargs=off).parse("\nHello").content == "Hello"
