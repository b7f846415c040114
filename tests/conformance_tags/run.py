"""Check every structural tag with xgrammar's own matcher, and write docs/tags-report.json.

xgrammar needs torch, so this runs in an environment of its own (see requirements.txt):

    PYTHONPATH=src:. python tests/conformance_tags/run.py

Per tag: it compiles; the canonical rendering of a message is accepted whole; with open
thinking the same call without its end marker is refused; in thinking, prose is allowed;
behind the end marker only white space and what begins a call (or an answer) is.

``--changed`` checks only the tags that the report doesn't hold, or holds as wrong.
"""

from __future__ import annotations

import json
import sys
import time
import types
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any

if "transformers" not in sys.modules:
    try:
        import transformers  # noqa: F401
    except ImportError:  # only named in annotations and isinstance checks
        stub = types.ModuleType("transformers")
        for name in ("LogitsProcessor", "PreTrainedTokenizerBase", "PreTrainedTokenizerFast"):
            setattr(stub, name, type(name, (), {}))
        sys.modules["transformers"] = stub

import torch
import xgrammar

from tests.conformance_tags.tags import ANSWER, CHOICES, NOTE, TOOLS, Tag, tags, vocabulary
from tests.constrain.cases import halves
from unbraid.message import Message, ToolCall
from unbraid.syntax import Channels, Reasoning
from unbraid.writer import write

REPORT = Path(__file__).parents[2] / "docs" / "tags-report.json"
WRITER_STATES = {"open": "open", "output": "absent", "optional": "absent", "off": "closed"}
_ENGINES: dict[tuple[str, ...], tuple[Any, list[bytes]]] = {}


def engine(special: tuple[str, ...]) -> tuple[Any, list[bytes]]:
    """A compiler over the byte vocabulary with these special tokens."""
    if special not in _ENGINES:
        pieces = vocabulary(special)
        info = xgrammar.TokenizerInfo(
            pieces, xgrammar.VocabType.RAW, vocab_size=len(pieces), stop_token_ids=[len(pieces) - 1]
        )
        _ENGINES[special] = (xgrammar.GrammarCompiler(info, max_threads=1), pieces)
    return _ENGINES[special]


def encode(text: str, special: tuple[str, ...]) -> list[int]:
    """The ids of a text, special tokens whole."""
    ids: list[int] = []
    at = 0
    ordered = sorted(special, key=len, reverse=True)
    while at < len(text):
        found = next((one for one in ordered if text.startswith(one, at)), None)
        if found is None:
            ids += text[at].encode()
            at += 1
        else:
            ids.append(256 + special.index(found))
            at += len(found)
    return ids


def taken(compiled: Any, ids: list[int]) -> tuple[int, Any]:
    """How many tokens are accepted, and the matcher behind them."""
    matcher = xgrammar.GrammarMatcher(compiled)
    for n, token in enumerate(ids):
        if not matcher.accept_token(token):
            return n, matcher
    return len(ids), matcher


def allowed(matcher: Any, size: int) -> set[int]:
    """The tokens that may come next."""
    bitmask = xgrammar.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(bitmask)
    words = bitmask[0].to(torch.int64)
    return {n for n in range(size) if (int(words[n // 32]) >> (n % 32)) & 1}


def renderings(tag: Tag) -> list[tuple[str, Message]]:
    """Canonical texts of messages that the tag must accept."""
    thought = "so\nit is" if tag.reasoning is not None and tag.state != "off" else None
    arguments = json.dumps({"city": "Bærum", "days": 3, "unit": "f", "place": {"x": 1.5}}, ensure_ascii=False)
    calls = [ToolCall("functions.weather:0", "weather", arguments)]
    _, half = halves(tag.reasoning, tag.tool)
    if tag.choice in ("required", "auto", "schema") and half.calls_per_turn != 1:
        calls.append(ToolCall("functions.ping:1", "ping", "{}"))
    tools = TOOLS[tag.strict]
    state = WRITER_STATES[tag.state]
    called = Message(reasoning=thought, tool_calls=calls)
    found = [(write(tag.reasoning, tag.tool, called, tools=tools, thinking=state), called)]
    if tag.choice == "schema" and not isinstance(half, Channels):
        prose = Message(reasoning=thought, content="ANSWER")
        text = write(tag.reasoning, tag.tool, prose, tools=tools, thinking=state)
        found.append((text.replace("ANSWER", answer('a "b"\n')), prose))
    return found


def answer(note: str) -> str:
    """An answer by the response schema."""
    return json.dumps({"ok": True, "note": note})


def notes(tag: Tag, compiled: Any) -> list[str]:
    """What is wrong with the bounded string of an answer: its length, and markers in it."""
    half, _ = halves(tag.reasoning, tag.tool)
    text, _ = renderings(tag)[-1]
    odd = ["x" * (NOTE + 1)]
    if isinstance(half, Reasoning) and half.close.text not in tag.special:
        odd.append(half.close.text)
    wrong: list[str] = []
    for note in odd:
        ids = encode(text.replace(answer('a "b"\n'), answer(note)), tag.special)
        if taken(compiled, ids)[0] == len(ids):
            wrong.append(f"the answer may hold {note!r}")
    return wrong


def check(tag: Tag) -> list[str]:
    """What is wrong with a tag."""
    compiler, pieces = engine(tag.special)
    compiled = compiler.compile_structural_tag(json.dumps(tag.constraint.structural_tag()))
    eos = len(pieces) - 1
    wrong: list[str] = []
    half, calls = halves(tag.reasoning, tag.tool)
    for text, message in renderings(tag):
        ids = encode(text, tag.special)
        count, matcher = taken(compiled, ids)
        if count < len(ids) or not matcher.accept_token(eos):
            wrong.append(f"refused at {count} of {len(ids)}: {text!r}")
        if tag.state == "open" and isinstance(half, Reasoning):
            wrong += boundary(tag, compiled, text, message, half)
    if tag.choice == "schema" and not isinstance(calls, Channels):
        wrong += notes(tag, compiled)
    if tag.choice in ("required", "named", "single"):
        for prose in ("", "Hello."):
            _, matcher = taken(compiled, encode(prose, tag.special))
            if matcher.accept_token(eos):
                wrong.append(f"ends without a call behind {prose!r}")
    return wrong


def boundary(tag: Tag, compiled: Any, text: str, message: Message, half: Reasoning) -> list[str]:
    """The end of open thinking: what is refused without it, and what may come before and behind."""
    end = next(one for one in half.close.spellings if one in text)
    at = text.index(end) + len(end)
    wrong: list[str] = []
    implicit = half.tools_inside in ("end", "stay")
    behind = encode(text[at:], tag.special)
    count, matcher = taken(compiled, behind)
    if (
        not implicit
        and message.tool_calls
        and count == len(behind)
        and matcher.accept_token(len(vocabulary(tag.special)) - 1)
    ):
        wrong.append("the call alone is accepted in open thinking")
    size = len(vocabulary(tag.special))
    _, inside = taken(compiled, encode("so it", tag.special))
    if not {ord("a"), ord(" "), ord("\n"), ord("<")} <= allowed(inside, size):
        wrong.append("prose is not allowed in thinking")
    if size - 1 in allowed(inside, size):
        wrong.append("the turn may end in thinking")
    if tag.by == "tokens" and end in tag.special:
        spelled = list(f"so it{end}".encode())
        if taken(compiled, spelled)[0] == len(spelled):
            wrong.append("the end of thinking may be spelled with ordinary tokens")
    if tag.choice in ("required", "named", "single"):
        _, after = taken(compiled, encode("so it" + end, tag.special))
        first = encode(text[at:].lstrip(), tag.special)[0]
        odd = allowed(after, size) - {ord(" "), ord("\n"), first}
        if odd:
            wrong.append(f"behind the end of thinking {sorted(odd)[:8]} are allowed")
    return wrong


def sound() -> dict[str, str]:
    """The digests of the tags that the report holds and with which nothing was wrong."""
    report = json.loads(REPORT.read_text())
    if report["xgrammar"] != version("xgrammar"):
        return {}
    return {key: digest for key, digest in report["digests"].items() if key not in report["failed"]}


def main() -> int:
    """Run every check; returns the number of tags with something wrong."""
    started = time.perf_counter()
    digests: dict[str, str] = {}
    failures: dict[str, list[str]] = {}
    known = sound() if "--changed" in sys.argv[1:] else {}
    for tag in tags():
        digests[tag.key] = tag.constraint.digest
        if known.get(tag.key) == digests[tag.key]:
            continue
        try:
            wrong = check(tag)
        except Exception as problem:  # a tag that xgrammar refuses is a result, not a crash
            wrong = [f"{type(problem).__name__}: {str(problem)[:300]}"]
        if wrong:
            failures[tag.key] = wrong
    report = {
        "xgrammar": version("xgrammar"),
        "torch": version("torch"),
        "checked": len(digests),
        "failed": failures,
        "choices": sorted(CHOICES),
        "answer_schema": ANSWER,
        "digests": digests,
    }
    REPORT.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    seconds = time.perf_counter() - started
    kinds = Counter(key.partition("/")[0] for key in failures)
    print(f"{len(digests)} tags, {len(failures)} with something wrong {dict(kinds)}, {seconds:.0f} s")
    for key, wrong in list(failures.items())[:20]:
        print(key, wrong[0][:400])
    return len(failures)


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
