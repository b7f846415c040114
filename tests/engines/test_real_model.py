"""The embedded engine with the real model."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path

import httpx
import pytest

from unbraid.engines.base import Chunk, Constraint, Generation, Sampling
from unbraid.engines.budget import with_thinking_budget
from unbraid.engines.embedded import EmbeddedEngine
from unbraid.engines.gguf import GGUF, make_thinking_model
from unbraid.engines.llamacpp import LlamaCppEngine
from unbraid.errors import EngineError, InvalidRequest, Unsupported

from .helpers import collect, ids_of, text_of

THINK, END_THINK, CALL, END_CALL = 11, 12, 13, 14
GREEDY = Sampling(temperature=0.0, max_tokens=24)
EMOJI = "repeat: 😀😀😀😀😀 日本語日本語日本語 😀😀😀😀"
CHAT = "<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"


def run(engine: LlamaCppEngine, prompt: str, sampling: Sampling = GREEDY, **options: object) -> list[Chunk]:
    generation = Generation(prompt, sampling, **options)  # type: ignore[arg-type]
    return asyncio.run(collect(engine.generate(generation)))


def spelled(engine: LlamaCppEngine, chunks: list[Chunk]) -> str:
    return b"".join(map(engine.tokenizer.token_bytes, ids_of(chunks))).decode()


def test_text_and_ids_belong_together(engine: EmbeddedEngine) -> None:
    chunks = run(engine, CHAT.format("What is 1+1? Answer with one number only."), logprobs=2)
    assert text_of(chunks).endswith("<|im_end|>")
    assert spelled(engine, chunks) == text_of(chunks)
    last = chunks[-1]
    assert (last.finish_reason, last.completion_tokens) == ("stop", len(ids_of(chunks)))
    assert last.prompt_tokens == len(
        engine.tokenizer.encode(CHAT.format("What is 1+1? Answer with one number only."))
    )
    first = chunks[0].logprobs[0]
    assert first.token_id == chunks[0].token_ids[0] == first.top[0][0]
    assert len(first.top) == 2


def test_characters_of_several_tokens(engine: EmbeddedEngine) -> None:
    sampling = Sampling(temperature=0.0, max_tokens=11, logit_bias={END_THINK: -100.0})
    chunks = run(engine, EMOJI, sampling)
    assert "\ufffd" not in text_of(chunks)
    assert spelled(engine, chunks) == text_of(chunks)
    assert text_of(chunks).startswith("😀")
    assert len(chunks[0].token_ids) == 3
    assert (chunks[-1].finish_reason, chunks[-1].completion_tokens) == ("length", 11)


def test_without_the_vocabulary(engine: EmbeddedEngine) -> None:
    remote = LlamaCppEngine(engine.base_url, engine.headers["Authorization"].removeprefix("Bearer "))

    async def drive() -> list[Chunk]:
        await remote.connect()
        chunks = await collect(remote.generate(Generation(EMOJI, GREEDY)))
        assert remote.tokenizer.token_id("</think>") == END_THINK
        await remote.close()
        return chunks

    assert ids_of(asyncio.run(drive())) == ids_of(run(engine, EMOJI))
    assert remote.capabilities.context_length == 1024
    assert remote.chat_template == engine.chat_template


def test_stop_strings(engine: EmbeddedEngine) -> None:
    chunks = run(engine, "1 2 3 4 5 6 7", Sampling(temperature=0.0, max_tokens=24, stop=("10", "zzz")))
    assert text_of(chunks) == " 8 9 "
    assert (chunks[-1].finish_reason, chunks[-1].stop_reason) == ("stop", "10")
    assert spelled(engine, chunks) == text_of(chunks)


def test_special_tokens_are_encoded_whole(engine: EmbeddedEngine) -> None:
    assert engine.tokenizer.encode("<think>a</think>\n<|im_end|>") == [THINK, 81, END_THINK, 198, 2]
    assert asyncio.run(engine.tokenize("<tool_call>")) == [CALL]


def test_abort_frees_the_slot(engine: EmbeddedEngine) -> None:
    async def busy(client: httpx.AsyncClient) -> bool:
        slots = (await client.get("/slots")).json()
        return any(slot["is_processing"] for slot in slots)

    async def drive() -> float:
        async with httpx.AsyncClient(base_url=engine.base_url, headers=engine.headers) as client:
            sampling = Sampling(max_tokens=900, ignore_eos=True)
            chunks = engine.generate(Generation("Once upon a time", sampling))
            await anext(chunks)
            assert await busy(client)
            await chunks.aclose()
            start = time.monotonic()
            while await busy(client):
                assert time.monotonic() - start < 5
                await asyncio.sleep(0.01)
            return time.monotonic() - start

    assert asyncio.run(drive()) < 5


def test_abort_while_the_prompt_is_read(engine: EmbeddedEngine) -> None:
    async def drive() -> float:
        long = asyncio.ensure_future(collect(engine.generate(Generation("word " * 900, GREEDY))))
        await asyncio.sleep(0.3)
        long.cancel()
        with pytest.raises(asyncio.CancelledError):
            await long
        start = time.monotonic()
        await asyncio.sleep(1.2)
        async with httpx.AsyncClient(base_url=engine.base_url, headers=engine.headers) as client:
            while any(slot["is_processing"] for slot in (await client.get("/slots")).json()):
                await asyncio.sleep(1.2)
        return time.monotonic() - start

    assert asyncio.run(drive()) < 5


def test_two_at_once_give_what_each_gives_alone(engine: EmbeddedEngine) -> None:
    prompts = ("1 2 3 4 5", "Once upon a time")

    async def both() -> list[list[Chunk]]:
        runs = (collect(engine.generate(Generation(prompt, GREEDY))) for prompt in prompts)
        return await asyncio.gather(*runs)

    together = [text_of(chunks) for chunks in asyncio.run(both())]
    assert [len(text) > 10 for text in together] == [True, True]
    assert together[0].startswith(" 6 7 8")


def test_a_grammar_of_text(engine: EmbeddedEngine) -> None:
    constraint = Constraint("llguidance", 'start: "answer: " /[0-9]{1,3}/ "."')
    chunks = run(engine, CHAT.format("What is 1+1?"), constraint=constraint)
    assert text_of(chunks).startswith("answer: ")
    assert chunks[-1].finish_reason == "stop"
    assert engine.verify(constraint.grammar, ids_of(chunks)) is None


def test_a_schema(engine: EmbeddedEngine) -> None:
    number = {"type": "integer", "maximum": 99}
    schema = {"type": "object", "properties": {"n": number}, "required": ["n"], "additionalProperties": False}
    constraint = Constraint("json_schema", json.dumps(schema))
    chunks = run(engine, CHAT.format("What is 1+1?"), constraint=constraint)
    assert text_of(chunks).startswith('{"n": ')
    assert chunks[-1].finish_reason == "stop"


def test_a_broken_grammar_never_passes(engine: EmbeddedEngine) -> None:
    with pytest.raises(Unsupported):
        run(engine, "a", constraint=Constraint("llguidance", 'start: "a'))
    with pytest.raises(EngineError, match="grammar"):
        run(engine, "a", constraint=Constraint("gbnf", "root ::= ("))


def thinking_grammar() -> str:
    return f'start: /(.|\\n)*/ <[{END_THINK}]> "\\n" <[{CALL}]> "\\n" /[a-z]{{3,8}}/ "\\n" <[{END_CALL}]>'


@pytest.mark.parametrize("token_type", [3, 4])
def test_the_thinking_model_thinks_and_closes(
    model_path: Path, engine: EmbeddedEngine, token_type: int
) -> None:
    other = (
        None
        if token_type == 3
        else EmbeddedEngine(make_thinking_model(model_path, token_type=4), n_ctx=512, slots=1)
    )
    used = other or engine
    sampling = Sampling(temperature=0.7, top_p=0.9, max_tokens=200, seed=3)
    prompt = CHAT.format("What is the weather in Paris?") + "<think>\n"
    chunks = run(used, prompt, sampling, constraint=Constraint("llguidance", thinking_grammar()))
    ids = ids_of(chunks)
    assert chunks[-1].finish_reason == "stop"
    assert [ids.count(token_id) for token_id in (END_THINK, CALL, END_CALL)] == [1, 1, 1]
    assert ids.index(END_THINK) > 0
    assert "</think>\n<tool_call>\n" in text_of(chunks)
    if other is not None:
        asyncio.run(other.close())


def test_a_budget_on_the_real_engine(engine: EmbeddedEngine) -> None:
    rest = Constraint("llguidance", f'start: <[{CALL}]> "\\n" /[a-z]{{3,8}}/ "\\n" <[{END_CALL}]>')
    sampling = Sampling(temperature=0.0, max_tokens=60, logit_bias={END_THINK: -100.0, 2: -100.0})
    prompt = CHAT.format("Tell me a long story.") + "<think>\n"
    got: list[Chunk] = []

    async def drive() -> None:
        stream = with_thinking_budget(
            engine,
            Generation(prompt, sampling),
            12,
            lambda: "</think>" not in text_of(got),
            "\n</think>\n",
            rest,
        )
        async for chunk in stream:
            got.append(chunk)

    asyncio.run(drive())
    ids = ids_of(got)
    assert ids[12:15] == [198, END_THINK, 198]
    assert ids[15] == CALL
    assert END_CALL in ids
    assert got[-1].completion_tokens == len(ids)
    assert got[-1].prompt_tokens == len(engine.tokenizer.encode(prompt))


def test_a_prompt_that_is_too_long(engine: EmbeddedEngine) -> None:
    with pytest.raises(InvalidRequest, match="too long"):
        run(engine, "a " * 1500)


def test_health_and_what_is_known(engine: EmbeddedEngine, thinking_path: Path) -> None:
    assert asyncio.run(engine.health())
    assert engine.model == thinking_path.stem
    assert engine.chat_template == GGUF(thinking_path).chat_template
    assert engine.template_variables["eos_token"] == "<|im_end|>"
    assert engine.capabilities.dialects == ("llguidance", "gbnf", "json_schema")
    answer = httpx.post(engine.base_url + "/completion", json={"prompt": "a"})
    assert answer.status_code == 401


def test_models_that_can_not_be_loaded(tmp_path: Path, model_path: Path) -> None:
    with pytest.raises(EngineError, match="missing"):
        EmbeddedEngine(tmp_path / "missing.gguf")
    cut = tmp_path / "cut.gguf"
    with model_path.open("rb") as file:
        cut.write_bytes(file.read(3_000_000))
    with pytest.raises(EngineError, match="could not load"):
        EmbeddedEngine(cut)


def test_close_stops_the_server(model_path: Path) -> None:
    engine = EmbeddedEngine(model_path, n_ctx=256, slots=1)

    async def drive() -> None:
        assert await engine.health()
        await engine.close()
        await engine.close()

    asyncio.run(drive())
    with pytest.raises(httpx.ConnectError):
        httpx.get(engine.base_url + "/health")
