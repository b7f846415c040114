"""Response templates as tokenizers carry them: a dictionary, checked whole when it is loaded.

Everything that is wrong is an InvalidRequest whose message and ``param`` name the key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from reprlib import repr as short
from typing import Any, Literal, NoReturn

from unbraid.errors import InvalidRequest
from unbraid.response.calls import PLACEHOLDER
from unbraid.response.expression import Unreadable, expression
from unbraid.syntax import Content, Field, Lit, Pattern, ResponseTemplate

__all__ = ["carried_template", "check_transform", "find_template", "given_template", "load_template"]

ROOT = "response_template"
_STRANDS: dict[str, Literal["reasoning", "content", "call"]] = {
    "thinking": "reasoning", "content": "content", "tool_calls": "call",
}  # fmt: skip
_FIELD_KEYS = (
    "open", "open_pattern", "close", "close_pattern", "content", "content_args", "repeats", "join",
    "optional", "transform", "transform_each",
)  # fmt: skip
_SCALARS = ("text", "int", "float", "bool")
_ARGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_SCALARS, ("strip",)),
    "json": ("unquoted_keys", "string_delims", "allow_non_json"),
    "xml-inline": ("tag_pattern", "value_parser", "merge_duplicates"),
    "kv-lines": ("line_sep", "kv_sep", "strip", "value_parser"),
}


def find_template(source: object) -> ResponseTemplate:
    """The template of what a caller gave.

    Args:
        source: a template, its dictionary, that of a ``tokenizer_config.json``, the path of one or of
            a tokenizer's folder, or a tokenizer with an attribute ``response_template``.

    Raises:
        InvalidRequest: no template is there, or a key of it is wrong.
    """
    if isinstance(source, ResponseTemplate):
        return source
    if isinstance(source, (str, Path)):
        source = _read(Path(source))
    if not isinstance(source, Mapping):
        source = _carried(source) or source
    if isinstance(source, Mapping):
        inner = source.get(ROOT)
        if isinstance(inner, Mapping):
            return load_template(inner)
        if "fields" in source:
            return load_template(source)
    raise InvalidRequest(
        f"no response template: {short(source)} must be one, or hold one under {ROOT!r}, as the tokenizer "
        "configuration of a checkpoint for --reasoning-parser hf and --tool-call-parser hf does",
        param=ROOT,
    )


def carried_template(tokenizer: object) -> object:
    """The template that a tokenizer object carries, None without one."""
    found = getattr(tokenizer, ROOT, None)
    return found if isinstance(found, ResponseTemplate) else _carried(tokenizer)


def given_template(
    default: ResponseTemplate, source: object, reasoning: bool, tools: bool
) -> ResponseTemplate:
    """The template that ``source`` holds, with the switch of the format whose template it replaces.

    Raises InvalidRequest as ``find_template``, and when a half is asked for whose field it hasn't.
    """
    found = find_template(source)
    for asked, strand, name, param in (
        (reasoning, "reasoning", "thinking", "reasoning_parser"),
        (tools, "call", "tool_calls", "tool_parser"),
    ):
        if asked and found.field(strand) is None:
            raise InvalidRequest(f"the response template has no field {name}", param=param)
    return replace(
        found, switch=default.switch, demands_thinking=default.demands_thinking, models=default.models
    )


def _carried(tokenizer: object) -> Mapping[str, Any] | None:
    """What a tokenizer object carries: an attribute of its own, or one of its configuration."""
    for found in (
        getattr(tokenizer, ROOT, None),
        (getattr(tokenizer, "init_kwargs", None) or {}).get(ROOT),
    ):
        if isinstance(found, Mapping):
            return {ROOT: found}
    return None


def _read(path: Path) -> Any:
    """The configuration in a tokenizer's folder, or the file itself."""
    try:
        file = path / "tokenizer_config.json" if path.is_dir() else path
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InvalidRequest(
            f"no response template can be read from {path}: {problem}", param=ROOT
        ) from problem


def _refuse(path: str, what: str) -> NoReturn:
    raise InvalidRequest(f"{path}: {what}", param=path)


def _is(path: str, value: Any, kind: type | tuple[type, ...], what: str) -> Any:
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        _refuse(path, f"must be {what}, not {short(value)}")
    return value


def _flag(data: Mapping[str, Any], key: str, path: str, default: bool = False) -> bool:
    return bool(_is(f"{path}.{key}", data.get(key, default), bool, "true or false"))


def _known(data: Mapping[str, Any], keys: Iterable[str], path: str) -> None:
    for key in data:
        if key not in tuple(keys):
            _refuse(f"{path}.{key}", f"unknown key; known are {', '.join(keys)}")


def load_template(data: Mapping[str, Any]) -> ResponseTemplate:
    """The template that a dictionary holds; raises InvalidRequest for a key that is wrong."""
    _is(ROOT, data, Mapping, "a dictionary")
    _known(data, ("version", "defaults", "fields", "start_anchor", "start_anchor_pattern"), ROOT)
    if _is(f"{ROOT}.version", data.get("version", 1), int, "a number") != 1:
        _refuse(f"{ROOT}.version", f"must be 1, not {data['version']}")
    defaults = _is(f"{ROOT}.defaults", data.get("defaults", {}), Mapping, "a dictionary")
    for key in defaults:
        if key != "role":
            _refuse(f"{ROOT}.defaults.{key}", "only the role may have a default")
    anchor = _marker(data, "start_anchor", "start_anchor_pattern", ROOT)
    if anchor is None:
        _refuse(ROOT, "needs start_anchor or start_anchor_pattern")
    return ResponseTemplate(_fields(data), anchor)


def _fields(data: Mapping[str, Any]) -> tuple[Field, ...]:
    path = f"{ROOT}.fields"
    fields = _is(path, data.get("fields"), Mapping, "a dictionary of fields")
    if not fields:
        _refuse(path, "must hold a field")
    found = tuple(_field(name, one, f"{path}.{name}") for name, one in fields.items())
    implicit = [one for one in found if one.open is None]
    if len(implicit) > 1:
        _refuse(path, "only one field may be without open and open_pattern")
    if not implicit and all(one.strand != "content" for one in found):
        found += (Field("content"),)
    return found


def _field(name: object, data: Any, path: str) -> Field:
    if name not in _STRANDS:
        _refuse(path, f"unknown field; known are {', '.join(_STRANDS)}")
    _is(path, data, Mapping, "a dictionary")
    _known(data, _FIELD_KEYS, path)
    _flag(data, "optional", path, True)
    repeats = _flag(data, "repeats", path)
    each = _flag(data, "transform_each", path)
    content = _content(data, path)
    opener = _marker(data, "open", "open_pattern", path)
    closer = _marker(data, "close", "close_pattern", path)
    transform = data.get("transform")
    if "join" in data:
        _is(f"{path}.join", data["join"], str, "a string")
        if not repeats:
            _refuse(f"{path}.join", "needs repeats: true")
        _refuse(f"{path}.join", "can't be held: what a later region adds is given out as it comes")
    if each and "transform" not in data:
        _refuse(f"{path}.transform_each", "needs transform")
    captures = expression(opener.text).groups if isinstance(opener, Pattern) else ()
    if isinstance(closer, Pattern) and expression(closer.text).groups:
        _refuse(f"{path}.close_pattern", "its groups can't be used: only those of open_pattern can")
    if captures and "transform" not in data:
        _refuse(f"{path}.open_pattern", "named groups need a transform")
    strand = _STRANDS[str(name)]
    if strand != "call" and (content != Content(strip=content.strip) or "transform" in data):
        _refuse(path, "must have content: text, and no transform")
    if "transform" in data:
        _check_transform(transform, None if each else {"content", *captures}, f"{path}.transform")
    text = json.dumps(transform, ensure_ascii=False) if "transform" in data else None
    return Field(strand, opener, closer, content, text, each, repeats)


def _marker(data: Mapping[str, Any], literal: str, pattern: str, path: str) -> Lit | Pattern | None:
    """A marker's literals, longest first, or its expression; None when neither is given."""
    if literal in data and pattern in data:
        _refuse(f"{path}.{literal}", f"can't stand beside {pattern}")
    if pattern in data:
        return _pattern(data[pattern], f"{path}.{pattern}")
    if literal not in data:
        return None
    value = data[literal]
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, (list, tuple)) or not all(isinstance(one, str) for one in listed):
        _refuse(f"{path}.{literal}", f"must be a string or a list of strings, not {short(value)}")
    if not listed or not all(listed):
        _refuse(f"{path}.{literal}", "must hold a string, and none that is empty")
    return Lit(tuple(dict.fromkeys(listed)))


def _pattern(value: Any, path: str) -> Pattern:
    text = _is(path, value, str, "a regular expression")
    try:
        expression(text)
    except Unreadable as problem:
        _refuse(path, f"{text!r}: {problem}")
    return Pattern(text)


def _content(data: Mapping[str, Any], path: str) -> Content:
    """The content parser of a field."""
    return _parser(data.get("content", "text"), data.get("content_args", {}), path, "content", "content_args")


def _parser(kind: Any, args: Any, path: str, kind_key: str, args_key: str) -> Content:
    if kind not in _ARGS:
        _refuse(f"{path}.{kind_key}", f"unknown parser {short(kind)}; known are {', '.join(_ARGS)}")
    path = f"{path}.{args_key}"
    _is(path, args, Mapping, "a dictionary")
    _known(args, _ARGS[kind], path)
    tag = None
    if kind == "xml-inline":
        if "tag_pattern" not in args:
            _refuse(f"{path}.tag_pattern", "is required")
        tag = _pattern(args["tag_pattern"], f"{path}.tag_pattern")
        if not {"key", "value"} <= set(expression(tag.text).groups):
            _refuse(f"{path}.tag_pattern", "needs the named groups key and value")
    return Content(
        kind=kind,
        strip=_flag(args, "strip", path, True),
        unquoted_keys=_flag(args, "unquoted_keys", path),
        string_delims=_delims(args, path),
        allow_non_json=_flag(args, "allow_non_json", path),
        tag=tag,
        value=_value_parser(args, path),
        merge_duplicates=_flag(args, "merge_duplicates", path),
        line_sep=_separator(args, "line_sep", "\n", path),
        kv_sep=_separator(args, "kv_sep", ":", path),
    )


def _separator(args: Mapping[str, Any], key: str, default: str, path: str) -> str:
    value = _is(f"{path}.{key}", args.get(key, default), str, "a string")
    return str(value) if value else _refuse(f"{path}.{key}", "must not be empty")


def _delims(args: Mapping[str, Any], path: str) -> tuple[tuple[str, str], ...]:
    path = f"{path}.string_delims"
    listed = _is(path, args.get("string_delims", []), (list, tuple), "a list of pairs")
    found = []
    for n, pair in enumerate(listed):
        if (
            not isinstance(pair, (list, tuple))
            or len(pair) != 2
            or not all(isinstance(one, str) and one for one in pair)
        ):
            _refuse(f"{path}[{n}]", f"must be a pair of strings, not {short(pair)}")
        found.append((pair[0], pair[1]))
    return tuple(found)


def _value_parser(args: Mapping[str, Any], path: str) -> Content | None:
    if "value_parser" not in args:
        return None
    path = f"{path}.value_parser"
    data = _is(path, args["value_parser"], Mapping, "a dictionary")
    _known(data, ("name", "args"), path)
    if "name" not in data:
        _refuse(f"{path}.name", "is required")
    return _parser(data["name"], data.get("args", {}), path, "name", "args")


def check_transform(text: str, captures: Iterable[str], each: bool, path: str) -> None:
    """Refuse a transform, as JSON text, that is none or holds an undefined placeholder."""
    try:
        transform = json.loads(text)
    except ValueError as problem:
        _refuse(path, f"must be JSON: {problem}")
    _check_transform(transform, None if each else {"content", *captures}, path)


def _check_transform(part: Any, names: set[str] | None, path: str) -> None:
    """Refuse what could be no placeholder; ``names``: those that are defined, None when any may be."""
    if isinstance(part, str):
        found = PLACEHOLDER.fullmatch(part)
        if found is None and PLACEHOLDER.search(part):
            _refuse(path, f"a placeholder is a whole string, which {part!r} is not")
        if found is not None and names is not None and found[1].split(".")[0] not in names:
            _refuse(path, f"{part} is not defined; known are {', '.join(sorted(names))}")
    elif isinstance(part, Mapping):
        for key, one in part.items():
            _check_transform(one, names, f"{path}.{_is(path, key, str, 'a dictionary of strings')}")
    elif isinstance(part, (list, tuple)):
        for n, one in enumerate(part):
            _check_transform(one, names, f"{path}[{n}]")
    elif not (part is None or isinstance(part, (bool, int, float))):
        _refuse(path, f"must be JSON, not {short(part)}")
