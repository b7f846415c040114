"""Chat templates read by Jinja, with the names that Hugging Face's templates expect.

This runs in a process of its own (``engines/template_worker.py``): a template may do what it likes
with what it is given here, and what it provokes is an InvalidRequest.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Any, TypeVar

from jinja2 import Template, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.ext import Extension
from jinja2.parser import Parser
from jinja2.sandbox import SandboxedEnvironment

from unbraid.errors import InvalidRequest

__all__ = ["compiled", "render", "variables_of"]

_T = TypeVar("_T")

_KEPT = 8  # compiled templates
_MARK = "\ue000end of the final message\ue000"


class _Raised(TemplateError):
    """What ``raise_exception`` of a template raises."""


class _Generation(Extension):
    """``{% generation %} ... {% endgeneration %}`` marks the model's own text; here it is only shown."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.Scope(body).set_lineno(line)


def _raise_exception(message: object) -> None:
    raise _Raised(str(message))


def _strftime_now(layout: str) -> str:
    return datetime.now().strftime(layout)


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys
    )


def _environment() -> SandboxedEnvironment:
    environment = SandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols", _Generation]
    )
    environment.filters["tojson"] = _to_json
    environment.globals.update(raise_exception=_raise_exception, strftime_now=_strftime_now)
    return environment


def variables_of(source: str) -> frozenset[str]:
    """The names that a template reads from outside. Raises InvalidRequest when it is no valid Jinja."""
    environment = _environment()
    tree = _guarded(lambda: environment.parse(source), "chat_template")
    return frozenset(meta.find_undeclared_variables(tree))


@lru_cache(maxsize=_KEPT)
def compiled(source: str) -> Template:
    """A template ready to render. Raises InvalidRequest when it is no valid Jinja."""
    environment = _environment()
    return _guarded(lambda: environment.from_string(source), "chat_template")


def render(source: str, names: dict[str, Any], messages: list[dict[str, Any]], continued: bool) -> str:
    """The text that a template makes of ``names`` and ``messages``, which it may change.

    ``continued`` cuts the text where the final message's own text ends.
    Raises InvalidRequest when the template refuses the messages or fails.
    """
    template = compiled(source)
    for message in messages:
        _read_arguments(message)
    if continued:
        _mark_end(messages)
    text = _guarded(lambda: template.render({**names, "messages": messages}), "messages")
    if not continued:
        return text
    if _MARK not in text:
        raise InvalidRequest("the chat template does not show the final message", param="messages")
    return text[: text.rindex(_MARK)]


def _guarded(action: Callable[[], _T], param: str) -> _T:
    """Run something of Jinja's on ``param``; whatever it can provoke becomes InvalidRequest.

    A lack of memory alone is no reason to go on in this process.
    """
    try:
        return action()
    except _Raised as error:
        raise InvalidRequest(str(error.message), param="messages") from error
    except TemplateSyntaxError as error:
        problem = f"the chat template is no valid Jinja: line {error.lineno}: {error.message}"
        raise InvalidRequest(problem, param="chat_template") from error
    except RecursionError as error:
        raise InvalidRequest("the chat template nests too deeply", param="chat_template") from error
    except MemoryError:
        raise
    except Exception as error:
        raise InvalidRequest(f"the chat template failed: {error}", param=param) from error


def _read_arguments(message: dict[str, Any]) -> None:
    """Arguments of calls that are the text of a JSON object become that object."""
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        function = call.get("function", call) if isinstance(call, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("arguments"), str):
            continue
        try:
            arguments = json.loads(function["arguments"] or "{}")
        except (ValueError, RecursionError):
            continue
        if isinstance(arguments, dict):
            function["arguments"] = arguments


def _mark_end(messages: list[dict[str, Any]]) -> None:
    """Put a mark behind the last message's text."""
    content = messages[-1].get("content") if messages else None
    if not isinstance(content, str):
        raise InvalidRequest("there is no final text message to continue", param="messages")
    messages[-1]["content"] = content + _MARK
