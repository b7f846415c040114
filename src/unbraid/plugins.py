"""Formats from outside, named on a command line: a module or a file that registers them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from hashlib import blake2b
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from unbraid.errors import InvalidRequest
from unbraid.formats.registry import plugin_names

__all__ = ["load_plugins"]

PREFIX = "_unbraid_plugin_"
HOW = "docs/add-a-family.md shows how"


def load_plugins(plugins: Iterable[tuple[str, str]], *, override: bool = False) -> None:
    """Load formats from ``(flag, module or file)`` pairs; what is loaded already is left alone.

    A value that ends in ``.py`` or holds a path's separator is a file, any other the name of
    a module. ``override`` allows a plugin to take the name of a built-in format, and nothing else
    does. Raises InvalidRequest that names the flag, the place and the cause when one can't be
    loaded, registers nothing, or takes a name that it may not.
    """
    for flag, place in plugins:
        name = _module_name(place)
        if name not in sys.modules:
            _load(flag, place, name, override)


def _module_name(place: str) -> str:
    """The name in ``sys.modules``: for a file one of its own, so that equal file names don't meet."""
    if not (place.endswith(".py") or "/" in place or "\\" in place):
        return place
    path = Path(place).resolve()
    return f"{PREFIX}{path.stem}_{blake2b(str(path).encode(), digest_size=8).hexdigest()}"


def _load(flag: str, place: str, name: str, override: bool) -> None:
    with plugin_names(override) as names:
        try:
            if name == place:
                import_module(name)
            else:
                _run(Path(place), name)
        except Exception as error:
            sys.modules.pop(name, None)
            raise InvalidRequest(f"{flag} {place}: {_reason(place, error)}", param=flag) from error
    if not names:
        del sys.modules[name]
        raise InvalidRequest(
            f"{flag} {place}: it registers no format, which unbraid.formats.register(NAME, HALF) does; {HOW}",
            param=flag,
        )


def _run(path: Path, name: str) -> None:
    """Import a file under a name."""
    if not path.is_file():
        raise FileNotFoundError(str(path))
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise InvalidRequest("the name of a Python file ends in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def _reason(place: str, error: Exception) -> str:
    """What went wrong, for whoever wrote the command line."""
    if isinstance(error, InvalidRequest):
        return error.message
    if isinstance(error, FileNotFoundError) and error.args == (place,):
        return "there is no such file"
    if isinstance(error, SyntaxError):
        return f"no valid Python: {error.filename}, line {error.lineno}: {error.msg}"
    if isinstance(error, ModuleNotFoundError) and f"{place}.".startswith(f"{error.name}."):
        return f"there is no such module ({error}); is its folder on PYTHONPATH? A file's name ends in .py"
    if isinstance(error, ImportError):
        other = f"; a parser for vLLM's classes is no format here: {HOW}" if _of_vllm(error) else ""
        return f"it needs something that can't be imported: {error}{other}"
    return f"it failed: {type(error).__name__}: {error}"


def _of_vllm(error: ImportError) -> bool:
    return (error.name or "").partition(".")[0] == "vllm"
