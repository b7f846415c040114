"""Everything in README and docs is executed: Python blocks in order, console commands one by one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import types
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from unbraid import syntax
from unbraid.cli import formats
from unbraid.formats import registry

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
COMMANDS = [
    (page, line[2:])
    for page in PAGES
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8"))
    if kind == "console"
    for line in body.splitlines()
    if line.startswith("$ ")
]
WITH_PYTHON = [page for page in PAGES if "```python" in page.read_text(encoding="utf-8")]


def _tokenizer() -> Tokenizer:
    """A tokenizer of bytes with the markers as special tokens."""
    vocabulary = {char: n for n, char in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.add_special_tokens(["<think>", "</think>", "<tool_call>", "</tool_call>", "<|im_end|>"])
    return tokenizer


class _Output:
    text = (
        "Fine.\n</think>\n\n"
        + '<tool_call>\n{"name": "get_tide", "arguments": {"port": "Cork"}}\n</tool_call>'
    )
    token_ids = tuple(_tokenizer().encode(text).ids)
    finish_reason = "stop"


class _Engine:
    """A stand-in for vLLM's engine: answers one recorded output and keeps what it was asked."""

    asked: object = None

    def get_tokenizer(self) -> object:
        return types.SimpleNamespace(backend_tokenizer=_tokenizer())

    def generate(self, prompts: list[str], sampling: object) -> list[object]:
        self.asked = sampling
        return [types.SimpleNamespace(outputs=[_Output()])]


@pytest.fixture
def _registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that forgets what a page registers."""
    for name in (
        "TOOL_PARSERS",
        "TOOL_ALIASES",
        "REASONING_PARSERS",
        "REASONING_ALIASES",
        "_tools",
        "_reasoning",
    ):
        monkeypatch.setattr(registry, name, dict(getattr(registry, name)))


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules with the names that the README imports from vLLM."""
    module = types.ModuleType("vllm")
    module.LLM = _Engine  # type: ignore[attr-defined]
    module.SamplingParams = types.SimpleNamespace  # type: ignore[attr-defined]
    params = types.ModuleType("vllm.sampling_params")
    params.StructuredOutputsParams = types.SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", module)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", params)


@pytest.mark.usefixtures("vllm", "_registry")
@pytest.mark.parametrize("page", WITH_PYTHON, ids=lambda page: page.name)
def test_python_blocks_run(page: Path) -> None:
    """The Python blocks of a page run in order, in one namespace."""
    names: dict[str, object] = {"__name__": page.stem}
    for kind, body in BLOCK.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            exec(compile(body, str(page), "exec"), names)
    call_a_tool = names.get("call_a_tool")
    if callable(call_a_tool):
        engine = _Engine()
        message = call_a_tool(engine, "<|im_start|>assistant\n<think>\n")
        assert message.reasoning == "Fine."
        assert message.tool_calls[0].name == "get_tide"
        sampling = engine.asked
        assert isinstance(sampling, types.SimpleNamespace)
        assert json.loads(sampling.structured_outputs.structural_tag)["type"] == "structural_tag"


@pytest.mark.parametrize(("page", "command"), COMMANDS, ids=[command for _, command in COMMANDS])
def test_console_command_works(page: Path, command: str) -> None:
    """A command of a page runs; long ones are checked as far as they can be without doing their work."""
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if command.startswith("make "):
        command = command.replace("make ", "make --dry-run ")
    elif command in ("unbraid serve", "unbraid chat"):
        command += " --help"
    elif "pytest" in command:
        command += " --collect-only -q"
    elif command.startswith("pip install"):
        command = f"{sys.executable} -m pip install --dry-run --no-deps --quiet --editable '.[serve]'"
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_page_is_linked() -> None:
    """Links between pages lead somewhere."""
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_page_of_formats_is_what_the_command_prints() -> None:
    """A changed page means: ``unbraid formats --markdown > docs/formats.md``."""
    assert (ROOT / "docs" / "formats.md").read_text(encoding="utf-8").splitlines() == list(formats.page())


def _set_fields() -> dict[str, set[str]]:
    """The modules that set each field of the vocabulary to another value than its default."""
    found: dict[str, set[str]] = {}

    def note(value: Any, module: str) -> None:
        if isinstance(value, tuple):
            for one in value:
                note(one, module)
        elif is_dataclass(value) and type(value).__module__ != syntax.ResponseTemplate.__module__:
            for field in fields(value):
                inner = getattr(value, field.name)
                setters = found.setdefault(f"{type(value).__name__}.{field.name}", set())
                if inner != field.default:
                    setters.add(module)
                    note(inner, module)

    for table in (registry.TOOL_PARSERS, registry.REASONING_PARSERS, registry.INLINE_PARSERS):
        for module, name in table.values():
            note(getattr(import_module(module), name), module)
    return found


def test_every_field_of_the_vocabulary_is_needed() -> None:
    """Some family sets it, and the page says why where it is one alone."""
    page = (ROOT / "docs" / "vocabulary.md").read_text(encoding="utf-8")
    modules = _set_fields()
    assert [name for name, setters in modules.items() if not setters] == []
    whole = ("Cite", "Variants", "Elements", "Pattern")
    alone = {name for name, found in modules.items() if len(found) == 1 and not name.startswith(whole)}
    assert set(re.findall(r"`([A-Z]\w+\.[a-z_]+)`", page)) == alone


def test_the_vocabulary_page_has_every_part() -> None:
    page = (ROOT / "docs" / "vocabulary.md").read_text(encoding="utf-8")
    unions = ("Joint", "Part")
    parts = [name for name in syntax.__all__ if not name.isupper() and name not in unions]
    assert [name for name in parts if f"`{name}`" not in page] == []
