"""A probe that clients' authors use on servers, run on this one with three formats behind it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from canitoolcall.probe import BUILTIN_SCENARIOS

from unbraid.server.background import serving

from .helpers import make_app
from .scripted import ScriptedEngine, written

PAIRS = [("qwen3", "hermes"), ("qwen3", "qwen3_coder"), ("kimi_k2", "kimi_k2")]
TOOLS = {tool["function"]["name"]: tool for one in BUILTIN_SCENARIOS for tool in one.tools}
WEATHER, EVENT, NOTE = "get_weather", "create_event", "save_note"
ARGUMENTS = {
    "event": {
        "title": "Design review",
        "start": "2026-10-01T15:00:00Z",
        "attendees": [{"name": "Ana", "email": "ana@example.com"}, {"name": "Bo", "email": "bo@example.com"}],
        "location": {"city": "Berlin", "room": "4.12"},
    },
    "note": {"title": "Grüße aus Zürich", "body": "Café ☕ in 東京 — naïve résumé 🚀"},
}


def turn(prompt: str) -> tuple[list[tuple[str, object]], str | None]:
    """The calls and the content that a good model answers a scenario with."""
    if "temp_c" in prompt:
        return [], "It is 18 degrees and clear."
    if "17 + 25" in prompt:
        return [], "42"
    if "and in Tokyo" in prompt:
        return [(WEATHER, {"city": "Paris"}), (WEATHER, {"city": "Tokyo"})], None
    if "Design review" in prompt:
        return [(EVENT, ARGUMENTS["event"])], None
    if "Zürich" in prompt:
        return [(NOTE, ARGUMENTS["note"])], None
    if "on the server?" in prompt:
        return [("get_server_time", {})], None
    if "9.11 or 9.9" in prompt:
        return [("record_answer", {"answer": "9.9"})], None
    return [(WEATHER, {"city": "Lisbon" if "Lisbon" in prompt else "Paris"})], None


@pytest.mark.parametrize("pair", PAIRS, ids="+".join)
def test_the_probe_passes(pair: tuple[str, str], tmp_path: Path) -> None:
    def script(prompt: str) -> str:
        calls, content = turn(prompt)
        texts = [(name, json.dumps(arguments, ensure_ascii=False)) for name, arguments in calls]
        thinking = "open" if prompt.rstrip().endswith("<think>") else "optional"
        return written(pair, texts, content, "Let me think.", thinking, list(TOOLS.values()))

    app = make_app(
        ScriptedEngine(script),
        reasoning_parser=pair[0],
        tool_call_parser=pair[1],
        markers="text",
        default_chat_template_kwargs={"enable_thinking": True},
    )
    report = tmp_path / "report.json"
    with serving(app) as url:
        command = [sys.executable, "-m", "canitoolcall", "probe", "--model", "replay"]
        command += ["--base-url", f"{url}/v1", "--json", str(report)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(report.read_text(encoding="utf-8"))
    outcomes = found["outcomes"] if isinstance(found, dict) else found
    assert len(outcomes) == 27
    assert {one["status"] for one in outcomes} == {"pass"}
