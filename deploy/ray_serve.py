"""unbraid on Ray Serve: ``serve run deploy.ray_serve:gateway``, from the project's folder.

Each replica is one gateway that knows all engines; Ray adds replicas with the load. The engines
are vLLM servers, which spread one model over GPUs and nodes by themselves (tensor and
pipeline parallel size).
"""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import MutableMapping
from typing import Any

from ray import serve

from unbraid.server.asgi import app_of

FLAGS = shlex.split(
    os.environ.get("UNBRAID_FLAGS", "--engine http://127.0.0.1:8001 --format qwen3 --max-running 512")
)


class Gateway:
    """The app, made on the replica by the first message, which is the start of its life."""

    def __init__(self, flags: list[str]) -> None:
        self._flags = flags
        self._app: Any = None

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        """Pass everything on."""
        if self._app is None:
            self._app = await asyncio.to_thread(app_of, *self._flags)
        await self._app(scope, receive, send)


@serve.deployment(
    # Ray queues what is beyond, and unbraid refuses what is beyond --max-running with 429.
    max_ongoing_requests=512,
    autoscaling_config={"min_replicas": 2, "max_replicas": 16, "target_ongoing_requests": 128},
    # Longer than --drain-seconds.
    graceful_shutdown_timeout_s=90,
    health_check_period_s=10,
)
@serve.ingress(Gateway(FLAGS))
class Unbraid:
    """The deployment; the app does all the work."""


gateway = Unbraid.bind()
