"""The formats: one file per family, loaded only when a name asks for it."""
# ruff: noqa: F403 (the registry says its names)

from unbraid.formats import registry
from unbraid.formats.registry import *

__all__: list[str] = []
__all__ += registry.__all__
