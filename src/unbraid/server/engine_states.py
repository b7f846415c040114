"""The engines behind the app as metrics and logs name them: one, or those of a fleet."""

from __future__ import annotations

import asyncio

from unbraid.engines.base import Engine
from unbraid.engines.fleet import EngineState, Fleet
from unbraid.server.admission import Admission

__all__ = ["engine_name", "engine_states"]

_SECONDS = 5.0


def engine_name(engine: Engine) -> str | None:
    """What a single engine is called: its address, or its model's name; None for a fleet."""
    if isinstance(engine, Fleet):
        return None
    return str(getattr(engine, "base_url", engine.model))


async def engine_states(engine: Engine, admission: Admission) -> tuple[EngineState, ...]:
    """Each engine as it is now. One that is alone is asked, and runs what the server runs."""
    if isinstance(engine, Fleet):
        return engine.engines
    try:
        well = await asyncio.wait_for(engine.health(), _SECONDS)
    except Exception:
        well = False
    kind = getattr(engine, "kind", "engine")
    return (EngineState(str(engine_name(engine)), kind, well, admission.running, 0, 0),)
