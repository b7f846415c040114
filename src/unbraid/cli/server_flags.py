"""The server's options as command line flags."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from unbraid.cli.pairs import add_pair_flags
from unbraid.errors import InvalidRequest
from unbraid.server.options import (
    DRAIN_SECONDS,
    EMBEDDED_BUDGET,
    ENGINE_TIMEOUT,
    MAX_RUNNING,
    MAX_STRING,
    Options,
)

__all__ = ["add_flags", "options_from"]

BOOLEANS = {"true": True, "false": False}
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


def add_flags(parser: argparse.ArgumentParser) -> None:
    """The flags of ``unbraid serve`` that shape requests and answers."""
    _add_formats(parser)
    _add_prompts(parser)
    _add_enforcement(parser)
    _add_limits(parser)
    _add_api(parser)
    logs = parser.add_argument_group("logs", "What is written to standard error.")
    logs.add_argument(
        "--log-prompts",
        action="store_true",
        help="put what was asked and answered into the log; by default neither is",
    )


def _add_formats(parser: argparse.ArgumentParser) -> None:
    formats = parser.add_argument_group("formats", "How the model writes. `unbraid formats` lists the names.")
    add_pair_flags(formats)
    formats.add_argument(
        "--enable-auto-tool-choice",
        action="store_true",
        help="accepted for old command lines: naming a tool parser is enough",
    )
    formats.add_argument(
        "--markers",
        choices=("tokens", "text"),
        default="tokens",
        help="text: read markers as text although the tokenizer has no tokens for them",
    )
    for half in ("tool", "reasoning"):
        formats.add_argument(
            f"--{half}-parser-plugin",
            action="append",
            default=[],
            metavar="PLACE",
            help=f"a Python file or module that registers {half} formats of your own; may be repeated",
        )
    formats.add_argument(
        "--allow-format-override",
        action="store_true",
        help="let a plugin take the name of a built-in format",
    )


def _add_prompts(parser: argparse.ArgumentParser) -> None:
    prompts = parser.add_argument_group("prompts", "How messages become the model's prompt.")
    prompts.add_argument(
        "--chat-template",
        metavar="FILE",
        help="a Jinja file, Jinja text, or unbraid for the built-in ChatML template with tools",
    )
    prompts.add_argument(
        "--default-chat-template-kwargs", metavar="JSON", help="template variables; a request's own win"
    )
    prompts.add_argument(
        "--reasoning-effort-map",
        metavar="JSON",
        help='what the template is given for a reasoning_effort, such as {"minimal": "low", "max": "high"}',
    )
    prompts.add_argument(
        "--trust-request-chat-template", action="store_true", help="take templates from requests"
    )
    prompts.add_argument(
        "--exclude-tools-when-tool-choice-none",
        action="store_true",
        help="don't show tools to the model when it may not call them",
    )


def _add_enforcement(parser: argparse.ArgumentParser) -> None:
    held = parser.add_argument_group("enforcement", "How demands on the output are held.")
    held.add_argument(
        "--enforce",
        choices=("grammar", "check", "off"),
        default="grammar",
        help="grammar: the engine holds the output, and what it can't hold is refused; check: where it "
        "can't, the finished output is checked; off: nothing is held (default: grammar)",
    )
    held.add_argument(
        "--tool-strict-level",
        choices=("auto", "function", "parameter"),
        help="hold calls to the tools: auto those that say strict, function all names, "
        "parameter all arguments",
    )
    held.add_argument(
        "--structured-outputs-config",
        metavar="JSON",
        help='{"enable_in_reasoning": BOOL}: see the next flag; the engine chooses its own back end',
    )
    held.add_argument(
        "--structured-outputs-config.enable_in_reasoning",
        dest="enable_in_reasoning",
        choices=BOOLEANS,
        metavar="BOOL",
        help="true: the grammar holds from the first token, free thinking included; false gives the same "
        "answers, for the thinking is part of unbraid's grammar and free in both (default: true)",
    )
    held.add_argument(
        "--max-string-length",
        type=int,
        default=MAX_STRING,
        metavar="N",
        help=f"the longest string in arguments that a grammar enforces (default: {MAX_STRING})",
    )


def _add_limits(parser: argparse.ArgumentParser) -> None:
    limits = parser.add_argument_group("limits", "How much requests may use, and for how long.")
    limits.add_argument(
        "--thinking-token-budget",
        type=int,
        metavar="N",
        help=f"thinking of requests that name no budget; -1 for none (default: {EMBEDDED_BUDGET} for an "
        "embedded model)",
    )
    limits.add_argument(
        "--reasoning-config",
        metavar="JSON",
        help='texts around thinking, {"reasoning_start_str": …, "reasoning_end_str": …}; '
        "the end is written when a thinking budget is spent",
    )
    limits.add_argument(
        "--limits",
        metavar="JSON",
        help='the most that one request may hold, such as {"messages": 500, "tools": 64}; docs/operate.md '
        "lists all",
    )
    limits.add_argument(
        "--max-running",
        type=int,
        default=MAX_RUNNING,
        metavar="N",
        help=f"requests at once in each worker; more are refused with 429 (default: {MAX_RUNNING})",
    )
    limits.add_argument(
        "--engine-timeout",
        type=float,
        default=ENGINE_TIMEOUT,
        metavar="SECONDS",
        help="the longest silence of the engine before a request fails with 504 "
        f"(default: {ENGINE_TIMEOUT:g})",
    )
    limits.add_argument(
        "--drain-seconds",
        type=float,
        default=DRAIN_SECONDS,
        metavar="SECONDS",
        help="how long requests that run may go on when the server is told to end "
        f"(default: {DRAIN_SECONDS:g})",
    )


def _add_api(parser: argparse.ArgumentParser) -> None:
    api = parser.add_argument_group("API", "What clients see.")
    api.add_argument("--served-model-name", nargs="+", default=[], metavar="NAME", help="names of the model")
    api.add_argument(
        "--api-key",
        action="append",
        default=[],
        metavar="KEY",
        help="demand this key from clients; may be repeated",
    )
    api.add_argument(
        "--api-key-file",
        metavar="FILE",
        help="demand one of these keys: one a line, # begins a comment; read again on SIGHUP",
    )
    api.add_argument(
        "--reasoning-content-alias",
        action="store_true",
        help="also give thinking under its old name reasoning_content",
    )
    api.add_argument(
        "--wire-safe",
        action="store_true",
        help="for strict clients of chat completions: no content of white space beside calls, and a call's "
        "id, type and name in each of its chunks",
    )


def options_from(args: argparse.Namespace, default_model: bool = False) -> Options:
    """The options of a command line. Raises InvalidRequest for a value that can't be read."""
    budget = args.thinking_token_budget
    if budget is not None and budget < -1:
        raise InvalidRequest("--thinking-token-budget must be 0 or more, or -1 for none")
    if args.max_string_length < 1:
        raise InvalidRequest("--max-string-length must be 1 or more")
    if args.max_running < 1:
        raise InvalidRequest("--max-running must be 1 or more")
    if not args.engine_timeout > 0:
        raise InvalidRequest("--engine-timeout must be more than 0 seconds")
    if not args.drain_seconds >= 0:
        raise InvalidRequest("--drain-seconds must be 0 or more")
    return Options(
        format=args.format,
        reasoning_parser=args.reasoning_parser,
        tool_call_parser=args.tool_parser,
        enable_auto_tool_choice=args.enable_auto_tool_choice,
        chat_template=_template(args.chat_template),
        default_chat_template_kwargs=_object(
            "--default-chat-template-kwargs", args.default_chat_template_kwargs
        )
        or {},
        reasoning_effort_map=_effort_map(args.reasoning_effort_map),
        limits=_object("--limits", args.limits) or {},
        tool_strict_level=args.tool_strict_level,
        enforce=args.enforce,
        enable_in_reasoning=_enable_in_reasoning(args),
        reasoning_config=_object("--reasoning-config", args.reasoning_config),
        thinking_token_budget=budget,
        max_string_length=args.max_string_length,
        markers=args.markers,
        served_model_name=tuple(args.served_model_name),
        api_keys=tuple(args.api_key),
        api_key_file=None if args.api_key_file is None else Path(args.api_key_file),
        exclude_tools_when_tool_choice_none=args.exclude_tools_when_tool_choice_none,
        trust_request_chat_template=args.trust_request_chat_template,
        reasoning_content_alias=args.reasoning_content_alias,
        wire_safe=args.wire_safe,
        default_model=default_model,
        max_running=args.max_running,
        engine_timeout=args.engine_timeout,
        drain_seconds=args.drain_seconds,
        log_prompts=args.log_prompts,
    )


def _effort_map(text: str | None) -> dict[str, str]:
    """The map of efforts, checked."""
    found = _object("--reasoning-effort-map", text) or {}
    for effort, meant in found.items():
        if effort not in EFFORTS:
            raise InvalidRequest(
                f"--reasoning-effort-map: there is no effort {effort!r}, only {', '.join(EFFORTS)}"
            )
        if not isinstance(meant, str):
            raise InvalidRequest(f"--reasoning-effort-map: {effort} must be a text")
    return found


def _enable_in_reasoning(args: argparse.Namespace) -> bool:
    """What the two flags of structured outputs say."""
    flag = "--structured-outputs-config"
    config = _object(flag, args.structured_outputs_config) or {}
    unknown = set(config) - {"enable_in_reasoning", "backend"}
    if unknown:
        raise InvalidRequest(f"{flag} has no field {min(unknown)} here, only enable_in_reasoning")
    if config.get("backend", "auto") != "auto":
        raise InvalidRequest(f"{flag}: backend is the engine's own choice, leave it out")
    value = config.get("enable_in_reasoning", True)
    if not isinstance(value, bool):
        raise InvalidRequest(f"{flag}: enable_in_reasoning must be true or false")
    return value if args.enable_in_reasoning is None else BOOLEANS[args.enable_in_reasoning]


def _object(flag: str, text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidRequest(f"{flag} is no JSON: {error}") from error
    if not isinstance(value, dict):
        raise InvalidRequest(f"{flag} must be a JSON object")
    return value


def _template(given: str | None) -> str | None:
    if given is None or given == "unbraid" or "{{" in given or "{%" in given:
        return given
    try:
        return Path(given).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"--chat-template {given} can't be read: {error}") from error
