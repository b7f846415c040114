"""A TOML file with a command's flags; the command line wins over it."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from unbraid.errors import InvalidRequest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["with_config"]

FLAG = "--config"
AddFlags = Callable[[argparse.ArgumentParser], None]


def with_config(
    parser: argparse.ArgumentParser, add_flags: AddFlags, file: Path, argv: Sequence[str]
) -> argparse.Namespace:
    """The arguments of a command line together with those of a file.

    ``parser`` has the flags that ``add_flags`` adds. A name in the file is a flag's without its dashes,
    with ``-`` or ``_``; tables only group, but for the value of a flag that takes JSON. Raises
    InvalidRequest for a file that can't be read, and for a name or a value that is wrong in it.
    """
    checker = _Checker(file)
    add_flags(checker)
    flags = _Flags(checker, file)
    given = _given(add_flags, argv)
    tokens: list[str] = []
    seen: dict[str, str] = {}
    for name, value in flags.walk(_read(file)):
        action = flags.action(name)
        if action.dest in seen:
            raise InvalidRequest(f"{file}: {name} and {seen[action.dest]} are the same flag", param=name)
        seen[action.dest] = name
        made = flags.tokens(name, action, value)
        checker.parse_args(made)
        if action.dest not in given:
            tokens += made
    return parser.parse_args([*tokens, *argv])


class _Checker(argparse.ArgumentParser):
    """A parser of a file's flags, whose errors name the file."""

    def __init__(self, file: Path) -> None:
        super().__init__(add_help=False, allow_abbrev=False)
        self._file = file

    def error(self, message: str) -> NoReturn:
        """Raise what argparse has to say."""
        raise InvalidRequest(f"{self._file}: {message}", param="config")


class _Flags:
    """The flags of a command by their names in a file."""

    def __init__(self, parser: argparse.ArgumentParser, file: Path) -> None:
        self._file = file
        self._actions = {
            option.removeprefix("--"): action
            for action in parser._actions
            for option in action.option_strings
            if option.startswith("--") and option != FLAG
        }

    def walk(self, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """The names and values of a table and of the tables in it."""
        for name, value in table.items():
            action = self._actions.get(_dashed(name))
            if isinstance(value, Mapping) and not (action is not None and action.metavar == "JSON"):
                yield from self.walk(value)
            else:
                yield name, value

    def action(self, name: str) -> argparse.Action:
        """The flag that a name means."""
        found = self._actions.get(_dashed(name))
        if found is not None:
            return found
        shown = [known for known, action in self._actions.items() if action.help != argparse.SUPPRESS]
        near = get_close_matches(_dashed(name), shown, 1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else "the names are those of the flags"
        raise InvalidRequest(f"{self._file}: unknown name {name!r}: {hint}", param=name)

    def tokens(self, name: str, action: argparse.Action, value: Any) -> list[str]:
        """What a value is on a command line."""
        flag = f"--{_dashed(name)}"
        if action.nargs == 0:
            if not isinstance(value, bool):
                raise InvalidRequest(f"{self._file}: {name} must be true or false", param=name)
            return [flag] if value else []
        if isinstance(value, list):
            texts = [self._text(name, one) for one in value]
            if action.nargs == "+":
                return [flag, *texts]
            if isinstance(action, argparse._AppendAction):
                return [f"{flag}={text}" for text in texts]
            raise InvalidRequest(f"{self._file}: {name} takes one value, no list", param=name)
        return [f"{flag}={self._text(name, value)}"]

    def _text(self, name: str, value: Any) -> str:
        if isinstance(value, (bool, Mapping)):
            return json.dumps(value)
        if isinstance(value, (str, int, float)):
            return str(value)
        raise InvalidRequest(f"{self._file}: {name} has a value of a kind that no flag takes", param=name)


def _given(add_flags: AddFlags, argv: Sequence[str]) -> frozenset[str]:
    """The flags that a command line sets."""
    bare = argparse.ArgumentParser(add_help=False)
    add_flags(bare)
    for action in bare._actions:
        action.default = argparse.SUPPRESS
    return frozenset(vars(bare.parse_args(argv)))


def _dashed(name: str) -> str:
    """A name as the flags are written; the part behind a dot keeps its underscores."""
    head, dot, tail = name.partition(".")
    return head.replace("_", "-") + dot + tail


def _read(file: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{FLAG} {file} can't be read: {error}", param="config") from error
    except tomllib.TOMLDecodeError as error:
        raise InvalidRequest(f"{FLAG} {file} is no TOML: {error}", param="config") from error
    return found
