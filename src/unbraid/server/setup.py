"""What a running server has settled: the format pair, the template, limits and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from unbraid.engines.template import ChatTemplate
from unbraid.server.keys import Keys
from unbraid.server.limits import Limits
from unbraid.server.options import DRAIN_SECONDS, ENGINE_TIMEOUT, MAX_RUNNING
from unbraid.syntax import Switch

__all__ = ["Enforce", "Setup", "StrictLevel"]

StrictLevel = Literal["auto", "function", "parameter"]
Enforce = Literal["grammar", "check", "off"]


@dataclass(frozen=True)
class Setup:
    """The settings that all requests share.

    ``enforce``: demands that the engine can't hold by a grammar are refused (``grammar``), answers are
    checked instead (``check``), or nothing is enforced at all (``off``). ``format`` is the model
    family whose reasoning half this is, None where the half was named itself.
    ``end_text`` ends thinking whose budget is spent, None when the format has no such
    text; ``budget`` is for requests that name none. ``alias`` adds the old field name
    ``reasoning_content`` to answers, ``wire_safe`` writes for clients that take less than they
    should. ``switch`` says which template variables turn thinking on and off, ``effort_map`` what the
    template is given for a ``reasoning_effort``. ``keys`` are demanded of clients.
    ``foreign_ends`` are tokens that end a turn and are unknown to the formats.
    ``max_running`` requests run at once; an engine that is silent for ``engine_timeout`` seconds
    fails its request; ``drain_seconds`` are for what runs when the server is told to end.
    ``log_prompts`` puts prompts and answers into the log.
    ``report`` says all this to whoever starts the server.
    """

    template: ChatTemplate
    models: tuple[str, ...]
    reasoning_parser: str | None = None
    tool_parser: str | None = None
    format: str | None = None
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    effort_map: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    strict_level: StrictLevel | None = None
    enforce: Enforce = "grammar"
    end_text: str | None = None
    budget: int | None = None
    max_string: int = 4096
    markers: Literal["tokens", "text"] = "tokens"
    keys: Keys | None = None
    hide_unused_tools: bool = False
    trust_template: bool = False
    alias: bool = False
    wire_safe: bool = False
    switch: Switch | None = None
    foreign_ends: frozenset[int] = frozenset()
    max_running: int = MAX_RUNNING
    engine_timeout: float = ENGINE_TIMEOUT
    drain_seconds: float = DRAIN_SECONDS
    log_prompts: bool = False
    report: tuple[str, ...] = ()
