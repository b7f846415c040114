"""Fixtures with the real model, and helpers to build tiny GGUF files and scripted servers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from unbraid.engines.embedded import EmbeddedEngine
from unbraid.engines.gguf import make_thinking_model
from unbraid.engines.models import fetch_model


@pytest.fixture(scope="session")
def model_path() -> Path:
    """The default model, fetched if it must be."""
    return fetch_model()


@pytest.fixture(scope="session")
def thinking_path(model_path: Path) -> Path:
    return make_thinking_model(model_path)


@pytest.fixture(scope="session")
def engine(thinking_path: Path) -> Iterator[EmbeddedEngine]:
    """One embedded engine with the thinking model for all tests."""
    engine = EmbeddedEngine(thinking_path, n_ctx=1024, slots=2)
    yield engine
    asyncio.run(engine.close())
