"""The server's options, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["DRAIN_SECONDS", "EMBEDDED_BUDGET", "ENGINE_TIMEOUT", "MAX_RUNNING", "MAX_STRING", "Options"]

EMBEDDED_BUDGET = 256
MAX_STRING = 4096
MAX_RUNNING = 512
ENGINE_TIMEOUT = 600.0
DRAIN_SECONDS = 60.0


@dataclass(frozen=True)
class Options:
    """What a user asked for at the start, before it was checked against the model.

    ``chat_template`` is Jinja source, or ``unbraid`` for the built-in template with tools.
    ``default_model`` says that the model is the one that comes without being named, so
    that its format is known. ``enable_in_reasoning`` is noted only: grammars hold the thinking, so
    either value gives the same answers.
    """

    format: str | None = None
    reasoning_parser: str | None = None
    tool_call_parser: str | None = None
    enable_auto_tool_choice: bool = False
    chat_template: str | None = None
    default_chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    reasoning_effort_map: Mapping[str, str] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    tool_strict_level: str | None = None
    enforce: str = "grammar"
    enable_in_reasoning: bool = True
    reasoning_config: Mapping[str, Any] | None = None
    thinking_token_budget: int | None = None
    max_string_length: int = MAX_STRING
    markers: str = "tokens"
    served_model_name: tuple[str, ...] = ()
    api_keys: tuple[str, ...] = field(default=(), repr=False)
    api_key_file: Path | None = None
    exclude_tools_when_tool_choice_none: bool = False
    trust_request_chat_template: bool = False
    reasoning_content_alias: bool = False
    wire_safe: bool = False
    default_model: bool = False
    max_running: int = MAX_RUNNING
    engine_timeout: float = ENGINE_TIMEOUT
    drain_seconds: float = DRAIN_SECONDS
    log_prompts: bool = False
