"""Log lines, as text or as JSON, and one for each request that is over."""

from __future__ import annotations

import json
import logging
import sys
from collections import Counter
from datetime import datetime, timezone
from typing import Any, Literal

from unbraid.errors import UnbraidError
from unbraid.server.record import Record

__all__ = ["LogFormat", "RequestLog", "configure"]

LogFormat = Literal["text", "json"]

logger = logging.getLogger("unbraid.requests")

_FIELDS = "unbraid_fields"


def configure(log_format: LogFormat) -> None:
    """Have everything that is logged go to standard error in one format."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json() if log_format == "json" else _Text("%(levelname)s: %(message)s"))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    logging.getLogger("httpx").setLevel(logging.WARNING)


class RequestLog:
    """Logs each request once, with what became of it.

    Nothing of what was asked or answered is in the line, unless ``prompts`` says so.
    """

    def __init__(self, prompts: bool = False) -> None:
        self._prompts = prompts

    def finished(self, record: Record) -> None:
        """Log a request."""
        fields = _fields(record)
        if self._prompts and record.job is not None:
            fields["prompt"] = record.job.generation.prompt
            fields["messages"] = [one.message.as_dict() for one in record.results]
        logger.info("request", extra={_FIELDS: fields})


def _fields(record: Record) -> dict[str, Any]:
    job, results = record.job, record.results
    fields: dict[str, Any] = {
        "request_id": record.request_id,
        "api": record.api,
        "status": record.status,
        "outcome": record.outcome,
        "total_ms": _milliseconds(record.seconds),
    }
    if record.error is not None:
        fields["error"] = record.error.code if isinstance(record.error, UnbraidError) else "internal_error"
    if job is None:
        return fields
    diagnostics = Counter(found.code for one in results for found in one.message.diagnostics)
    fields |= {
        "model": job.model,
        "engine": record.engine,
        "stream": job.ask.stream,
        "choices": job.ask.n,
        "enforced": job.enforced,
        "first_ms": None if record.first is None else _milliseconds(record.first),
        "finish_reasons": [one.finish_reason for one in results],
        "prompt_tokens": max((one.prompt_tokens for one in results), default=0),
        "completion_tokens": sum(one.completion_tokens for one in results),
        "reasoning_tokens": sum(one.reasoning_tokens for one in results),
        "tool_calls": sum(len(one.message.tool_calls) for one in results),
        "diagnostics": dict(diagnostics),
    }
    return fields


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)


class _Text(logging.Formatter):
    """``LEVEL: message`` with the fields as ``name=value``."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """The line without a traceback."""
        line = super().formatMessage(record)
        fields: dict[str, Any] = getattr(record, _FIELDS, {})
        return " ".join([line, *(f"{name}={_plain(value)}" for name, value in fields.items())])


def _plain(value: Any) -> str:
    """A value in one word where it is one, else as JSON."""
    if isinstance(value, str) and value.isprintable() and not set(value) & set(' "='):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


class _Json(logging.Formatter):
    """One JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {
            "time": when,
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)
