"""Hypothesis profiles: ``fast`` by default, the same examples in every run, so that a result can be repeated;
``fuzz`` with ``UNBRAID_FUZZ=40``: forty times as many examples, others in every run.

``UNBRAID_FORMATS`` names modules that register formats of their own, so that the laws run over them.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from unbraid.formats import load_own

_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}

_TIMES = int(os.environ.get("UNBRAID_FUZZ") or 0)

settings.register_profile("fast", max_examples=30, derandomize=True, **_COMMON)
settings.register_profile("fuzz", max_examples=30 * max(_TIMES, 1), **_COMMON)
settings.load_profile("fuzz" if _TIMES else "fast")

load_own()
