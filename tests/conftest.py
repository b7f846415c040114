"""Hypothesis profiles: ``fast`` by default, ``fuzz`` (many more examples) with ``UNBRAID_FUZZ=1``.

``UNBRAID_FORMATS`` names modules that register formats of their own, so that the laws run over them.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from unbraid.formats import load_own

_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}

settings.register_profile("fast", max_examples=30, **_COMMON)
settings.register_profile("fuzz", max_examples=3000, **_COMMON)
settings.load_profile("fuzz" if os.environ.get("UNBRAID_FUZZ") else "fast")

load_own()
