"""The corpus's cases against the parser, whole and in every split.

``python -m tests.corpus.run`` runs all cases (``--format NAME``: those of one parser,
``--only TEXT``: those whose id holds the text), prints each miss and exits with 1 if
there is one.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from tests.conformance.cases import conserved
from tests.conformance.replay import typed
from tests.laws.reading import read
from unbraid import Message
from unbraid.cli.cases import parser_of, splits_of, tokens_of
from unbraid.errors import UnbraidError
from unbraid.formats import load_own

from .files import cases

Mode = Literal["incremental", "complete"]
MODES: tuple[Mode, ...] = ("incremental", "complete")


def misses(case: Mapping[str, Any]) -> Iterator[str]:
    """Every way in which a case goes wrong, in both modes of arguments."""
    for mode in MODES:
        for what in misses_of(case, mode):
            yield f"[{mode}] {what}"


def misses_of(case: Mapping[str, Any], mode: Mode) -> Iterator[str]:
    """What goes wrong in one mode: the first split that differs is enough."""
    try:
        parser = parser_of(case, arguments=mode, make_id=lambda: "made00000")
    except UnbraidError as error:
        yield f"{error.code}: {error}"
        return
    tokens = tokens_of(case)
    text = case["text"] if tokens is None else "".join(token[1] for token in tokens)
    ids = None if tokens is None else [token[0] for token in tokens]
    finish = case.get("engine_finish", "stop")
    whole = parser.parse(text, token_ids=ids, finish_reason=finish)
    yield from differences(case["expect"], whole, mode)
    yield from conserved(text, whole)
    for pieces in splits_of(case):
        try:
            message, _ = read(parser, pieces, finish)
        except AssertionError as error:
            yield f"contradicts itself in {shown(pieces)}: {error}"
            return
        if message != whole:
            yield f"in {shown(pieces)}: {message.as_dict()}, whole: {whole.as_dict()}"
            return


def shown(pieces: Sequence[Any]) -> str:
    """Pieces as they are printed."""
    texts = [text if ids is None else (text, ids) for text, ids in pieces]
    return "single characters" if len(texts) > 2 and all(len(one) == 1 for one in texts) else repr(texts)


def differences(expect: Mapping[str, Any], message: Message, mode: Mode) -> Iterator[str]:
    """How a message differs from the expected one; a call that is cut is none in mode ``complete``."""
    for strand in ("reasoning", "content"):
        if expect[strand] != getattr(message, strand):
            yield f"{strand}: expected {expect[strand]!r}, got {getattr(message, strand)!r}"
    wanted = [one for one in expect["tool_calls"] if mode == "incremental" or one.get("complete", True)]
    got = [(call.name, call.arguments, call.complete) for call in message.tool_calls]
    if len(wanted) != len(got) or not all(map(same_call, wanted, message.tool_calls)):
        yield f"tool_calls: expected {json.dumps(wanted, ensure_ascii=False)}, got {got}"
    if (
        "finish_reason" in expect
        and mode == "incremental"
        and expect["finish_reason"] != message.finish_reason
    ):
        yield f"finish_reason: expected {expect['finish_reason']!r}, got {message.finish_reason!r}"
    if "diagnostics" in expect:
        codes = [one.code for one in message.diagnostics]
        if codes != expect["diagnostics"]:
            yield f"diagnostics: expected {expect['diagnostics']}, got {codes}"


def same_call(wanted: Mapping[str, Any], call: Any) -> bool:
    """Whether a call is the expected one; a cut one's arguments are compared as text."""
    if (wanted["name"], wanted.get("complete", True)) != (call.name, call.complete):
        return False
    if wanted.get("id", call.id) != call.id or wanted.get("arguments_text", call.arguments) != call.arguments:
        return False
    if not call.complete:
        return bool(wanted["arguments"] == call.arguments)
    return bool(typed(json.loads(call.arguments)) == typed(wanted["arguments"]))


def main(argv: Sequence[str] | None = None) -> int:
    """Print the misses and the score; 1 when a case misses, or none is meant."""
    options = argparse.ArgumentParser(prog="python -m tests.corpus.run", description=__doc__)
    options.add_argument(
        "--format", default=None, metavar="NAME", help="cases of this tool or reasoning parser"
    )
    options.add_argument("--only", default="", help="cases whose id holds this text")
    options.add_argument("--width", type=int, default=600, help="characters of each miss that are printed")
    chosen = options.parse_args(argv)
    load_own()
    score: Counter[str] = Counter()
    for case in cases():
        names = (case.get("tool_parser"), case.get("reasoning_parser"))
        if chosen.only not in case["id"] or (chosen.format is not None and chosen.format not in names):
            continue
        found = list(misses(case))
        score["missed" if found else "right"] += 1
        if found:
            print(f"miss: {case['id']} ({names[0]} + {names[1]}): {case['why']}")
            print(*(f"    {what}"[: chosen.width] for what in found), sep="\n")
    if not score:
        print("no case is meant")
    else:
        print(f"{score['right']} of {sum(score.values())} right")
    return int(score["right"] == 0 or score["missed"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
