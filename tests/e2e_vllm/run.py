"""``make e2e-vllm``: the matrix and the checks behind unbraid, and the matrix behind vLLM's own front end.

``python -m tests.e2e_vllm.run --rounds N`` asks 40 requests N times of each server;
``--only NAME`` takes one of the servers. The report is printed and kept beside the logs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path

from .cases import CHOICES, Case, cases
from .checks import agent_loop, budgets, leaving, metric, refusal, token_ids
from .drive import Answer, ask_all, astray, invalid, without_a_call
from .install import VLLM, home, install
from .processes import OWN_PARSERS, gateway, vllm

ROOT = Path(__file__).parents[2]
FAULTS = ("failed", "without a call", "not valid", "astray")
PLACES = {
    "unbraid": "unbraid before vLLM",
    "unbraid-drafts": "unbraid before vLLM with n-gram drafts",
    "own": "vLLM's own front end and parsers",
    "own-drafts": "vLLM's own front end and parsers, with n-gram drafts",
}


@dataclass
class Tally:
    """The answers to one way of asking."""

    requests: int = 0
    calls: int = 0
    cut: int = 0
    faults: dict[str, int] = field(default_factory=lambda: dict.fromkeys(FAULTS, 0))


@dataclass
class Result:
    """What one server did: tallies by the way of asking, what went wrong, what was checked."""

    place: str
    tallies: dict[str, Tally] = field(default_factory=lambda: {one: Tally() for one in CHOICES})
    problems: list[str] = field(default_factory=list)
    checked: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, case: Case, answer: Answer) -> None:
        """Judge one answer."""
        tally = self.tallies[case.choice]
        tally.requests += 1
        tally.calls += bool(answer.calls)
        tally.cut += answer.finish == "length"
        found = {
            "failed": [answer.broken] if answer.broken is not None else [],
            "without a call": [f"finish reason {answer.finish}"] if without_a_call(case, answer) else [],
            "not valid": invalid(case, answer),
            "astray": astray(case, answer),
        }
        for kind, texts in found.items():
            tally.faults[kind] += bool(texts)
            self.problems += [f"{case.name}-{case.seed}: {kind}: {text}" for text in texts]

    def check(self, what: str, run: Callable[[], str]) -> None:
        """Do one check, and note what it says."""
        try:
            self.checked.append(f"{what}: {run()}")
        except Exception as error:
            self.problems.append(f"{what}: FAILED: {str(error) or repr(error)}")

    @property
    def wrong(self) -> list[str]:
        """What must not be behind unbraid: all but what a model writes where nothing holds it."""
        return [one for one in self.problems if not (one.startswith("auto-") and ": not valid: " in one)]


def main(argv: Sequence[str] | None = None) -> int:
    """Run all, or a part; 0 when nothing is wrong behind unbraid."""
    options = argparse.ArgumentParser(prog="python -m tests.e2e_vllm.run", description=__doc__)
    options.add_argument("--rounds", type=int, default=2, help="40 requests a round (default: 2)")
    options.add_argument("--only", choices=PLACES, help="one of the servers")
    options.add_argument("--venv", type=Path, default=home() / "venv", help="vLLM's environment")
    options.add_argument("--model", type=Path, default=home() / "model", help="the model's folder")
    given = options.parse_args(argv)
    python = given.venv / "bin" / "python" if given.venv != home() / "venv" else install(given.venv)
    _make(python, given.model)
    logs = home() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    asked = list(cases(given.rounds))
    results = []
    for name, place in PLACES.items():
        if given.only in (None, name):
            results.append(_behind(name, place, asked, python, given.model, logs))
            (logs / f"{name}.json").write_text(json.dumps(asdict(results[-1]), indent=2) + "\n")
            _say(f"{place}: {results[-1].seconds:.0f} s, {len(results[-1].problems)} problems")
    report = "\n".join(_report(results, len(asked)))
    (home() / "report.txt").write_text(report + "\n")
    print(report)
    wrong = [one for result in results if result.place.startswith("unbraid") for one in result.wrong]
    for one in wrong:
        print(f"FAILED {one}")
    return 1 if wrong else 0


def _make(python: Path, folder: Path) -> None:
    """The model's folder, made in vLLM's environment."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    command = [str(python), "-m", "tests.e2e_vllm.model", str(folder)]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths})


def _behind(name: str, place: str, asked: list[Case], python: Path, model: Path, logs: Path) -> Result:
    """Ask one server everything."""
    result = Result(place)
    drafts, own = name.endswith("-drafts"), name.startswith("own")
    flags = OWN_PARSERS if own else ()
    with vllm(python, model, logs / f"{name}-vllm.log", *flags, drafts=drafts) as engine:
        if own:
            _ask(result, engine, asked)
            if not drafts:
                refused = logs / f"{name}-unbraid.log"
                result.check("before this vLLM", lambda: refusal(engine, model, refused))
        else:
            with gateway(engine, model, logs / f"{name}-unbraid.log") as url:
                _behind_unbraid(result, url, engine, model, asked)
        if drafts:
            result.check("drafts", lambda: _drafted(engine))
    return result


def _behind_unbraid(result: Result, url: str, engine: str, model: Path, asked: list[Case]) -> None:
    _ask(result, url, asked)
    result.check("token ids", lambda: token_ids(url, model))
    result.check("budget", lambda: budgets(url))
    result.check("abort", lambda: leaving(url, engine))
    result.check("agent", lambda: agent_loop(url))


def _ask(result: Result, url: str, asked: list[Case]) -> None:
    start = time.monotonic()
    asyncio.run(ask_all(url, asked, result.add))
    result.seconds = time.monotonic() - start


def _drafted(engine: str) -> str:
    """How many tokens were drafted and accepted; raises AssertionError when none were."""
    accepted = metric(engine, "spec_decode_num_accepted_tokens_total")
    assert accepted > 0, "no drafted token was accepted"
    return (
        f"{metric(engine, 'spec_decode_num_draft_tokens_total'):.0f} tokens drafted, {accepted:.0f} accepted"
    )


def _report(results: list[Result], count: int) -> list[str]:
    versions = f"{VLLM.replace('==', ' ')}, unbraid {version('unbraid')}, openai {version('openai')}"
    lines = [f"{date.today()}, {versions}, {count} requests a server"]
    head = f"  {'':10}{'requests':>9}{'calls':>7}{'cut':>5}" + "".join(f"{one:>16}" for one in FAULTS)
    for result in results:
        lines += ["", f"{result.place} ({result.seconds:.0f} s)", head]
        for choice, tally in result.tallies.items():
            counts = f"  {choice:10}{tally.requests:>9}{tally.calls:>7}{tally.cut:>5}"
            lines.append(counts + "".join(f"{tally.faults[one]:>16}" for one in FAULTS))
        lines += [f"  {one}" for one in result.checked]
    return lines


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
