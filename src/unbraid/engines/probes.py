"""What is tried at start-up: does an engine enforce the constraints that it takes."""

from __future__ import annotations

import json
from typing import Any

from unbraid.engines.base import Constraint

__all__ = ["PROBES", "PROBE_PROMPT", "PROBE_TOKENS", "tag", "within"]

PROBE_PROMPT = "The capital of France is"
PROBE_TOKENS = 16

_TEXT = "~unbraid~"


def tag(**written: Any) -> Constraint:
    """A structural tag of one format."""
    return Constraint("structural_tag", json.dumps({"type": "structural_tag", "format": written}))


PROBES = (tag(type="const_string", value=_TEXT), Constraint("json_schema", json.dumps({"const": _TEXT})))
"""One constraint of each dialect, each for a text that no model writes by itself."""


def within(text: str, probe: Constraint) -> bool:
    """Whether what an engine wrote is what a probe demands, or the beginning of it."""
    wanted = json.dumps(_TEXT) if probe.dialect == "json_schema" else _TEXT
    got = text.strip()
    return bool(got) and (got.startswith(wanted) or wanted.startswith(got))
