"""Names, lazy loading, pairs that make no sense, and what a family's file may hold."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import unbraid
from unbraid import BrokenFormat, IncompatiblePair, InvalidRequest, Parser, UnbraidError, UnknownParser
from unbraid.formats import reasoning_format, reasoning_names, registry, tool_format, tool_names
from unbraid.syntax import Joint, Reasoning, Tools

ROOT = Path(unbraid.__file__).parent
TABLES = [ROOT / "formats" / "presets.py", ROOT / "formats" / "sglang.py"]
FAMILIES = sorted(
    path
    for path in (ROOT / "formats").glob("*.py")
    if path.name not in ("__init__.py", "registry.py") and path not in TABLES
)


# -- importing ---------------------------------------------------------------------------


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED = "import sys, {0}; print(*sorted(sys.modules))"


def test_import_loads_no_family_and_no_third_party_module() -> None:
    before = set(run("import sys; print(*sorted(sys.modules))").split())
    loaded = set(run(LOADED.format("unbraid")).split()) - before
    assert not {path.stem for path in FAMILIES} & {
        name.rpartition(".")[2] for name in loaded if "formats." in name
    }
    top = {name.partition(".")[0] for name in loaded}
    assert top - set(sys.stdlib_module_names) == {"unbraid"}


def test_a_parser_loads_only_its_own_family() -> None:
    code = "import unbraid, sys; unbraid.Parser('qwen3', 'hermes'); print(*sys.modules)"
    families = {name for name in run(code).split() if name.startswith("unbraid.formats.")}
    assert families == {f"unbraid.formats.{name}" for name in ("registry", "sglang", "qwen3", "hermes")}


OUTER = {
    "engines",
    "server",
    "integrations",
    "cli",
    "constrain",
    "wire",
    "check.py",
    "explain.py",
    "explaining",
    "__main__.py",
}


@pytest.mark.parametrize(
    "path",
    [path for path in sorted(ROOT.rglob("*.py")) if path.relative_to(ROOT).parts[0] not in OUTER],
    ids=lambda path: str(path.relative_to(ROOT)),
)
def test_the_core_is_standard_library_only(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""] if not node.level else []
        for name in names:
            top = name.partition(".")[0]
            allowed = top == "unbraid" or top in sys.stdlib_module_names or name == "tokenizers"
            assert allowed, f"{name} is not in the standard library"
            assert not name.startswith(("unbraid.engines", "unbraid.server", "unbraid.integrations"))


def test_nobody_below_wire_knows_http() -> None:
    for part in ("formats", "machine", "codecs"):
        for path in (ROOT / part).glob("*.py"):
            text = path.read_text(encoding="utf-8")
            assert "unbraid.wire" not in text
            assert "http" not in text.lower()


# -- what a family's file holds ------------------------------------------------------------

ALLOWED = (
    ast.Module, ast.ImportFrom, ast.alias, ast.Assign, ast.Expr, ast.Call, ast.keyword, ast.Constant,
    ast.Name, ast.Load, ast.Store, ast.Tuple, ast.List, ast.Dict, ast.Starred, ast.Attribute, ast.UnaryOp,
    ast.USub,
)  # fmt: skip


@pytest.mark.parametrize("path", [*FAMILIES, *TABLES], ids=lambda path: path.stem)
def test_a_family_is_declarations_only(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree), "a family says which models it is for"
    for node in ast.walk(tree):
        assert isinstance(node, ALLOWED), f"{type(node).__name__} in line {getattr(node, 'lineno', '?')}"
        if isinstance(node, ast.Expr):
            assert isinstance(node.value, ast.Constant), "only the docstring stands alone"
        if isinstance(node, ast.ImportFrom):
            assert node.module in ("unbraid.syntax", *(f"unbraid.formats.{one.stem}" for one in FAMILIES))


@pytest.mark.parametrize("path", FAMILIES, ids=lambda path: path.stem)
def test_a_family_is_registered(path: Path) -> None:
    modules = {
        module for module, _ in (*registry.TOOL_PARSERS.values(), *registry.REASONING_PARSERS.values())
    }
    assert f"unbraid.formats.{path.stem}" in modules


# -- names -----------------------------------------------------------------------------------


def test_every_name_loads() -> None:
    for name in tool_names():
        assert isinstance(tool_format(name), Tools | Joint)
    for name in reasoning_names():
        assert isinstance(reasoning_format(name), Reasoning | Joint)


def test_every_declaration_names_its_models() -> None:
    assert all(tool_format(name).models for name in tool_names())
    assert all(reasoning_format(name).models for name in reasoning_names())


def test_aliases_are_the_same_format() -> None:
    for alias, name in registry.TOOL_ALIASES.items():
        assert tool_format(alias) is tool_format(name)
        assert alias in tool_names()
    for alias, name in registry.REASONING_ALIASES.items():
        assert reasoning_format(alias) is reasoning_format(name)


def test_formats_are_immutable_and_hashable() -> None:
    for name in tool_names():
        half = tool_format(name)
        with pytest.raises(AttributeError):
            half.models = ()  # type: ignore[misc]
        if isinstance(half, Tools):
            hash(half)


@pytest.mark.parametrize(
    ("kind", "wrong", "near"),
    [
        ("tool", "hermess", "hermes"),
        ("tool", "qwen3_codr", "qwen3_coder"),
        ("reasoning", "deepseekr1", "deepseek_r1"),
        ("reasoning", "qwen_3", "qwen3"),
    ],
)
def test_an_unknown_name_suggests(kind: str, wrong: str, near: str) -> None:
    with pytest.raises(KeyError) as caught:
        Parser(**{f"{kind}_parser": wrong})  # type: ignore[arg-type]
    error = caught.value
    assert isinstance(error, UnknownParser)
    assert error.code == "unknown_parser"
    assert error.param == f"{kind}_parser"
    assert wrong in str(error)
    assert near in str(error)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"tool_parser": "zzzzzzzz"}, "unknown tool parser 'zzzzzzzz': `unbraid formats` lists all names"),
        ({"reasoning_parser": ""}, "unknown reasoning parser '': `unbraid formats` lists all names"),
        ({"format": "zzzzzzzz"}, "unknown format 'zzzzzzzz': `unbraid formats --presets` lists all names"),
        ({"format": "qwen4"}, "unknown format 'qwen4': did you mean qwen3 or qwen3.8 or qwen3.6? "
                              "`unbraid formats --presets` lists all names"),
    ],
)  # fmt: skip
def test_a_name_like_no_other_says_where_all_are_listed(names: dict[str, str], message: str) -> None:
    with pytest.raises(UnknownParser) as caught:
        Parser(**names)  # type: ignore[arg-type]
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("wrong", "near"),
    [
        ("nope", []),
        ("qwn3_coder", ["qwen3_coder"]),
        ("gptoss", ["openai_gptoss"]),
        ("k2", ["k2_horizon", "kimi_k2"]),
        ("llama", ["llama3_json", "llama4_json"]),
    ],
)
def test_a_hint_names_what_is_near_and_nothing_else(wrong: str, near: list[str]) -> None:
    said = registry.hint(wrong, ["qwen3_coder", "openai", "openai_gptoss", "k2_horizon", "kimi_k2",
                                 "llama3_json", "llama4_json"])  # fmt: skip
    asked = f"did you mean {' or '.join(near)}? " if near else ""
    assert said == f"{asked}`unbraid formats` lists all names"


def test_a_name_of_the_other_kind_is_unknown() -> None:
    with pytest.raises(UnknownParser, match="'hermes': a tool parser; `unbraid formats` lists"):
        Parser("hermes")
    with pytest.raises(UnknownParser, match="'qwen3': a model family, whose tool parser is hermes"):
        Parser(None, "qwen3")
    with pytest.raises(UnknownParser, match="'kimi_vl': a model family, whose reasoning parser is kimi"):
        Parser("kimi_vl")
    with pytest.raises(
        UnknownParser, match="'deepseek_r1': a model family, whose tool parser is deepseek_v3"
    ):
        Parser(None, "deepseek_r1")


# -- a broken family ---------------------------------------------------------------------------


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three families that cannot be loaded, each for another reason."""
    (tmp_path / "unbraid_broken_family.py").write_text("1 / 0\n", encoding="utf-8")
    (tmp_path / "unbraid_wrong_syntax.py").write_text("def :\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    for name, where in {
        "broken_raises": ("unbraid_broken_family", "TOOLS"),
        "broken_syntax": ("unbraid_wrong_syntax", "TOOLS"),
        "broken_missing": ("unbraid_is_not_there", "TOOLS"),
        "broken_attribute": ("unbraid.formats.hermes", "NOTHING"),
    }.items():
        monkeypatch.setitem(registry.TOOL_PARSERS, name, where)
        monkeypatch.setitem(registry.REASONING_PARSERS, name, where)


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("broken_raises", ZeroDivisionError),
        ("broken_syntax", SyntaxError),
        ("broken_missing", ModuleNotFoundError),
        ("broken_attribute", AttributeError),
    ],
)
def test_a_broken_family_breaks_only_itself(broken: None, name: str, cause: type[Exception]) -> None:
    for options in ({"tool_parser": name}, {"reasoning_parser": name}):
        with pytest.raises(ImportError) as caught:
            Parser(**options)  # type: ignore[arg-type]
        error = caught.value
        assert isinstance(error, BrokenFormat)
        assert isinstance(error, UnbraidError)
        assert isinstance(error.__cause__, cause)
        assert name in str(error)
        assert error.code == "broken_format"
        assert str(error.__cause__) in str(error)
    assert name in tool_names()
    message = Parser("qwen3", "hermes").parse(
        'r</think><tool_call>{"name": "f", "arguments": {}}</tool_call>'
    )
    assert [call.name for call in message.tool_calls] == ["f"]


# -- pairs -----------------------------------------------------------------------------------------


def test_every_pair_of_tags_composes() -> None:
    for tools in tool_names():
        for reasoning in reasoning_names():
            channels = isinstance(tool_format(tools), Joint) or isinstance(reasoning_format(reasoning), Joint)
            if channels and tool_format(tools) is not reasoning_format(reasoning):
                with pytest.raises(TypeError) as caught:
                    Parser(reasoning, tools)
                assert isinstance(caught.value, IncompatiblePair)
                assert tools in str(caught.value)
                assert reasoning in str(caught.value)
                assert caught.value.code == "incompatible_pair"
            else:
                assert Parser(reasoning, tools).parse("").tool_calls == []


def test_no_names_at_all_is_content() -> None:
    message = Parser().parse("<think>a</think><tool_call>b")
    assert (message.reasoning, message.content, message.tool_calls) == (
        None,
        "<think>a</think><tool_call>b",
        [],
    )


# -- formats of one's own ----------------------------------------------------------------------------


@pytest.fixture
def clean_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is gone behind it."""
    for table in (
        "TOOL_PARSERS",
        "REASONING_PARSERS",
        "TOOL_ALIASES",
        "REASONING_ALIASES",
        "_tools",
        "_reasoning",
    ):
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))


def test_a_format_of_ones_own(clean_registry: None) -> None:
    hermes = tool_format("hermes")
    registry.register("mine", hermes)
    message = Parser(None, "mine").parse('<tool_call>{"name": "f", "arguments": {}}</tool_call>')
    assert [call.name for call in message.tool_calls] == ["f"]
    assert "mine" in registry.tool_names()
    with pytest.raises(UnknownParser):
        Parser("mine")


def test_a_taken_name_needs_override(clean_registry: None) -> None:
    mistral = tool_format("mistral")
    with pytest.raises(InvalidRequest, match="hermes"):
        registry.register("hermes", mistral)
    registry.register("hermes", mistral, override=True)
    assert [call.name for call in Parser(None, "hermes").parse("[TOOL_CALLS]f{}").tool_calls] == ["f"]


def test_only_formats_can_be_registered(clean_registry: None) -> None:
    with pytest.raises(InvalidRequest):
        registry.register("mine", "hermes")  # type: ignore[arg-type]


def test_own_formats_are_known_to_the_commands(tmp_path: Path) -> None:
    lines = (
        "from unbraid.formats import register, tool_format",
        'register("own", tool_format("hermes"))',
    )
    (tmp_path / "own_family.py").write_text("\n".join(lines), encoding="utf-8")

    def explained(module: str) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
        return subprocess.run(
            [sys.executable, "-m", "unbraid", "explain", "own"],
            env={**os.environ, "UNBRAID_FORMATS": module, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    assert explained("own_family").stdout.startswith("# own\n")
    missing = explained("no_such_module")
    assert missing.returncode == 2
    assert missing.stderr.startswith("unbraid explain: UNBRAID_FORMATS: no_such_module can't be imported")
    assert missing.stderr.endswith("(is its folder on PYTHONPATH?)\n")
