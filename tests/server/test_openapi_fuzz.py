"""Requests made from the OpenAPI document, right ones and wrong ones: only documented answers come back.

``make fuzz-api`` makes many times as many, others each time.
"""

from __future__ import annotations

import os
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from .helpers import CALL, make_app, replay

TIMES = int(os.environ.get("UNBRAID_FUZZ", "0"))
NOT_ENFORCED = 502
"""The replayed engine heeds no grammar, so its answer may break what a request demands."""


def _schema(enforce: str) -> Any:
    engine = replay(f"<think>\nHm.\n</think>\n\nHello.\n{CALL}", dialects=("llguidance",))
    return schemathesis.openapi.from_asgi("/openapi.json", make_app(engine, enforce=enforce))


free, held = _schema("off"), _schema("grammar")
several = settings(
    max_examples=25 * TIMES or 25,
    derandomize=not TIMES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def _check(case: Any, allowed: tuple[int, ...]) -> None:
    response = case.call()
    assert response.status_code < 500 or response.status_code in allowed, response.text
    checks = [status_code_conformance, content_type_conformance]
    if "application/json" in response.headers["content-type"]:
        checks.append(response_schema_conformance)
    case.validate_response(response, checks=checks)


@free.parametrize()
@several
def test_only_documented_answers(case: Any) -> None:
    _check(case, ())


@held.parametrize()
@several
def test_only_documented_answers_where_demands_are_held(case: Any) -> None:
    _check(case, (NOT_ENFORCED,))
